//! Open questions to a registry, in the order in which they are asked, and the answers.

use super::client::RegistryError;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The first pause after a question that was not answered; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);
/// A registry must answer so often that there is no such schema, since one of its servers may know
/// of a new schema later than another ...
const SURE: u32 = 3;
/// ... with such pauses between.
const DOUBT: Duration = Duration::from_millis(300);
/// So many numbers are doubted ...
const DOUBTED_MAX: usize = 64;
/// ... in so long. A number beyond them counts as missing at the first answer: new schemas come one
/// by one, and numbers by the hundred are garbage that looks like Confluent framing.
const DOUBTED_IN: Duration = Duration::from_secs(60);
/// So long a number is believed to be missing; then a record of that number makes us ask again.
const BELIEVED: Duration = Duration::from_secs(60);
/// How often a warning is given that we wait.
const WARN: Duration = Duration::from_secs(30);

/// Answer of a registry for a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryAnswer {
    /// The schema.
    Known(Arc<str>),
    /// There is none.
    Missing,
}

/// Next task of a thread that asks.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextTask {
    Question(u32),
    /// Nothing is due; `None`: until something changes.
    Wait(Option<Duration>),
    Closed,
}

/// Questions and answers.
#[derive(Default)]
pub(super) struct Questions {
    longest: Duration,
    missing_max: usize,
    known: BTreeMap<u32, Arc<str>>,
    missing: BTreeMap<u32, Instant>,
    /// The same, oldest first; entries that were replaced since are still in it.
    missing_order: VecDeque<(Instant, u32)>,
    /// When numbers were doubted last.
    doubted: VecDeque<Instant>,
    questions: BTreeMap<u32, Question>,
    /// Questions that a lane waits for, by when they are due.
    urgent: BTreeSet<(Instant, u32)>,
    /// Other questions, by when they are due.
    later: BTreeSet<(Instant, u32)>,
    /// How many questions are being asked now.
    asking: usize,
    outage: Option<Outage>,
    warned: Option<Instant>,
    is_closed: bool,
}

struct Question {
    is_urgent: bool,
    due: Instant,
    /// How often in a row the registry answered that there is no such schema.
    missing: u32,
    /// The pause after the next failure.
    pause: Duration,
    /// Error text about a schema that this one refers to and the registry does not have; `None`: it
    /// lacks none.
    lacks: Option<String>,
}

/// The last question was not answered: one at a time is tried, with growing pauses.
struct Outage {
    why: String,
    until: Instant,
    pause: Duration,
    was_warned: bool,
}

impl Questions {
    pub(super) fn new(longest: Duration, missing_max: usize) -> Questions {
        Questions { longest, missing_max, ..Questions::default() }
    }

    /// The answer for a number; if there is none, it is asked for before those that are foreseen.
    pub(super) fn find(&mut self, id: u32, now: Instant) -> Option<RegistryAnswer> {
        let answer = self.answer(id, now);
        if answer.is_none() {
            self.question(id, true, now);
        }
        answer
    }

    /// Asks for a number unless it is known.
    pub(super) fn foresee(&mut self, id: u32, now: Instant) {
        if self.answer(id, now).is_none() {
            self.question(id, false, now);
        }
    }

    fn answer(&self, id: u32, now: Instant) -> Option<RegistryAnswer> {
        if let Some(text) = self.known.get(&id) {
            return Some(RegistryAnswer::Known(Arc::clone(text)));
        }
        let since = self.missing.get(&id)?;
        (now.duration_since(*since) < BELIEVED).then_some(RegistryAnswer::Missing)
    }

    fn question(&mut self, id: u32, is_urgent: bool, now: Instant) {
        let Some(question) = self.questions.get_mut(&id) else {
            let question = Question { is_urgent, due: now, missing: 0, pause: PAUSE, lacks: None };
            self.questions.insert(id, question);
            self.enqueue(id);
            return;
        };
        if is_urgent && !question.is_urgent {
            question.is_urgent = true;
            // It is in neither while it is being asked.
            if self.later.remove(&(question.due, id)) {
                self.enqueue(id);
            }
        }
    }

    fn enqueue(&mut self, id: u32) {
        let Some(question) = self.questions.get(&id) else { return };
        let queue = if question.is_urgent { &mut self.urgent } else { &mut self.later };
        queue.insert((question.due, id));
    }

    /// Notes what is known from elsewhere.
    pub(super) fn put(&mut self, id: u32, schema: Arc<str>) {
        self.known.insert(id, schema);
        if let Some(question) = self.questions.remove(&id) {
            self.urgent.remove(&(question.due, id));
            self.later.remove(&(question.due, id));
        }
    }

    /// Why the last question was not answered, or what a schema lacks.
    pub(super) fn trouble(&self) -> Option<String> {
        let outage = self.outage.as_ref().map(|outage| &outage.why);
        let lacking = || self.questions.values().find_map(|question| question.lacks.as_ref());
        outage.or_else(lacking).cloned()
    }

    /// No answer is wanted any more.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The next question, which is being asked from now on.
    pub(super) fn next(&mut self, now: Instant) -> NextTask {
        if self.is_closed {
            return NextTask::Closed;
        }
        if let Some(outage) = &self.outage {
            if self.asking > 0 {
                return NextTask::Wait(None);
            }
            if now < outage.until {
                return NextTask::Wait(Some(outage.until - now));
            }
        }
        let is_due = |queue: &BTreeSet<(Instant, u32)>| queue.first().is_some_and(|it| it.0 <= now);
        let queue = if is_due(&self.urgent) { &mut self.urgent } else { &mut self.later };
        if is_due(queue)
            && let Some((_, id)) = queue.pop_first()
        {
            self.asking += 1;
            return NextTask::Question(id);
        }
        let first = [&self.urgent, &self.later].into_iter().filter_map(BTreeSet::first);
        NextTask::Wait(first.map(|(due, _)| due.saturating_duration_since(now)).min())
    }

    /// Notes the answer to a question that `next` gave.
    pub(super) fn hear(
        &mut self,
        id: u32,
        answer: Result<Option<String>, RegistryError>,
        now: Instant,
    ) {
        self.asking = self.asking.saturating_sub(1);
        let answers = matches!(answer, Ok(_) | Err(RegistryError::Lacking(_)));
        if answers
            && let Some(outage) = self.outage.take()
            && outage.was_warned
        {
            tracing::info!("the schema registry answers again");
        }
        match answer {
            Ok(Some(text)) => self.put(id, Arc::from(text)),
            Ok(None) => self.take_missing(id, now),
            Err(RegistryError::Lacking(why)) => self.take_lacking(id, &why, now),
            Err(why) => self.take_failure(id, &why, now),
        }
    }

    fn take_missing(&mut self, id: u32, now: Instant) {
        let Some(question) = self.questions.get_mut(&id) else { return };
        question.missing += 1;
        let is_first = question.missing == 1;
        let is_believed = question.missing >= SURE || is_first && !self.may_doubt(now);
        if is_believed {
            self.questions.remove(&id);
            return self.note_missing(id, now);
        }
        self.ask_again(id, now + DOUBT);
    }

    /// Whether one more number may be doubted now; if so it is counted.
    fn may_doubt(&mut self, now: Instant) -> bool {
        while self.doubted.front().is_some_and(|at| now.duration_since(*at) >= DOUBTED_IN) {
            self.doubted.pop_front();
        }
        let may = self.doubted.len() < DOUBTED_MAX;
        if may {
            self.doubted.push_back(now);
        }
        may
    }

    fn note_missing(&mut self, id: u32, now: Instant) {
        self.missing.insert(id, now);
        self.missing_order.push_back((now, id));
        while let Some((at, oldest)) = self.missing_order.front().copied() {
            let is_over = now.duration_since(at) >= BELIEVED;
            if !is_over && self.missing_order.len() <= self.missing_max {
                break;
            }
            self.missing_order.pop_front();
            if self.missing.get(&oldest) == Some(&at) {
                self.missing.remove(&oldest);
            }
        }
    }

    /// The registry answers, so other questions need not wait.
    fn take_lacking(&mut self, id: u32, why: &str, now: Instant) {
        let Some(question) = self.questions.get_mut(&id) else { return };
        let why = format!("schema {id} is not whole: {why}");
        if question.lacks.is_none() {
            tracing::warn!("{why}; its records wait, asking again");
        }
        question.lacks = Some(why);
        let rest = question.pause;
        question.pause = (rest * 2).min(self.longest);
        self.ask_again(id, now + rest);
    }

    fn take_failure(&mut self, id: u32, why: &RegistryError, now: Instant) {
        let why = format!("schema {id} is not known yet: {why}");
        let before = self.outage.take();
        let pause = before.as_ref().map_or(PAUSE, |outage| outage.pause);
        let is_new = self.warned.is_none_or(|at| now.duration_since(at) >= WARN);
        if is_new {
            self.warned = Some(now);
            tracing::warn!("{why}; its records wait, asking again");
        }
        let was_warned = is_new || before.is_some_and(|outage| outage.was_warned);
        let (until, pause) = (now + pause, (pause * 2).min(self.longest));
        self.outage = Some(Outage { why, until, pause, was_warned });
        let Some(question) = self.questions.get_mut(&id) else { return };
        let rest = question.pause;
        question.pause = (rest * 2).min(self.longest);
        question.missing = 0;
        self.ask_again(id, now + rest);
    }

    fn ask_again(&mut self, id: u32, due: Instant) {
        if let Some(question) = self.questions.get_mut(&id) {
            question.due = due;
        }
        self.enqueue(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MISSING_MAX: usize = 100;

    fn questions() -> Questions {
        Questions::new(Duration::from_secs(1), MISSING_MAX)
    }

    /// Asks everything that is due and answers it; gives the numbers in the order they were asked.
    fn answer_all(
        questions: &mut Questions,
        now: Instant,
        answer: impl Fn(u32) -> Result<Option<String>, RegistryError>,
    ) -> Vec<u32> {
        let mut asked = Vec::new();
        while let NextTask::Question(id) = questions.next(now) {
            asked.push(id);
            questions.hear(id, answer(id), now);
        }
        asked
    }

    #[test]
    fn a_schema_that_is_not_whole_is_asked_for_again_and_keeps_no_other_waiting() {
        let (mut questions, start) = (questions(), Instant::now());
        assert_eq!((questions.find(1, start), questions.find(2, start)), (None, None));
        let lacking = |id| match id {
            1 => Err(RegistryError::Lacking("it refers to what is not there".into())),
            _ => Ok(Some("text".to_owned())),
        };
        assert_eq!(answer_all(&mut questions, start, lacking), [1, 2]);
        assert!(matches!(questions.find(2, start), Some(RegistryAnswer::Known(_))));
        assert!(questions.trouble().is_some_and(|why| why.contains("schema 1 is not whole")));
        assert_eq!(questions.find(1, start), None, "its records wait");
        let later = start + PAUSE;
        assert_eq!(answer_all(&mut questions, later, |_| Ok(Some("whole".to_owned()))), [1]);
        assert_eq!(questions.find(1, later), Some(RegistryAnswer::Known("whole".into())));
        assert_eq!(questions.trouble(), None);
    }

    #[test]
    fn a_flood_of_missing_numbers_is_doubted_within_bounds_and_together() {
        let (mut questions, start) = (questions(), Instant::now());
        assert_eq!(questions.find(1, start), None);
        (2..=1_000).for_each(|id| questions.foresee(id, start));
        assert_eq!(
            answer_all(&mut questions, start, |_| Ok(None)),
            (1..=1_000).collect::<Vec<_>>()
        );
        let doubted = answer_all(&mut questions, start + DOUBT, |_| Ok(None));
        assert_eq!(doubted, (1..=DOUBTED_MAX as u32).collect::<Vec<_>>());
        let end = start + DOUBT * 2;
        assert_eq!(answer_all(&mut questions, end, |_| Ok(None)), doubted);
        assert_eq!(questions.next(end), NextTask::Wait(None), "nothing is open");
        assert_eq!(questions.find(1, end), Some(RegistryAnswer::Missing));
        assert_eq!(
            (questions.missing.len(), questions.missing_order.len()),
            (MISSING_MAX, MISSING_MAX)
        );
        // What was forgotten for want of room, or long ago, is asked again.
        assert_eq!(questions.find(500, end), None);
        assert_eq!(questions.find(1, end + BELIEVED), None);
        assert_eq!(answer_all(&mut questions, end + BELIEVED, |_| Ok(None)), [500, 1]);
    }

    #[test]
    fn what_a_lane_waits_for_is_asked_before_what_is_foreseen() {
        let (mut questions, now) = (questions(), Instant::now());
        (10..20).for_each(|id| questions.foresee(id, now));
        assert_eq!(questions.find(19, now), None);
        assert_eq!(questions.find(5, now), None);
        let asked = answer_all(&mut questions, now, |id| Ok(Some(id.to_string())));
        assert_eq!(asked[..3], [5, 19, 10]);
        assert_eq!(asked.len(), 11);
        assert_eq!(questions.find(5, now), Some(RegistryAnswer::Known("5".into())));
    }

    #[test]
    fn in_an_outage_one_question_at_a_time_is_tried_and_none_holds_up_the_others() {
        let (mut questions, mut now) = (questions(), Instant::now());
        (1..=3).for_each(|id| assert_eq!(questions.find(id, now), None));
        let (NextTask::Question(first), NextTask::Question(second)) =
            (questions.next(now), questions.next(now))
        else {
            panic!("two are asked side by side")
        };
        let fails = || Err(RegistryError::Unanswered("down".into()));
        questions.hear(first, fails(), now);
        assert_eq!(questions.next(now), NextTask::Wait(None), "another is still being asked");
        questions.hear(second, fails(), now);
        assert!(questions.trouble().is_some_and(|why| why.contains("schema 2")));
        assert!(matches!(questions.next(now), NextTask::Wait(Some(_))));
        now += Duration::from_secs(1);
        assert_eq!(questions.next(now), NextTask::Question(3), "each in turn");
        assert_eq!(questions.next(now), NextTask::Wait(None), "and one at a time");
        questions.hear(3, Ok(Some("{}".into())), now);
        assert_eq!(questions.trouble(), None);
        assert!(matches!(
            (questions.next(now), questions.next(now)),
            (NextTask::Question(1), NextTask::Question(2))
        ));
    }
}
