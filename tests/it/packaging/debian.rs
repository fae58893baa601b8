//! The Debian package, as `Cargo.toml` describes it for cargo-deb.

use super::{files, output, root, text, tool};
use std::path::Path;
use std::process::Command;
use toml::{Table, Value};

/// `[package.metadata.deb]`.
fn package() -> Table {
    let manifest: Table = text("Cargo.toml").parse().unwrap();
    let deb = &manifest["package"]["metadata"]["deb"];
    deb.as_table().expect("[package.metadata.deb]").clone()
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}

/// Where each file of the package comes from and where it goes.
fn assets(package: &Table) -> Vec<(String, String)> {
    let assets = package["assets"].as_array().unwrap().iter().map(words);
    let place = |source: &str, target: &str| match target.ends_with('/') {
        true => format!("/{target}{}", source.rsplit('/').next().unwrap()),
        false => format!("/{target}"),
    };
    assets.map(|it| (it[0].to_owned(), place(it[0], it[1]))).collect()
}

#[test]
fn what_goes_into_the_package_is_there() {
    let package = package();
    let assets = assets(&package);
    for (source, target) in &assets {
        if source.starts_with("target/") {
            assert_eq!(target, "/usr/bin/yardmaster");
            continue;
        }
        let (folder, name) = source.rsplit_once('/').unwrap_or(("", source));
        let (head, tail) = name.split_once('*').unwrap_or((name, ""));
        let fits = |path: &Path| {
            let file = path.file_name().unwrap().to_string_lossy();
            file.starts_with(head) && file.ends_with(tail)
        };
        assert!(files(folder).iter().any(|path| fits(path)), "{source} is not there");
    }
    let targets: Vec<&str> = assets.iter().map(|(_, target)| target.as_str()).collect();
    for file in words(&package["conf-files"]) {
        assert!(targets.contains(&file), "{file} is in no package");
    }
    // What the units read is brought by the package.
    let unit = text("packaging/systemd/yardmaster.service");
    let lines = unit.lines().filter(|line| !line.starts_with('#'));
    let words = lines.flat_map(|line| line.split([' ', '=']));
    let named = words.filter(|word| word.starts_with("/etc/"));
    for file in named.chain(["/usr/bin/yardmaster"]) {
        assert!(targets.contains(&file), "{file} is in no package");
    }
}

#[test]
fn units_and_scripts_of_the_package_are_there() {
    let package = package();
    for unit in package["systemd-units"].as_array().unwrap() {
        let of = |key: &str| unit[key].as_str().unwrap();
        let path = format!("{}/{}.service", of("unit-scripts"), of("unit-name"));
        assert!(root().join(&path).is_file(), "{path} is not there");
        // Kafka's address must be set first.
        assert_eq!(unit["enable"].as_bool(), Some(false));
        assert_eq!(unit["start"].as_bool(), Some(false));
    }
    let folder = package["maintainer-scripts"].as_str().unwrap();
    for script in ["postinst", "prerm", "postrm"] {
        let path = format!("{folder}/{script}");
        let text = text(&path);
        assert!(text.contains("\n#DEBHELPER#\n"), "{path}: cargo-deb puts the units there");
        assert!(text.contains("set -e"), "{path}");
        let Some(sh) = tool("sh") else { return };
        output(Command::new(sh).arg("-n").arg(root().join(path)));
    }
}
