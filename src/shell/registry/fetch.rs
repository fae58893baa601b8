//! Asks a registry in a thread of its own, for as long as it takes.

use super::client::{Client, RegistryError};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// The first pause after a question that was not answered; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(100);
/// A registry must say so often that there is no such schema, since one of its servers may know of
/// a new schema later than another ...
const SURE: u32 = 3;
/// ... with such pauses between.
const DOUBT: Duration = Duration::from_millis(300);
/// For so long it is believed; then a record of that number makes us ask again.
const BELIEVED: Duration = Duration::from_secs(60);
/// How often it is said that we wait.
const SAY: Duration = Duration::from_secs(30);
/// A pause is looked up from so often.
const STEP: Duration = Duration::from_millis(20);

/// What a registry said of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The schema.
    Known(Arc<str>),
    /// There is none.
    Missing,
}

/// Where questions are left and answers found. Never waits.
pub struct Desk {
    shared: Arc<Shared>,
    ask: Sender<u32>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<BTreeMap<u32, State>>,
    /// Why the question in hand has no answer yet.
    trouble: Mutex<Option<String>>,
    is_closed: AtomicBool,
}

enum State {
    Asked,
    Answered(Answer, Instant),
}

impl Desk {
    /// Begins to ask; the pause between two tries grows up to `longest`.
    pub fn open(client: Arc<Client>, longest: Duration) -> Result<Desk, RegistryError> {
        let shared = Arc::new(Shared::default());
        let (ask, asked) = channel();
        let theirs = Arc::clone(&shared);
        // It holds nothing that anybody waits for, so nobody waits for its end.
        Builder::new()
            .name("registry".to_owned())
            .spawn(move || serve(&client, &theirs, &asked, longest))
            .map_err(|error| {
                RegistryError::Setting(format!("no thread to ask the registry with: {error}"))
            })?;
        Ok(Desk { shared, ask })
    }

    /// What is known of a number; `None`: it is being asked.
    pub fn find(&self, id: u32) -> Option<Answer> {
        let mut answers = self.shared.answers();
        match answers.get(&id) {
            Some(State::Asked) => return None,
            Some(State::Answered(Answer::Missing, at)) if at.elapsed() >= BELIEVED => {}
            Some(State::Answered(answer, _)) => return Some(answer.clone()),
            None => {}
        }
        answers.insert(id, State::Asked);
        // Fails only when the thread has died, which leaves the question open, as it is.
        let _ = self.ask.send(id);
        None
    }

    /// Puts down what is known from elsewhere.
    pub fn put(&self, id: u32, schema: Arc<str>) {
        self.shared.answer(id, Answer::Known(schema));
    }

    /// Why there is no answer yet, if asking does not go well.
    pub fn trouble(&self) -> Option<String> {
        self.shared.trouble().clone()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// A change is one insertion: a panic leaves nothing half done.
    fn answers(&self) -> MutexGuard<'_, BTreeMap<u32, State>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, id: u32, answer: Answer) {
        self.answers().insert(id, State::Answered(answer, Instant::now()));
    }

    /// Rests; `false` when nobody wants an answer any more.
    fn rest(&self, pause: Duration) -> bool {
        let began = Instant::now();
        while began.elapsed() < pause && !self.is_closed() {
            sleep(STEP.min(pause));
        }
        !self.is_closed()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }
}

fn serve(client: &Client, shared: &Shared, asked: &Receiver<u32>, longest: Duration) {
    while let Ok(id) = asked.recv() {
        let Some(answer) = answer(client, shared, id, longest) else { return };
        shared.answer(id, answer);
        if shared.trouble().take().is_some() {
            tracing::info!("the schema registry answers again");
        }
    }
}

/// Asks until there is an answer; `None` when nobody wants it any more.
fn answer(client: &Client, shared: &Shared, id: u32, longest: Duration) -> Option<Answer> {
    let (mut missing, mut pause, mut said) = (0, PAUSE, None::<Instant>);
    while !shared.is_closed() {
        let rest = match client.schema(id) {
            Ok(Some(text)) => return Some(Answer::Known(Arc::from(text))),
            Ok(None) => {
                missing += 1;
                if missing >= SURE {
                    return Some(Answer::Missing);
                }
                DOUBT
            }
            Err(why) => {
                missing = 0;
                let why = format!("schema {id} is not known yet: {why}");
                if said.is_none_or(|said| said.elapsed() >= SAY) {
                    said = Some(Instant::now());
                    tracing::warn!("{why}; its records wait, asking again");
                }
                *shared.trouble() = Some(why);
                let rest = pause;
                pause = (pause * 2).min(longest);
                rest
            }
        };
        if !shared.rest(rest) {
            return None;
        }
    }
    None
}
