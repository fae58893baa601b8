//! The image: what the program is built from is copied into it.

use super::root;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Every file that source in `src` includes, below the repository. Files of tests are left out: the
/// program is not built from them.
fn included() -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let paths = paths(&text).into_iter();
                let beside = path.parent().unwrap().strip_prefix(root()).unwrap().to_owned();
                found.extend(paths.map(|it| plain(&beside.join(it))));
            }
        }
    }
    found
}

/// Paths of files that a source includes, up to where a macro goes on with a variable.
fn paths(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for call in ["include_str!(", "include_bytes!("] {
        for rest in text.split(call).skip(1) {
            let end = rest.find(");").or(rest.find(')')).unwrap_or(rest.len());
            paths.extend(rest[..end].split('"').nth(1).map(str::to_owned));
        }
    }
    paths
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

/// Paths that the Dockerfile copies from the repository.
fn copied(dockerfile: &str) -> Vec<PathBuf> {
    let lines = dockerfile.lines().filter_map(|line| line.strip_prefix("COPY "));
    let is_made = |line: &str| line.starts_with("--from=") || line.starts_with("dist/");
    let own = lines.filter(|line| !is_made(line));
    own.flat_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[..words.len() - 1].iter().map(PathBuf::from).collect::<Vec<_>>()
    })
    .collect()
}

fn lost(dockerfile: &str) -> Vec<PathBuf> {
    let copied = copied(dockerfile);
    let is_copied = |path: &PathBuf| copied.iter().any(|from| path.starts_with(from));
    included().into_iter().filter(|path| !is_copied(path)).collect()
}

#[test]
fn what_the_program_is_built_from_is_in_the_image() {
    let text = std::fs::read_to_string(root().join("Dockerfile")).unwrap();
    assert!(included().len() >= 3, "{:?}", included());
    assert_eq!(lost(&text), Vec::<PathBuf>::new(), "COPY it in the Dockerfile");
    assert!(!lost(&text.replace("COPY schemas schemas\n", "")).is_empty(), "a loss is not seen");
    for needed in ["Cargo.toml", "Cargo.lock", "src", "benches"] {
        assert!(copied(&text).contains(&PathBuf::from(needed)), "{needed} is not copied");
    }
    // No longer ignored than what is copied.
    let ignored = std::fs::read_to_string(root().join(".dockerignore")).unwrap();
    for path in copied(&text) {
        assert!(!ignored.lines().any(|line| Path::new(line) == path), "{path:?} is ignored");
    }
}

#[test]
fn the_image_is_pinned_and_not_root() {
    let text = std::fs::read_to_string(root().join("Dockerfile")).unwrap();
    let bases = text.lines().filter_map(|line| line.strip_prefix("FROM "));
    // Others are stages of the file.
    let bases: Vec<&str> = bases.filter(|base| base.contains(':')).collect();
    assert_eq!(bases.len(), 2);
    for base in bases {
        let tag = base.split([':', ' ']).nth(1).expect("a tag");
        assert!(tag.contains('.'), "{base} is not pinned to a version");
    }
    let user = text.lines().filter_map(|line| line.strip_prefix("USER ")).next_back();
    assert!(user.is_some_and(|user| !user.starts_with('0') && user != "root"), "{user:?}");
    let compose = super::Service::of("leader").words("user").concat();
    assert_eq!(user, Some(compose.as_str()), "docker-compose.yml has another user");
}
