//! The release of librdkafka that is built in, 2.12.1, and what of it is switched off.
//!
//! Releases from 2.5 to 2.15 learn of new leaders from the answers to fetches (KIP-951), and take
//! partitions without a leader into account that they leave unset: a broker that has just started
//! sends such, and the client reads what was never written, or dies of it (upstream issue 5280).
//! 2.3 cannot authenticate itself by SCRAM with brokers of today, 2.16 is in no crate. So build.rs
//! has the linker lead the one call that takes up such news to the function below, which leaves
//! them: leaders are then learnt as before 2.5, by asking when a broker denies that it leads. A
//! program of one's own that reads Kafka for long needs the same line in its build.rs.
//!
//! The remaining failure, a client that forgets all brokers (upstream issue 5301), is mended by
//! making it again ([`reader`](super::reader), [`renewed`](super::renewed), [`txn`](super::txn)).
//! When a newer release is safe, tests/it/faults/restarts.rs shows it.

use std::ffi::{c_int, c_void};

/// `RD_KAFKA_OP_RES_HANDLED`: the caller frees the news.
const HANDLED: c_int = 1;

/// Stands for `rd_kafka_op_res_t rd_kafka_metadata_update_op(rd_kafka_t *,
/// rd_kafka_metadata_internal_t *)`.
// SAFETY: no other function has this name, and neither argument is looked at.
#[unsafe(no_mangle)]
extern "C" fn __wrap_rd_kafka_metadata_update_op(_: *mut c_void, _: *mut c_void) -> c_int {
    HANDLED
}
