//! The kill switch, as an executor reads it.

use yardmaster_core::event::{Parameter, kill_switch};
use yardmaster_core::fold::{Written, join_fact};
use yardmaster_core::govern::is_kill_switch_on;
use yardmaster_core::state::record::Fact;

/// The parameter that stops all commands of a domain, and whether that was reported.
pub(super) struct Switch {
    fact: Fact<Parameter>,
    is_reported: bool,
}

impl Switch {
    /// Of a domain; off.
    pub fn new(domain: &str) -> Switch {
        Switch { fact: Fact { name: kill_switch(domain), held: Vec::new() }, is_reported: false }
    }

    /// Takes up a record of a parameter, or that it was removed. Others have no effect.
    pub fn take(&mut self, written: &Written, name: &str, record: Option<&Parameter>) {
        if name != self.fact.name {
            return;
        }
        match record {
            Some(record) => drop(join_fact(&mut self.fact, written, record)),
            None => self.fact.held.retain(|(lane, _)| *lane != written.lane),
        }
    }

    /// Whether nothing may be carried out. Each change is reported once.
    pub fn is_on(&mut self) -> bool {
        let is_on = is_kill_switch_on(&self.fact);
        let name = &self.fact.name;
        match (is_on, self.is_reported) {
            (true, false) => tracing::warn!(
                "the kill switch is on: parameter {name} stops all commands; none is carried out \
                 until it is off, no, false, 0, empty or removed"
            ),
            (false, true) => {
                tracing::info!("the kill switch is off: parameter {name}; commands go on");
            }
            _ => {}
        }
        self.is_reported = is_on;
        is_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::cut::{Lane, Topic};
    use yardmaster_core::unit::Millis;

    fn record(key: &str, value: &str, changed_at: Millis) -> Parameter {
        let [app, component, vo] = ["yardmaster", "governor", "atlas"].map(str::to_owned);
        Parameter { app, component, key: key.into(), vo, value: value.into(), changed_at }
    }

    #[test]
    fn the_record_of_the_domain_that_was_written_last_decides_in_whatever_lane_it_lies() {
        let written = |partition, at| Written { lane: Lane::new(Topic::Parameter, partition), at };
        let mut switch = Switch::new("atlas");
        let name = "yardmaster/governor/kill_switch/atlas";
        assert!(!switch.is_on());
        // By a clock that is fast, or slow, within the limit or beyond it.
        let mut at = 1_000;
        for (lane, stated) in [(0, 5), (1, 1_240), (0, 9_000), (0, 7), (1, 8), (1, 1_270), (1, 0)] {
            at += 10;
            let value = if at % 20 == 10 { "yes" } else { "off" };
            switch.take(&written(lane, at), name, Some(&record("kill_switch", value, stated)));
            assert_eq!(switch.is_on(), value == "yes", "written at {at}");
        }
        // Of two in one lane with one stamp the later one.
        for value in ["off", "on", "off", "on"] {
            switch.take(&written(1, at), name, Some(&record("kill_switch", value, 0)));
            assert_eq!(switch.is_on(), value == "on");
        }
        switch.take(&written(1, at + 10), name, None);
        assert!(!switch.is_on());
        let other = "yardmaster/governor/kill_switch/cms";
        switch.take(&written(0, at + 20), other, Some(&record("kill_switch", "on", 50)));
        assert!(!switch.is_on());
    }
}
