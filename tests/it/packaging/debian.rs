//! The Debian package, as `Cargo.toml` describes it for cargo-deb.

use super::{files, output, root, text, tool};
use crate::kill::process::PROGRAM;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use toml::{Table, Value};

/// Where the files lie that are generated for the package.
const GENERATED: &str = "target/deb/";

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
        if source.starts_with(GENERATED) {
            continue;
        }
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

#[test]
fn man_pages_and_completions_are_generated_and_packed() {
    let dir = TempDir::new().unwrap();
    output(Command::new(root().join("packaging/generated.sh")).arg(PROGRAM).arg(dir.path()));
    let pages = std::fs::read_dir(dir.path().join("man1")).unwrap().flatten().count();
    assert!(pages > 20, "{pages} man pages");
    for (shell, part) in [("bash", "complete -F"), ("zsh", "#compdef yardmaster"), ("fish", "-c y")]
    {
        let file = dir.path().join(format!("yardmaster.{shell}"));
        let script = std::fs::read_to_string(file).unwrap();
        assert!(script.contains(part) && script.contains("dead-letters"), "{shell}: {script}");
    }
    let assets = assets(&package());
    let generated: Vec<(&str, &str)> = assets
        .iter()
        .filter_map(|(source, target)| Some((source.strip_prefix(GENERATED)?, target.as_str())))
        .collect();
    // Where each program looks for them.
    let wanted = [
        ("man1/*.1", "/usr/share/man/man1/*.1"),
        ("yardmaster.bash", "/usr/share/bash-completion/completions/yardmaster"),
        ("yardmaster.zsh", "/usr/share/zsh/vendor-completions/_yardmaster"),
        ("yardmaster.fish", "/usr/share/fish/vendor_completions.d/yardmaster.fish"),
    ];
    assert_eq!(generated, wanted);
    // Everything that is generated is packed.
    let top = std::fs::read_dir(dir.path()).unwrap().flatten();
    let mut names: Vec<String> =
        top.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ["man1", "yardmaster.bash", "yardmaster.fish", "yardmaster.zsh"]);
    let script = text("packaging/release.sh");
    for part in ["packaging/generated.sh", " target/deb\n", "--features tls"] {
        assert!(script.contains(part), "packaging/release.sh lacks {part}");
    }
}

/// A release, and what CI makes of every change, come from one script; the profile it builds by is
/// there, and so is every file that a workflow names.
#[test]
fn the_workflows_make_packages_by_the_script() {
    let manifest: Table = text("Cargo.toml").parse().unwrap();
    let script = text("packaging/release.sh");
    assert!(script.contains("--profile dist") && manifest["profile"].get("dist").is_some());
    let package = text(".github/workflows/package.yml");
    assert!(package.contains("run: packaging/release.sh dist\n"), "{package}");
    for caller in ["ci", "release"] {
        let workflow = text(&format!(".github/workflows/{caller}.yml"));
        assert!(workflow.contains("uses: ./.github/workflows/package.yml"), "{caller}");
    }
    let all = [package, text(".github/workflows/release.yml")].concat();
    for word in all.split([' ', '"', '\n']) {
        let folder = ["packaging/", "dashboards/"].iter().any(|it| word.starts_with(it));
        assert!(!folder || root().join(word).exists(), "{word} is not there");
    }
    let rust = manifest["workspace"]["package"]["rust-version"].as_str().unwrap();
    assert!(all.contains(&format!("--default-toolchain {rust}.")), "the oldest Rust is built by");
    let Some(sh) = tool("sh") else { return };
    output(Command::new(sh).arg("-n").arg(root().join("packaging/release.sh")));
}
