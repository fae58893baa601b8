//! `replica`.

use super::{Layout, amount, list, symbol, text};
use crate::avro::{Cursor, Fault, Sink};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{DataKind, Location, Replica, ReplicaState};

const KINDS: [DataKind; 2] = [DataKind::File, DataKind::Dataset];
const STATES: [ReplicaState; 3] =
    [ReplicaState::Available, ReplicaState::Copying, ReplicaState::Unavailable];

impl Layout for Replica {
    fn read(at: &mut Cursor<'_>) -> Result<Replica, Fault> {
        Ok(Replica {
            name: text(at)?,
            changed_at: at.long()?,
            kind: symbol(at, &KINDS)?,
            dataset: text(at)?,
            bytes: amount(at)?,
            files: amount(at)?,
            checksum: text(at)?,
            locations: list(at, read_location)?,
            endpoint: text(at)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut sink = Sink::begin(out, Topic::Replica);
        sink.string(&self.name);
        sink.long(self.changed_at);
        sink.index(self.kind as usize);
        sink.string(&self.dataset);
        sink.amount(self.bytes);
        sink.amount(self.files);
        sink.string(&self.checksum);
        sink.array(&self.locations, write_location);
        sink.string(&self.endpoint);
    }
}

fn read_location(at: &mut Cursor<'_>) -> Result<Location, Fault> {
    Ok(Location {
        endpoint: text(at)?,
        files: amount(at)?,
        bytes: amount(at)?,
        complete: at.boolean()?,
        tape: at.boolean()?,
        cache: at.boolean()?,
        state: symbol(at, &STATES)?,
    })
}

fn write_location(sink: &mut Sink<'_>, location: &Location) {
    sink.string(&location.endpoint);
    sink.amount(location.files);
    sink.amount(location.bytes);
    sink.boolean(location.complete);
    sink.boolean(location.tape);
    sink.boolean(location.cache);
    sink.index(location.state as usize);
}
