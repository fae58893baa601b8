//! The facts of a domain that a program brings, as its rules want them.

use crate::policy::{Domain, DomainFacts, DomainView};
use crate::state::State;
use crate::topic::Topic;

/// The view of the domain that a policy is of, if one is.
#[derive(Default)]
pub(crate) struct KeptView {
    view: Option<Box<dyn DomainView>>,
    has_changed: bool,
}

impl KeptView {
    /// Makes the view again if a record, a request or a reservation of the domain changed.
    pub(crate) fn update(&mut self, state: &State, domain: Option<&Domain>, everything: bool) {
        let is_record = |(topic, _): &(Topic, String)| *topic == Topic::DomainRecord;
        let touched = &state.touched;
        // Jobs at a queue are touched by a reservation that ended, too.
        let has_changed = everything
            || !touched.subjects.is_empty()
            || !touched.load.is_empty()
            || touched.facts.iter().any(is_record);
        self.has_changed = domain.is_some() && (has_changed || self.view.is_none());
        if let Some(domain) = domain.filter(|_| self.has_changed) {
            self.view = Some((domain.view)(DomainFacts::of(state)));
        }
    }

    /// The view.
    pub(crate) fn get(&self) -> Option<&dyn DomainView> {
        self.view.as_deref()
    }

    /// Whether it was made again at this cut.
    pub(crate) fn has_changed(&self) -> bool {
        self.has_changed
    }

    /// A request was answered.
    pub(crate) fn note_answer(&mut self, state: &State, subject: &str) {
        if let Some(view) = &mut self.view {
            view.note_answer(DomainFacts::of(state), subject);
        }
    }
}
