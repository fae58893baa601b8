//! Texts made to be expensive: each is answered at once, by an error that names its bound.

use super::{alternatives, jobs};
use crate::domain::nordugrid::xrsl::{
    ALTERNATIVES_MAX, DEPTH_MAX, Dialect, EXPANDED_BYTES_MAX, TEXT_BYTES_MAX, XrslError, read,
};

fn error(text: &str) -> XrslError {
    read(text, Dialect::User).expect_err("a bound")
}

#[test]
fn nesting_is_read_up_to_its_bound() {
    let lists = |depth: usize| format!("x={}{}", "(".repeat(depth), ")".repeat(depth));
    let items = |depth: usize| format!("{}a=1{}", "&(".repeat(depth), ")".repeat(depth));
    let choices = |depth: usize| format!("{}a=1{}", "|(".repeat(depth), ")".repeat(depth));
    let elements = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert_eq!(error(&elements(DEPTH_MAX)).code.name(), "unknown_language");
    assert_eq!(error(&elements(DEPTH_MAX + 1)).code.name(), "too_deep");
    assert_eq!(error(&"<a>".repeat(TEXT_BYTES_MAX / 3)).code.name(), "too_deep");
    for nested in [lists, items, choices] {
        assert_eq!(alternatives(&nested(DEPTH_MAX)).len(), 1);
        let error = error(&nested(DEPTH_MAX + 1));
        assert_eq!(error.code.name(), "too_deep");
        assert!(error.to_string().contains(&format!("{DEPTH_MAX} levels")), "{error}");
    }
    assert_eq!(error(&lists(TEXT_BYTES_MAX / 2 - 1)).code.name(), "too_deep");
    assert_eq!(error(&"&(".repeat(TEXT_BYTES_MAX / 2)).code.name(), "too_deep");
}

#[test]
fn the_length_of_a_text_is_bounded() {
    let text = |length: usize| format!("a={}", "b".repeat(length - 2));
    jobs(&text(TEXT_BYTES_MAX));
    let error = error(&text(TEXT_BYTES_MAX + 1));
    assert_eq!((error.code.name(), TEXT_BYTES_MAX), ("too_long", 1_048_576));
    assert!(error.to_string().contains("1,048,576"), "{error}");
}

/// Twelve choices of two make the most alternatives that are read, thirteen too many; forty would
/// fill any memory.
#[test]
fn alternatives_do_not_multiply_without_end() {
    let choices = |count: usize| format!("&{}", "(|(queue=x)(queue=y))".repeat(count));
    assert_eq!(alternatives(&choices(12)).len(), ALTERNATIVES_MAX);
    for count in [13, 40, 10_000] {
        let error = error(&choices(count));
        assert_eq!((error.code.name(), error.line), ("too_many_alternatives", 1));
        assert!(error.to_string().contains("4,096"), "{error}");
    }
    let jobs = format!("+{}", "(&(|(a=1)(a=2)))".repeat(ALTERNATIVES_MAX / 2 + 1));
    assert_eq!(error(&jobs).code.name(), "too_many_alternatives", "of all jobs together");
    let large = format!("&(x={}){}", "b".repeat(100_000), "(|(queue=x)(queue=y))".repeat(8));
    assert_eq!(error(&large).code.name(), "too_large");
}

#[test]
fn variables_do_not_grow_without_end() {
    let mut text = "&(rsl_substitution=(V0 0123456789))".to_owned();
    for number in 1..60 {
        let before = number - 1;
        text += &format!("(rsl_substitution=(V{number} $(V{before})$(V{before})))");
    }
    let error = error(&text);
    assert_eq!((error.code.name(), EXPANDED_BYTES_MAX), ("too_large", 16 << 20));
    assert!(error.to_string().contains("16 MiB"), "{error}");
}

#[test]
fn many_short_attributes_are_read() {
    let text = format!("&{}", "(a=)".repeat(100_000));
    assert_eq!(alternatives(&text)[0].attributes.len(), 100_000);
    assert_eq!(alternatives(&text)[0].unknown_attributes, ["a"]);
    let files: String = (0..50_000).map(|at| format!("(f{at} u)")).collect();
    let files = format!("&(inputfiles={files})(executables=f7)");
    assert_eq!(alternatives(&files)[0].input_files.len(), 50_000);
}
