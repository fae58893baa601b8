//! Limits that decisions state, as a demo counts them.

use yardmaster_core::output::decision::Decision;

/// Most limits that do not hold and are shown.
const SHOWN: usize = 10;

/// Counts of limits that decisions state, and those that were exceeded.
#[derive(Default)]
pub(super) struct Limits {
    stated: u64,
    broken: u64,
    shown: Vec<String>,
}

impl Limits {
    /// Counts those of decisions.
    pub fn count<'a>(&mut self, decisions: impl Iterator<Item = &'a Decision>) {
        for decision in decisions {
            for limit in &decision.limits {
                self.stated += 1;
                if limit.after <= limit.max && limit.before <= limit.after {
                    continue;
                }
                self.broken += 1;
                if self.shown.len() < SHOWN {
                    self.shown.push(format!(
                        "limit {} of {}, {} attempt {}: before {}, after {}, most {}",
                        limit.name,
                        limit.of,
                        decision.subject,
                        decision.attempt,
                        limit.before,
                        limit.after,
                        limit.max
                    ));
                }
            }
        }
    }

    /// Whether all hold.
    pub fn hold(&self) -> bool {
        self.broken == 0
    }

    /// Prints it, if any was stated.
    pub fn print(&self) {
        self.shown.iter().for_each(|line| println!("  {line}"));
        match (self.stated, self.broken) {
            (0, _) => {}
            (stated, 0) => println!("limits: {stated} stated in decisions, all hold"),
            (stated, broken) => println!("limits: {broken} of {stated} do not hold"),
        }
    }
}
