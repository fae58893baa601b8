//! Weights of queues for analysis jobs (spec atlas 8.6).

use crate::domain::atlas::policy::queues::queue_weight;
use crate::domain::atlas::policy::stabilizer::{Stabilizer, Stabilizing, queued};
use crate::domain::atlas::policy::{CLASSED, Candidate, Case, QueueWeight, Row, Weighed};
use crate::event::{ChunkKind, Status};
use crate::policy::typed::{params, words};
use crate::policy::{Param, Reads, Unit};
use crate::unit::GIB;

params! {
    /// Parameters of `basic` for analysis jobs.
    Original {
        active: bool = Param::flag("active", true, false)
            .help("whether this counts: the seed says it does, PanDA uses `classes` (DIFF-42)"),
    }
}

pub(crate) const ORIGINAL: QueueWeight = queue_weight!(Original {
    name: "basic",
    spec: "atlas 8.6.1, DIFF-42",
    help: "the original basic weight: (R + 1) over the jobs queued in the share plus 1",
    figures: &[("queued", "jobs that the weight counts as queued")],
    reads: &[Reads::Load, Reads::Pilot],
    weigh: Factor(original),
});

fn original(
    _: &Case<'_>,
    candidate: &Candidate<'_>,
    params: &Original,
    weighed: &mut Weighed,
) -> f64 {
    let queued = queued(candidate);
    weighed.leave(|| [queued]);
    if params.active { (weighed.running + 1.0) / (queued + 1.0) } else { 1.0 }
}

words! {
    /// By which formula classes weigh.
    Version {
        Off = "off",
        Seed = "seed",
        Code = "code",
    }
}

params! {
    /// Parameters of `classes`.
    Classes {
        stabilizing: Stabilizing,
        version: Version = Version::param("version", Version::Off, Version::Code)
            .help("none, the seed's formula, or PanDA's (DIFF-42)"),
        least_rest: f64 = Param::float("least_rest", (0.0, 1e9), 0.0, 0.0).unit(Unit::Jobs).help(
            "code: least difference of room and jobs that is divided by; 0 as in PanDA, where a \
             class whose room the jobs just fill weighs beyond all measure (Q-18)",
        ),
    }
}

pub(crate) const CLASSES: QueueWeight = queue_weight!(Classes {
    name: "classes",
    spec: "atlas 8.6.2, 8.6.3, DIFF-42",
    help: "the new basic weight: what the user may still queue here, more at sites whose class \
           suits the task's",
    figures: &[],
    reads: &[Reads::Load],
    weigh: Whole(classes),
});

/// The seed's small numbers, the larger one first.
const EPSILON: [f64; 2] = [0.05, 0.002];

/// The room for the user at all candidates, which are counted by their unified names.
struct Room {
    /// By candidate: the place of its site.
    site_of: Vec<u32>,
    /// Jobs that the user may still queue there, and the place of its class.
    sites: Vec<(f64, usize)>,
    /// Of classes hi, mid, lo.
    of_class: [f64; 3],
    count: [f64; 3],
}

/// Place of a site's class: hi, mid, lo.
fn class_of(candidate: &Candidate<'_>) -> usize {
    match candidate.user.site_class {
        1.. => 0,
        0 => 1,
        _ => 2,
    }
}

impl Room {
    fn of(rows: &[Row<'_>], params: &Stabilizing) -> Room {
        let mut room = Room {
            site_of: vec![0; rows.len()],
            sites: Vec::with_capacity(rows.len()),
            of_class: [0.0; 3],
            count: [0.0; 3],
        };
        let unified = |at: &u32| rows[*at as usize].candidate.queue.unified.as_str();
        // Of the queues of a site the first one counts. Mostly they lie side by side.
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        if !order.is_sorted_by_key(unified) {
            order.sort_by_key(unified);
        }
        for of_site in order.chunk_by(|one, other| unified(one) == unified(other)) {
            let candidate = rows[of_site[0] as usize].candidate;
            let (left, class) = (Stabilizer::of(candidate, params).left(), class_of(candidate));
            of_site.iter().for_each(|at| room.site_of[*at as usize] = room.sites.len() as u32);
            room.sites.push((left, class));
            room.of_class[class] += left;
            room.count[class] += 1.0;
        }
        room
    }

    fn total(&self) -> f64 {
        self.of_class.iter().sum()
    }
}

fn classes(case: &Case<'_>, rows: &mut [Row<'_>], params: &Classes) {
    let is_classed = CLASSED.contains(&case.task.gshare.as_str());
    let weigh = match params.version {
        Version::Off => return,
        Version::Seed => by_seed,
        Version::Code => by_code,
    };
    let room = Room::of(rows, &params.stabilizing);
    let factors = weigh(case, &room, is_classed, params.least_rest);
    for (row, site) in rows.iter_mut().zip(&room.site_of) {
        row.factor = factors[*site as usize];
    }
}

/// Which classes of sites suit a task, best first.
fn suits(case: &Case<'_>) -> [usize; 3] {
    match case.owner.task_class {
        Some(-1) => [2, 1, 0],
        Some(0) => [1, 2, 0],
        _ => [0, 1, 2],
    }
}

/// By site.
fn by_seed(case: &Case<'_>, room: &Room, is_classed: bool, _: f64) -> Vec<f64> {
    let (jobs, total) = (f64::from(case.task.jobs), room.total());
    let sites: f64 = room.count.iter().sum();
    let mut by_class = [jobs; 3];
    if is_classed {
        let [best, second, third] = suits(case);
        (by_class[best], by_class[second], by_class[third]) = (jobs, EPSILON[0], EPSILON[1]);
    }
    let part = |left: f64| {
        let rest = total - jobs;
        match () {
            () if rest > 0.0 => (left - jobs / sites).max(0.001 * jobs) / rest,
            () if total > 0.0 => left / total,
            () => 1.0 / sites,
        }
    };
    room.sites.iter().map(|(left, class)| by_class[*class] * part(*left)).collect()
}

/// Added to each weight, so that none is nothing.
const LEAST: f64 = 1.0 / 1_048_576.0;
/// Figure of a class that gets no jobs.
const INITIAL: f64 = 0.001;

/// By site.
fn by_code(case: &Case<'_>, room: &Room, is_classed: bool, least_rest: f64) -> Vec<f64> {
    let (jobs, total) = (f64::from(case.task.jobs), room.total());
    let main = if is_classed { main_of(case, room, jobs.min(total)) } else { [jobs; 3] };
    let is_merge = case.task.chunk == ChunkKind::Merge;
    let sites: f64 = room.count.iter().sum();
    let weigh = |(left, class): &(f64, usize)| {
        let (main, sum, count) = match is_classed {
            true => (main[*class], room.of_class[*class], room.count[*class]),
            false => (main[*class], total, sites),
        };
        let rest = sum - main;
        let part = if rest > 0.0 && !is_merge {
            (left - main / count).max(0.001 * main) / rest.max(least_rest)
        } else if sum > 0.0 {
            left / sum
        } else {
            1.0 / count
        };
        (main * part + LEAST).max(0.0)
    };
    room.sites.iter().map(weigh).collect()
}

/// How many of the jobs go to each class: as many as the best one takes, then the next.
fn main_of(case: &Case<'_>, room: &Room, jobs: f64) -> [f64; 3] {
    const HI: usize = 0;
    const MID: usize = 1;
    const LO: usize = 2;
    let mut main = [INITIAL; 3];
    match case.owner.task_class {
        Some(-1) => main[LO] = jobs,
        Some(0) => {
            main[MID] = jobs.min(room.of_class[MID]);
            main[LO] = jobs - main[MID];
            if main[MID] > 0.0 {
                main[MID] -= 0.1;
                main[LO] += 0.1;
            }
        }
        _ => {
            main[HI] = jobs.min(room.of_class[HI]);
            main[MID] = (jobs - main[HI]).min(room.of_class[MID]);
            main[LO] = jobs - main[HI] - main[MID];
            if main[HI] > 0.0 {
                main[HI] -= 0.05 + 0.002;
                main[MID] += 0.05;
                main[LO] += 0.002;
            }
        }
    }
    main
}

params! {
    /// Parameters of `data` for analysis jobs.
    Data {
        active: bool = Param::flag("active", false, true).help("whether this counts at all"),
    }
}

pub(crate) const DATA: QueueWeight = queue_weight!(Data {
    name: "data",
    spec: "atlas 8.6.4",
    help: "one for each dataset on disk, next to nothing for one on tape; where data do not count, \
           1 more for each 10 GB on disk",
    figures: &[("availableBytes", "bytes of the input on disk there")],
    reads: &[],
    weigh: Factor(data),
});

/// Bytes on disk that add 1 where data do not count, in whole GB of 1024^3 bytes.
const GB_FOR_ONE: f64 = 10.0;

fn data(case: &Case<'_>, candidate: &Candidate<'_>, params: &Data, weighed: &mut Weighed) -> f64 {
    weighed.leave(|| [candidate.available_bytes as f64]);
    if !params.active {
        return 1.0;
    }
    let gb = |bytes: u64| (bytes / GIB) as f64;
    match &case.locality {
        Some(locality) if !locality.union => {
            let weight = locality.of(&candidate.queue.unified).weight;
            if weight > 0.0 { weight } else { 1.0 }
        }
        _ if case.task.total_bytes < GIB => 1.0,
        // Without any input data do not weigh.
        None if case.pass == 1 && case.task.input.datasets.iter().all(|it| it.pseudo) => 1.0,
        Some(_) | None => 1.0 + gb(candidate.available_bytes) / GB_FOR_ONE,
    }
}

words! {
    /// Way in which other figures replace the running jobs where few run.
    Rule {
        Largest = "largest",
        Replace = "replace",
    }
}

params! {
    /// Parameters of `running` for analysis jobs.
    Running {
        rule: Rule = Rule::param("rule", Rule::Largest, Rule::Replace).help(
            "the largest of all figures, or PanDA's conditions on each of them: workers only where \
             there are pilots, and slots 0 adds the starting jobs (DIFF-20)",
        ),
        workers_most: f64 = Param::int("workers_most", 20, 20)
            .unit(Unit::Jobs)
            .help("workers count only below this many running jobs, and up to it"),
    }
}

pub(crate) const RUNNING: QueueWeight = queue_weight!(Running {
    name: "running",
    spec: "atlas 8.6.1, 2.5.1, DIFF-20",
    help: "the jobs running in the share, or what stands for them where few or none run yet: \
           batch workers, slots offered, starting jobs",
    figures: &[("R", "running jobs reckoned with")],
    reads: &[Reads::Load, Reads::Pilot],
    weigh: Figure(running),
});

fn running(_: &Case<'_>, candidate: &Candidate<'_>, params: &Running, weighed: &mut Weighed) {
    let jobs = |status| candidate.jobs(status);
    let real = jobs(Status::Running);
    let (is_largest, most) = (params.rule == Rule::Largest, params.workers_most);
    let mut used = real;
    if real < most && (is_largest || candidate.pilots > 0) {
        used = used.max(f64::from(candidate.workers).min(most));
    }
    used = match candidate.slots {
        Some(0) if is_largest => used.max(jobs(Status::Starting)),
        Some(0) => used + jobs(Status::Starting),
        Some(slots) => used.max(f64::from(slots / candidate.queue.cores.max(1))),
        None => used,
    };
    weighed.running = used;
    weighed.leave(|| [used]);
}
