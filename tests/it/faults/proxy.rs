//! Stands between a client and a broker and lets everything pass, but for one request or its
//! answer, of a kind that the test names: that one is kept back, and the test is informed.
//!
//! Of Kafka's protocol it knows the frames and the beginning of a request: length, kind, version,
//! number; an answer begins with length and number.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A step of a transaction, with the number of its request in Kafka's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Taking the lead: `InitProducerId`.
    Begin = 22,
    /// `AddPartitionsToTxn`.
    Add = 24,
    /// `Produce`.
    Produce = 0,
    /// `EndTxn`.
    End = 26,
}

/// The request or answer that is kept back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The request: the broker never sees it.
    Request,
    /// The answer: it is done, and no answer arrives.
    Answer,
}

#[derive(Default)]
struct State {
    rule: Option<(Step, Loss)>,
    /// Bytes of a request that make the transaction under way one that matters.
    mark: Vec<u8>,
    is_marked: bool,
    /// Something is kept back now.
    is_caught: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    ends: AtomicBool,
    /// Where the broker listens.
    broker: u16,
}

/// Listens until it is dropped.
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
}

impl Proxy {
    /// One for the broker on a port of this machine.
    pub fn start(broker: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { broker, ..Shared::default() });
        let own = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if own.ends.load(Ordering::Relaxed) {
                    return;
                }
                connect(&own, client);
            }
        });
        Proxy { shared, port }
    }

    /// Where it listens.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Transactions matter that add partitions of this topic; without a mark none does.
    pub fn mark(&self, topic: &str) {
        self.shared.state.lock().unwrap().mark = topic.as_bytes().to_vec();
    }

    /// Keeps back the next request of a kind within a transaction that matters, or its answer.
    pub fn arm(&self, step: Step, loss: Loss) {
        let mut state = self.shared.state.lock().unwrap();
        (state.rule, state.is_marked) = (Some((step, loss)), false);
    }

    /// Waits until something is kept back.
    #[track_caller]
    pub fn wait(&self, limit: Duration, what: impl Fn() -> String) {
        let start = Instant::now();
        let mut state = self.shared.state.lock().unwrap();
        while !state.is_caught {
            let rule = state.rule;
            assert!(start.elapsed() < limit, "{rule:?} did not come within {limit:?}: {}", what());
            state = self.shared.changed.wait_timeout(state, Duration::from_millis(100)).unwrap().0;
        }
    }

    /// Drops the bytes that were kept back for good, and their connection.
    pub fn let_go(&self) {
        // It goes on when a test that waited has failed, too.
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).is_caught = false;
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.let_go();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    /// Whether this request is the one to be kept back, or its answer.
    fn loss(&self, request: &[u8]) -> Option<Loss> {
        let mut state = self.state.lock().unwrap();
        let kind = i16::from_be_bytes([request[0], request[1]]);
        let is = |step: Step| kind == step as i16;
        let has_mark = |mark: &[u8]| request.windows(mark.len()).any(|part| part == mark);
        if is(Step::Add) && !state.mark.is_empty() && has_mark(&state.mark) {
            state.is_marked = true;
        }
        let (step, loss) = state.rule.filter(|(step, _)| is(*step))?;
        if !state.is_marked && step != Step::Begin {
            return None;
        }
        state.rule = None;
        Some(loss)
    }

    /// Tells the test, and waits until it says so.
    fn catch(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_caught = true;
        self.changed.notify_all();
        while state.is_caught && !self.ends.load(Ordering::Relaxed) {
            state = self.changed.wait(state).unwrap();
        }
    }
}

fn connect(shared: &Arc<Shared>, client: TcpStream) {
    let Ok(broker) = TcpStream::connect(("127.0.0.1", shared.broker)) else { return };
    // The number of the request of which the answer is to be kept back.
    let wanted = Arc::new(Mutex::new(None));
    for way in [Loss::Request, Loss::Answer] {
        let (client, broker) = (client.try_clone().unwrap(), broker.try_clone().unwrap());
        let (shared, wanted) = (shared.clone(), wanted.clone());
        std::thread::spawn(move || {
            let (from, to) = match way {
                Loss::Request => (&client, &broker),
                Loss::Answer => (&broker, &client),
            };
            // However it ends, both sides are to know.
            let _ = pass(&shared, &wanted, way, from, to);
            let _ = client.shutdown(Shutdown::Both);
            let _ = broker.shutdown(Shutdown::Both);
        });
    }
}

/// Passes frames on until a side closes or one is kept back.
fn pass(
    shared: &Shared,
    wanted: &Mutex<Option<[u8; 4]>>,
    way: Loss,
    mut from: &TcpStream,
    mut to: &TcpStream,
) -> std::io::Result<()> {
    loop {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        from.read_exact(&mut frame)?;
        let number = |at: usize| <[u8; 4]>::try_from(&frame[at..at + 4]).expect("four bytes");
        let is_caught = match way {
            Loss::Request => match shared.loss(&frame) {
                Some(Loss::Answer) => {
                    *wanted.lock().unwrap() = Some(number(4));
                    false
                }
                caught => caught.is_some(),
            },
            Loss::Answer => *wanted.lock().unwrap() == Some(number(0)),
        };
        if is_caught {
            shared.catch();
            return Ok(());
        }
        to.write_all(&length)?;
        to.write_all(&frame)?;
    }
}
