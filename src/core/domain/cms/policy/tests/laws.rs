//! Laws that hold in every world (C-59; TS-01..TS-04, TS-07).

use super::random::{Numbers, Records};
use super::twin::Twin;
use super::whole::{Cut, fold, run};
use super::world::NOW_S;
use crate::domain::cms::output::Matched;
use crate::domain::cms::policy::cut::{in_order, next};
use crate::domain::cms::policy::decision::{Assignment, PoolAction, fold_action};
use crate::domain::cms::policy::entry::Standing;
use crate::domain::cms::policy::facts::{Band, Class};
use crate::domain::cms::policy::judge::{Explained, MatchRules};
use crate::domain::cms::policy::pool::Pool;
use crate::unit::SECOND;
use proptest::prelude::{ProptestConfig, any, proptest};
use proptest::{prop_assert, prop_assert_eq};
use std::collections::BTreeMap;

fn cut(records: &Records, pool: &mut Pool) -> Cut {
    run(&MatchRules::full(), pool, &records.offers, NOW_S)
}

/// Every counter by its key, as the pool has it.
fn counted(pool: &Pool) -> BTreeMap<String, i64> {
    let counters = pool.counters();
    let mut all = BTreeMap::new();
    for (name, _) in pool.sites() {
        let (site, text) = (counters.site(name), pool.text(name));
        for class in Class::ALL {
            all.insert(format!("used {text} {}", class.name()), site.used.of(class));
            all.insert(format!("pooled {text} {}", class.name()), site.pooled.of(class));
        }
        all.insert(format!("overflow {text}"), site.overflow);
        all.insert(format!("high_io {text}"), site.high_io);
        for (group, milli) in &site.groups {
            all.insert(format!("group {text} {}", pool.text(*group)), *milli);
        }
        for (user, milli) in &site.users {
            all.insert(format!("user {text} {}", pool.text(*user)), *milli);
        }
    }
    for (name, _, of) in pool.workflows() {
        let (workflow, text) = (counters.workflow(name), &of.known.workflow);
        all.insert(format!("pending {text}"), workflow.pending);
        all.insert(format!("pending_cores {text}"), workflow.pending_cores);
        all.insert(format!("held {text}"), workflow.held);
        for (site, jobs) in &workflow.overflow_sites {
            all.insert(format!("spread {text} {}", pool.text(*site)), *jobs);
        }
        let user = pool.name(&of.record.user).map(|user| *counters.user(user)).unwrap_or_default();
        all.insert(format!("weight {}", of.record.user), user.weight);
        all.insert(format!("test_jobs {}", of.record.user), user.test_jobs);
        let (running, reserved) = (user.usage.running, user.usage.reserved);
        all.insert(format!("running {}", of.record.user), running);
        all.insert(format!("reserved {}", of.record.user), reserved);
    }
    all.retain(|_, value| *value != 0);
    all
}

/// The same, added up job by job.
fn recounted(pool: &Pool) -> BTreeMap<String, i64> {
    let settings = pool.settings();
    let mut all: BTreeMap<String, i64> = BTreeMap::new();
    let mut add = |key: String, value: i64| *all.entry(key).or_default() += value;
    for standing in pool.jobs() {
        let job = standing.job();
        let workflow = &job.workflow;
        let known = pool.name(workflow).and_then(|it| pool.workflow(it));
        if known.is_none_or(|it| it.known.record.is_none()) {
            continue;
        }
        let Standing::Held(held) = standing else {
            add(format!("pending {workflow}"), 1);
            add(format!("pending_cores {workflow}"), job.cores_min);
            continue;
        };
        let (site, user, milli) = (&held.run_site, &held.user, held.weight_milli);
        let class = held.class.name();
        add(format!("held {workflow}"), 1);
        add(format!("used {site} {class}"), milli);
        add(format!("user {site} {user}"), milli);
        add(format!("weight {user}"), milli);
        let name = pool.name(user).and_then(|name| pool.user(name));
        for group in name.iter().flat_map(|it| &it.groups) {
            add(format!("group {site} {}", pool.text(*group)), milli);
        }
        let is_pooled = held.charged_group.is_some();
        let what = if held.reserved_at_s.is_some() { "reserved" } else { "running" };
        add(format!("{what} {user}"), settings.charge_milli(milli, is_pooled));
        add(format!("pooled {site} {class}"), if is_pooled { milli } else { 0 });
        add(format!("test_jobs {user}"), i64::from(held.band == Band::Test));
        if let Some(source) = &held.overflow_source {
            let slots = if settings.overflow_in_cores { held.cores } else { 1 };
            add(format!("overflow {source}"), slots);
            add(format!("spread {workflow} {site}"), 1);
        }
        if job.high_io {
            add(format!("high_io {}", held.overflow_source.as_ref().unwrap_or(site)), 1);
        }
    }
    all.retain(|_, value| *value != 0);
    all
}

/// The limits that apply to an assignment (TS-07).
fn limits_of(pool: &Pool, assignment: &Assignment) -> Vec<&'static str> {
    let site = pool.name(&assignment.site).and_then(|site| pool.site(site));
    let mut limits = Vec::new();
    let matched = &assignment.matched;
    limits.extend((!matched.overflow_source.is_empty()).then_some("overflow"));
    limits.extend((!matched.io_source.is_empty()).then_some("high_io"));
    if site.is_some_and(|terms| !terms.restricted.is_empty()) {
        let is_pooled = !matched.charged_group.is_empty();
        limits.push(if is_pooled { "restricted_pool" } else { "shared_capacity" });
    }
    limits
}

/// Counters of the storages that an assignment reads from: overflow, then HighIO.
fn storages(pool: &Pool, matched: &Matched) -> Vec<u64> {
    let of = |site: &String| pool.counters().site(pool.name(site).expect("a site"));
    let is_stated = |site: &&String| !site.is_empty();
    let overflow = Some(&matched.overflow_source).filter(is_stated).map(|it| of(it).overflow);
    let high_io = Some(&matched.io_source).filter(is_stated).map(|it| of(it).high_io);
    overflow.into_iter().chain(high_io).map(|used| used as u64).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_index_agrees_with_its_twin(seed in any::<u64>(), jobs in 1i64..60) {
        let records = Records::of(seed, jobs);
        let (mut pool, mut twin) = (records.pool(), Twin::new(&records));
        let found = cut(&records, &mut pool);
        let mut expected = Vec::new();
        for offer in in_order(&pool, records.offers.iter().collect(), NOW_S * SECOND) {
            let name = offer.offer.offer.clone();
            let taken = twin.fill(&mut offer.clone());
            expected.extend(taken.into_iter().map(|job| (name.clone(), job)));
        }
        let found = found.assignments.iter().map(|it| (it.offer.clone(), it.matched.job.clone()));
        prop_assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn tc_45_the_order_of_records_means_nothing(seed in any::<u64>(), jobs in 1i64..50) {
        let mut records = Records::of(seed, jobs);
        let expected = cut(&records, &mut records.pool());
        let mut numbers = Numbers(seed);
        for _ in 0..4 {
            numbers.shuffle(&mut records.puts);
            numbers.shuffle(&mut records.offers);
            prop_assert_eq!(&cut(&records, &mut records.pool()), &expected);
        }
    }

    #[test]
    fn tc_46_records_that_come_twice_count_once(seed in any::<u64>(), jobs in 1i64..50) {
        let mut records = Records::of(seed, jobs);
        let once = records.pool();
        let again = records.puts.clone();
        records.puts.extend(again);
        let twice = records.pool();
        prop_assert_eq!(once.counters(), twice.counters());
        prop_assert_eq!(cut(&records, &mut once.clone()), cut(&records, &mut twice.clone()));
    }

    #[test]
    fn counters_are_sums_of_contributions(seed in any::<u64>(), jobs in 1i64..50) {
        let records = Records::of(seed, jobs);
        let mut pool = records.pool();
        prop_assert_eq!(counted(&pool), recounted(&pool));
        cut(&records, &mut pool);
        prop_assert_eq!(counted(&pool), recounted(&pool));
    }

    #[test]
    fn hard_limits_hold_and_decisions_are_facts(seed in any::<u64>(), jobs in 1i64..50) {
        let records = Records::of(seed, jobs);
        let (before, mut pool) = (records.pool(), records.pool());
        let found = cut(&records, &mut pool);
        let mut rebuilt = before;
        let (early, late): (Vec<&PoolAction>, Vec<&PoolAction>) =
            found.actions.iter().partition(|it| matches!(it, PoolAction::Boosted { .. }));
        early.into_iter().for_each(|action| fold_action(&mut rebuilt, action));
        for assignment in &found.assignments {
            let limits = assignment.limits.iter();
            let (names, stated): (Vec<&str>, Vec<_>) =
                limits.map(|it| (it.name.as_str(), (it.before, it.after))).unzip();
            prop_assert_eq!(names, limits_of(&rebuilt, assignment));
            for limit in &assignment.limits {
                prop_assert!(limit.after <= limit.max, "{:?}", limit);
            }
            let was = storages(&rebuilt, &assignment.matched);
            fold(&mut rebuilt, assignment, NOW_S);
            let is = storages(&rebuilt, &assignment.matched);
            let counted: Vec<_> = was.into_iter().zip(is).collect();
            prop_assert_eq!(&stated[..counted.len()], &counted[..]);
        }
        late.into_iter().for_each(|action| fold_action(&mut rebuilt, action));
        prop_assert_eq!(rebuilt.counters().trimmed(), pool.counters().trimmed());
    }

    #[test]
    fn records_that_come_again_after_a_cut_change_nothing(seed in any::<u64>(), jobs in 1i64..50) {
        let records = Records::of(seed, jobs);
        let mut pool = records.pool();
        cut(&records, &mut pool);
        let mut again = pool.clone();
        records.puts.iter().cloned().for_each(|put| put.into(&mut again));
        prop_assert_eq!(again.counters().trimmed(), pool.counters().trimmed());
        prop_assert_eq!(cut(&records, &mut again), cut(&records, &mut pool));
    }

    #[test]
    fn every_job_before_an_offer_passes_or_has_a_reason(seed in any::<u64>(), jobs in 1i64..50) {
        let records = Records::of(seed, jobs);
        let mut pool = records.pool();
        let found = cut(&records, &mut pool);
        let mut waiting = pool.clusters().iter().map(|it| it.len()).sum::<usize>();
        for served in found.served.iter().rev() {
            let offer = &served.open.offer.offer;
            let taken = found.assignments.iter().filter(|it| it.offer == *offer).count();
            waiting += taken;
            let looked_at = |look: &Explained| {
                look.eligible as usize + look.not_eligible.values().map(Vec::len).sum::<usize>()
            };
            prop_assert_eq!(looked_at(&served.first_look), waiting);
            prop_assert_eq!(served.first_look.eligible > 0, taken > 0);
            if let Some(last) = &served.last_look {
                prop_assert_eq!((looked_at(last), last.eligible), (waiting - taken, 0));
            }
        }
    }

    #[test]
    fn deciding_changes_nothing(seed in any::<u64>(), jobs in 1i64..50) {
        let records = Records::of(seed, jobs);
        let pool = records.pool();
        let before = pool.counters().clone();
        for offer in &records.offers {
            let first = next(&MatchRules::full(), &pool, offer, NOW_S * SECOND);
            prop_assert_eq!(first, next(&MatchRules::full(), &pool, offer, NOW_S * SECOND));
        }
        prop_assert_eq!(pool.counters(), &before);
    }
}
