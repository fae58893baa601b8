//! Recorded cases judged: the reader and comparer themselves, on small cases written here.

use yardmaster::core::policy::Rules;
use yardmaster::sim::conform::{Recorded, Tally};

/// By hand, for files of recorded cases: `YARDMASTER_CASES=FILE[:FILE...]` (unpacked) and
/// `YARDMASTER_RULES=panda|documented`, with `--ignored --nocapture`.
#[test]
#[ignore = "needs files of recorded cases; see YARDMASTER_CASES"]
fn recorded_cases_agree() {
    let files = std::env::var("YARDMASTER_CASES").expect("YARDMASTER_CASES names files");
    let rules = match std::env::var("YARDMASTER_RULES").as_deref() {
        Ok("panda") => Rules::Panda,
        _ => Rules::Documented,
    };
    let mut tally = Tally::default();
    for path in files.split(':') {
        for line in std::fs::read_to_string(path).expect("a file of cases").lines() {
            let case = Recorded::read(line).expect("a case");
            let judged = case.judge(rules).expect("a judgement");
            if case.out_of_scope().is_some() {
                continue;
            }
            let Some(agreement) = case.compare(&judged, rules) else { continue };
            tally.add(&agreement);
            if !agreement.is_whole() {
                println!("{} {}", case.id, case.rule());
                agreement.differences.iter().for_each(|line| println!("    {line}"));
            }
        }
    }
    println!("{tally}");
    assert_eq!(tally.whole, tally.cases);
}
