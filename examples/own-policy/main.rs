//! A program with a kind of policy of its own beside those built in: copy this file to begin one.
//!
//! The kind `shortest-queue` sends all jobs of a request to the online queue with the fewest
//! waiting jobs for each that runs. A topology file names it like any other kind, and every verb
//! of the program knows it: `topology --kinds`, `run`, `demo`, `explain`.

use yardmaster::core::event::{Queue, QueueStatus, Status};
use yardmaster::core::policy::{
    Applies, Candidate, Case, Filter, Flavour, Objection, Param, Preassigned, QueueFilter,
    QueueStyle, QueueWeight, Reads, Reason, Room, RuleBook, Style, Unit, Values, Verdict, Weighed,
    Weight, WholeCopies,
};

/// The queue takes no jobs.
const NOT_ONLINE: Reason = Reason::new("not_online", "the queue is not online");

static ONLINE: QueueFilter = QueueFilter::before(
    Filter {
        name: "online",
        spec: "own 1",
        help: "the queue takes jobs",
        reasons: &[&NOT_ONLINE],
        params: &[],
        reads: &[],
        temporary: false,
    },
    Applies::Always,
    |_, candidate, _| match candidate.queue.status {
        QueueStatus::Online => Verdict::Pass,
        _ => objection(&NOT_ONLINE, 0.0, 0.0),
    },
);

/// Too many jobs wait there.
const TOO_MANY_WAIT: Reason =
    Reason::new("too_many_wait", "{measured} jobs wait there, at most {limit} may");

static WAITING: QueueFilter = QueueFilter::before(
    Filter {
        name: "waiting",
        spec: "own 2",
        help: "at most {most} jobs wait there",
        reasons: &[&TOO_MANY_WAIT],
        // Parameters are read by their places in this list.
        params: &[Param::int("most", 2_000, 2_000).unit(Unit::Jobs).help("most waiting jobs")],
        reads: &[Reads::Load],
        temporary: false,
    },
    Applies::Always,
    |_, candidate, values| {
        let most = values.at(0);
        match waiting(candidate) {
            found if found < most => Verdict::Pass,
            found => objection(&TOO_MANY_WAIT, found, most),
        }
    },
);

static SHORTNESS: QueueWeight = QueueWeight::factor(
    Weight {
        name: "shortness",
        spec: "own 3",
        help: "(running + 1) / (waiting + 1)",
        params: &[],
        figures: &[("waiting_jobs", "jobs that wait there; jobs")],
        reads: &[Reads::Load],
    },
    shortness,
);

/// Sends each request to the shortest queue.
static SHORTEST_QUEUE: Flavour = Flavour {
    name: "shortest-queue",
    spec: "own 1 to 3",
    help: "the online queue with the fewest waiting jobs for each that runs",
    params: &[],
    defer: 10 * 60_000,
    style: Style::Queues(QueueStyle {
        rules: RuleBook { filters: &[&ONLINE, &WAITING], weights: &[&SHORTNESS] },
        lists: |queue: &Queue, _| queue.production && !queue.cloud.is_empty(),
        admits: |case: &Case<'_>, _, queue, _| {
            case.task.site.split(',').any(|name| name == queue.name)
        },
        express: |_, _| false,
        whole_copies: |_, _| WholeCopies::OfNone,
        preassigned: |task, _, _| match task.site.as_str() {
            "" => Preassigned::No,
            _ => Preassigned::List,
        },
        turns_at: |_, _, _| None,
        waits: |_, _| None,
        room: |_| Room::default(),
        select: |select, _| select.first(),
        of_make: &[],
        of_queue: &[],
        throttling: None,
        plan: None,
    }),
};

fn waiting(candidate: &Candidate<'_>) -> f64 {
    let states = [Status::Assigned, Status::Activated, Status::Starting];
    candidate.defined() + states.into_iter().map(|status| candidate.jobs(status)).sum::<f64>()
}

fn shortness(_: &Case<'_>, candidate: &Candidate<'_>, _: &Values, weighed: &mut Weighed) -> f64 {
    let waiting = waiting(candidate);
    weighed.leave(|| [waiting]);
    (candidate.jobs(Status::Running) + 1.0) / (waiting + 1.0)
}

fn objection(reason: &'static Reason, measured: f64, limit: f64) -> Verdict {
    Verdict::Object(Objection { reason, measured, limit, recheck_at: None })
}

fn main() -> std::process::ExitCode {
    yardmaster::shell::cli::main_with(&[&SHORTEST_QUEUE])
}
