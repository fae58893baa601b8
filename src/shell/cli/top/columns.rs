//! The columns of the table of queues, and those of outputs.

use super::data::{Event, Queue};
use yardmaster_core::explain::iso;
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// A column of the table of queues. Where there is no room for all, the last ones go first.
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
}

/// By what queues are sorted: a name, or a figure in thousandths; what is not known comes first.
pub(super) type SortKey = (String, Option<u64>);

impl QueueColumn {
    /// All of them, as they stand.
    pub const ALL: [QueueColumn; 15] = [
        QueueColumn::Queue,
        QueueColumn::Status,
        QueueColumn::Running,
        QueueColumn::Queued,
        QueueColumn::Transferring,
        QueueColumn::Ratio,
        QueueColumn::Pilots,
        QueueColumn::Submitted,
        QueueColumn::Slots,
        QueueColumn::Reserved,
        QueueColumn::RunningCores,
        QueueColumn::QueuedCores,
        QueueColumn::LastPilot,
        QueueColumn::LastStart,
        QueueColumn::Site,
    ];

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
        }
    }

    /// Its meaning, for the help.
    pub const fn help(self) -> &'static str {
        match self {
            QueueColumn::Queue => "name of the queue",
            QueueColumn::Status => "its status by the configuration",
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
            QueueColumn::Site => "its site",
        }
    }

    /// How wide it is, where the longest name of a queue is so long.
    pub fn width(self, name: u16) -> u16 {
        match self {
            QueueColumn::Queue => name.clamp(5, 32),
            QueueColumn::Status => 9,
            QueueColumn::Site => 16,
            other => (other.head().len() as u16).max(6),
        }
    }

    /// Whether it is sorted by name, from the first letter on.
    pub const fn is_text(self) -> bool {
        matches!(self, QueueColumn::Queue | QueueColumn::Status | QueueColumn::Site)
    }

    /// The column after it.
    pub fn next(self) -> QueueColumn {
        QueueColumn::ALL[(self as usize + 1) % QueueColumn::ALL.len()]
    }

    /// The column before it.
    pub fn previous(self) -> QueueColumn {
        QueueColumn::ALL[(self as usize + QueueColumn::ALL.len() - 1) % QueueColumn::ALL.len()]
    }

    /// By what a queue is sorted.
    pub fn key(self, it: &Queue) -> SortKey {
        let at = |at: Option<Millis>| at.and_then(|at| u64::try_from(at).ok());
        let figure = match self {
            QueueColumn::Queue => return (it.queue.to_lowercase(), None),
            QueueColumn::Status => return (it.status.to_lowercase(), None),
            QueueColumn::Site => return (it.site.to_lowercase(), None),
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
        };
        (String::new(), figure)
    }

    /// Its text for a queue at a moment.
    pub fn cell(self, it: &Queue, now: Millis) -> String {
        let ago = |at: Option<Millis>| at.map_or("-".to_owned(), |at| span(now - at));
        match self {
            QueueColumn::Queue => it.queue.clone(),
            QueueColumn::Status if it.status.is_empty() => "-".to_owned(),
            QueueColumn::Status => it.status.clone(),
            QueueColumn::Site => it.site.clone(),
            QueueColumn::Running => it.running.to_string(),
            QueueColumn::Queued => it.queued.to_string(),
            QueueColumn::Transferring => it.transferring.to_string(),
            QueueColumn::Ratio => ratio(it).map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            QueueColumn::Pilots => it.pilots_running.to_string(),
            QueueColumn::Submitted => it.pilots_submitted.to_string(),
            QueueColumn::Slots => it.slots.map_or("-".to_owned(), |slots| slots.to_string()),
            QueueColumn::Reserved => it.reserved.to_string(),
            QueueColumn::RunningCores => it.running_cores.to_string(),
            QueueColumn::QueuedCores => it.queued_cores.to_string(),
            QueueColumn::LastPilot => ago(it.last_pilot_at),
            QueueColumn::LastStart => ago(it.last_start_at),
        }
    }

    /// The columns that a width has room for.
    pub fn fitting(width: u16, name: u16) -> Vec<QueueColumn> {
        let mut used = 0;
        let fits = |column: &QueueColumn| {
            used += column.width(name) + if used > 0 { 2 } else { 0 };
            used <= width
        };
        let mut fitting: Vec<QueueColumn> = QueueColumn::ALL.into_iter().take_while(fits).collect();
        if fitting.is_empty() {
            fitting.push(QueueColumn::Queue);
        }
        fitting
    }
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
    fn columns_go_from_the_last_one_where_there_is_no_room() {
        assert_eq!(QueueColumn::fitting(3, 20), [QueueColumn::Queue]);
        assert_eq!(
            QueueColumn::fitting(40, 20),
            [QueueColumn::Queue, QueueColumn::Status, QueueColumn::Running]
        );
        assert_eq!(QueueColumn::fitting(300, 20), QueueColumn::ALL);
        for (at, column) in QueueColumn::ALL.into_iter().enumerate() {
            assert_eq!(column as usize, at);
            assert_eq!(column.next().previous(), column);
            assert!(column.head().len() <= usize::from(column.width(5)), "{}", column.head());
        }
    }

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
