//! The ports as a command line names them: a directory or a Kafka; a store or none.

use crate::dirlog::DirLog;
use crate::kafka::KafkaLog;
use crate::read_ahead::ReadAhead;
use crate::registry::FramedLog;
use crate::store::SledStore;
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::unit::Millis;
use yardmaster_drive::port::{
    Batch, Checkpoint, Kept, LaneSpan, Log, LogError, OutputRecord, Piece, Store, StoreError,
};
use yardmaster_wire::avro::Writer;

/// Any log.
pub enum AnyLog {
    /// A directory, read ahead while following.
    Dir(Box<ReadAhead<DirLog>>),
    /// A Kafka.
    Kafka(Box<KafkaLog>),
    /// Either, with topics in Confluent framing.
    Framed(Box<FramedLog<AnyLog>>),
}

macro_rules! either {
    ($self:ident, $log:ident => $call:expr) => {
        match $self {
            AnyLog::Dir($log) => $call,
            AnyLog::Kafka($log) => $call,
            AnyLog::Framed($log) => $call,
        }
    };
}

impl AnyLog {
    /// A directory.
    pub fn dir(log: DirLog) -> Result<AnyLog, LogError> {
        Ok(AnyLog::Dir(Box::new(ReadAhead::start(log)?)))
    }

    /// Whether the broker does not answer.
    pub fn is_unreachable(&self) -> bool {
        self.unreachable().is_some()
    }

    /// For how long the broker has not answered; `None` while it does.
    pub fn unreachable(&self) -> Option<Duration> {
        match self {
            AnyLog::Dir(_) => None,
            AnyLog::Kafka(log) => log.unreachable(),
            AnyLog::Framed(log) => log.inner().unreachable(),
        }
    }
}

impl Log for AnyLog {
    fn lanes(&mut self) -> Result<Vec<LaneSpan>, LogError> {
        either!(self, log => log.lanes())
    }

    fn assign(&mut self, from: &Cut) -> Result<(), LogError> {
        either!(self, log => log.assign(from))
    }

    fn set_paused(&mut self, lanes: &[Lane], paused: bool) -> Result<(), LogError> {
        either!(self, log => log.set_paused(lanes, paused))
    }

    fn take(&mut self, batch: &mut Batch, max: usize, wait: Duration) -> Result<(), LogError> {
        either!(self, log => log.take(batch, max, wait))
    }

    fn know(&mut self, writers: &[Writer]) {
        either!(self, log => log.know(writers))
    }

    fn waiting_for_registry(&self) -> Option<(u64, String)> {
        either!(self, log => log.waiting_for_registry())
    }

    fn pass_unreadable(&mut self, records: &[(Lane, u64)]) {
        either!(self, log => log.pass_unreadable(records))
    }

    fn id(&mut self) -> Option<String> {
        either!(self, log => log.id())
    }

    fn topic_ids(&mut self) -> Result<BTreeMap<Topic, String>, LogError> {
        either!(self, log => log.topic_ids())
    }

    fn offsets_since(&mut self, at: Millis) -> Result<Option<Vec<(Lane, u64)>>, LogError> {
        either!(self, log => log.offsets_since(at))
    }

    fn ends(&mut self) -> Vec<(Lane, u64)> {
        either!(self, log => log.ends())
    }

    fn lead(&mut self) -> Result<(), LogError> {
        either!(self, log => log.lead())
    }

    fn let_go(&mut self) {
        either!(self, log => log.let_go());
    }

    fn publish(
        &mut self,
        outputs: Vec<OutputRecord>,
        progress: OutputRecord,
    ) -> Result<(), LogError> {
        either!(self, log => log.publish(outputs, progress))
    }

    fn is_settled(&mut self) -> bool {
        either!(self, log => log.is_settled())
    }

    fn settle(&mut self) -> Result<(), LogError> {
        either!(self, log => log.settle())
    }
}

/// A store, or none: then everything is rebuilt from the log at each start.
pub enum AnyStore {
    /// sled.
    Sled(Box<SledStore>),
    /// Nothing is kept.
    Nothing,
}

impl Store for AnyStore {
    fn load(&mut self) -> Result<Option<Kept>, StoreError> {
        match self {
            AnyStore::Sled(store) => store.load(),
            AnyStore::Nothing => Ok(None),
        }
    }

    fn show(&mut self, take: &mut dyn FnMut(Piece<'_>)) -> Result<bool, StoreError> {
        match self {
            AnyStore::Sled(store) => store.show(take),
            AnyStore::Nothing => Ok(false),
        }
    }

    fn keep(&mut self, checkpoint: Checkpoint) -> Result<(), StoreError> {
        match self {
            AnyStore::Sled(store) => store.keep(checkpoint),
            AnyStore::Nothing => Ok(()),
        }
    }

    fn is_busy(&mut self) -> bool {
        match self {
            AnyStore::Sled(store) => store.is_busy(),
            AnyStore::Nothing => false,
        }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        match self {
            AnyStore::Sled(store) => store.flush(),
            AnyStore::Nothing => Ok(()),
        }
    }
}
