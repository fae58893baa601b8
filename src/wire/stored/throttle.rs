//! Throttles: the newest of each subject and rule.

use crate::avro::{Cursor, Fault, HEADER_BYTES, Sink};
use crate::record;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Event;
use yardmaster_core::output::Output;
use yardmaster_core::output::throttle::Throttle;

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
