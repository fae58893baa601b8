//! The process that is watched: asked by a thread of its own, so that a slow answer holds no key
//! up.

use super::data::{AttentionList, Events, Explained, Pool, ProcessStatus, Queues, Shares};
use super::model::{Answered, News, Subject};
use super::words::Words;
use crate::ask::{Ask, Proof, Reply, in_query};
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Outputs that are asked for at first, and each time then.
const EVENTS_FIRST: usize = 200;
const EVENTS_MAX: usize = 1_000;

/// Where a process is found.
#[derive(Clone)]
pub(super) enum ProcessPlace {
    /// At an address.
    Http(String),
    /// At the address that is in a store.
    Store(PathBuf),
}

/// Address and access of the watched process, and the last output that was read.
pub(super) struct Process {
    place: ProcessPlace,
    /// The domain that is shown; `None`: the one that the place names, or the first.
    domain: Option<String>,
    proof: Proof,
    /// Address that was asked last, and the number of the last output it gave.
    known: Option<(String, u64)>,
}

impl Process {
    /// A process that was not asked yet.
    pub fn new(place: ProcessPlace, domain: Option<String>, proof: Proof) -> Process {
        Process { place, domain, proof, known: None }
    }

    fn ask(&self) -> Result<Ask, String> {
        let ask = match &self.place {
            ProcessPlace::Http(address) => Ok(Ask::new(address, self.proof.clone())),
            ProcessPlace::Store(store) => {
                Ask::of_store(store, self.proof.clone()).ok_or_else(|| {
                    let store = store.display();
                    format!("no process has left its address in {store}: start one, or give --http")
                })
            }
        };
        Ok(ask?.about(self.domain.as_deref()))
    }

    /// All that is shown but for answers to questions.
    pub fn look(&mut self) -> News {
        match self.answered() {
            Ok(answered) => News::Answered(Box::new(answered)),
            Err(why) => News::Failed(why),
        }
    }

    fn answered(&mut self) -> Result<Answered, String> {
        let ask = self.ask()?;
        let address = ask.url();
        let status: ProcessStatus = get(&ask, "/api/v1/status")?;
        let known = self.known.take().filter(|(known, _)| *known == address).map(|(_, last)| last);
        let lists = lists(&ask, known);
        let Lists { queues, pool, shares, attention, events, is_fresh } = match lists {
            Ok(lists) => lists,
            // While it restores it has nothing to show, and says why.
            Err(_) if !status.ready => Lists::default(),
            Err(why) => return Err(why),
        };
        let last = if events.last > 0 { Some(events.last) } else { known };
        self.known = last.map(|last| (address.clone(), last));
        let mut items = events.items;
        items.reverse();
        let words = Words::of(&queues.of);
        let (queues, shares) = (queues.queues, shares.shares);
        let events = items;
        Ok(Answered { address, status, words, queues, pool, shares, attention, events, is_fresh })
    }

    /// Asks for the explanation of a subject.
    fn explain(&self, subject: Subject) -> News {
        let kind = subject.kind.map_or(String::new(), |kind| format!("&kind={kind}"));
        let path = format!("/api/v1/explain?name={}{kind}", in_query(&subject.name));
        let explained: Result<Explained, String> = self.ask().and_then(|ask| get(&ask, &path));
        News::Explained(subject, explained)
    }

    /// Asks again and again, and about subjects as they are wished for, until nobody wants to know
    /// any more.
    pub fn watch(
        mut self,
        interval: Duration,
        wishes: &Receiver<Option<Subject>>,
        news: &Sender<News>,
    ) {
        let mut wish: Option<Subject> = None;
        loop {
            let next = Instant::now() + interval;
            if news.send(self.look()).is_err() {
                return;
            }
            if let Some(subject) = wish.clone()
                && news.send(self.explain(subject)).is_err()
            {
                return;
            }
            loop {
                match wishes.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok(wished) => {
                        wish = wished;
                        if let Some(subject) = wish.clone()
                            && news.send(self.explain(subject)).is_err()
                        {
                            return;
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        }
    }
}

#[derive(Default)]
struct Lists {
    queues: Queues,
    /// Of a pool of slots.
    pool: Option<Pool>,
    shares: Shares,
    attention: AttentionList,
    events: Events,
    /// Whether outputs are numbered from the beginning again.
    is_fresh: bool,
}

fn lists(ask: &Ask, known: Option<u64>) -> Result<Lists, String> {
    let queues: Queues = get(ask, "/api/v1/queues")?;
    let pool = match Words::of(&queues.of) {
        Words::Sites => Some(get(ask, "/api/v1/pool")?),
        Words::Queues | Words::Clusters => None,
    };
    let shares = get(ask, "/api/v1/shares")?;
    // An older process has no such list, and all else is shown.
    let attention = get(ask, "/api/v1/attention").unwrap_or_default();
    let all = format!("/api/v1/decisions?limit={EVENTS_FIRST}");
    let lists = |events, is_fresh| Lists { queues, pool, shares, attention, events, is_fresh };
    let Some(last) = known else { return Ok(lists(get(ask, &all)?, true)) };
    let events: Events = get(ask, &format!("/api/v1/decisions?after={last}&limit={EVENTS_MAX}"))?;
    // Another process, or one with another history, counts from the beginning.
    match events.last < last {
        true => Ok(lists(get(ask, &all)?, true)),
        false => Ok(lists(events, false)),
    }
}

/// An answer, or why there is none.
fn get<T: DeserializeOwned>(ask: &Ask, path: &str) -> Result<T, String> {
    let reply = match ask.get(path) {
        Ok(Some(reply)) => reply,
        Ok(None) => return Err(ask.absent()),
        Err(error) => return Err(format!("{error:#}")),
    };
    if reply.status != 200 {
        return Err(refused(ask, path, &reply));
    }
    let read = serde_json::from_slice(&reply.body);
    read.map_err(|error| format!("{} answered {path} with something else: {error}", ask.url()))
}

/// Error text of an answer that is a refusal.
fn refused(ask: &Ask, path: &str, reply: &Reply) -> String {
    let stated: Option<serde_json::Value> = serde_json::from_slice(&reply.body).ok();
    let of = |name: &str| stated.as_ref()?.get(name)?.as_str().map(str::to_owned);
    match (reply.status, of("error"), of("remedy")) {
        (404, Some(error), Some(remedy)) if path.starts_with("/api/v1/explain") => {
            format!("{error}\n{remedy}")
        }
        _ => format!("{:#}", ask.refused(path, reply)),
    }
}
