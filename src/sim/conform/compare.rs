//! A judgement beside what was recorded.

use super::Judged;
use super::json::{entries, items, number, text, texts};
use super::ties::at_the_cut;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Weights agree when they differ by no more than this, relatively.
const WEIGHT_TOLERANCE: f64 = 1e-9;
/// A weight of a document, given in few digits, is meant within this.
const DOCUMENT_TOLERANCE: f64 = 0.005;

/// In what a judgement agrees with what was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Verdict.
    pub verdict: bool,
    /// Set of candidates, or the nucleus.
    pub candidates: bool,
    /// Weights.
    pub weights: bool,
    /// Set of skipped queues.
    pub skipped: bool,
    /// Why each was skipped.
    pub reasons: bool,
    /// Differences, a line each.
    pub differences: Vec<String>,
}

impl Agreement {
    /// Whether all agrees.
    pub fn is_whole(&self) -> bool {
        self.verdict && self.candidates && self.weights && self.skipped && self.reasons
    }

    /// Why a case that does not agree is out of scope, if it is: its answer needs a figure that no
    /// records give, and every difference shows that figure or may come of one that does. All may
    /// come of another verdict.
    pub fn excuse(&self, judged: &Judged) -> Option<&'static str> {
        let why_of = |line: &String| {
            let shows = |word: &&str| line.contains(word);
            judged.unstated.iter().find(|(_, words)| words.iter().any(shows)).map(|(why, _)| *why)
        };
        let is_verdict = |line: &&String| line.starts_with("verdict: ");
        if let Some(why) = self.differences.iter().filter(is_verdict).find_map(why_of) {
            return Some(why);
        }
        let comes_of_another = |line: &&String| {
            ["verdict: ", "candidates: ", "nucleus: "].iter().any(|it| line.starts_with(it))
                || line.ends_with("(low_weight)")
        };
        let own = self.differences.iter().filter(|line| !comes_of_another(line));
        let whys: Option<Vec<&'static str>> = own.map(why_of).collect();
        whys?.first().copied()
    }
}

/// Agreements counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Cases compared.
    pub cases: u32,
    /// Those that agree in all.
    pub whole: u32,
    /// Those that agree in verdict, candidates, weights, skipped queues, reasons.
    pub parts: [u32; 5],
}

impl Summary {
    /// Counts an agreement.
    pub fn add(&mut self, agreement: &Agreement) {
        self.cases += 1;
        self.whole += u32::from(agreement.is_whole());
        let Agreement { verdict, candidates, weights, skipped, reasons, .. } = agreement;
        let parts = [verdict, candidates, weights, skipped, reasons];
        for (count, agrees) in self.parts.iter_mut().zip(parts) {
            *count += u32::from(*agrees);
        }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [verdict, candidates, weights, skipped, reasons] = self.parts;
        write!(
            f,
            "agreed {} of {} (verdict {verdict}, candidates {candidates}, weights {weights}, \
             skipped {skipped}, reasons {reasons})",
            self.whole, self.cases
        )
    }
}

fn is_close(ours: f64, theirs: f64, tolerance: f64) -> bool {
    (ours - theirs).abs() <= tolerance * ours.abs().max(theirs.abs()).max(1e-300)
}

/// Against what PanDA did: to the last bits, or, where a figure of the case is known in whole
/// numbers alone, as near as that lets it come.
pub fn with_panda(whole: &Value, judged: &Judged) -> Option<Agreement> {
    let exact = within(whole, judged, WEIGHT_TOLERANCE)?;
    let is_near = judged.tolerance > WEIGHT_TOLERANCE && !exact.is_whole();
    if is_near { within(whole, judged, judged.tolerance) } else { Some(exact) }
}

fn within(whole: &Value, judged: &Judged, tolerance: f64) -> Option<Agreement> {
    let expected = whole["expected"].as_object()?;
    let empty = Value::Null;
    let of = |name: &str| expected.get(name).unwrap_or(&empty);
    let mut agreement = Agreement::default();
    let mut ties = at_the_cut(&whole["expected"], judged);
    ties.extend(entries(of("reason_order_dependent")).map(|(queue, _)| queue.clone()));
    let verdict = text(of("verdict"));
    agreement.verdict = verdict == judged.verdict || is_another(of("alternatives"), judged);
    if !agreement.verdict {
        let ours = format!("{} {}", judged.verdict, judged.reason);
        let theirs = format!("{verdict} {}", text(of("reason")));
        let (ours, theirs) = (ours.trim_end(), theirs.trim_end());
        agreement.differences.push(format!("verdict: ours {ours}, theirs {theirs}"));
    }
    if whole["kind"].as_str() == Some("prod_task") {
        (agreement.candidates, agreement.weights) = (true, true);
        nucleus(of("nucleus"), judged, &mut agreement);
        weights_of(of("candidates"), judged, tolerance, &mut agreement);
        for (theirs, ours) in items(of("more_tasks")).zip(&judged.more) {
            nucleus(&theirs["nucleus"], ours, &mut agreement);
            weights_of(&theirs["candidates"], ours, tolerance, &mut agreement);
        }
    } else {
        candidates(of("candidates"), of("alternatives"), judged, &ties, &mut agreement);
        weights(of("candidates"), judged, tolerance, &mut agreement);
    }
    skipped(expected.get("skipped"), of("reason_ambiguous"), judged, &ties, &mut agreement);
    Some(agreement)
}

fn nucleus(theirs: &Value, judged: &Judged, agreement: &mut Agreement) {
    let theirs = theirs.as_str().map(str::to_owned);
    if theirs != judged.nucleus {
        agreement.candidates = false;
        let line = format!("nucleus: ours {:?}, theirs {theirs:?}", judged.nucleus);
        agreement.differences.push(line);
    }
}

fn weights_of(theirs: &Value, judged: &Judged, tolerance: f64, agreement: &mut Agreement) {
    for it in items(theirs) {
        let (name, theirs) = (text(&it["nucleus"]), number(&it["weight"]));
        let ours = judged.weighed.get(&name);
        let same = ours.zip(theirs).is_some_and(|(a, b)| is_close(*a, b, tolerance));
        if !same {
            agreement.weights = false;
            agreement.differences.push(format!("weight {name}: ours {ours:?}, theirs {theirs:?}"));
        }
    }
}

fn names(candidates: &Value) -> BTreeSet<String> {
    items(candidates)
        .map(|it| it.as_str().map_or_else(|| text(&it["queue"]), str::to_owned))
        .collect()
}

/// Whether a judgement is one of those that equal weights let PanDA come to as well.
fn is_another(others: &Value, judged: &Judged) -> bool {
    let ours = || judged.candidates.iter().map(|it| it.0.clone()).collect::<BTreeSet<String>>();
    items(others).any(|other| {
        text(&other["verdict"]) == judged.verdict && names(&other["candidates"]) == ours()
    })
}

fn candidates(
    theirs: &Value,
    others: &Value,
    judged: &Judged,
    ties: &BTreeSet<String>,
    agreement: &mut Agreement,
) {
    let ours: BTreeSet<String> = judged.candidates.iter().map(|it| it.0.clone()).collect();
    let recorded = names(theirs);
    agreement.candidates = ours.symmetric_difference(&recorded).all(|it| ties.contains(it))
        || items(others).any(|other| ours == names(&other["candidates"]));
    if !agreement.candidates {
        let more: Vec<&String> = ours.difference(&recorded).collect();
        let less: Vec<&String> = recorded.difference(&ours).collect();
        agreement.differences.push(format!("candidates: only ours {more:?}, only theirs {less:?}"));
    }
}

fn weights(theirs: &Value, judged: &Judged, tolerance: f64, agreement: &mut Agreement) {
    let ours: BTreeMap<&str, f64> =
        judged.candidates.iter().map(|it| (it.0.as_str(), it.2)).collect();
    agreement.weights = true;
    for it in items(theirs) {
        let (queue, theirs) = (text(&it["queue"]), number(&it["weight"]));
        let (Some(ours), Some(theirs)) = (ours.get(queue.as_str()), theirs) else { continue };
        if !is_close(*ours, theirs, tolerance) {
            agreement.weights = false;
            agreement.differences.push(format!("weight {queue}: ours {ours}, theirs {theirs}"));
        }
    }
}

fn skipped(
    theirs: Option<&Value>,
    ambiguous: &Value,
    judged: &Judged,
    ties: &BTreeSet<String>,
    agreement: &mut Agreement,
) {
    (agreement.skipped, agreement.reasons) = (true, true);
    let Some(theirs) = theirs else { return };
    let ambiguous = texts(ambiguous);
    for (queue, tag) in entries(theirs).filter(|(queue, _)| !ties.contains(*queue)) {
        match judged.skipped.get(queue) {
            None => {
                agreement.skipped = false;
                agreement.differences.push(format!("skipped: only theirs {queue} ({})", text(tag)));
            }
            Some(ours) if *ours != text(tag) && !ambiguous.contains(queue) => {
                agreement.reasons = false;
                let line = format!("reason {queue}: ours {ours}, theirs {}", text(tag));
                agreement.differences.push(line);
            }
            Some(_) => {}
        }
    }
    for (queue, tag) in judged.skipped.iter().filter(|(queue, _)| !ties.contains(*queue)) {
        if theirs.get(queue).is_none() {
            agreement.skipped = false;
            agreement.differences.push(format!("skipped: only ours {queue} ({tag})"));
        }
    }
}

/// Against what the document says.
pub fn with_document(whole: &Value, judged: &Judged) -> Option<Agreement> {
    let says = &whole["doc"]["says"];
    let target = text(&whole["target"]);
    let chosen = |name: &str| {
        judged.candidates.iter().any(|it| it.0 == name)
            || judged.nucleus.as_deref() == Some(name)
            || judged.weighed.contains_key(name)
    };
    let agrees = match says {
        Value::Null => return None,
        Value::String(word) if word == "kept" => chosen(&target),
        Value::String(word) if word == "skipped" => !chosen(&target),
        Value::Object(stated) => stated.iter().all(|(what, value)| match what.as_str() {
            "verdict" => text(value) == judged.verdict,
            "nucleus" => value.as_str().map(str::to_owned) == judged.nucleus,
            "weight" => {
                weight_of(judged, &target).zip(number(value)).is_some_and(|(ours, theirs)| {
                    let few = value.to_string().chars().filter(char::is_ascii_digit).count() <= 3;
                    let tolerance = if few { DOCUMENT_TOLERANCE } else { WEIGHT_TOLERANCE };
                    is_close(ours, theirs, tolerance)
                })
            }
            _ => false,
        }),
        _ => false,
    };
    let mut agreement = Agreement {
        verdict: agrees,
        candidates: agrees,
        weights: agrees,
        skipped: agrees,
        reasons: agrees,
        differences: Vec::new(),
    };
    if !agrees {
        let (fate, weight) = (judged.skipped.get(&target), weight_of(judged, &target));
        agreement.differences.push(format!(
            "{target}: the document says {says}; ours: {}, nucleus {:?}, skipped for {fate:?}, \
             weight {weight:?}",
            judged.verdict, judged.nucleus
        ));
    }
    Some(agreement)
}

fn weight_of(judged: &Judged, name: &str) -> Option<f64> {
    let chosen = judged.candidates.iter().find(|it| it.0 == name).map(|it| it.2);
    chosen.or_else(|| judged.weighed.get(name).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_excused_only_if_every_difference_may_come_of_the_unstated_figure() {
        let unstated = [("no rate", &["badsite"][..])].into();
        let judged = Judged { unstated, ..Judged::default() };
        let excuse = |differences: &[&str]| {
            let differences = differences.iter().map(|it| it.to_string()).collect();
            Agreement { differences, ..Agreement::default() }.excuse(&judged)
        };
        let shown = "skipped: only theirs A (badsite)";
        for excused in [
            &[shown][..],
            &["candidates: only ours [A], only theirs []", shown],
            &[shown, "skipped: only ours B (low_weight)"],
            &["verdict: ours pending, theirs throttled badsite", "skipped: only ours B (no_data)"],
        ] {
            assert_eq!(excuse(excused), Some("no rate"), "{excused:?}");
        }
        for not_excused in [
            &[][..],
            &["candidates: only ours [A], only theirs []"],
            &[shown, "skipped: only ours B (no_data)"],
            &[shown, "weight B: ours 1, theirs 2"],
            &["verdict: ours pending, theirs assigned", "skipped: only ours B (no_data)", shown],
        ] {
            assert_eq!(excuse(not_excused), None, "{not_excused:?}");
        }
    }
}
