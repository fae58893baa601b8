//! How the program is linked.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // src/shell/kafka/client.rs says why. Linkers of other systems do not know this order.
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        println!("cargo::rustc-link-arg=-Wl,--wrap=rd_kafka_metadata_update_op");
    }
}
