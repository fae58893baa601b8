//! The columns of the table of queues, and those of outputs.

use super::data::{Event, Queue};
use yardmaster_core::explain::iso;
use yardmaster_core::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

/// A column of the table of queues. Where there is no room for all, the last ones go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
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

impl Column {
    /// All of them, as they stand.
    pub const ALL: [Column; 15] = [
        Column::Queue,
        Column::Status,
        Column::Running,
        Column::Queued,
        Column::Transferring,
        Column::Ratio,
        Column::Pilots,
        Column::Submitted,
        Column::Slots,
        Column::Reserved,
        Column::RunningCores,
        Column::QueuedCores,
        Column::LastPilot,
        Column::LastStart,
        Column::Site,
    ];

    /// Its heading.
    pub const fn head(self) -> &'static str {
        match self {
            Column::Queue => "queue",
            Column::Status => "status",
            Column::Running => "running",
            Column::Queued => "queued",
            Column::Transferring => "transf",
            Column::Ratio => "q/r",
            Column::Pilots => "pilots",
            Column::Submitted => "submit",
            Column::Slots => "slots",
            Column::Reserved => "reserved",
            Column::RunningCores => "r.cores",
            Column::QueuedCores => "q.cores",
            Column::LastPilot => "pilot",
            Column::LastStart => "start",
            Column::Site => "site",
        }
    }

    /// Its meaning, for the help.
    pub const fn help(self) -> &'static str {
        match self {
            Column::Queue => "name of the queue",
            Column::Status => "its status by the configuration",
            Column::Running => "jobs that run",
            Column::Queued => "jobs that are queued",
            Column::Transferring => "jobs whose files are transferred",
            Column::Ratio => "queued jobs for each that runs",
            Column::Pilots => "pilots that run",
            Column::Submitted => "pilots that are submitted",
            Column::Slots => "slots by the configuration",
            Column::Reserved => "jobs that were assigned and have not come yet",
            Column::RunningCores => "cores of jobs that run",
            Column::QueuedCores => "cores of jobs that are queued",
            Column::LastPilot => "how long ago the last pilot was seen",
            Column::LastStart => "how long ago the last job started",
            Column::Site => "its site",
        }
    }

    /// How wide it is, where the longest name of a queue is so long.
    pub fn width(self, name: u16) -> u16 {
        match self {
            Column::Queue => name.clamp(5, 32),
            Column::Status => 9,
            Column::Site => 16,
            other => (other.head().len() as u16).max(6),
        }
    }

    /// Whether it is sorted by name, from the first letter on.
    pub const fn is_text(self) -> bool {
        matches!(self, Column::Queue | Column::Status | Column::Site)
    }

    /// The column after it.
    pub fn next(self) -> Column {
        Column::ALL[(self as usize + 1) % Column::ALL.len()]
    }

    /// The column before it.
    pub fn previous(self) -> Column {
        Column::ALL[(self as usize + Column::ALL.len() - 1) % Column::ALL.len()]
    }

    /// By what a queue is sorted.
    pub fn key(self, it: &Queue) -> SortKey {
        let at = |at: Option<Millis>| at.and_then(|at| u64::try_from(at).ok());
        let figure = match self {
            Column::Queue => return (it.queue.to_lowercase(), None),
            Column::Status => return (it.status.to_lowercase(), None),
            Column::Site => return (it.site.to_lowercase(), None),
            Column::Running => Some(it.running),
            Column::Queued => Some(it.queued),
            Column::Transferring => Some(it.transferring),
            Column::Ratio => ratio(it).map(|ratio| (ratio * 1_000.0) as u64),
            Column::Pilots => Some(it.pilots_running),
            Column::Submitted => Some(it.pilots_submitted),
            Column::Slots => it.slots,
            Column::Reserved => Some(it.reserved),
            Column::RunningCores => Some(it.running_cores),
            Column::QueuedCores => Some(it.queued_cores),
            Column::LastPilot => at(it.last_pilot_at),
            Column::LastStart => at(it.last_start_at),
        };
        (String::new(), figure)
    }

    /// Its text for a queue at a moment.
    pub fn cell(self, it: &Queue, now: Millis) -> String {
        let ago = |at: Option<Millis>| at.map_or("-".to_owned(), |at| span(now - at));
        match self {
            Column::Queue => it.queue.clone(),
            Column::Status if it.status.is_empty() => "-".to_owned(),
            Column::Status => it.status.clone(),
            Column::Site => it.site.clone(),
            Column::Running => it.running.to_string(),
            Column::Queued => it.queued.to_string(),
            Column::Transferring => it.transferring.to_string(),
            Column::Ratio => ratio(it).map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            Column::Pilots => it.pilots_running.to_string(),
            Column::Submitted => it.pilots_submitted.to_string(),
            Column::Slots => it.slots.map_or("-".to_owned(), |slots| slots.to_string()),
            Column::Reserved => it.reserved.to_string(),
            Column::RunningCores => it.running_cores.to_string(),
            Column::QueuedCores => it.queued_cores.to_string(),
            Column::LastPilot => ago(it.last_pilot_at),
            Column::LastStart => ago(it.last_start_at),
        }
    }

    /// The columns that a width has room for.
    pub fn fitting(width: u16, name: u16) -> Vec<Column> {
        let mut used = 0;
        let fits = |column: &Column| {
            used += column.width(name) + if used > 0 { 2 } else { 0 };
            used <= width
        };
        let mut fitting: Vec<Column> = Column::ALL.into_iter().take_while(fits).collect();
        if fitting.is_empty() {
            fitting.push(Column::Queue);
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
        assert_eq!(Column::fitting(3, 20), [Column::Queue]);
        assert_eq!(Column::fitting(40, 20), [Column::Queue, Column::Status, Column::Running]);
        assert_eq!(Column::fitting(300, 20), Column::ALL);
        for (at, column) in Column::ALL.into_iter().enumerate() {
            assert_eq!(column as usize, at);
            assert_eq!(column.next().previous(), column);
            assert!(column.head().len() <= usize::from(column.width(5)), "{}", column.head());
        }
    }

    #[test]
    fn what_is_not_known_is_a_dash_and_comes_first() {
        let idle = Queue { queued: 5, ..Queue::default() };
        let busy = Queue { queued: 5, running: 2, slots: Some(9), ..Queue::default() };
        for column in [Column::Ratio, Column::Slots] {
            assert_eq!(column.cell(&idle, 0), "-");
            assert!(column.key(&idle) < column.key(&busy));
        }
        assert_eq!(Column::Ratio.cell(&busy, 0), "2.50");
        let seen = Queue { last_pilot_at: Some(5_000), ..Queue::default() };
        assert_eq!(Column::LastPilot.cell(&seen, 5_000 + 2 * HOUR), "2h");
        assert_eq!((span(-5), span(999), span(3 * DAY)), ("0s".into(), "0s".into(), "3d".into()));
    }
}
