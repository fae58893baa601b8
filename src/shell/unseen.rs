//! Warns of rules that never act because nobody publishes what they are about: PanDA's messages,
//! for example, never name the states `sent` and `holding`. Each such rule is named once.

use yardmaster_core::command::CommandRule;
use yardmaster_core::event::Status;
use yardmaster_core::state::{SUB_STATES_SEEN, State};
use yardmaster_core::unit::{HOUR, Millis};

/// A state that was not seen for so long, while jobs went past it, is not published here.
const UNSEEN_AFTER: Millis = HOUR;

/// Time of the first look, and the rules that were reported.
#[derive(Debug, Default)]
pub struct Unseen {
    first_look: Option<Millis>,
    reported: Vec<CommandRule>,
}

impl Unseen {
    /// Rules that wait in vain, as sentences; each once.
    pub fn look(&mut self, state: &State) -> Vec<String> {
        let since = *self.first_look.get_or_insert(state.now);
        let seen = |status: Status| state.seen_states >> status.index() & 1 == 1;
        let has_run = seen(Status::Finished) || seen(Status::Transferring);
        if !has_run || state.now.saturating_sub(since) < UNSEEN_AFTER {
            return Vec::new();
        }
        let sub_states = state.seen_states & SUB_STATES_SEEN != 0;
        let all = [
            (CommandRule::T7, seen(Status::Sent), "sent"),
            (CommandRule::T10, sub_states, "a sub-state"),
            (CommandRule::T11a, seen(Status::Holding), "holding"),
            (CommandRule::T11b, seen(Status::Holding), "holding"),
        ];
        let mut sentences = Vec::new();
        for (rule, is_seen, what) in all {
            let is_looked_at = state.setting.commands.rule(rule).is_some();
            if is_seen || !is_looked_at || self.reported.contains(&rule) {
                continue;
            }
            self.reported.push(rule);
            let name = rule.name();
            sentences.push(format!(
                "rule {name}: input_absent(job-state {what}): for an hour jobs have ended and no \
                 record has named {what}, so the rule never acts; set mode = \"off\" for it in \
                 [[rule]] if nobody publishes that here"
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::command::{CommandSetting, Mode, RuleSetting};
    use yardmaster_core::state::Setting;

    #[test]
    fn a_rule_whose_state_nobody_publishes_is_named_once() {
        let rules = [CommandRule::T7, CommandRule::T9, CommandRule::T11a];
        let rules = rules.map(|rule| RuleSetting::new(rule, Mode::DryRun)).to_vec();
        let commands = CommandSetting { rules, ..CommandSetting::default() };
        let mut state = State::new(Setting { commands, ..Setting::default() });
        let mut unseen = Unseen::default();
        state.seen_states = 1 << Status::Finished.index() | 1 << Status::Holding.index();
        assert!(unseen.look(&state).is_empty(), "too early");
        state.now += HOUR;
        let found = unseen.look(&state);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("rule T7: input_absent(job-state sent)"), "{found:?}");
        assert!(unseen.look(&state).is_empty(), "once");
    }
}
