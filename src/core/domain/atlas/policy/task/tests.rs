//! The specification's worked examples (13.3), the table of full chains (7), tokens, and the laws
//! of the draw.

use super::choice::draw;
use super::{InputAtNucleus, NucleusCandidate, Parent, Passed, TaskCase, Total, endpoint};
use crate::domain::atlas::policy::{Bare, Stores, Weighed, sample};
use crate::event::{FullChain, OutputDataset, Storage, Task};
use crate::policy::{Policy, PolicySpec, Rules, kind};
use crate::unit::GIB;

const TIB: u64 = 1_024 * GIB;
const GB: u64 = GIB;

fn policy(rules: Rules) -> Policy {
    let flavour = kind("atlas-production-task").unwrap();
    Policy::compile(&PolicySpec::full("production-task", flavour, rules)).unwrap()
}

/// A policy without filters: everything is weighed.
fn unfiltered(rules: Rules) -> Policy {
    let flavour = kind("atlas-production-task").unwrap();
    let full = PolicySpec::full("production-task", flavour, rules);
    Policy::compile(&PolicySpec { filters: Vec::new(), ..full }).unwrap()
}

fn task() -> Task {
    let token = "ATLASDATADISK".to_owned();
    let output = vec![OutputDataset { name: "out".into(), log: false, token }];
    Task { nucleus: String::new(), output, ..sample::task() }
}

fn disk(name: &str, free_tb: u64, total_tb: u64) -> Storage {
    let (free_bytes, total_bytes) = (free_tb * TIB, total_tb * TIB);
    Storage { name: name.into(), free_bytes, total_bytes, ..sample::storage() }
}

fn nucleus<'a>(name: &'a str, storages: &'a [Option<Storage>]) -> NucleusCandidate<'a> {
    NucleusCandidate {
        name,
        active: true,
        bare: Bare::No,
        queues: &[],
        outputs: Stores { all: storages, at: &[0, 1, 2][..storages.len()] },
        output: None,
        queued_files: 0,
        queued_until: None,
        held: InputAtNucleus::default(),
        work: 0.0,
        work_ahead: 0.0,
    }
}

fn case<'a>(task: &'a Task, total: Total) -> TaskCase<'a> {
    let runs = &|_: &[u32]| true;
    TaskCase { task, now: 0, parent: Parent::No, total, remote_source: true, runs }
}

fn input(files: u64, bytes: u64) -> Total {
    Total { is_there: true, files, bytes, files_last: files, bytes_last: bytes }
}

/// Weight of the only nucleus; `None` when it was refused.
fn weight(rules: Rules, case: &TaskCase<'_>, nucleus: NucleusCandidate<'_>) -> Option<f64> {
    let policy = policy(rules);
    let choice = policy.choose(case, &[nucleus], &policy.unchanged(), 0.5);
    choice.passed.first().map(|passed| passed.weighed.total)
}

/// Why the only nucleus was refused.
fn refused(
    rules: Rules,
    case: &TaskCase<'_>,
    nucleus: NucleusCandidate<'_>,
) -> Option<&'static str> {
    let policy = policy(rules);
    let choice = policy.choose(case, &[nucleus], &policy.unchanged(), 0.5);
    choice.fates.first().map(|fate| fate.objection.reason.name)
}

fn is_close(found: Option<f64>, wanted: f64) {
    let found = found.expect("the nucleus is kept");
    assert!((found - wanted).abs() <= 1e-12 * wanted, "{found} is not {wanted}");
}

#[test]
fn the_worked_examples_of_weight() {
    // Work ahead, intensity, any, disk (of 10 TB), free and total TB, documented, panda.
    let cases = [
        (1e9, 500, (8, 8), (500, 5_000), 8e-11, 4e-8),
        (1e9, 500, (10, 0), (3_000, 6_000), 5e-13, 5e-10),
        (0.0, 50, (10, 10), (200, 4_000), 0.001, 10.0),
        (49.0, 50, (10, 10), (1_500, 3_000), 0.01, 500.0),
        (50.0, 50, (10, 10), (1_500, 3_000), 0.01, 10.0),
    ];
    for (work_ahead, io, (any, on_disk), (free, total), documented, panda) in cases {
        let storages = [Some(disk("X_DATADISK", free, total))];
        let task = Task { io_intensity_kbps: Some(io), ..task() };
        let case = case(&task, input(10, 10 * TIB));
        let held =
            InputAtNucleus { any_files: 10, any_bytes: any * TIB, disk_bytes: on_disk * TIB };
        let nucleus = NucleusCandidate { held, work_ahead, ..nucleus("X", &storages) };
        is_close(weight(Rules::Documented, &case, nucleus), documented);
        is_close(weight(Rules::Panda, &case, nucleus), panda);
    }
}

#[test]
fn input_of_no_size_weighs_nothing() {
    let storages = [Some(disk("X_DATADISK", 500, 1_000))];
    let task = Task { io_intensity_kbps: Some(500), ..task() };
    let nucleus = NucleusCandidate { work_ahead: 100.0, ..nucleus("X", &storages) };
    let case = case(&task, input(0, 0));
    is_close(weight(Rules::Documented, &case, nucleus), 0.005);
    is_close(weight(Rules::Panda, &case, nucleus), 0.005 * 500.0);
}

#[test]
fn the_worked_examples_of_space() {
    use super::space::demand_gb;
    let demands = [(3.456e9, 1_000.0), (8.64e8, 250.0), (3.456e11, 100_000.0), (0.0, 0.0)];
    for (work, wanted) in demands {
        assert_eq!(demand_gb(work, 10.0, 0.25), wanted, "{work}");
    }
    let task = task();
    for (free, wanted) in [(60, None), (20, Some("space"))] {
        let disk = Storage { expired_bytes: 80 * TIB, ..disk("X_DATADISK", free, 1_000) };
        let storages = [Some(disk)];
        let nucleus = NucleusCandidate { work: 3.456e9, ..nucleus("X", &storages) };
        assert_eq!(refused(Rules::Documented, &case(&task, Total::default()), nucleus), wanted);
    }
}

#[test]
fn exactly_the_threshold_is_too_little_by_the_document_alone() {
    let storages = [Some(disk("X_DATADISK", 100, 1_000))];
    let task = task();
    let case = case(&task, Total::default());
    let nucleus = nucleus("X", &storages);
    assert_eq!(refused(Rules::Documented, &case, nucleus), Some("space"));
    assert_eq!(refused(Rules::Panda, &case, nucleus), None);
}

#[test]
fn the_worked_examples_of_locality() {
    let storages = [Some(disk("X_DATADISK", 500, 1_000))];
    let objection = |task: &Task, total: Total, files: u64, bytes: u64| {
        let held = InputAtNucleus { any_files: files, any_bytes: bytes, disk_bytes: bytes };
        let nucleus = NucleusCandidate { held, ..nucleus("X", &storages) };
        refused(Rules::Documented, &case(task, total), nucleus)
    };
    let with = |io: u32, priority: i32| {
        let io_intensity_kbps = Some(io);
        Task { io_intensity_kbps, priority, task_priority: priority, ..task() }
    };
    let (heavy, large) = (with(300, 700), input(2_000, 5_000 * GB));
    assert_eq!(objection(&heavy, large, 150, 600 * GB), Some("innum"));
    assert_eq!(objection(&heavy, large, 201, 600 * GB), None);
    assert_eq!(objection(&heavy, large, 201, 400 * GB), Some("insize"));
    assert_eq!(objection(&heavy, input(50, GB / 2), 0, 0), None);
    let mut staged = heavy.clone();
    staged.options.input_prestaging = true;
    assert_eq!(objection(&staged, large, 1, 1), None);
    assert_eq!(objection(&staged, large, 0, 0), Some("insize"));
    // None passes: dropped for light input or high priority.
    assert_eq!(objection(&with(150, 700), large, 0, 0), None);
    assert_eq!(objection(&heavy, large, 0, 0), Some("insize"));
    assert_eq!(objection(&with(300, 800), large, 0, 0), None);
}

#[test]
fn exactly_the_part_is_too_little_by_the_document_alone() {
    let storages = [Some(disk("X_DATADISK", 500, 1_000))];
    let task = Task { io_intensity_kbps: Some(500), ..task() };
    let case = case(&task, input(10, 100 * GB));
    let held = InputAtNucleus { any_files: 1, any_bytes: 10 * GB, disk_bytes: 10 * GB };
    let nucleus = NucleusCandidate { held, ..nucleus("X", &storages) };
    assert_eq!(refused(Rules::Documented, &case, nucleus), Some("insize"));
    assert_eq!(refused(Rules::Panda, &case, nucleus), None);
}

#[test]
fn the_table_of_full_chains() {
    use FullChain::{Capable, No, Only, Require};
    let storages = [Some(disk("X_DATADISK", 500, 1_000))];
    let modes = [Bare::No, Bare::Allow, Bare::Only];
    let table = [
        (No, [true, true, false], true),
        (Capable, [true, true, true], true),
        (Require, [false, true, true], true),
        (Only, [false, false, true], false),
    ];
    for (full_chain, kept, same) in table {
        let mut task = task();
        task.options.full_chain = full_chain;
        let case = case(&task, Total::default());
        for (bare, kept) in modes.into_iter().zip(kept) {
            let nucleus = NucleusCandidate { bare, ..nucleus("X", &storages) };
            let is_kept = |rules| refused(rules, &case, nucleus).is_none();
            assert_eq!(is_kept(Rules::Documented), kept, "{full_chain:?} at {bare:?}");
            let in_code = kept || !same && bare == Bare::Allow;
            assert_eq!(is_kept(Rules::Panda), in_code, "{full_chain:?} at {bare:?}");
        }
    }
}

#[test]
fn a_part_of_a_chain_follows_its_parent() {
    let storages = [Some(disk("X_DATADISK", 500, 1_000))];
    let mut task = task();
    task.options.full_chain = FullChain::Capable;
    let nucleus = NucleusCandidate { bare: Bare::Allow, ..nucleus("X", &storages) };
    let objection = |rules, parent| {
        let case = TaskCase { parent, ..case(&task, Total::default()) };
        refused(rules, &case, nucleus)
    };
    assert_eq!(objection(Rules::Documented, Parent::At("X")), None);
    assert_eq!(objection(Rules::Documented, Parent::At("Y")), Some("parent"));
    assert_eq!(objection(Rules::Documented, Parent::Elsewhere), None);
    assert_eq!(objection(Rules::Documented, Parent::Unknown), None);
    let policy = policy(Rules::Panda);
    let case = TaskCase { parent: Parent::Unknown, ..case(&task, Total::default()) };
    let choice = policy.choose(&case, &[nucleus], &policy.unchanged(), 0.5);
    assert_eq!(choice.wait.map(|wait| wait.reason.name()), Some("parent_unknown"));
    assert!(choice.fates.is_empty() && choice.passed.is_empty());
}

#[test]
fn a_token_stands_for_an_endpoint() {
    let kind = |kind: &str, disk: Storage| Some(Storage { kind: kind.into(), ..disk });
    let storages = [
        kind("SCRATCHDISK", disk("X_SCRATCHDISK", 1, 2)),
        kind("DATADISK", disk("X_DATADISK", 1, 2)),
        kind("GROUPDISK", disk("X_HIGGS", 1, 2)),
    ];
    let nucleus = nucleus("X", &storages);
    let of = |token: &str| endpoint(&nucleus, token).map(|storage| storage.name.as_str());
    assert_eq!(of("X_DATADISK"), Some("X_DATADISK"));
    assert_eq!(of("ATLASDATADISK"), Some("X_DATADISK"));
    assert_eq!(of("dst:X_HIGGS"), Some("X_HIGGS"));
    assert_eq!(of("dst:ATLASDATADISK/ATLASGROUPDISK"), Some("X_HIGGS"));
    assert_eq!(of("X_.*DISK"), Some("X_SCRATCHDISK"));
    assert_eq!(of("ATLASNOSUCH"), None);
    assert_eq!(of("("), None);
}

#[test]
fn no_queue_anywhere_holds_the_task_and_says_so_of_each() {
    let storages = [Some(disk("X_DATADISK", 500, 1_000))];
    let task = task();
    let case = TaskCase { runs: &|_| false, ..case(&task, Total::default()) };
    let policy = policy(Rules::Documented);
    let nuclei = [nucleus("X", &storages), nucleus("Y", &storages)];
    let choice = policy.choose(&case, &nuclei, &policy.unchanged(), 0.5);
    assert_eq!(choice.wait.map(|wait| wait.reason.name()), Some("no_queue_can_run"));
    assert_eq!((choice.fates.len(), choice.drawn), (2, None));
}

fn passed(weights: &[f64]) -> Vec<Passed> {
    let of = |(candidate, total): (u32, &f64)| Passed {
        candidate,
        weighed: Weighed { total: *total, ..Weighed::default() },
    };
    (0..).zip(weights).map(of).collect()
}

#[test]
fn the_draw_is_in_proportion_to_weight() {
    let weights = [3.0, 0.0, 1.0, 4.0];
    let passed = passed(&weights);
    let steps = 80_000;
    let mut counts = [0; 4];
    for step in 0..steps {
        let unit = (f64::from(step) + 0.5) / f64::from(steps);
        counts[draw(&passed, unit, false).unwrap()] += 1;
    }
    assert_eq!(counts, [30_000, 0, 10_000, 40_000]);
    assert_eq!(draw(&[], 0.5, false), None);
}

#[test]
fn any_figures_give_a_finite_weight_and_a_nucleus() {
    let mut dice = crate::dice::Dice::of("atlas", "any figures", 0, 0, 0);
    let figures = [0.0, 1.0, 49.9, 1e9, 1e300, f64::MAX, f64::NAN, f64::INFINITY, -1.0];
    for round in 0..4_000 {
        let mut any = |most: u64| dice.word() % most;
        let mut size = || match any(8) {
            0 => 0,
            1 => u64::MAX,
            _ => 1u64 << any(64),
        };
        let mut storage = disk("X_DATADISK", 1, 1);
        (storage.free_bytes, storage.expired_bytes) = (size(), size());
        (storage.total_bytes, storage.unavailable_bytes) = (size(), size());
        let total = input(size(), size());
        let held = InputAtNucleus { any_files: size(), any_bytes: size(), disk_bytes: size() };
        let storages = [Some(storage).filter(|_| any(9) > 0)];
        let pick = |at: u64| figures[(at % figures.len() as u64) as usize];
        let io = Some(any(600) as u32).filter(|io| *io > 100);
        let mut task = Task { io_intensity_kbps: io, ..task() };
        task.options.input_prestaging = any(2) == 1;
        let nucleus = NucleusCandidate {
            held,
            work: pick(any(9)),
            work_ahead: pick(any(9)),
            ..nucleus("X", &storages)
        };
        let unit = any(1_001) as f64 / 1_000.0;
        for rules in [Rules::Documented, Rules::Panda] {
            for filtered in [true, false] {
                let policy = match filtered {
                    true => policy(rules),
                    false => unfiltered(rules),
                };
                let none = |_: &str, key: &str| (key == "DISK_THRESHOLD").then_some("-1");
                let resolved = policy.resolve(&none, "");
                let choice = policy.choose(&case(&task, total), &[nucleus], &resolved, unit);
                for passed in &choice.passed {
                    let weight = passed.weighed.total;
                    assert!(weight.is_finite() && weight >= 0.0, "round {round}: {weight}");
                    let factors = &passed.weighed.factors;
                    let is_fit = |it: &f64| it.is_finite() && *it >= 0.0;
                    assert!(factors.iter().all(is_fit), "round {round}: {factors:?}");
                }
                assert_eq!(choice.drawn.is_some(), !choice.passed.is_empty(), "round {round}");
                assert!(filtered || choice.passed.len() == 1, "round {round}: nothing objects");
            }
        }
    }
}
