//! Links and what goes over them: transfers wait for a stream, take their time, fail now and then.

use super::Grid;
use super::Record;
use super::agenda::GridStep;
use super::facts::Facts;
use super::pool::{Handle, Pool};
use super::queues::Queues;
use super::work::nuclei;
use crate::dice::Dice;
use crate::publisher::Publisher;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use yardmaster_core::event::{Link, LinkQueued, Transfer, TransferStatus};
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// Activities of the transfers that jobs need.
pub const PRODUCTION: &str = "Production Output";
/// See `PRODUCTION`: of urgent tasks.
pub const EXPRESS: &str = "Express";
/// See `PRODUCTION`: to a queue.
pub const INPUT: &str = "Production Input";
const ACTIVITIES: [&str; 3] = [PRODUCTION, EXPRESS, INPUT];

/// All links and transfers.
pub struct Links {
    pub all: Vec<LiveLink>,
    pub transfers: Pool<LiveTransfer>,
    by_ends: BTreeMap<String, BTreeMap<String, u32>>,
    next_transfer: u64,
    speed: u32,
    seed: u64,
    /// Cores of the queues that use a storage site.
    cores: BTreeMap<String, u32>,
}

/// A link.
pub struct LiveLink {
    /// As last published.
    pub link: Link,
    /// How often it is measured.
    pub period: Millis,
    /// Whether it is measured: it was among the facts.
    published: bool,
    /// Its throughputs in the facts, those known; MB/s.
    usual: Vec<f64>,
    /// The part of its throughput that is left during a jam, and the end of the jam.
    jam: (f64, Millis),
    /// Throughput as last measured; MB/s.
    mbps: f64,
    /// Transfers at once.
    streams: u32,
    active: u32,
    /// Its closeness before it was blocked; `None`: it is not blocked.
    blocked: Option<Option<i32>>,
    waiting: VecDeque<Handle>,
    /// Of each of our activities: files and bytes queued, submitted ones included.
    ours: [(u64, u64); ACTIVITIES.len()],
    /// Of others.
    others: Vec<LinkQueued>,
    /// Of its measurements.
    dice: Dice,
}

/// Input or output files of a job that are to be transferred.
pub struct Shipment {
    pub job: Handle,
    pub activity: &'static str,
    pub source: String,
    pub destination: String,
    pub files: u32,
    pub bytes: u64,
    pub tries: u32,
}

/// A transfer that has not ended.
pub struct LiveTransfer {
    name: String,
    link: u32,
    shipment: Shipment,
}

/// Fewest transfers at once on a link, and the cores of its larger end for each of them: a link
/// carries what its sites make, however large the grid is.
const STREAMS_LEAST: u32 = 4;
const STREAM_CORES: u32 = 50;
/// Part of all attempts that fail (2019: 7-12 %), and how often a transfer is tried.
const FAILING: f64 = 0.09;
const TRIES_MOST: u32 = 4;
/// Time a transfer takes beside its bytes.
const SETUP: (Millis, Millis) = (10 * SECOND, 4 * MINUTE);
/// Throughput of a link that nothing is known of, and the least of any; MB/s.
const UNKNOWN_MBPS: f64 = 10.0;
const LEAST_MBPS: f64 = 0.2;
/// A link into a nucleus is measured so often, others so.
const PERIOD: Millis = 30 * MINUTE;
const PERIOD_OTHERS: Millis = 6 * HOUR;
/// Now and then a link is jammed: part of all measurements, what is left, for how long.
const JAMMED: f64 = 0.01;
const JAM: (f64, f64) = (0.01, 0.15);
const JAM_SPAN: (Millis, Millis) = (HOUR, 5 * HOUR);
/// Closeness of a link that nothing may use.
const BLOCKED: i32 = -1;
/// Number of the first transfer.
const FIRST_TRANSFER: u64 = 9_000_000_000;

impl Links {
    /// The links of the facts, empty.
    /// `speed`: how many times as many transfers there are; the first one's number is so much
    /// higher.
    pub fn new(seed: u64, facts: &Facts, queues: &Queues, (speed, from): (u32, u64)) -> Links {
        let nuclei: BTreeSet<&str> = nuclei(facts).collect();
        let mut links = Links {
            all: Vec::new(),
            transfers: Pool::default(),
            by_ends: BTreeMap::new(),
            next_transfer: FIRST_TRANSFER + from,
            speed,
            seed,
            cores: queues.cores_by_site(),
        };
        for link in &facts.links {
            let eager = nuclei.contains(link.destination.as_str());
            links.add(link.clone(), true, if eager { PERIOD } else { PERIOD_OTHERS });
        }
        links
    }

    fn add(&mut self, link: Link, published: bool, period: Millis) -> u32 {
        let at = self.all.len() as u32;
        let ends = self.by_ends.entry(link.source.clone()).or_default();
        ends.insert(link.destination.clone(), at);
        let known = [link.mbps_1h, link.mbps_1d, link.mbps_1w].into_iter().flatten();
        let usual: Vec<f64> = known.filter(|mbps| mbps.is_finite() && *mbps > 0.0).collect();
        let ends = [&link.source, &link.destination].map(|site| self.cores.get(site).copied());
        let cores = ends.into_iter().flatten().max().unwrap_or(0);
        let others = link.queued.iter().filter(|it| !ACTIVITIES.contains(&it.activity.as_str()));
        self.all.push(LiveLink {
            period,
            published,
            mbps: usual.first().copied().unwrap_or(UNKNOWN_MBPS),
            usual,
            jam: (1.0, 0),
            streams: STREAMS_LEAST.max(cores / STREAM_CORES) * self.speed,
            active: 0,
            blocked: None,
            waiting: VecDeque::new(),
            ours: Default::default(),
            others: others.cloned().collect(),
            dice: Dice::new(self.seed, &format!("link {}:{}", link.source, link.destination)),
            link,
        });
        at
    }

    /// The link between two sites; one that is not measured if there is no other.
    fn between(&mut self, source: &str, destination: &str) -> u32 {
        let known = self.by_ends.get(source).and_then(|ends| ends.get(destination));
        if let Some(at) = known {
            return *at;
        }
        let link = Link {
            source: source.to_owned(),
            destination: destination.to_owned(),
            ..Link::default()
        };
        self.add(link, false, PERIOD)
    }
}

impl LiveLink {
    /// Transfers that wait for a stream.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Handle> + '_ {
        self.waiting.iter().copied()
    }

    /// Says it as it is.
    pub fn publish(&mut self, publisher: &mut Publisher) {
        if !self.published {
            return;
        }
        if self.link.queued_known {
            self.link.queued.clear();
            self.link.queued.extend(self.others.iter().cloned());
            for (activity, (files, bytes)) in ACTIVITIES.iter().zip(self.ours) {
                if files > 0 {
                    let activity = (*activity).to_owned();
                    self.link.queued.push(LinkQueued { activity, files, bytes });
                }
            }
        }
        publisher.fact(&self.link);
    }

    /// A new measurement: somewhere between the known throughputs, less when jammed.
    fn measure(&mut self, now: Millis) {
        let dice = &mut self.dice;
        if self.jam.1 <= now {
            self.jam.0 = 1.0;
            if dice.chance(JAMMED) {
                self.jam = (dice.within(JAM.0, JAM.1), now + dice.between(JAM_SPAN.0, JAM_SPAN.1));
            }
        }
        if !self.usual.is_empty() {
            let (one, other) = (
                self.usual[dice.below(self.usual.len())],
                self.usual[dice.below(self.usual.len())],
            );
            let mbps = dice.within(one.min(other), one.max(other)) * dice.within(0.85, 1.15);
            self.mbps = mbps * self.jam.0;
        }
        let link = &mut self.link;
        link.changed_at = now;
        // What was not known stays so: no figure of the last hour means that nothing was moved.
        link.mbps_1h = link.mbps_1h.map(|_| self.mbps);
        link.mbps_1d = link.mbps_1d.map(|day| day + (self.mbps - day) / 48.0);
        link.mbps_1w = link.mbps_1w.map(|week| week + (self.mbps - week) / 336.0);
        for other in &mut self.others {
            other.files = (other.files as f64 * dice.within(0.8, 1.22)) as u64;
            other.bytes = (other.bytes as f64 * dice.within(0.8, 1.22)) as u64;
        }
    }

    fn count(&mut self, shipment: &Shipment, sign: i64) {
        let at = ACTIVITIES.iter().position(|it| *it == shipment.activity).unwrap_or(0);
        let (files, bytes) = &mut self.ours[at];
        *files = files.wrapping_add_signed(sign * i64::from(shipment.files));
        *bytes = bytes.wrapping_add_signed(sign * shipment.bytes as i64);
    }
}

impl Grid {
    pub(super) fn link_measured(&mut self, at: u32) {
        let live = &mut self.links.all[at as usize];
        live.measure(self.now);
        live.publish(&mut self.publisher);
        let next = live.dice.between(live.period - live.period / 10, live.period);
        self.after(next, GridStep::LinkMeasured(at));
    }

    /// Blocks the links out of a site, or opens them again, as of the time reached. No transfer
    /// begins on a blocked link; those under way go on. Appends what is published.
    pub fn set_blocked(&mut self, source: &str, blocked: bool, out: &mut Vec<Record>) {
        self.publisher.out = std::mem::take(out);
        for at in 0..self.links.all.len() {
            let live = &mut self.links.all[at];
            if live.link.source != source || live.blocked.is_some() == blocked {
                continue;
            }
            let before = live.blocked.take();
            match before {
                Some(closeness) => live.link.closeness = closeness,
                None => {
                    live.blocked = Some(live.link.closeness);
                    live.link.closeness = Some(BLOCKED);
                }
            }
            live.link.changed_at = self.now;
            live.publish(&mut self.publisher);
            self.open_streams(at as u32);
        }
        *out = std::mem::take(&mut self.publisher.out);
    }

    /// Something is to be brought to a job's next step.
    pub(super) fn ship(&mut self, shipment: Shipment) {
        let at = self.links.between(&shipment.source, &shipment.destination);
        self.links.all[at as usize].count(&shipment, 1);
        self.links.next_transfer += 1;
        let name = self.links.next_transfer.to_string();
        let transfer = LiveTransfer { name, link: at, shipment };
        transfer.publish(&mut self.publisher, TransferStatus::Queued, "");
        let handle = self.links.transfers.insert(transfer);
        self.links.all[at as usize].waiting.push_back(handle);
        self.open_streams(at);
    }

    /// Transfers that wait get what streams are free.
    fn open_streams(&mut self, at: u32) {
        loop {
            let live = &mut self.links.all[at as usize];
            if live.blocked.is_some() || live.active >= live.streams {
                return;
            }
            let Some(handle) = live.waiting.pop_front() else { return };
            live.active += 1;
            let Some(transfer) = self.links.transfers.get(handle) else { return };
            let mbps = live.mbps.max(LEAST_MBPS);
            let moving = transfer.shipment.bytes as f64 / (mbps * 1e6) * 1_000.0;
            transfer.publish(&mut self.publisher, TransferStatus::Submitted, "");
            let setup = self.dice.between(self.sooner(SETUP.0), self.sooner(SETUP.1));
            self.after(setup + moving as Millis, GridStep::TransferStep(handle));
        }
    }

    /// A transfer ends: its job goes on, or it is tried again, or both are given up.
    pub(super) fn transfer_step(&mut self, handle: Handle) {
        let Some(transfer) = self.links.transfers.remove(handle) else { return };
        let live = &mut self.links.all[transfer.link as usize];
        live.active -= 1;
        live.count(&transfer.shipment, -1);
        let failed = self.dice.chance(FAILING);
        if failed {
            let error = "TRANSFER [110] connection timed out";
            transfer.publish(&mut self.publisher, TransferStatus::Failed, error);
        } else {
            transfer.publish(&mut self.publisher, TransferStatus::Done, "");
        }
        self.open_streams(transfer.link);
        let shipment = transfer.shipment;
        match (failed, shipment.tries + 1 < TRIES_MOST) {
            (false, _) => self.job_step(shipment.job),
            (true, true) => self.ship(Shipment { tries: shipment.tries + 1, ..shipment }),
            (true, false) => self.transfer_failed(shipment.job),
        }
    }
}

impl LiveTransfer {
    pub(super) fn publish(&self, publisher: &mut Publisher, state: TransferStatus, error: &str) {
        let shipment = &self.shipment;
        publisher.transfer(&Transfer {
            request: &self.name,
            state,
            changed_at: publisher.now,
            activity: shipment.activity,
            source: &shipment.source,
            destination: &shipment.destination,
            bytes: shipment.bytes,
            files: shipment.files,
            error,
            ..Transfer::default()
        });
    }
}
