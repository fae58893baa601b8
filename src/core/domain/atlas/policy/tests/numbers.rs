//! Whatever the figures of a task, its owner, a queue and its storage: every weight of every kind
//! is a finite number and not below 0, and all figures beside it are numbers.

use super::super::sample::{candidate, case, counted, load, queue, storage, task};
use super::BOTH;
use crate::dice::Dice;
use crate::domain::atlas::policy::{
    Candidate, Case, Judgement, LinkView, Owner, Preassigned, Slots, Source, Stores, UserView,
};
use crate::event::{
    ChunkKind, Dataset, DatasetReplica, Endpoints, Queue, RamUnit, Scope, Status, Storage, Task,
};
use crate::policy::{Arg, Policy, PolicySpec, Rules, Totals, kind};
use proptest::prelude::*;

/// Figures as hostile as they can be, drawn from some numbers.
struct Odd<'a> {
    words: std::iter::Cycle<std::slice::Iter<'a, u64>>,
    drawn: u64,
}

impl Odd<'_> {
    fn word(&mut self) -> u64 {
        self.drawn += 1;
        crate::id::stir(self.words.next().copied().unwrap_or(0) ^ self.drawn)
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[(self.word() % all.len() as u64) as usize].clone()
    }

    fn flag(&mut self) -> bool {
        self.word() & 1 == 1
    }

    fn count(&mut self) -> u32 {
        let any = self.word() as u32;
        self.of(&[0, 0, 1, 8, any % 100, any % 10_000, any, u32::MAX])
    }

    fn size(&mut self) -> u64 {
        let any = self.word();
        self.of(&[0, 0, 1, 1 << 30, any % (1 << 45), any, u64::MAX])
    }

    fn signed(&mut self) -> i32 {
        let any = self.word() as i32;
        self.of(&[0, -1, 1, 900, 5_000, any, i32::MIN, i32::MAX])
    }

    fn number(&mut self) -> f64 {
        let any = f64::from_bits(self.word());
        let most = f64::MAX;
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, most, -most, f64::MIN_POSITIVE];
        let one = self.of(&odd);
        self.of(&[0.0, -0.0, -1.0, 0.5, 1.0, 1e6, any, one])
    }

    fn perhaps<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.flag() { Some(make(self)) } else { None }
    }
}

fn odd_task(odd: &mut Odd<'_>) -> Task {
    let mut task = task();
    task.jobs = odd.of(&[0, 1, 30, 5_000]);
    (task.priority, task.task_priority) = (odd.signed(), odd.signed());
    task.chunk = odd.of(&[ChunkKind::Normal, ChunkKind::Scout, ChunkKind::Merge]);
    task.label = odd.of(&["managed", "user", "test"]).into();
    task.gshare = odd.of(&["User Analysis", "Express Analysis", "MC", ""]).into();
    task.working_group = odd.of(&["", "AP_MCGN"]).into();
    task.nucleus = odd.of(&["", "CERN"]).into();
    task.core_count = odd.perhaps(Odd::count);
    task.merge_core_count = odd.perhaps(Odd::count);
    task.max_core_count = odd.perhaps(Odd::count);
    task.ram_count_mb = odd.perhaps(Odd::count);
    task.ram_unit = odd.of(&[RamUnit::Mb, RamUnit::MbPerCore]);
    task.base_ram_mb = odd.perhaps(Odd::count);
    task.cpu_hs06s_per_event = odd.perhaps(Odd::number);
    task.cpu_efficiency = odd.perhaps(Odd::count);
    task.base_walltime_s = odd.perhaps(Odd::count);
    task.walltime_s_per_mb = odd.perhaps(Odd::number);
    task.output_per_event = odd.perhaps(Odd::number);
    task.output_per_mb = odd.perhaps(Odd::number);
    task.work_bytes = odd.perhaps(Odd::size);
    task.disk_io_kbps = odd.perhaps(Odd::count);
    task.io_intensity_kbps = odd.perhaps(Odd::count);
    (task.atom_bytes, task.atom_events) = (odd.size(), odd.size());
    task.atom_effective_mb = odd.number();
    (task.total_bytes, task.total_files) = (odd.size(), odd.count());
    task.options.t1_weight = odd.signed();
    task.options.gb_per_job = odd.perhaps(Odd::count);
    task.options.sites_per_job = odd.perhaps(Odd::count);
    task.options.walltime_unknown = odd.flag();
    task.options.incomplete_input = odd.flag();
    task.options.frozen_at = odd.perhaps(|odd| odd.size() as i64);
    task.options.finished_files = odd.size();
    task.options.remaining_files = odd.size();
    task.options.remaining_jobs = odd.size();
    if odd.flag() {
        let (files, bytes, files_total) = (odd.size(), odd.size(), odd.size());
        let endpoint = odd.of(&["IN", "elsewhere"]).to_owned();
        let replica = DatasetReplica { endpoint, files, bytes, files_total, is_virtual: false };
        let (files, bytes) = (odd.size(), odd.size());
        let (name, replicas) = ("data".to_owned(), vec![replica]);
        task.input.datasets = vec![Dataset { name, files, bytes, replicas, ..Dataset::default() }];
    }
    task
}

fn odd_queue(odd: &mut Odd<'_>, number: usize) -> Queue {
    Queue {
        analysis: true,
        cores: odd.count(),
        unified_cores: odd.count(),
        core_power_mhs06: odd.count(),
        max_rss_mb: odd.count(),
        min_rss_mb: odd.count(),
        max_time_s: odd.count(),
        min_time_s: odd.count(),
        max_wdir_mb: odd.count(),
        max_input_mb: odd.signed(),
        max_disk_io_kbps: odd.count(),
        transferring_limit: odd.count(),
        pledged_cpu: odd.signed(),
        endpoints: Endpoints { read: vec!["IN".into()], write: vec!["OUT".into()] },
        ..queue(&format!("Q{number}"))
    }
}

fn odd_storage(odd: &mut Odd<'_>, name: &str) -> Storage {
    Storage {
        name: name.into(),
        total_bytes: odd.size(),
        free_bytes: odd.size(),
        expired_bytes: odd.size(),
        min_free_bytes: odd.size(),
        unavailable_bytes: odd.size(),
        ..storage()
    }
}

fn odd_candidate<'a>(
    odd: &mut Odd<'_>,
    queue: &'a Queue,
    storages: &'a [Option<Storage>; 2],
) -> Candidate<'a> {
    let statuses = Status::ALL.map(|status| (status, odd.count()));
    let jobs = load(&statuses);
    Candidate {
        load: jobs,
        load_type: counted(jobs),
        load_all: counted(load(&Status::ALL.map(|status| (status, odd.count())))),
        reserved: odd.count(),
        at_nucleus: odd.flag(),
        link: LinkView {
            source_known: odd.flag(),
            closeness: odd.perhaps(Odd::signed),
            queued_files: odd.perhaps(Odd::size),
            mbps_1h: odd.perhaps(Odd::number),
            mbps_1d: odd.perhaps(Odd::number),
            mbps_1w: odd.perhaps(Odd::number),
            until: None,
        },
        output: storages[1].as_ref(),
        input: storages[0].as_ref(),
        inputs: Stores { all: storages, at: &[0] },
        outputs: Stores { all: storages, at: &[1] },
        pilots: odd.count(),
        workers: odd.count(),
        slots: odd.perhaps(Odd::count),
        disk_io_kbps: odd.perhaps(Odd::number),
        available_bytes: odd.size(),
        available_files: odd.count(),
        reachable_bytes: odd.size(),
        reachable_files: odd.count(),
        stuck_transferring: odd.count(),
        user: UserView {
            present: odd.flag(),
            queued: odd.count(),
            running: odd.count(),
            all_running: odd.perhaps(Odd::count),
            users: odd.perhaps(Odd::count),
            starts_per_hour: odd.of(&[0.0, 0.5, 1e3, 1e12]),
            site_class: odd.of(&[-1, 0, 1, i8::MAX, i8::MIN]),
            finished: odd.count(),
            failed: odd.count(),
            closed: odd.count(),
        },
        ..candidate(queue)
    }
}

fn odd_case<'a>(odd: &mut Odd<'_>, task: &'a Task, scope: Scope) -> Case<'a> {
    let sources = task.input.datasets.iter().map(|_| vec![odd.of(&[Source::UNKNOWN])]).collect();
    let totals = Totals { running_jobs: odd.size(), queued_cores: odd.size(), ..Totals::default() };
    let owner = Owner {
        totals: odd.perhaps(|_| totals),
        cap_jobs: odd.perhaps(Odd::size),
        cap_cores: odd.perhaps(Odd::size),
        slots: odd.perhaps(|odd| Slots { hi: odd.size(), hi_mid: odd.size() }),
        share_usage: odd.perhaps(Odd::number),
        level1_usage: odd.perhaps(Odd::number),
        task_class: odd.perhaps(|odd| odd.of(&[-1, 0, 1, 2, i8::MAX])),
        remaining_slots: odd.perhaps(Odd::number),
        quota_used: odd.perhaps(Odd::number),
        share_queued: odd.size(),
        share_running: odd.size(),
        ..Owner::default()
    };
    Case {
        now: odd.size() as i64,
        express: odd.flag(),
        queued_to_nucleus: odd.size(),
        preassigned: Preassigned::No,
        scope,
        sources,
        owner,
        ..case(task)
    }
}

/// Both kinds that judge queues, under both readings, with all filters and with none; of the new
/// weight of analysis, both versions.
fn policies(of: &str) -> Vec<Policy> {
    let flavour = kind(of).expect("built in");
    let mut all = Vec::new();
    for rules in BOTH {
        let full = PolicySpec::full("any", flavour, rules);
        let mut seed = PolicySpec { filters: Vec::new(), ..full.clone() };
        all.push(seed.clone());
        if let Some(step) = seed.weights.iter_mut().find(|step| step.name == "classes") {
            let other = if rules == Rules::Panda { "seed" } else { "code" };
            step.args.push(("version".into(), Arg::Text(other.into())));
            all.push(seed);
        }
        all.push(full);
    }
    all.iter().map(|spec| Policy::compile(spec).expect("allowed")).collect()
}

/// Values of run-time parameters, where they are set.
const PARAMETERS: [&str; 9] =
    ["0", "1", "-1", "0.5", "1000000000", "1000000000000", "NaN", "inf", "much"];

fn is_weight(weight: f64) -> bool {
    weight.is_finite() && weight >= 0.0
}

/// Everything in a judgement that is a number.
fn check(judgement: &Judgement) -> Result<(), TestCaseError> {
    for it in &judgement.ranked {
        prop_assert!(is_weight(it.weighed.total), "{:?}", it.weighed);
        prop_assert!(it.weighed.factors.iter().all(|it| it.is_finite()), "{:?}", it.weighed);
    }
    for fate in &judgement.fates {
        prop_assert!(is_weight(fate.weight), "{fate:?}");
        let objection = fate.objection;
        prop_assert!(objection.measured.is_finite() && objection.limit.is_finite(), "{fate:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_weight_of_a_queue_is_anything_but_a_number(
        words in prop::collection::vec(any::<u64>(), 32),
        size in 1usize..8,
    ) {
        let mut odd = Odd { words: words.iter().cycle(), drawn: 0 };
        let task = odd_task(&mut odd);
        let queues: Vec<Queue> = (0..size).map(|number| odd_queue(&mut odd, number)).collect();
        let storages = ["IN", "OUT"].map(|name| odd.perhaps(|odd| odd_storage(odd, name)));
        let candidates: Vec<Candidate<'_>> =
            queues.iter().map(|queue| odd_candidate(&mut odd, queue, &storages)).collect();
        let both = [
            ("atlas-production-job", Scope::Default),
            ("atlas-analysis-job", Scope::Analysis),
        ];
        for (of, scope) in both {
            let drawn = odd_case(&mut odd, &task, scope);
            let seed = odd.perhaps(Odd::word);
            for policy in policies(of) {
                let look_up = |component: &str, key: &str| {
                    let number = crate::id::hash(key.as_bytes()) ^ component.len() as u64;
                    let index = |seed: u64| (seed ^ number) % PARAMETERS.len() as u64;
                    seed.map(|seed| PARAMETERS[index(seed) as usize])
                };
                let resolved = policy.resolve(&look_up, &task.gshare);
                let owner = policy.owner(&task, drawn.owner.clone(), &resolved);
                let case = Case { owner, ..drawn.clone() };
                let judgement = policy.judge(&case, candidates.as_slice(), &resolved);
                check(&judgement)?;
                if let Some(wait) = judgement.wait {
                    prop_assert!(!wait.measured.is_nan() && !wait.limit.is_nan(), "{wait:?}");
                }
                let mut dice = Dice::of("atlas", "numbers", 0, 0, 0);
                let shares =
                    policy.divide(&case, candidates.as_slice(), &judgement, &resolved, &mut dice);
                prop_assert_eq!(shares.len(), judgement.ranked.len());
                let given: u64 = shares.iter().map(|jobs| u64::from(*jobs)).sum();
                prop_assert!(given <= u64::from(task.jobs), "{given} of {}", task.jobs);
            }
        }
    }
}
