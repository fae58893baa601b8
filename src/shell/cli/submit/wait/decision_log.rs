//! The log as somebody reads it who waits for decisions: those that count, and the newest record of
//! each cluster.

use crate::cli::outputs::{TAIL, read_to_end};
use crate::ports::AnyLog;
use std::collections::BTreeMap;
use std::time::Duration;
use yardmaster_core::cut::{Cut, Topic};
use yardmaster_core::event::{ClusterFacts, Configuration, Event, Site};
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::Decision;
use yardmaster_drive::listing::{Listed, Listing};
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, Raw};
use yardmaster_wire::avro::{Arena, Codec};

/// Topics that are read to find where jobs stand.
pub(super) const READ: [Topic; 6] =
    [Topic::Task, Topic::Decision, Topic::Outcome, Topic::JobState, Topic::Site, Topic::Progress];
/// Those of them that are followed.
pub(super) const FOLLOWED: [Topic; 3] = [Topic::Decision, Topic::Site, Topic::Progress];
/// Most records of one look.
const LOOK_RECORDS: usize = 1_000;

/// Reads decisions of a log from where it ended when it was opened.
pub(super) struct DecisionLog {
    log: AnyLog,
    codec: Codec,
    listing: Listing,
    batch: Batch,
    /// How far the lanes reached when it was opened.
    spans: Vec<LaneSpan>,
    sites: BTreeMap<String, Site>,
}

impl DecisionLog {
    /// Asks a log how far it reaches, and reads the records of clusters.
    pub fn open(mut log: AnyLog, domain: &str) -> Result<DecisionLog, LogError> {
        let mut spans = log.lanes()?;
        spans.retain(|span| FOLLOWED.contains(&span.lane.topic));
        let (mut codec, mut sites) = (Codec::new(usize::MAX), BTreeMap::new());
        let of_sites: Vec<LaneSpan> =
            spans.iter().filter(|it| it.lane.topic == Topic::Site).copied().collect();
        read_to_end(
            &mut log,
            &of_sites,
            |span| span.first,
            &mut codec,
            &mut |codec, batch, raw| {
                note_site(&mut sites, codec, batch, raw);
                true
            },
        )?;
        let listing = Listing::new(domain, &[Topic::Decision]);
        Ok(DecisionLog { log, codec, listing, batch: Batch::default(), spans, sites })
    }

    /// The log itself, before it is followed.
    pub fn log(&mut self) -> &mut AnyLog {
        &mut self.log
    }

    /// The figures that a cluster publishes.
    pub fn cluster(&self, name: &str) -> Option<&ClusterFacts> {
        self.sites.get(name).and_then(|site| site.cluster.as_ref())
    }

    /// Begins to follow where the log ended when it was opened; of `progress` a little before.
    pub fn follow(&mut self) -> Result<(), LogError> {
        let mut cut = Cut::default();
        for span in &self.spans {
            let back = if span.lane.topic == Topic::Progress { TAIL } else { 0 };
            cut.advance(span.lane, span.stable_end.saturating_sub(back).max(span.first));
        }
        self.log.assign(&cut)
    }

    /// Decisions that are wanted and new; waits for them so long at most.
    pub fn take(
        &mut self,
        wait: Duration,
        wants: &dyn Fn(&Decision) -> bool,
    ) -> Result<Vec<Decision>, LogError> {
        self.batch.clear();
        self.log.take(&mut self.batch, LOOK_RECORDS, wait)?;
        for writer in &self.batch.writers {
            // Records of a schema that cannot be read are none of ours.
            let _ = self.codec.learn_number(writer);
        }
        let wants = |it: &Output| matches!(it, Output::Decision(decision) if wants(decision));
        let (batch, codec, mut found) = (&self.batch, &self.codec, Vec::new());
        for raw in &batch.records {
            let (place, value) = ((raw.lane, raw.offset), batch.value(raw));
            match raw.lane.topic {
                Topic::Site => note_site(&mut self.sites, codec, batch, raw),
                Topic::Progress => found.extend(self.listing.progress(codec, place, value)),
                _ => found.extend(self.listing.output(codec, place, value, &wants)),
            }
        }
        let decision = |listed: Listed| match listed.output {
            Output::Decision(decision) => Some(*decision),
            _ => None,
        };
        Ok(found.into_iter().filter_map(decision).collect())
    }

    /// Notices on records that were passed over, for people.
    pub fn take_notices(&mut self) -> Vec<String> {
        self.listing.take_notices()
    }
}

/// Takes a record of a site up, unless a newer one is known.
fn note_site(sites: &mut BTreeMap<String, Site>, codec: &Codec, batch: &Batch, raw: &Raw) {
    let mut arena = Arena::default();
    match codec.read(raw.lane.topic, batch.key(raw), batch.value(raw), &mut arena) {
        Event::Configuration(record) => {
            if let Configuration::Site(site) = *record
                && sites.get(&site.name).is_none_or(|known| known.changed_at <= site.changed_at)
            {
                sites.insert(site.name.clone(), site);
            }
        }
        Event::Removed { name, .. } => drop(sites.remove(name)),
        _ => {}
    }
}
