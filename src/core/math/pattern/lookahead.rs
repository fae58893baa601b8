//! Looking ahead: where in a text a look ahead holds, found in one walk from the text's end, so
//! that its work too is bounded by length of the program times length of the text.

use super::{Look, Spot, Step};

/// By look ahead and number of letters before: whether it holds there.
pub(super) fn holds(looks: &[Look], text: &str) -> Vec<Vec<bool>> {
    let mut all: Vec<Vec<bool>> = Vec::new();
    for look in looks {
        let found = found_from(&look.program, text, &all);
        all.push(found.into_iter().map(|found| found == look.wanted).collect());
    }
    all
}

/// By number of letters before: whether a match begins there. `holds` is of the look aheads that
/// the program needs.
fn found_from(program: &[Step], text: &str, holds: &[Vec<bool>]) -> Vec<bool> {
    let before = without_a_letter(program);
    let letters = text.chars().count();
    let mut found = vec![false; letters + 1];
    let mut next = vec![false; program.len()];
    let mut here = vec![false; program.len()];
    let mut to_do = Vec::new();
    let ends = text.char_indices().map(|(byte, letter)| (byte, Some(letter)));
    let spots = ends.chain([(text.len(), None)]).collect::<Vec<_>>();
    for (at, (byte, letter)) in spots.into_iter().enumerate().rev() {
        let spot = Spot { at, rest: &text[byte..], holds };
        here.fill(false);
        for (index, step) in program.iter().enumerate() {
            here[index] = match (step, letter) {
                (Step::Found, _) => true,
                (Step::One(one), Some(letter)) => one.takes(letter) && next[index + 1],
                _ => false,
            };
            if here[index] {
                to_do.push(index);
            }
        }
        while let Some(index) = to_do.pop() {
            for from in &before[index] {
                if !here[*from] && spot.lets_through(&program[*from]) {
                    here[*from] = true;
                    to_do.push(*from);
                }
            }
        }
        found[at] = here[0];
        std::mem::swap(&mut here, &mut next);
    }
    found
}

/// By place: the places from which it is reached without a letter.
fn without_a_letter(program: &[Step]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); program.len()];
    for (index, step) in program.iter().enumerate() {
        match step {
            Step::Split(one, other) => {
                before[*one].push(index);
                before[*other].push(index);
            }
            Step::Jump(to) => before[*to].push(index),
            Step::Start | Step::End | Step::Look(_) => before[index + 1].push(index),
            Step::One(_) | Step::Found => {}
        }
    }
    before
}
