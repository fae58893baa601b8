//! Configuration records: what stands in each lane, in the layout of their topics.

use super::text;
use crate::core::cut::{Lane, Topic};
use crate::core::event::{
    Event, Link, Parameter, Queue, Quota, Release, Share, Site, Storage, User,
};
use crate::core::state::record::Fact;
use crate::wire::avro::{Cursor, Fault, HEADER_BYTES, Sink};
use crate::wire::record;

/// A configuration record that can be kept.
pub(super) trait Kept: Sized {
    fn write(&self, out: &mut Vec<u8>);
    fn topic() -> Topic;
    fn of(event: Event<'_>) -> Option<Self>;
}

macro_rules! kept {
    ($kind:ident, $write:ident, $event:pat => $content:expr) => {
        impl Kept for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                record::$write(out, self);
            }
            fn topic() -> Topic {
                Topic::$kind
            }
            fn of(event: Event<'_>) -> Option<Self> {
                match event {
                    $event => Some($content),
                    _ => None,
                }
            }
        }
    };
}
kept!(Queue, write_queue, Event::Queue(queue) => *queue);
kept!(Site, write_site, Event::Site(site) => site);
kept!(Storage, write_storage, Event::Storage(storage) => storage);
kept!(Link, write_link, Event::Link(link) => link);
kept!(Parameter, write_parameter, Event::Parameter(parameter) => parameter);
kept!(Release, write_release, Event::Release(release) => *release);
kept!(Share, write_share, Event::Share(share) => *share);
kept!(Quota, write_quota, Event::Quota(quota) => quota);
kept!(User, write_user, Event::User(user) => *user);

pub(super) fn write<T: Kept>(sink: &mut Sink<'_>, fact: &Fact<T>) {
    sink.string(&fact.name);
    sink.index(fact.held.len());
    for (lane, content) in &fact.held {
        let mut bytes = Vec::new();
        content.write(&mut bytes);
        sink.count(lane.partition);
        sink.bytes(&bytes);
    }
}

pub(super) fn read<T: Kept>(at: &mut Cursor<'_>) -> Result<Fact<T>, Fault> {
    let name = text(at)?;
    let mut held = Vec::new();
    for _ in 0..at.index()? {
        let lane = Lane::new(T::topic(), super::count(at)?);
        let bytes = at.bytes()?.get(HEADER_BYTES..).ok_or(Fault::Malformed)?;
        let event = record::read(T::topic(), bytes).map_err(|_| Fault::Malformed)?;
        held.push((lane, T::of(event).ok_or(Fault::Malformed)?));
    }
    Ok(Fact { name, held })
}
