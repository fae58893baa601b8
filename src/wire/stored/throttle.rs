//! Throttles: the newest of each subject and rule.

use crate::core::cut::Topic;
use crate::core::event::Event;
use crate::core::output::Output;
use crate::core::output::throttle::Throttle;
use crate::wire::avro::{Cursor, Fault, HEADER_BYTES, Sink};
use crate::wire::record;

pub(super) fn write(sink: &mut Sink<'_>, throttle: &Throttle) {
    record::write_throttle(sink.out, throttle);
}

pub(super) fn read(at: &mut Cursor<'_>) -> Result<Throttle, Fault> {
    let bytes = at.take(at.rest().len())?;
    let bytes = bytes.get(HEADER_BYTES..).ok_or(Fault::Malformed)?;
    match record::read(Topic::Throttle, bytes) {
        Ok(Event::Output(Output::Throttle(throttle))) => Ok(*throttle),
        _ => Err(Fault::Malformed),
    }
}
