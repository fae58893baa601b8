//! The kill switch, as an executor reads it.

use yardmaster_core::cut::Lane;
use yardmaster_core::event::Parameter;
use yardmaster_core::fold::join_fact;
use yardmaster_core::govern::{is_kill_switch_on, kill_switch};
use yardmaster_core::state::record::Fact;
use yardmaster_core::unit::Millis;

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
    pub fn take(&mut self, at: (Lane, Millis), name: &str, record: Option<&Parameter>) {
        if name != self.fact.name {
            return;
        }
        match record {
            Some(record) => drop(join_fact(&mut self.fact, at, record)),
            None => self.fact.held.retain(|(lane, _)| *lane != at.0),
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
    use yardmaster_core::cut::Topic;

    fn record(key: &str, value: &str, changed_at: Millis) -> Parameter {
        let [app, component, vo] = ["yardmaster", "governor", "atlas"].map(str::to_owned);
        Parameter { app, component, key: key.into(), vo, value: value.into(), changed_at }
    }

    #[test]
    fn the_newest_record_of_the_domain_decides_in_whatever_lane_it_lies() {
        let lane = |partition| Lane::new(Topic::Parameter, partition);
        let mut switch = Switch::new("atlas");
        let name = "yardmaster/governor/kill_switch/atlas";
        assert!(!switch.is_on());
        switch.take((lane(0), 100), name, Some(&record("kill_switch", "yes", 5)));
        assert!(switch.is_on());
        switch.take((lane(1), 100), name, Some(&record("kill_switch", "off", 9)));
        assert!(!switch.is_on());
        // A time that lies ahead of the log's stamp counts as that.
        switch.take((lane(0), 10), name, Some(&record("kill_switch", "on", 1_000)));
        assert!(switch.is_on());
        switch.take((lane(0), 100), name, None);
        assert!(!switch.is_on());
        let other = "yardmaster/governor/kill_switch/cms";
        switch.take((lane(0), 100), other, Some(&record("kill_switch", "on", 50)));
        assert!(!switch.is_on());
    }
}
