//! Tidy: rules of the source that no compiler keeps. A rule that only a reviewer keeps is kept until
//! the next holiday. Each that reads the source has a test below that shows it red. That imports
//! between floors point one way is kept by cargo: each floor is a crate.

mod circles;
mod domains;
mod rooms;
mod type_names;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// The floors, from the lowest: each a folder below `src` and a crate.
const FLOORS: [&str; 5] = ["core", "wire", "drive", "sim", "shell"];

/// Crates that each floor below the shell needs beside lower floors: crates that read no clock, no
/// environment and no file.
const PURE: [(&str, &[&str]); 4] = [
    ("core", &["hex", "jiff", "quick-xml", "sha2"]),
    ("wire", &["apache-avro", "hex", "jiff", "serde", "serde_json", "sha2", "thiserror", "toml"]),
    ("drive", &["bytes", "hex", "sha2", "thiserror", "toml"]),
    ("sim", &["hex", "serde", "serde_json", "toml"]),
];

/// Names that only the shell may use: clock, environment, files, network, threads, dice, output.
const WORLD: [&str; 16] = [
    "std::time::Instant",
    "std::time::SystemTime",
    "std::env",
    "std::fs",
    "std::net",
    "std::thread",
    "std::process",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "rand",
    "Timestamp::now",
    "jiff::Zoned",
    "jiff::tz",
    "println!",
    "eprintln!",
];

/// Files of `core` that may hold a hash map, because they never go through one in its own order.
const HASH_MAPS: [&str; 0] = [];

const CODE_LINES: usize = 450;
const COLUMNS: usize = 100;
const FUNCTION_LINES: usize = 70;

/// A source file: its path below the repository, and its text.
struct File {
    path: String,
    text: String,
}

impl File {
    fn floor(&self) -> Option<&str> {
        let floor = self.path.strip_prefix("src/")?.split(['/', '.']).next()?;
        FLOORS.into_iter().find(|name| *name == floor)
    }

    fn complaint(&self, line: usize, what: impl std::fmt::Display) -> String {
        format!("{}:{}: {what}", self.path, line + 1)
    }
}

// --- Reading Rust well enough -----------------------------------------------------------------

/// The text with comments and the insides of literals blanked, line breaks kept.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => block_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' if !is_word(at.checked_sub(1).map(|at| bytes[at])) => raw_string_end(bytes, at),
            b'\'' => char_end(bytes, at),
            _ => at,
        };
        if end == at {
            code.push(bytes[at]);
            at += 1;
        } else {
            let blank = |byte: &u8| if *byte == b'\n' { b'\n' } else { b' ' };
            code.extend(bytes[at..end].iter().map(blank));
            at = end;
        }
    }
    String::from_utf8(code).expect("only whole characters were blanked")
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |found| at + found)
}

fn block_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].windows(2).position(|two| two == b"*/").map_or(bytes.len(), |found| at + found + 2)
}

fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    (end + 1).min(bytes.len())
}

/// The end of `r"..."` or `r#"..."#`; where it is none, the place itself.
fn raw_string_end(bytes: &[u8], at: usize) -> usize {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(at + 1 + hashes) != Some(&b'"') {
        return at;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let from = at + 2 + hashes;
    let found = bytes[from..].windows(close.len()).position(|part| part == close);
    found.map_or(bytes.len(), |found| from + found + close.len())
}

/// The end of a character literal; a lifetime is none.
fn char_end(bytes: &[u8], at: usize) -> usize {
    if bytes.get(at + 1) == Some(&b'\\') {
        let close = bytes[at + 3..].iter().position(|byte| *byte == b'\'');
        return close.map_or(bytes.len(), |found| at + 3 + found + 1);
    }
    let text = std::str::from_utf8(&bytes[at + 1..(at + 6).min(bytes.len())]);
    let first = match text {
        Ok(text) => text.chars().next(),
        Err(error) => {
            let valid = &bytes[at + 1..at + 1 + error.valid_up_to()];
            String::from_utf8_lossy(valid).chars().next()
        }
    };
    match first {
        Some(c) if bytes.get(at + 1 + c.len_utf8()) == Some(&b'\'') => at + 2 + c.len_utf8(),
        _ => at,
    }
}

fn is_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The code without what is compiled for tests only, line breaks kept.
fn without_tests(code: &str) -> String {
    let mut left = code.to_string();
    while let Some(start) = left.find("#[cfg(test)]") {
        let end = item_end(&left, start + "#[cfg(test)]".len());
        let blank: String =
            left[start..end].chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
        left.replace_range(start..end, &blank);
    }
    left
}

/// The end of the item that begins at a place: its closing brace, or its semicolon.
fn item_end(code: &str, start: usize) -> usize {
    let mut depth = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return start + at + 1,
            '}' => depth -= 1,
            ';' if depth == 0 => return start + at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Files that are modules for tests only: `#[cfg(test)] mod name;`.
fn is_test_file(path: &str, files: &[File]) -> bool {
    let path = Path::new(path);
    let (Some(stem), Some(dir)) = (path.file_stem(), path.parent()) else { return false };
    let declared = format!("mod {};", stem.to_string_lossy());
    let parents = [dir.join("mod.rs"), dir.with_extension("rs"), dir.join("lib.rs")];
    let parents = files.iter().filter(|file| parents.contains(&PathBuf::from(&file.path)));
    parents.into_iter().any(|file| {
        let code = code_of(&file.text);
        code.contains(&declared) && !without_tests(&code).contains(&declared)
    })
}

/// Every path of the `use` trees in code, with its line: `std::{fs, io::Read}` is two.
fn uses(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (start, _) in code.match_indices("use ") {
        let before = code[..start].chars().next_back();
        if before.is_some_and(|c| !c.is_whitespace()) {
            continue;
        }
        let Some(length) = code[start..].find(';') else { continue };
        let tree: String =
            code[start + 4..start + length].split_whitespace().collect::<Vec<_>>().join(" ");
        let line = code[..start].matches('\n').count();
        let mut paths = Vec::new();
        expand("", &tree, &mut paths);
        found.extend(paths.into_iter().map(|path| (line, path)));
    }
    found
}

fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some(open) = tree.find('{') else {
        paths.push(format!("{prefix}{tree}"));
        return;
    };
    let inner = &tree[open + 1..tree.rfind('}').unwrap_or(tree.len())];
    let prefix = format!("{prefix}{}", &tree[..open]);
    let (mut depth, mut from) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !inner[from..at].trim().is_empty() {
                    expand(&prefix, &inner[from..at], paths);
                }
                from = at + 1;
            }
            _ => {}
        }
    }
}

/// Every mention of a path in code: in its `use` trees, or spelled out. A path is met by what it
/// begins: `std::env` by `std::env::var`.
fn mentions(code: &str, path: &str) -> Vec<usize> {
    let whole = |text: &str, at: usize| {
        let before = at.checked_sub(1).map(|at| text.as_bytes()[at]);
        let after = text.as_bytes().get(at + path.len()).copied();
        let joined = before == Some(b':') && !path.contains("::");
        !is_word(before) && !joined && (path.ends_with('!') || !is_word(after))
    };
    let crate_name = !path.contains("::") && !path.ends_with('!');
    let used = uses(code).into_iter().filter(|(_, used)| used.starts_with(path) && whole(used, 0));
    let spelled = code.match_indices(path).filter(|(at, _)| {
        whole(code, *at) && (!crate_name || code[at + path.len()..].starts_with("::"))
    });
    let spelled = spelled.map(|(at, _)| code[..at].matches('\n').count());
    let mut lines: Vec<usize> = used.map(|(line, _)| line).chain(spelled).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

// --- The rules ----------------------------------------------------------------------------------

/// Only the shell touches the world.
fn no_world(file: &File, code: &str) -> Vec<String> {
    if file.floor().is_none_or(|floor| floor == "shell") {
        return Vec::new();
    }
    let found =
        WORLD.iter().flat_map(|path| mentions(code, path).into_iter().map(move |l| (l, path)));
    found.map(|(line, path)| file.complaint(line, format!("`{path}` outside the shell"))).collect()
}

/// Hash maps in the core: their order differs from run to run.
fn no_hash_maps(file: &File, code: &str) -> Vec<String> {
    if file.floor() != Some("core") || HASH_MAPS.contains(&file.path.as_str()) {
        return Vec::new();
    }
    let lines = code.lines().enumerate();
    let found = lines.filter(|(_, line)| line.contains("HashMap") || line.contains("HashSet"));
    found.map(|(line, _)| file.complaint(line, "a hash map in `core`: its order differs")).collect()
}

/// Calls of `unwrap` and `expect` without a comment that states why they cannot fail.
fn no_unwrap(file: &File, code: &str) -> Vec<String> {
    let raw: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in code.lines().enumerate() {
        let explained =
            raw[at.saturating_sub(4)..=at].iter().any(|l| l.contains("// cannot fail:"));
        if (line.contains(".unwrap()") || line.contains(".expect(")) && !explained {
            found.push(file.complaint(at, "unwrap or expect without `// cannot fail:` and why"));
        }
    }
    found
}

/// Nothing is left for later.
fn nothing_for_later(file: &File) -> Vec<String> {
    let words = ["TODO", "FIXME", "XXX"];
    let lines = file.text.lines().enumerate();
    let found = lines.filter(|(_, line)| words.iter().any(|word| line.contains(word)));
    found.map(|(line, _)| file.complaint(line, "something is left for later")).collect()
}

/// The source stands on its own: it names no place of the machine it was written on.
fn no_place(file: &File) -> Vec<String> {
    let lines = file.text.lines().enumerate();
    let found = lines.filter(|(_, line)| line.contains(concat!("/wo", "rk/")));
    found.map(|(line, _)| file.complaint(line, "a path of one machine")).collect()
}

/// A file holds one idea.
fn not_too_long(file: &File, code: &str) -> Vec<String> {
    let lines = code.lines().filter(|line| !line.trim().is_empty()).count();
    let too_long = lines > CODE_LINES;
    let complaint = || file.complaint(0, format!("{lines} lines of code, more than {CODE_LINES}"));
    too_long.then(complaint).into_iter().collect()
}

/// A function fits a screen.
fn no_long_function(file: &File, code: &str) -> Vec<String> {
    let is_own_word = |at: usize| !is_word(at.checked_sub(1).map(|at| code.as_bytes()[at]));
    let functions = code.match_indices("fn ").filter(|(at, _)| is_own_word(*at));
    let mut found = Vec::new();
    for (at, _) in functions {
        let name = code[at + 3..].split(['(', '<']).next().unwrap_or_default();
        let lines = code[at..function_end(code, at)].lines().count();
        if lines > FUNCTION_LINES {
            let line = code[..at].matches('\n').count();
            let text = format!("fn {name}: {lines} lines, more than {FUNCTION_LINES}");
            found.push(file.complaint(line, text));
        }
    }
    found
}

/// The end of the function that begins at a place: its closing brace, or that of its signature.
fn function_end(code: &str, start: usize) -> usize {
    let mut brackets = 0;
    for (at, c) in code[start..].char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 => return start + at,
            '{' => return item_end(code, start + at),
            _ => {}
        }
    }
    code.len()
}

/// Lines can be read without turning the head; a literal alone on its line cannot be broken.
fn not_too_wide(file: &File) -> Vec<String> {
    let literal = |line: &str| ["\"", "r\"", "r#\""].iter().any(|q| line.trim().starts_with(q));
    let wide = |line: &str| line.chars().count() > COLUMNS && !literal(line);
    let wide = file.text.lines().enumerate().filter(|(_, line)| wide(line));
    wide.map(|(line, _)| file.complaint(line, format!("wider than {COLUMNS} columns"))).collect()
}

/// All rules on the source of the library and the program.
fn tidy(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files {
        found.extend(nothing_for_later(file));
        found.extend(not_too_wide(file));
        found.extend(no_place(file));
        found.extend(words::plain_words(file));
        if is_test_file(&file.path, files) {
            continue;
        }
        let code = without_tests(&code_of(&file.text));
        found.extend(no_world(file, &code));
        found.extend(no_hash_maps(file, &code));
        found.extend(no_unwrap(file, &code));
        found.extend(not_too_long(file, &code));
        found.extend(no_long_function(file, &code));
    }
    found
}

fn source() -> Vec<File> {
    files("src", "rs")
}

/// The files below a folder whose names end so.
fn files(folder: &str, ends: &str) -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut left = vec![root.join(folder)];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|extension| extension == ends) {
                let text = fs::read_to_string(&path).expect("text");
                let path = path.strip_prefix(root).expect("below the root").to_string_lossy();
                files.push(File { path: path.to_string(), text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// The dependencies that a floor's manifest names beside other floors.
fn dependencies(floor: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("src").join(floor).join("Cargo.toml"));
    let manifest: toml::Table = manifest.expect("a manifest").parse().expect("TOML");
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    let names = dependencies.keys().filter(|name| !name.starts_with("yardmaster-"));
    names.cloned().collect()
}

#[test]
fn floors_below_the_shell_stand_on_pure_crates() {
    for (floor, pure) in PURE {
        assert_eq!(dependencies(floor), pure, "src/{floor}/Cargo.toml");
    }
}

#[test]
fn the_walls_stand() {
    let files = source();
    assert!(files.len() > 30, "the source was found");
    let found = tidy(&files);
    assert!(found.is_empty(), "{} complaints:\n{}", found.len(), found.join("\n"));
}

#[test]
fn tests_schemas_and_documents_use_plain_words() {
    let mut found = Vec::new();
    for file in files("tests", "rs").into_iter().chain(files("benches", "rs")) {
        if file.path != "tests/it/tidy/words.rs" {
            found.extend(words::plain_words(&file));
        }
    }
    let texts = [
        ("schemas", "avsc"),
        ("schemas", "md"),
        ("topology", "toml"),
        ("tests", "md"),
        ("docs", "md"),
    ];
    let texts = texts.into_iter().flat_map(|(folder, ends)| files(folder, ends));
    let own = ["README.md", "ARCHITECTURE.md"].map(|path| File {
        path: path.to_owned(),
        text: fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("text"),
    });
    for file in texts.chain(own).filter(|file| !file.path.starts_with("schemas/released")) {
        found.extend(words::plain_text(&file));
        found.extend(no_place(&file));
    }
    assert!(found.is_empty(), "{} complaints:\n{}", found.len(), found.join("\n"));
}

#[test]
fn each_room_of_the_core_names_only_those_below_it() {
    let found = rooms::arrows_up(&source());
    assert!(found.is_empty(), "{} arrows:\n{}", found.len(), found.join("\n"));
}

#[test]
fn no_domain_names_another_and_what_is_general_names_one_only_at_the_joins() {
    let found = domains::broken_walls(&source());
    assert!(found.is_empty(), "{} breaches:\n{}", found.len(), found.join("\n"));
}

#[test]
fn no_files_import_each_other() {
    let found: Vec<String> =
        circles::circles(&source()).iter().map(|circle| circle.join(" <-> ")).collect();
    assert!(found.is_empty(), "{} circles:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_public_type_name_occurs_once_in_a_crate() {
    let found = type_names::names_twice(&source());
    assert!(found.is_empty(), "{} names:\n{}", found.len(), found.join("\n"));
}

// --- Each rule, seen red --------------------------------------------------------------------------

/// The complaints about one file.
fn complaints(path: &str, text: &str) -> Vec<String> {
    let file = File { path: path.to_string(), text: text.to_string() };
    tidy(&[file])
}

#[track_caller]
fn red(path: &str, text: &str, part: &str) {
    let found = complaints(path, text);
    assert!(found.len() == 1 && found[0].contains(part), "{part:?}: {found:?}");
}

#[track_caller]
fn green(path: &str, text: &str) {
    assert_eq!(complaints(path, text), Vec::<String>::new());
}

#[test]
fn the_world_is_seen_outside_the_shell() {
    red("src/core/a.rs", "use std::time::{Duration, Instant};", "`std::time::Instant`");
    red("src/wire/a.rs", "fn f() { std::env::var(\"X\"); }", "`std::env` outside the shell");
    red("src/drive/a.rs", "use std::{fs, io};", "`std::fs` outside the shell");
    red("src/sim/a.rs", "fn f() { std::thread::sleep(d); }", "`std::thread` outside the shell");
    red("src/core/a.rs", "fn f() { println!(\"x\"); }", "`println!` outside the shell");
    red("src/core/a.rs", "use rand::Rng;", "`rand` outside the shell");
    red("src/core/a.rs", "use jiff::Zoned;", "`jiff::Zoned` outside the shell");
    red("src/drive/a.rs", "fn f() { jiff::Timestamp::now() }", "`Timestamp::now` outside");
    red(
        "src/core/a.rs",
        "use jiff::Timestamp;\nfn f() { Timestamp::now() }",
        ":2: `Timestamp::now`",
    );
    green("src/core/a.rs", "use jiff::Timestamp;");
    red("src/sim/a.rs", "use std::net::TcpStream;", "`std::net` outside the shell");
    green("src/core/a.rs", "use std::time::Duration;");
    green("src/shell/a.rs", "use std::time::Instant;");
    green("src/core/a.rs", "fn f(operand: u32, a: Environment) { writeln!(x) }");
    green("src/core/a.rs", "#[cfg(test)]\nmod tests { use std::fs; fn f() { x.unwrap() } }");
}

#[test]
fn hash_maps_are_seen() {
    red("src/core/a.rs", "use std::collections::HashMap;", "a hash map in `core`");
    red("src/core/a.rs", "use std::collections::{BTreeMap, HashSet};", "a hash map in `core`");
    green("src/wire/a.rs", "use std::collections::HashMap;");
}

#[test]
fn unwraps_are_seen() {
    red("src/shell/a.rs", "fn f() { x.unwrap() }", "src/shell/a.rs:1: unwrap or expect");
    red("src/core/a.rs", "fn f() {\n x.expect(\"y\") }", "src/core/a.rs:2: unwrap or expect");
    green("src/core/a.rs", "// cannot fail: it was checked above.\nx.expect(\"y\");");
    green("src/core/a.rs", "x.unwrap_or(1);");
    green("src/core/a.rs", "/// x.unwrap()\nfn f() {}");
    green("src/core/a.rs", "#[cfg(test)]\nfn f() { x.unwrap() }\nfn g() {}");
    red("src/core/a.rs", "#[cfg(test)]\nmod t {}\nfn g() { x.unwrap() }", ":3:");
}

#[test]
fn modules_for_tests_are_left_alone() {
    let file = |path: &str, text: &str| File { path: path.to_string(), text: text.to_string() };
    let unwraps = "fn f() { x.unwrap() }";
    let declared = |how: &str| [file("src/core/lib.rs", how), file("src/core/sample.rs", unwraps)];
    assert!(tidy(&declared("#[cfg(test)]\npub mod sample;")).is_empty());
    assert_eq!(tidy(&declared("pub mod sample;")).len(), 1);
}

#[test]
fn what_is_left_for_later_is_seen() {
    red("src/core/a.rs", concat!("// TO", "DO: more"), "left for later");
}

#[test]
fn places_of_one_machine_are_seen() {
    red("src/core/a.rs", concat!("// see /wo", "rk/notes"), "a path of one machine");
    green("src/core/a.rs", "// a piece of work/life");
}

#[test]
fn long_files_and_wide_lines_are_seen() {
    red("src/core/a.rs", &"x;\n".repeat(451), "451 lines of code");
    let function =
        |lines: usize| format!("fn long(a: [u8; 3]) -> u8 {{\n{}}}", "x;\n".repeat(lines));
    red("src/core/a.rs", &function(69), "fn long: 71 lines");
    green("src/core/a.rs", &format!("trait A {{\nfn a();\n{}}}", function(68)));
    green("src/core/a.rs", &"x;\n\n// y\n".repeat(450));
    red("src/core/a.rs", &format!("//{}", "x".repeat(99)), "wider than 100 columns");
    green("src/core/a.rs", &format!("//{}", "\u{e9}".repeat(98)));
    green("src/core/a.rs", &format!("    r#\"{}\"#", "x".repeat(120)));
}

#[test]
fn literals_and_comments_are_not_code() {
    for (text, code) in [
        ("a \"b\\\"c\" d", "a        d"),
        ("a 'x' 'é' '\\n' &'a b", "a              &'a b"),
        ("a r#\"b\"c\"# d", "a           d"),
        ("a /* b\nc */ d // e\nf", "a     \n     d     \nf"),
        ("for_r(\"x\")", "for_r(   )"),
    ] {
        let found = code_of(text);
        assert_eq!(
            found.split_whitespace().collect::<Vec<_>>(),
            code.split_whitespace().collect::<Vec<_>>()
        );
        assert_eq!(found.matches('\n').count(), text.matches('\n').count());
    }
}
