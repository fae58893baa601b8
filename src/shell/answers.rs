//! Expensive questions, answered beside the loop: the loop copies what the answer needs, at a
//! cycle's boundary, and a thread works on the copy.
//!
//! There is one copy and one such thread at a time, it answers all questions asked before the copy
//! was made, but for those of clients that have gone. Copying takes at most a tenth of the time. It
//! is a copy of the live state and not of the store, which holds the records only: a counter that
//! drifted in memory would not be found there.

use crate::core::explain::explain_job;
use crate::core::state::State;
use crate::core::state::audit::audit;
use crate::core::state::counters::{copy_for_counters, counters};
use crate::shell::http::{Answer, Question};
use crate::wire::counter::to_json;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::Instant;

/// How many times as long as copying took passes before the next copy.
const REST: u32 = 10;

const JSON_LINES: &str = "application/x-ndjson";
const TEXT: &str = "text/plain; charset=utf-8";
/// Questions that are answered from a copy.
const VERBS: [&str; 3] = ["audit", "counters", "job"];

/// Works out the answer to a verb.
type Work = fn(&str, &State) -> Answer;

/// Questions that wait for an answer, and the thread that works on one.
pub struct Answers {
    asked: Receiver<Question>,
    waiting: Vec<Question>,
    worker: Option<JoinHandle<()>>,
    rests_until: Instant,
    work: Work,
}

impl Answers {
    /// Nothing was asked yet.
    pub fn new(asked: Receiver<Question>) -> Answers {
        let (waiting, rests_until) = (Vec::new(), Instant::now());
        Answers { asked, waiting, worker: None, rests_until, work }
    }

    /// Takes questions up, and begins to answer them if the state is that of a cycle's end.
    pub fn turn(&mut self, state: &State, is_cycle_end: bool) {
        for question in self.asked.try_iter() {
            if VERBS.contains(&question.verb.as_str()) {
                self.waiting.push(question);
            } else {
                let what =
                    format!("{:?} is not known; there is: {}", question.verb, VERBS.join(", "));
                question.answer(Answer::Unknown(what));
            }
        }
        self.waiting.retain(|question| !question.is_gone());
        let is_working = self.worker.as_ref().is_some_and(|worker| !worker.is_finished());
        let is_resting = Instant::now() < self.rests_until;
        if self.waiting.is_empty() || is_working || is_resting || !is_cycle_end {
            return;
        }
        let began = Instant::now();
        // Only counters can be answered from less than all of it.
        let copy = match self.waiting.iter().any(|question| question.verb != "counters") {
            true => state.clone(),
            false => copy_for_counters(state),
        };
        let took = began.elapsed();
        self.rests_until = Instant::now() + took * REST;
        tracing::debug!("copied the state in {took:?} to answer questions");
        let (questions, work) = (std::mem::take(&mut self.waiting), self.work);
        let worker = std::thread::Builder::new()
            .name("answers".to_owned())
            .spawn(move || answer_all(questions, &copy, work));
        // Without a thread no question is answered: the clients get an error.
        self.worker = worker
            .map_err(|error| tracing::error!("cannot start the thread that answers: {error}"))
            .ok();
    }
}

fn answer_all(mut questions: Vec<Question>, state: &State, work: Work) {
    for verb in VERBS {
        let (these, others): (Vec<Question>, Vec<Question>) =
            questions.into_iter().partition(|question| question.verb == verb);
        questions = others;
        if these.iter().all(Question::is_gone) {
            continue;
        }
        if verb == "job" {
            these.into_iter().for_each(|question| {
                let answer = answer_job(&question, state);
                question.answer(answer);
            });
            continue;
        }
        let answer = work(verb, state);
        these.into_iter().for_each(|question| question.answer(answer.clone()));
    }
}

fn work(verb: &str, state: &State) -> Answer {
    let all = counters(state);
    let (content_type, text) = if verb == "audit" {
        (TEXT, audit_text(state, all.len()))
    } else {
        let lines: Vec<String> = all.iter().map(to_json).collect();
        (JSON_LINES, lines.join("\n") + "\n")
    };
    Answer::Found { content_type, body: text.into_bytes() }
}

/// How a job stands, and each rule to it.
fn answer_job(question: &Question, state: &State) -> Answer {
    let Some(name) = question.query.get("name") else {
        return Answer::Unknown("no job is named; ask for /v1/job?name=JOB".to_owned());
    };
    match explain_job(state, name) {
        Some(text) => Answer::Found { content_type: TEXT, body: text.into_bytes() },
        None => Answer::Unknown(format!("no job {name:?} is known")),
    }
}

fn audit_text(state: &State, count: usize) -> String {
    let drifts = audit(state);
    let (number, drifted) = (state.number, drifts.len());
    let mut text = format!("{count} counters at cycle {number}, {drifted} drifted\n");
    for it in drifts {
        text += &format!("{}: kept {}, recount {}\n", it.counter, it.kept, it.recount);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::state::Setting;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::sync::mpsc::sync_channel;
    use std::time::Duration;

    static BEGUN: AtomicU32 = AtomicU32::new(0);
    static MAY_END: AtomicBool = AtomicBool::new(false);

    /// An answer that takes as long as the test wants.
    fn slow(_: &str, state: &State) -> Answer {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        while !MAY_END.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Answer::Unknown(format!("cycle {}", state.number))
    }

    #[test]
    fn the_loop_goes_on_while_one_copy_answers_everybody_who_has_not_gone() {
        let setting = Setting { domain: "atlas".into(), ..Setting::default() };
        let mut state = State::new(setting);
        let (questions, asked) = sync_channel(32);
        let mut answers = Answers { work: slow, ..Answers::new(asked) };
        let question = |verb| {
            let (question, reply) = Question::new(verb);
            questions.send(question).unwrap();
            reply
        };
        // A cycle that is half folded is not shown.
        let mut first = question("audit");
        answers.turn(&state, false);
        assert!(answers.worker.is_none());
        answers.turn(&state, true);
        let mut later: Vec<_> = (0..15).map(|_| question("audit")).collect();
        drop(question("audit"));
        for number in 1..=100 {
            state.number = number;
            answers.turn(&state, true);
        }
        assert!(BEGUN.load(Ordering::SeqCst) <= 1, "one at a time");
        assert_eq!(answers.waiting.len(), 15, "who has gone is not answered");
        MAY_END.store(true, Ordering::SeqCst);
        let mut got = Vec::new();
        while got.len() < later.len() {
            answers.turn(&state, true);
            got.extend(later.iter_mut().filter_map(|reply| reply.try_recv().ok()));
            std::thread::yield_now();
        }
        let answer = |number| Answer::Unknown(format!("cycle {number}"));
        assert_eq!(first.try_recv(), Ok(answer(0)));
        assert!(got.iter().all(|got| *got == answer(100)), "{got:?}");
        assert_eq!(BEGUN.load(Ordering::SeqCst), 2, "those who asked meanwhile share one answer");
    }
}
