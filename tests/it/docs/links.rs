//! Links in the documents: files and headings that they name exist.

use super::{Page, pages, root};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Text outside of fenced blocks and code spans. A code span may go on in the next line, so
/// paragraphs are taken as a whole; the number of each one's first line comes with it.
fn prose(page: &Page) -> Vec<(usize, String)> {
    let mut paragraphs: Vec<(usize, String)> = Vec::new();
    let mut is_open = false;
    for (number, line, is_fenced) in page.lines() {
        let is_text = !is_fenced && !line.trim().is_empty();
        if is_text && !is_open {
            paragraphs.push((number, String::new()));
        }
        if let Some((_, text)) = paragraphs.last_mut().filter(|_| is_text) {
            text.push_str(line);
            text.push('\n');
        }
        is_open = is_text;
    }
    let outside = |text: String| text.split('`').step_by(2).collect::<Vec<_>>().join("code");
    paragraphs.into_iter().map(|(number, text)| (number, outside(text))).collect()
}

/// Targets of the links of a page, with the line that each one's paragraph begins at.
fn targets(page: &Page) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, text) in prose(page) {
        for part in text.split("](").skip(1) {
            found.push((number, part.split(')').next().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// The anchor that GitHub gives a heading: lower case, hyphens for blanks, letters and digits
/// beside them; a link counts with its text only.
fn anchor(heading: &str) -> String {
    let mut text = String::new();
    for (at, part) in heading.split("](").enumerate() {
        let shown = if at == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) };
        text += shown;
    }
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The anchors of a page; headings of the same text are numbered.
fn anchors(page: &Page) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (_, line, is_fenced) in page.lines() {
        let text = line.trim_start_matches('#');
        let is_heading = !is_fenced && text.len() < line.len() && text.starts_with(' ');
        if is_heading {
            let name = anchor(text.trim());
            let before = seen.entry(name.clone()).or_default();
            found.insert(if *before == 0 { name } else { format!("{name}-{before}") });
            *before += 1;
        }
    }
    found
}

/// A path without `..` and `.`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Broken links of some pages. `exists` states whether there is a file or folder.
fn broken(pages: &[Page], exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let anchors: BTreeMap<&str, BTreeSet<String>> =
        pages.iter().map(|page| (page.path.as_str(), anchors(page))).collect();
    let mut found = Vec::new();
    for page in pages {
        for (number, target) in targets(page) {
            if ["https://", "http://", "mailto:"].iter().any(|head| target.starts_with(head)) {
                continue;
            }
            let complaint = |what: &str| format!("{}:{number}: {target}: {what}", page.path);
            let (file, heading) = target.split_once('#').unwrap_or((&target, ""));
            let beside = Path::new(&page.path).parent().unwrap_or(Path::new(""));
            let path = match file {
                "" => PathBuf::from(&page.path),
                file => plain(&beside.join(file)),
            };
            match anchors.get(path.to_string_lossy().as_ref()) {
                Some(known) if !heading.is_empty() && !known.contains(heading) => {
                    found.push(complaint("there is no such heading"));
                }
                None if !heading.is_empty() => found.push(complaint("no page with headings")),
                None if !exists(&path) => found.push(complaint("there is no such file")),
                _ => {}
            }
        }
    }
    found
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let found = broken(&pages(), |path| root().join(path).exists());
    assert!(found.is_empty(), "{} broken links:\n{}", found.len(), found.join("\n"));
}

/// The targets of the links of the page at a path.
fn linked(pages: &[Page], path: &str) -> BTreeSet<String> {
    let page = pages.iter().find(|page| page.path == path).expect("the page");
    targets(page).into_iter().map(|(_, target)| target).collect()
}

/// Pages of the design are linked from the map of the source, all others from the README.
#[test]
fn every_page_of_docs_is_linked_from_the_readme_or_from_the_map() {
    let pages = pages();
    let (readme, map) = (linked(&pages, "README.md"), linked(&pages, "ARCHITECTURE.md"));
    let is_linked = |path: &str| match path.starts_with("docs/design/") {
        true => map.contains(path),
        false => readme.contains(path),
    };
    let paths = pages.iter().map(|page| page.path.as_str());
    let missing: Vec<&str> = paths.filter(|path| !is_linked(path)).collect();
    assert_eq!(missing, ["README.md"]);
}

/// Messages of the program, its comments and the tests name pages: `docs/security.md`.
#[test]
fn every_page_that_the_source_names_exists() {
    let mut left =
        ["src", "tests", "topology", "schemas", "clients"].map(|it| root().join(it)).to_vec();
    let mut named = 0;
    while let Some(path) = left.pop() {
        if path.ends_with("tests/it/docs") {
            continue; // Its examples name pages that do not exist.
        }
        if path.is_dir() {
            left.extend(fs::read_dir(&path).expect("a folder").flatten().map(|it| it.path()));
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for part in text.split("docs/").skip(1) {
            let is_name = |c: char| c.is_ascii_lowercase() || "-/".contains(c);
            let name = part.split(|c| !is_name(c)).next().unwrap_or_default();
            if !name.is_empty() && part[name.len()..].starts_with(".md") {
                named += 1;
                let page = format!("docs/{name}.md");
                assert!(root().join(&page).is_file(), "{}: no {page}", path.display());
            }
        }
    }
    assert!(named > 3, "some messages name a page: {named}");
}

#[test]
fn broken_links_are_seen() {
    let pages = [
        Page::new("README.md", "# One\n[a](docs/a.md#two-words) [b](docs/a.md#three) [c](x.md)\n"),
        Page::new(
            "docs/a.md",
            "# Two `words`\n[up](../README.md#one), `span that\ngoes on` [here](#two-words-1)\n\n\
             ```sh\n[no](link)\n```\n## Two [words](../README.md)\n[out](https://example.org/x)\n\
             [gone](#gone)\n",
        ),
    ];
    let found = broken(&pages, |path| path == Path::new("LICENSE"));
    let expected = [
        "README.md:1: docs/a.md#three: there is no such heading",
        "README.md:1: x.md: there is no such file",
        "docs/a.md:8: #gone: there is no such heading",
    ];
    assert_eq!(found, expected);
}
