//! Filters that are asked once for all queues of a make: the same is found as queue by queue.

use super::BOTH;
use super::laws::{odd_candidate, odd_queue, odd_task};
use crate::domain::atlas::policy::sample::{case, policy};
use crate::domain::atlas::policy::{Candidate, Candidates, Make, Preassigned};
use crate::event::{Queue, QueueStatus};
use crate::judge::draws::Draws;
use crate::policy::Filter;
use proptest::prelude::*;

/// Candidates of which it is known what queues are alike.
struct OfMakes<'a> {
    all: &'a [Candidate<'a>],
    makes: Vec<Make<'a>>,
}

impl<'a> OfMakes<'a> {
    fn of(all: &'a [Candidate<'a>]) -> OfMakes<'a> {
        let mut makes: Vec<Make<'a>> = all.iter().map(|it| Make::of(it.queue)).collect();
        makes.sort_unstable();
        makes.dedup();
        OfMakes { all, makes }
    }
}

impl Candidates for OfMakes<'_> {
    fn count(&self) -> usize {
        self.all.len()
    }

    fn at(&self, index: u32) -> Candidate<'_> {
        self.all.at(index)
    }

    fn queue(&self, index: u32) -> &Queue {
        self.all.queue(index)
    }

    fn makes(&self) -> usize {
        self.makes.len()
    }

    fn make(&self, index: u32) -> u32 {
        let make = Make::of(self.queue(index));
        self.makes.binary_search(&make).expect("the make of one of them") as u32
    }
}

/// A queue whose make is one of few, and which is otherwise unlike any other.
fn odd_queue_of_make(number: usize, dice: &[u8]) -> Queue {
    let make: Vec<u8> = dice.iter().map(|it| it % 4).collect();
    let make_of = |at: usize| usize::from(make[at]);
    let unlike = u32::from(dice[15]);
    Queue {
        fairshare_policy: ["", "", "type=any:100%", "type=simul:0%,type=any:100%"][make_of(6)]
            .into(),
        catchall: ["", "", "useJumboJobs", "bareNucleus=only"][make_of(7)].into(),
        jobseed: ["std", "", "es", "eshigh"][make_of(8)].into(),
        wn_connectivity: ["", "full#IPv6", "http#IPv4", "full"][make_of(9)].into(),
        min_rss_mb: [0, 0, 0, 14_000][make_of(10)],
        min_time_s: [0, 0, 0, 400_000][make_of(11)],
        unified_cores: [0, 0, 64, 1][make_of(12)],
        max_input_mb: [0, 14_000, -1, 0][make_of(13)],
        cores: [8, 8, 16, 1][make_of(1)],
        ucore: make[14].is_multiple_of(2),
        direct_access_lan: make_of(14) > 1,
        unified: format!("U{unlike}"),
        site: ["CERN-PROD".to_owned(), format!("S{unlike}")][usize::from(dice[15] > 60)].clone(),
        pledged_cpu: unlike as i32 % 7 - 2,
        max_disk_io_kbps: unlike,
        facility: ["", "hpc"][usize::from(dice[15] % 2)].into(),
        releases: vec![["AUTO", "ANY"][usize::from(dice[15] % 2)].to_owned()],
        transferring_limit: unlike % 20,
        ..odd_queue(number, &make)
    }
}

/// One field of a queue, changed; `is_of_make`: it is one of its make.
struct Field {
    name: &'static str,
    is_of_make: bool,
    change: fn(&mut Queue, usize),
}

macro_rules! fields {
    ($($is:literal $name:ident: [$($value:expr),+];)+) => {
        [$(Field {
            name: stringify!($name),
            is_of_make: $is,
            change: |queue, at| {
                let values = [$($value),+];
                queue.$name = values[at % values.len()].clone().into();
            },
        }),+]
    };
}

fn fields() -> Vec<Field> {
    use QueueStatus::{Brokeroff, Offline, Online, Test};
    let texts: [Field; 13] = fields! {
        true fairshare_policy: ["", "type=any:100%", "type=simul:0%,type=any:100%"];
        true wn_connectivity: ["", "full#IPv6", "http#IPv4", "none"];
        true jobseed: ["std", "", "es", "eshigh"];
        true catchall: ["", "useJumboJobs", "bareNucleus=only", "allow_no_pilot"];
        false unified: ["U", "V"];
        false resource_type: ["", "MCORE"];
        true cloud: ["", "DE", "WORLD"];
        false site: ["CERN-PROD", "DESY-HH"];
        false storage_site: ["CERN-PROD", "DESY-HH"];
        false workflow: ["", "pull_ups", "push"];
        false facility: ["", "hpc"];
        false releases: [vec!["AUTO".to_owned()], vec!["ANY".to_owned()]];
        false direct_access_wan: [false, true];
    };
    let figures: [Field; 15] = fields! {
        true status: [Online, Test, Offline, Brokeroff];
        true cores: [8_u32, 1, 16];
        true unified_cores: [0_u32, 1, 64];
        true core_power_mhs06: [0_u32, 100, 10_000, 1_000_000];
        true max_rss_mb: [0_u32, 1_000, 12_001, 64_000];
        true min_rss_mb: [0_u32, 11_000, 12_001, 64_000];
        true max_time_s: [0_u32, 600, 172_800];
        true min_time_s: [0_u32, 60, 400_000, 4_000_000];
        true max_wdir_mb: [0_u32, 8_000, 20_000, 120_000];
        true max_input_mb: [-1, 0, 14_000];
        true ucore: [false, true];
        true direct_access_lan: [false, true];
        false max_disk_io_kbps: [0_u32, 100];
        false transferring_limit: [0_u32, 10];
        false pledged_cpu: [-1, 0, 100];
    };
    texts.into_iter().chain(figures).collect()
}

/// The verdicts of the filters of the make change with fields of the make alone, and with each of
/// them.
#[test]
fn the_filters_of_the_make_look_at_all_of_it_and_at_nothing_else() {
    let mut draws = Draws(1);
    let fields = fields();
    let mut matters = vec![false; fields.len()];
    let both = BOTH.map(policy);
    for round in 0..1_500 {
        let mut dice = || (0..16).map(|_| draws.below(256) as u8).collect::<Vec<u8>>();
        let (of_task, of_queue, loads) = (dice(), dice(), [dice(), dice()]);
        let mut task = odd_task(&of_task);
        task.options.ip_connectivity = ["", "", "full#IPv6"][usize::from(of_task[12]) % 3].into();
        task.allow_input_lan = of_task[13].is_multiple_of(2);
        let mut case = case(&task);
        case.express = of_task[10].is_multiple_of(2);
        let base = odd_queue_of_make(0, &of_queue);
        for (field, matters) in fields.iter().zip(&mut matters) {
            let mut other = base.clone();
            (field.change)(&mut other, round);
            let candidates = [odd_candidate(&base, &loads[0]), odd_candidate(&other, &loads[1])];
            let is_alike = Make::of(&base) == Make::of(&other);
            assert!(is_alike || field.is_of_make, "{}", field.name);
            for (policy, resolved) in &both {
                let of_make = |it: &(usize, &&Filter)| policy.are_of_make[it.0];
                for (at, filter) in policy.filters.iter().enumerate().filter(of_make) {
                    let found = candidates
                        .each_ref()
                        .map(|it| policy.objection_of(at, &case, it, resolved));
                    let is_same = found[0] == found[1];
                    assert!(is_same || !is_alike, "{} reads {}", filter.name, field.name);
                    *matters |= !is_same;
                }
            }
        }
    }
    for (field, matters) in fields.iter().zip(matters) {
        assert_eq!(matters, field.is_of_make, "{}", field.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_asked_of_a_make_is_what_is_asked_of_its_queues(
        grid in prop::collection::vec(prop::collection::vec(any::<u8>(), 16), 1..60),
        few in 0usize..3,
        dice in prop::collection::vec(any::<u8>(), 14),
    ) {
        let mut task = odd_task(&dice);
        task.options.ip_connectivity = ["", "", "full#IPv6"][usize::from(dice[12]) % 3].into();
        task.allow_input_lan = dice[12].is_multiple_of(2);
        // Many have the makes of the first few.
        let make = |at: usize| &grid[if few == 0 { at } else { at % few }];
        let dice_of = |at: usize| [&make(at)[..15], &grid[at][15..]].concat();
        let queues: Vec<Queue> =
            (0..grid.len()).map(|at| odd_queue_of_make(at, &dice_of(at))).collect();
        let candidates: Vec<Candidate<'_>> =
            queues.iter().zip(&grid).map(|(queue, dice)| odd_candidate(queue, dice)).collect();
        for rules in BOTH {
            let (policy, resolved) = policy(rules);
            let mut case = case(&task);
            case.express = dice[10].is_multiple_of(2);
            case.queued_to_nucleus = [0, 10_000, 10_001][usize::from(dice[10]) % 3];
            case.preassigned = [Preassigned::No, Preassigned::No, Preassigned::One,
                Preassigned::List][usize::from(dice[11]) % 4];
            let by_queue = policy.judge(&case, &candidates[..], &resolved);
            let by_make = policy.judge(&case, &OfMakes::of(&candidates), &resolved);
            prop_assert_eq!(by_make, by_queue);
        }
    }
}
