//! Differences between two texts, line by line.

/// Lines of both texts: those of the first alone behind `-`, of the second alone behind `+`, and
/// some of those they share around them; empty where they are equal.
pub fn diff(expected: &str, found: &str) -> String {
    if expected == found {
        return String::new();
    }
    let (a, b): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let longest = longest_common(&a, &b);
    let (mut at, mut bt, mut lines) = (0, 0, Vec::new());
    while at < a.len() || bt < b.len() {
        let is_shared = at < a.len() && bt < b.len() && a[at] == b[bt];
        if is_shared {
            lines.push((' ', a[at]));
            (at, bt) = (at + 1, bt + 1);
        } else if bt == b.len() || at < a.len() && longest[at + 1][bt] >= longest[at][bt + 1] {
            lines.push(('-', a[at]));
            at += 1;
        } else {
            lines.push(('+', b[bt]));
            bt += 1;
        }
    }
    let is_near = |at: usize| {
        let near = &lines[at.saturating_sub(CONTEXT)..(at + CONTEXT + 1).min(lines.len())];
        near.iter().any(|(mark, _)| *mark != ' ')
    };
    let shown = lines.iter().enumerate().filter(|(at, _)| is_near(*at));
    shown.map(|(_, (mark, line))| format!("  {mark} {line}\n")).collect()
}

/// Shared lines shown before and behind what differs.
const CONTEXT: usize = 2;

/// The length of the longest common subsequence of what is left from each pair of places on.
fn longest_common(a: &[&str], b: &[&str]) -> Vec<Vec<u32>> {
    let mut longest = vec![vec![0; b.len() + 1]; a.len() + 1];
    for at in (0..a.len()).rev() {
        for bt in (0..b.len()).rev() {
            longest[at][bt] = match a[at] == b[bt] {
                true => longest[at + 1][bt + 1] + 1,
                false => longest[at + 1][bt].max(longest[at][bt + 1]),
            };
        }
    }
    longest
}
