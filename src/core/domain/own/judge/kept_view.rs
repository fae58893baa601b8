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
        self.has_changed = false;
        let Some(domain) = domain else { return };
        let is_record = |(topic, _): &(Topic, String)| *topic == Topic::DomainRecord;
        let touched = &state.touched;
        // Jobs at a queue are touched by a reservation that ended, too.
        self.has_changed = everything
            || self.view.is_none()
            || !touched.subjects.is_empty()
            || !touched.load.is_empty()
            || touched.facts.iter().any(is_record);
        if self.has_changed {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Name;
    use crate::policy::{DomainAnswer, DomainQuestion, Judged, Never, RuleBook};
    use crate::state::Setting;
    use std::sync::atomic::{AtomicU32, Ordering};

    static MADE: AtomicU32 = AtomicU32::new(0);

    enum Nothings {}

    impl Judged for Nothings {
        type Case<'a> = ();
        type Candidate<'a> = ();
        type Weighed = Never;
        type After = Never;
        type Whole = Never;
        type Figure = Never;
        type Factor = Never;
        type Key = Never;
    }

    struct Counted;

    impl DomainView for Counted {
        fn answer(&self, _: &DomainQuestion<'_>) -> DomainAnswer {
            DomainAnswer::default()
        }

        fn note_answer(&mut self, _: DomainFacts<'_>, _: &str) {}
    }

    static DOMAIN: Domain = Domain {
        asks: "job",
        request: |_| None,
        rules: &RuleBook::<Nothings> { filters: &[], weights: &[] },
        view: |_| {
            MADE.fetch_add(1, Ordering::Relaxed);
            Box::new(Counted)
        },
    };

    #[test]
    fn a_view_is_made_again_if_a_record_a_request_or_a_reservation_changed() {
        let (mut state, mut kept) = (State::new(Setting::default()), KeptView::default());
        let mut is_made = |touch: &dyn Fn(&mut State)| {
            state.touched = Default::default();
            touch(&mut state);
            let before = MADE.load(Ordering::Relaxed);
            kept.update(&state, Some(&DOMAIN), false);
            let is_made = MADE.load(Ordering::Relaxed) > before;
            assert_eq!(kept.has_changed(), is_made);
            is_made
        };
        assert!(is_made(&|_| ()), "there was none");
        assert!(!is_made(&|_| ()));
        assert!(is_made(&|state| {
            state.touched.subjects.insert("12".to_owned());
        }));
        assert!(is_made(&|state| state.touched.load.add(Name(1))));
        for (topic, is_of_domain) in [(Topic::DomainRecord, true), (Topic::Site, false)] {
            let touch = |state: &mut State| {
                state.touched.facts.insert((topic, "job|12".to_owned()));
            };
            assert_eq!(is_made(&touch), is_of_domain);
        }
    }
}
