use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::parse::PatternNode;
use super::*;
use crate::dice::Dice;

/// Pattern, text, and whether it matches at the start, in full, anywhere; as in Python's `re`.
const CASES: &[(&str, &str, bool, bool, bool)] = &[
    ("", "", true, true, true),
    (r"\AUS", "US_A", true, false, true),
    (r"\AUS", "A_US", false, false, false),
    (r"US_A\Z", "US_A", true, true, true),
    (r"US_A\Z", "US_A\n", false, false, false),
    ("(?i)us_a", "US_A", true, true, true),
    ("(?i)[a-c]x", "BX", true, true, true),
    ("(?i)[A-C]x", "bX", true, true, true),
    ("(?i)[^a-c]", "B", false, false, false),
    ("(?i)ä", "Ä", true, true, true),
    ("us_a", "US_A", false, false, false),
    ("(?P<site>US)_A", "US_A", true, true, true),
    ("(?P<a1>a|b)+", "abab", true, true, true),
    (r"(?i)\d\.k", "1.K", true, true, true),
    ("", "a", true, false, true),
    ("managed", "managed", true, true, true),
    ("managed", "managed_x", true, false, true),
    ("managed", "unmanaged", false, false, true),
    ("(managed|test)", "test1", true, false, true),
    ("^(managed|test)$", "test1", false, false, false),
    ("AP_.*", "AP_HIGG", true, true, true),
    ("AP_.*", "GP_AP_HIGG", false, false, true),
    (" ", " ", true, true, true),
    ("MC[0-9]+[a-z]*", "MC23a", true, true, true),
    ("MC[0-9]+[a-z]*", "MC", false, false, false),
    ("[^M].*", "Data", true, true, true),
    ("[^M].*", "MC", false, false, true),
    (r"mc\d\d_\d+TeV", "mc23_13TeV", true, true, true),
    (r"a\.b", "axb", false, false, false),
    (r"a\.b", "a.b", true, true, true),
    ("x86_64-.*-gcc1[13]-opt", "x86_64-el9-gcc13-opt", true, true, true),
    ("(x86_64|aarch64)-el9-gcc13-opt", "aarch64-el9-gcc13-opt", true, true, true),
    ("a*?b", "aab", true, true, true),
    ("a+?$", "aa", true, true, true),
    ("(a|ab)(c|bcd)", "abcd", true, true, true),
    ("(?:ab)?c", "c", true, true, true),
    ("a{2,3}", "aaaa", true, false, true),
    ("a{2}", "a", false, false, false),
    ("a{,2}b", "aab", true, true, true),
    ("a{x}", "a{x}", true, true, true),
    ("[]a]+", "a]", true, true, true),
    ("[a-]+", "a-", true, true, true),
    (r"[\d.]+", "1.2", true, true, true),
    (r"[^\d]", "1", false, false, false),
    (r"\w+\s\W", "ab !", true, true, true),
    ("a$", "a\n", true, false, true),
    (".", "\n", false, false, false),
    ("|a", "b", true, false, true),
    ("(a*)*b", "aaab", true, true, true),
    ("(^a|b)+", "ab", true, true, true),
    ("$", "a", false, false, true),
    ("β+", "ββ", true, true, true),
    ("a}", "a}", true, true, true),
    ("(?!(GP_|SOFT)).*", "AP_MCGN", true, true, true),
    ("(?!(GP_|SOFT)).*", "GP_HIGG", false, false, true),
    ("(?!(GP_|SOFT)).*", " ", true, true, true),
    ("^(?!.*test).*$", "ptest", false, false, false),
    ("^(?!.*test).*$", "simul", true, true, true),
    ("(?=.*b)a+", "aab", true, false, true),
    ("(?=.*b)a+", "aa", false, false, false),
    ("(?!(?!a))a", "a", true, true, true),
    ("(?!(?!a))", "b", false, false, false),
    ("x(?=y$|(?=z))", "xz", true, false, true),
    ("(?:(?!b).)*", "aab", true, false, true),
    ("a]", "a]", true, true, true),
];

#[test]
fn patterns_match_as_pythons_do() {
    for (pattern, text, start, full, anywhere) in CASES {
        let read = Pattern::new(pattern).unwrap_or_else(|| panic!("{pattern:?} is a pattern"));
        let found = (read.is_match_start(text), read.is_full_match(text), read.is_found_in(text));
        assert_eq!(found, (*start, *full, *anywhere), "{pattern:?} on {text:?}");
    }
}

#[test]
fn what_is_no_pattern_is_none() {
    let wrong = [
        "(", ")", "a)", "(a", "[", "[a", "[]", "[b-a]", r"[\d-z]", "*", "+a", "?", "a**", "a+*",
        "a{2}{3}", "{2}", "a{3,2}", "^*", "(*a)", "|*", r"\", r"\1", r"\q", "(?<=a)", "(?<!a)",
        "(?<n>a)", "a(?i)", "(?P<1>a)", "(?P<n>a", "(?s)a", r"\ba", "(?!a", "(?",
    ];
    for pattern in wrong {
        assert_eq!(Pattern::new(pattern), None, "{pattern:?}");
    }
}

#[test]
fn what_would_grow_without_bound_is_none() {
    let deep = format!("{}a{}", "(".repeat(60), ")".repeat(60));
    let long = "a".repeat(PATTERN_MAX_BYTES + 1);
    for pattern in [&deep, &long, "a{1001}", "((a{100}){100}){100}", "(((){1000}){1000}){1000}"] {
        assert_eq!(Pattern::new(pattern), None, "{pattern:.40}");
    }
    assert!(Pattern::new(&"a".repeat(write::STEPS_MAX - 1)).is_some());
}

/// Each of these takes a backtracking matcher longer than the machine lasts.
#[test]
fn no_pattern_makes_the_work_explode() {
    let text = "a".repeat(TEXT_MAX_BYTES);
    let begun = Instant::now();
    let worst = format!("{}{}", "a?".repeat(150), "a".repeat(150));
    for pattern in [
        "(a*)*b",
        "(a|a)*b",
        "(a|aa)+$b",
        "(.*)(.*)(.*)(.*)(.*)b",
        &worst,
        "((a?){9}){9}b",
        "((?!(a*)*c)(?=(a|aa)*$)a)*b",
    ] {
        let read = Pattern::new(pattern).expect("a pattern");
        let _ = (read.is_match_start(&text), read.is_full_match(&text), read.is_found_in(&text));
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[test]
fn a_text_beyond_the_limit_matches_nothing() {
    let long = "a".repeat(TEXT_MAX_BYTES + 1);
    for pattern in ["", "a", "a*", ".*"] {
        let read = Pattern::new(pattern).expect("a pattern");
        assert!(read.is_match_start(&long[1..]));
        assert!(!read.is_match_start(&long) && !read.is_full_match(&long));
        assert!(!read.is_found_in(&long));
    }
}

/// The dumb twin: every end of a match that begins at `at`, by trying all.
fn ends(node: &PatternNode, text: &[char], at: usize) -> BTreeSet<usize> {
    let one = |holds: bool, end: usize| if holds { BTreeSet::from([end]) } else { BTreeSet::new() };
    match node {
        PatternNode::One(one_of) => {
            let holds = text.get(at).is_some_and(|letter| one_of.takes(*letter));
            one(holds, at + 1)
        }
        PatternNode::Start => one(at == 0, at),
        PatternNode::End => one(at == text.len() || text[at..] == ['\n'], at),
        PatternNode::Row(nodes) => nodes.iter().fold(BTreeSet::from([at]), |from, node| {
            from.into_iter().flat_map(|at| ends(node, text, at)).collect()
        }),
        PatternNode::Either(nodes) => nodes.iter().flat_map(|node| ends(node, text, at)).collect(),
        PatternNode::Look(node, wanted) => one(ends(node, text, at).is_empty() != *wanted, at),
        PatternNode::Repeat(repeat) => {
            let mut all = BTreeSet::new();
            let mut from = BTreeSet::from([at]);
            // A round without progress adds nothing: so many rounds are enough.
            let rounds = repeat.most.unwrap_or(repeat.least + text.len() as u32 + 1);
            for round in 0..=rounds {
                if round >= repeat.least {
                    all.extend(from.iter().copied());
                }
                from = from.into_iter().flat_map(|at| ends(&repeat.node, text, at)).collect();
            }
            all
        }
    }
}

#[test]
fn random_patterns_match_as_the_twin_says() {
    const PIECES: [&str; 24] = [
        "a", "b", "c", ".", "(", ")", "(", ")", "|", "*", "+", "?", "[ab]", "[^a]", "[b-c]", "^",
        "$", "{2}", "{1,}", "{0,2}", r"\w", "\n", "(?!", "(?=",
    ];
    let mut dice = Dice::of("pattern", "twin", 0, 0, 0);
    let mut draw = move |sides: usize| (dice.word() % sides as u64) as usize;
    let mut read = 0;
    while read < 3_000 {
        let pattern: String = (0..1 + draw(9)).map(|_| PIECES[draw(PIECES.len())]).collect();
        let (Some(ours), Some(tree)) = (Pattern::new(&pattern), parse::parse(&pattern)) else {
            continue;
        };
        read += 1;
        for _ in 0..8 {
            let text: String = (0..draw(6)).map(|_| ["a", "b", "c", "\n"][draw(4)]).collect();
            let letters: Vec<char> = text.chars().collect();
            let from_start = ends(&tree, &letters, 0);
            let anywhere = (0..=letters.len()).any(|at| !ends(&tree, &letters, at).is_empty());
            let twin = (!from_start.is_empty(), from_start.contains(&letters.len()), anywhere);
            let found =
                (ours.is_match_start(&text), ours.is_full_match(&text), ours.is_found_in(&text));
            assert_eq!(found, twin, "{pattern:?} on {text:?}");
        }
    }
}
