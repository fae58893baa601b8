//! The columns of the table of queues, and those of outputs.

use super::data::{Event, Queue};
use yardmaster_core::explain::iso;
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// Bytes of a GB.
const GB: u64 = 1_000_000_000;

/// A column of the table of queues, or of what a domain has in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueColumn {
    Queue,
    Status,
    Running,
    Queued,
    Transferring,
    Ratio,
    Pilots,
    Submitted,
    Slots,
    Reserved,
    RunningCores,
    QueuedCores,
    LastPilot,
    LastStart,
    Site,
    Group,
    Pledged,
    Used,
    Free,
    Offers,
    LastOffer,
    GridQueued,
    LocalQueued,
    AsOf,
    Assigned,
    Disk,
    Cache,
}

/// By what queues are sorted: a name, or a figure in thousandths; what is not known comes first.
pub(super) type SortKey = (String, Option<u64>);

impl QueueColumn {
    /// Its heading.
    pub const fn head(self) -> &'static str {
        match self {
            QueueColumn::Queue => "queue",
            QueueColumn::Status => "status",
            QueueColumn::Running => "running",
            QueueColumn::Queued => "queued",
            QueueColumn::Transferring => "transf",
            QueueColumn::Ratio => "q/r",
            QueueColumn::Pilots => "pilots",
            QueueColumn::Submitted => "submit",
            QueueColumn::Slots => "slots",
            QueueColumn::Reserved => "reserved",
            QueueColumn::RunningCores => "r.cores",
            QueueColumn::QueuedCores => "q.cores",
            QueueColumn::LastPilot => "pilot",
            QueueColumn::LastStart => "start",
            QueueColumn::Site => "site",
            QueueColumn::Group => "cloud",
            QueueColumn::Pledged => "pledge",
            QueueColumn::Used => "used %",
            QueueColumn::Free => "free",
            QueueColumn::Offers => "offers",
            QueueColumn::LastOffer => "offer",
            QueueColumn::GridQueued => "grid q",
            QueueColumn::LocalQueued => "local q",
            QueueColumn::AsOf => "facts",
            QueueColumn::Assigned => "prep",
            QueueColumn::Disk => "disk GB",
            QueueColumn::Cache => "cache GB",
        }
    }

    /// Its meaning, for the help.
    pub const fn help(self) -> &'static str {
        match self {
            QueueColumn::Queue => "its name",
            QueueColumn::Status => "its status, as configured or published",
            QueueColumn::Running => "jobs that run",
            QueueColumn::Queued => "jobs that are queued",
            QueueColumn::Transferring => "jobs whose files are transferred",
            QueueColumn::Ratio => "queued jobs for each that runs",
            QueueColumn::Pilots => "pilots that run",
            QueueColumn::Submitted => "pilots that are submitted",
            QueueColumn::Slots => "slots by the configuration",
            QueueColumn::Reserved => "jobs that were assigned and have not come yet",
            QueueColumn::RunningCores => "cores of jobs that run",
            QueueColumn::QueuedCores => "cores of jobs that are queued",
            QueueColumn::LastPilot => "how long ago the last pilot was seen",
            QueueColumn::LastStart => "how long ago the last job started",
            QueueColumn::Site => "its site, or cluster",
            QueueColumn::Group => "its cloud, tier or country",
            QueueColumn::Pledged => "cores that it gives: pledged, or published",
            QueueColumn::Used => "cores of jobs that run, of those",
            QueueColumn::Free => "cores that are free: left of live offers, or published",
            QueueColumn::Offers => "live offers with cores left",
            QueueColumn::LastOffer => "how long ago the last offer came",
            QueueColumn::GridQueued => "jobs of the grid that it publishes as queued",
            QueueColumn::LocalQueued => "jobs of others that it publishes as queued",
            QueueColumn::AsOf => "how old its facts are",
            QueueColumn::Assigned => "jobs before the batch system, of those that are queued",
            QueueColumn::Disk => "disk that a job may take, as published; GB",
            QueueColumn::Cache => "what the cluster's cache has room for; GB",
        }
    }

    /// How wide it is, where the longest name of a queue is so long.
    pub fn width(self, name: u16) -> u16 {
        match self {
            QueueColumn::Queue => name.clamp(5, 32),
            QueueColumn::Status => 9,
            QueueColumn::Site | QueueColumn::Group => 16,
            other => (other.head().len() as u16).max(6),
        }
    }

    /// Whether it is sorted by name, from the first letter on.
    pub const fn is_text(self) -> bool {
        use QueueColumn::{Group, Queue, Site, Status};
        matches!(self, Queue | Status | Site | Group)
    }

    /// By what a queue is sorted.
    pub fn key(self, it: &Queue) -> SortKey {
        let at = |at: Option<Millis>| at.and_then(|at| u64::try_from(at).ok());
        let figure = match self {
            QueueColumn::Queue => return (it.queue.to_lowercase(), None),
            QueueColumn::Status => return (it.status.to_lowercase(), None),
            QueueColumn::Site => return (it.site.to_lowercase(), None),
            QueueColumn::Group => return (it.group.to_lowercase(), None),
            QueueColumn::Running => Some(it.running),
            QueueColumn::Queued => Some(it.queued),
            QueueColumn::Transferring => Some(it.transferring),
            QueueColumn::Ratio => ratio(it).map(|ratio| (ratio * 1_000.0) as u64),
            QueueColumn::Pilots => Some(it.pilots_running),
            QueueColumn::Submitted => Some(it.pilots_submitted),
            QueueColumn::Slots => it.slots,
            QueueColumn::Reserved => Some(it.reserved),
            QueueColumn::RunningCores => Some(it.running_cores),
            QueueColumn::QueuedCores => Some(it.queued_cores),
            QueueColumn::LastPilot => at(it.last_pilot_at),
            QueueColumn::LastStart => at(it.last_start_at),
            QueueColumn::Pledged => it.pledged_cores,
            QueueColumn::Used => used(it).map(|used| (used * 1_000.0) as u64),
            QueueColumn::Free => it.free_cores,
            QueueColumn::Offers => it.offers,
            QueueColumn::LastOffer => at(it.last_offer_at),
            QueueColumn::GridQueued => it.grid_queued,
            QueueColumn::LocalQueued => it.local_queued,
            QueueColumn::AsOf => at(it.as_of),
            QueueColumn::Assigned => Some(it.assigned),
            QueueColumn::Disk => it.disk_free_bytes,
            QueueColumn::Cache => it.cache_free_bytes,
        };
        (String::new(), figure)
    }

    /// Its text for a queue at a moment.
    pub fn cell(self, it: &Queue, now: Millis) -> String {
        let ago = |at: Option<Millis>| at.map_or("-".to_owned(), |at| span(now - at));
        let count = |of: Option<u64>| of.map_or("-".to_owned(), |of| of.to_string());
        match self {
            QueueColumn::Queue => it.queue.clone(),
            QueueColumn::Status if it.status.is_empty() => "-".to_owned(),
            // What a cluster remarks behind its word is for the page.
            QueueColumn::Status => it.status.split(',').next().unwrap_or_default().to_owned(),
            QueueColumn::Site => it.site.clone(),
            QueueColumn::Group => it.group.clone(),
            QueueColumn::Running => it.running.to_string(),
            QueueColumn::Queued => it.queued.to_string(),
            QueueColumn::Transferring => it.transferring.to_string(),
            QueueColumn::Ratio => ratio(it).map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            QueueColumn::Pilots => it.pilots_running.to_string(),
            QueueColumn::Submitted => it.pilots_submitted.to_string(),
            QueueColumn::Slots => count(it.slots),
            QueueColumn::Reserved => it.reserved.to_string(),
            QueueColumn::RunningCores => it.running_cores.to_string(),
            QueueColumn::QueuedCores => it.queued_cores.to_string(),
            QueueColumn::LastPilot => ago(it.last_pilot_at),
            QueueColumn::LastStart => ago(it.last_start_at),
            QueueColumn::Pledged => count(it.pledged_cores),
            QueueColumn::Used => used(it).map_or("-".to_owned(), |it| format!("{:.0}", it * 100.0)),
            QueueColumn::Free => count(it.free_cores),
            QueueColumn::Offers => count(it.offers),
            QueueColumn::LastOffer => ago(it.last_offer_at),
            QueueColumn::GridQueued => count(it.grid_queued),
            QueueColumn::LocalQueued => count(it.local_queued),
            QueueColumn::AsOf => ago(it.as_of),
            QueueColumn::Assigned => it.assigned.to_string(),
            QueueColumn::Disk => count(it.disk_free_bytes.map(|bytes| bytes / GB)),
            QueueColumn::Cache => count(it.cache_free_bytes.map(|bytes| bytes / GB)),
        }
    }
}

/// The part of its cores that jobs use.
fn used(it: &Queue) -> Option<f64> {
    let given = it.pledged_cores.filter(|cores| *cores > 0)?;
    Some(it.running_cores as f64 / given as f64)
}

fn ratio(it: &Queue) -> Option<f64> {
    (it.running > 0).then(|| it.queued as f64 / it.running as f64)
}

/// A span in its largest unit.
pub(super) fn span(millis: Millis) -> String {
    let millis = millis.max(0);
    let units = [(DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")];
    match units.into_iter().find(|(unit, _)| millis >= *unit) {
        Some((unit, name)) => format!("{}{name}", millis / unit),
        None => "0s".to_owned(),
    }
}

/// An output in columns: time of day, what, subject, share, user, text.
pub(super) fn cells_of(it: &Event) -> [String; 6] {
    let at = iso(it.at);
    let time = at.get(11..19).unwrap_or(&at);
    let dry = if it.dry_run { "(dry run) " } else { "" };
    [
        time.to_owned(),
        it.what.clone(),
        it.subject.clone(),
        it.gshare.clone(),
        it.user.clone(),
        format!("{dry}{}", it.text),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash_and_comes_first() {
        let idle = Queue { queued: 5, ..Queue::default() };
        let busy = Queue { queued: 5, running: 2, slots: Some(9), ..Queue::default() };
        for column in [QueueColumn::Ratio, QueueColumn::Slots] {
            assert_eq!(column.cell(&idle, 0), "-");
            assert!(column.key(&idle) < column.key(&busy));
        }
        assert_eq!(QueueColumn::Ratio.cell(&busy, 0), "2.50");
        let seen = Queue { last_pilot_at: Some(5_000), ..Queue::default() };
        assert_eq!(QueueColumn::LastPilot.cell(&seen, 5_000 + 2 * HOUR), "2h");
        assert_eq!((span(-5), span(999), span(3 * DAY)), ("0s".into(), "0s".into(), "3d".into()));
    }
}
