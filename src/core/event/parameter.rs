//! `parameter`: a run-time parameter (gdpconfig).

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::cut::Topic;
use crate::record::record;
use crate::unit::Millis;

/// A run-time parameter (gdpconfig; spec atlas 11).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameter {
    /// Application (jedi, pandaserver).
    pub app: String,
    /// Component (jobbroker ...).
    pub component: String,
    /// Key.
    pub key: String,
    /// VO.
    pub vo: String,
    /// Value, as text.
    pub value: String,
    /// When it was last changed.
    pub changed_at: Millis,
}

/// Application, component and key of the parameter that holds since when what intake knows is
/// whole.
const HISTORY: [&str; 3] = ["yardmaster", "intake", "history_since"];

/// The parameter by which intake states that what came before `since` is not known to it; ms since
/// 1970. It changed then, so of several gaps the last is the newest.
pub fn history_since(domain: &str, since: Millis) -> Parameter {
    let [app, component, key] = HISTORY.map(str::to_owned);
    let (vo, value) = (domain.to_owned(), since.to_string());
    Parameter { app, component, key, vo, value, changed_at: since }
}

/// Application, component and key of the parameter by which intake states that reports of nodes
/// name those alone that got a job.
const UNCOUNTED: [&str; 3] = ["yardmaster", "intake", "uncounted_nodes"];

/// The parameter by which intake states, since `at`, ms since 1970, that a node which asked and got
/// no job is in no report, as in PanDA's tables of jobs.
pub fn uncounted_nodes(domain: &str, at: Millis) -> Parameter {
    let [app, component, key] = UNCOUNTED.map(str::to_owned);
    let (vo, value) = (domain.to_owned(), "true".to_owned());
    Parameter { app, component, key, vo, value, changed_at: at }
}

/// Application and component of the parameters by which `import` confirms what it has published
/// before; the key is a topic's name.
const CONFIRMED: [&str; 2] = ["yardmaster", "import"];

/// The parameter by which an import states that the facts of a topic were found as they are at
/// `at`, ms since 1970: what did not change is not published again.
pub fn confirmed(domain: &str, topic: Topic, at: Millis) -> Parameter {
    let [app, component] = CONFIRMED.map(str::to_owned);
    let (vo, value, key) = (domain.to_owned(), at.to_string(), topic.name().to_owned());
    Parameter { app, component, key, vo, value, changed_at: at }
}

/// Application, component and key of the parameter that stops all commands of a domain.
const KILL_SWITCH: [&str; 3] = ["yardmaster", "governor", "kill_switch"];

/// The name of the parameter that stops all commands of a domain.
pub fn kill_switch(domain: &str) -> String {
    let [app, component, key] = KILL_SWITCH;
    format!("{app}/{component}/{key}/{domain}")
}

/// Whether a parameter is no setting of anybody's, but what programs note for each other: an import
/// that it found all as it was, intake since when its history is whole and what it cannot count.
pub fn is_bookkeeping(parameter: &Parameter) -> bool {
    let Parameter { app, component, .. } = parameter;
    [[HISTORY[0], HISTORY[1]], CONFIRMED].contains(&[app.as_str(), component.as_str()])
}

/// Whether a parameter of this name is read by no policy, so that nothing is to be evaluated again
/// when it changes.
fn is_of_no_policy(name: &str) -> bool {
    let [app, component] = CONFIRMED;
    let mut parts = name.split('/');
    parts.next() == Some(app) && parts.next() == Some(component)
}

record!(Parameter { app, component, key, vo, value, changed_at });

impl Configured for Parameter {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        let Parameter { app, component, key, vo, .. } = self;
        format!("{app}/{component}/{key}/{vo}")
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Parameter {
        Parameter { changed_at: at, ..self.clone() }
    }

    /// Who stops all commands, or lets them go on, is obeyed whatever the clock of the host says.
    fn is_as_written(&self) -> bool {
        let Parameter { app, component, key, .. } = self;
        KILL_SWITCH == [app, component, key]
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: app, component, key, vo)
    }

    fn touches(&self) -> Touches {
        Parameter::removed(&self.name())
    }

    fn removed(name: &str) -> Touches {
        if is_of_no_policy(name) { Touches::Nothing } else { Touches::Settings }
    }
}
