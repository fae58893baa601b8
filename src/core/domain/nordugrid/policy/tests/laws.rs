//! Laws: facts in any order give the same decision (TN-39), sums are what their parts add up to,
//! decisions folded again give the same state (TN-44), and every reason is given.

use super::world::{World, at, mb};
use crate::dice::Dice;
use crate::domain::nordugrid::output::Placed;
use crate::domain::nordugrid::policy::changes::TargetChanges;
use crate::domain::nordugrid::policy::job_state::{ClusterJobState, JobRecord};
use crate::event::{BatchFacts, ChildKind, ClusterFacts, Location, Replica, UserShare};
use crate::policy::{Filter, kind};
use crate::unit::{DAY, MIB, Millis};
use std::collections::BTreeSet;

/// A fact of any kind.
#[derive(Clone)]
enum Fact {
    Registration(String),
    Cluster(String, ClusterFacts),
    Share(String, Millis, BatchFacts),
    UserShare(UserShare),
    Record(String, String, JobRecord),
    Placement(String, String, u64, Millis, Placed),
    Refusal(String, u64),
    Replica(String, Replica),
}

fn fold(world: &mut World, fact: &Fact) {
    match fact.clone() {
        Fact::Registration(it) => world.register("index-1", &it, ChildKind::Computing, |_| ()),
        Fact::Cluster(name, it) => world.facts.put_cluster(&name, &it),
        Fact::Share(name, as_of, it) => world.facts.put_share(&name, as_of, &it),
        Fact::UserShare(it) => world.facts.put_user_share(&it),
        Fact::Record(job, target, it) => world.record(&job, &target, it),
        Fact::Placement(job, target, attempt, at, it) => {
            world.place(&job, &target, attempt, at, it);
        }
        Fact::Refusal(job, attempt) => world.refuse(&job, attempt),
        Fact::Replica(source, it) => world.replica(&source, it),
    }
}

/// A world of some facts.
fn world_of(facts: &[Fact]) -> World {
    let mut world = World::new();
    facts.iter().for_each(|fact| fold(&mut world, fact));
    world
}

/// A number below a bound.
fn below(dice: &mut Dice, bound: u64) -> u64 {
    dice.word() % bound
}

/// A grid with some of everything, each fact about another thing.
fn random_facts(dice: &mut Dice) -> Vec<Fact> {
    let mut facts = Vec::new();
    let target =
        |dice: &mut Dice| format!("ce-{}/{}", below(dice, 6), ["q", "r"][below(dice, 2) as usize]);
    for cluster in 0..6 {
        let name = format!("ce-{cluster}");
        facts.push(Fact::Registration(name.clone()));
        let cluster = ClusterFacts {
            answered: below(dice, 8) > 0,
            total_slots: Some(50),
            runtime_environments: vec![format!("ROOT-6.{}", below(dice, 3) * 10)],
            local_storage: vec![format!("se-{}", below(dice, 3))],
            cache_free_bytes: mb(40).filter(|_| below(dice, 4) > 0),
            ..ClusterFacts::default()
        };
        facts.push(Fact::Cluster(name.clone(), cluster));
        for queue in ["q", "r"] {
            let queue = format!("{name}/{queue}");
            let share = BatchFacts {
                status: "active".to_owned(),
                grid_queued_jobs: below(dice, 4),
                max_queuable_jobs: Some(6),
                ..BatchFacts::default()
            };
            facts.push(Fact::Share(queue.clone(), at(-(below(dice, 20) as i64)), share));
            facts.push(Fact::UserShare(UserShare {
                queue,
                user: "anna".to_owned(),
                changed_at: at(-(below(dice, 20) as i64)),
                authorised: below(dice, 8) > 0,
                free_slots: ["4:60 8", "2", "6:30 3:90", ""][below(dice, 4) as usize].to_owned(),
                disk_free_bytes: mb(60),
            }));
        }
    }
    for job in 0..12 {
        let (job, target) = (format!("job-{job}"), target(dice));
        random_job(dice, &mut facts, &job, &target);
    }
    for file in 0..3 {
        let source = format!("u:{file}");
        let location = |endpoint, complete, cache| {
            vec![Location { endpoint, complete, cache, ..Location::default() }]
        };
        let listed = Replica {
            changed_at: at(0),
            bytes: (1 + below(dice, 9)) * MIB,
            locations: location(format!("se-{}", below(dice, 4)), true, false),
            ..Replica::default()
        };
        facts.push(Fact::Replica(source.clone(), listed));
        let cluster = format!("ce-{}", below(dice, 6));
        let reported = Replica {
            changed_at: at(-(below(dice, 60) as i64)),
            locations: location(cluster.clone(), below(dice, 2) == 0, true),
            endpoint: cluster,
            ..Replica::default()
        };
        facts.push(Fact::Replica(source, reported));
    }
    facts
}

/// The record of a job, and up to two attempts at its target, before and after what that says.
fn random_job(dice: &mut Dice, facts: &mut Vec<Fact>, job: &str, target: &str) {
    let (job, target) = (job.to_owned(), target.to_owned());
    let state = [ClusterJobState::PreBatch, ClusterJobState::InBatch, ClusterJobState::Ended];
    let record = JobRecord {
        state: state[below(dice, 3) as usize],
        count: 1 + below(dice, 2),
        time_s: Some(below(dice, 5000)).filter(|time| time % 2 == 0),
        changed_at: Some(at(-(below(dice, 40) as i64))),
        reached_batch_at: Some(at(-(below(dice, 20) as i64))),
        is_staged: below(dice, 2) == 0,
    };
    facts.push(Fact::Record(job.clone(), target.clone(), record));
    for attempt in 0..1 + below(dice, 2) {
        let is_expired = below(dice, 8) == 0;
        let decided_at = at(-30 + 15 * attempt as i64) - if is_expired { 2 * DAY } else { 0 };
        let placed = Placed {
            count: 1,
            time_s: Some(1800),
            disk_bytes: below(dice, 20) * MIB,
            cache_bytes: below(dice, 20) * MIB,
            tags: vec![format!("u:{}", below(dice, 3))],
            ..Placed::default()
        };
        let (job, target) = (job.clone(), target.clone());
        facts.push(Fact::Placement(job.clone(), target, attempt, decided_at, placed));
        if below(dice, 4) == 0 {
            facts.push(Fact::Refusal(job, attempt));
        }
    }
}

fn shuffle(dice: &mut Dice, facts: &mut [Fact]) {
    for at in (1..facts.len()).rev() {
        facts.swap(at, below(dice, at as u64 + 1) as usize);
    }
}

const JOB: &str = r#"&(executable=run)(cputime=40)(runtimeenvironment>=ROOT-6.10)
    (inputfiles=("a" "u:0")("b" "u:1")("c" "u:2" "cache=no"))"#;

/// All that a decision says, as text.
fn text(world: &World) -> String {
    let answer = world.decide("gsid-0001", JOB);
    let draw = answer.draw();
    let figures: Vec<_> = answer.decision.tried.iter().flat_map(|it| &it.ranked).collect();
    let figures: Vec<String> = figures
        .iter()
        .map(|it| {
            let name = world.facts.targets.name(it.target);
            let shown = format!("{it:?}");
            let (_, behind) = shown.split_once(',').expect("figures");
            format!("{name}{behind}")
        })
        .collect();
    format!(
        "{} {} {:?} {draw:?} {figures:?} {:?}",
        answer.verdict, answer.rule, answer.refused, answer.changes
    )
}

#[test]
fn tn_39_facts_in_any_order_give_the_same_decision() {
    let mut verdicts = BTreeSet::new();
    for seed in 0..60 {
        let mut dice = Dice::of("nordugrid", "order", 0, 0, seed);
        let mut facts = random_facts(&mut dice);
        let mut first = None;
        for _ in 0..5 {
            shuffle(&mut dice, &mut facts);
            let world = world_of(&facts);
            let (text, recount) = (text(&world), world.facts.ahead.recount());
            assert!(world.facts.ahead.has_sums_of(&recount), "seed {seed}");
            assert_eq!(first.get_or_insert_with(|| text.clone()), &text, "seed {seed}");
        }
        verdicts
            .insert(first.expect("a decision").split(' ').next().expect("a verdict").to_owned());
    }
    assert!(verdicts.len() > 6, "the grids differ enough: {verdicts:?}");
}

/// TS-04: what is held and released again leaves every figure as it was.
#[test]
fn a_reservation_released_leaves_every_sum_as_it_was() {
    for seed in 0..20 {
        let mut dice = Dice::of("nordugrid", "release", 0, 0, seed);
        let mut world = world_of(&random_facts(&mut dice));
        let before = (text(&world), world.facts.ahead.clone());
        let answer = world.submit("gsid-0002", JOB);
        if answer.changes.is_some() {
            world.refuse("gsid-0002", 0);
        }
        assert!(world.facts.ahead.has_sums_of(&before.1), "seed {seed}");
        assert_eq!(text(&world), before.0, "seed {seed}");
    }
}

/// TN-44: a rebuild folds decisions and never makes them; an audit makes each again at its cut.
#[test]
fn tn_44_decisions_folded_again_give_the_same_state_and_the_same_decisions() {
    let mut dice = Dice::of("nordugrid", "rebuild", 0, 0, 0);
    let facts = random_facts(&mut dice);
    let mut live = world_of(&facts);
    let mut log: Vec<(String, Option<TargetChanges>)> = Vec::new();
    for job in 0..60 {
        let id = format!("gsid-{job:04}");
        let changes = live.submit(&id, JOB).changes;
        if job % 7 == 0 && changes.is_some() {
            live.refuse(&id, 0);
        }
        log.push((id, changes));
    }
    assert!(log.iter().filter(|(_, changes)| changes.is_some()).count() > 10);
    let mut rebuilt = world_of(&facts);
    for (job, (id, changes)) in log.iter().enumerate() {
        assert_eq!(rebuilt.decide(id, JOB).changes, *changes, "audit of {id}");
        let Some(changes) = changes else { continue };
        rebuilt.fold(id, changes);
        if job % 7 == 0 {
            rebuilt.refuse(id, 0);
        }
    }
    assert!(rebuilt.facts.ahead.has_sums_of(&live.facts.ahead));
    assert_eq!(text(&rebuilt), text(&live));
}

/// TS-07: no decision holds more than there is.
#[test]
fn disk_and_cache_are_never_overdrawn() {
    let mut dice = Dice::of("nordugrid", "limits", 0, 0, 0);
    for _ in 0..20 {
        let mut world = world_of(&random_facts(&mut dice));
        for job in 0..30 {
            let xrsl = JOB.replacen("40", &(10 * (job % 9)).to_string(), 1) + "(disk=3)";
            let before = world.decide(&format!("gsid-{job:04}"), &xrsl);
            let Some(changes) = before.changes else { break };
            let disk = world.look(&changes.target, &xrsl, |it, _, _| it.disk_free());
            let cache = world.look(&changes.target, &xrsl, |_, staging, _| staging.cache_free);
            assert_eq!(changes.limits.len(), 1 + usize::from(changes.cache_bytes > 0));
            assert!(changes.limits.iter().all(|it| it.after <= it.max), "{job}");
            assert!(disk.is_none_or(|free| changes.disk_bytes <= free));
            assert!(cache.map_or(changes.cache_bytes == 0, |free| changes.cache_bytes <= free));
            world.fold(&format!("gsid-{job:04}"), &changes);
        }
    }
}

/// Every reason that a filter declares is given for some job.
#[test]
fn every_reason_is_given() {
    let mut world =
        World::with_parameters(&[("size_unknown", crate::policy::Arg::Text("reject".to_owned()))]);
    world.open("ce-a/q", "10");
    world.cluster("ce-a", |it| (it.clock_mhz, it.cache_free_bytes) = (Some(1000), Some(9)));
    world.user("ce-a/q", "10", |it| it.disk_free_bytes = Some(9));
    world.queue("ce-a/q", |it| {
        (it.max_cpu_time_s, it.max_wall_time_s, it.max_memory_mb) = (Some(60), Some(60), Some(1));
    });
    world.file("u:large", Some(10), &["se9"]);
    world.file("u:unknown", None, &["se9"]);
    let mut given = BTreeSet::new();
    for attribute in [
        "(cluster=x)",
        "(queue=x)",
        "(count=101)",
        "(cputime=2)",
        "(gridtime=2)",
        "(memory=2)",
        "(architecture=x)",
        "(middleware=x)",
        "(runtimeenvironment=x)",
        "(opsys=x)",
        "(nodeaccess=inbound)",
        "(walltime=2)",
        "(inputfiles=(a u:nowhere))",
        "(inputfiles=(a u:unknown))",
        "(inputfiles=(a u:large))",
        "(disk=1)",
    ] {
        let answer = world.decide("gsid-0001", &format!("&(executable=run){attribute}"));
        given.extend(answer.refused.into_values());
    }
    let reason = |change: &dyn Fn(&mut World)| {
        let mut world = World::new();
        world.open("ce-a/q", "10");
        change(&mut world);
        world.decide("gsid-0001", "&(executable=run)").refused.into_values().next()
    };
    given.extend(reason(&|it| it.now = at(31)));
    given.extend(reason(&|it| it.queue("ce-a/q", |it| it.status.clear())));
    given.extend(reason(&|it| it.user("ce-a/q", "", |it| it.authorised = false)));
    given.extend(reason(&|it| it.queue("ce-a/q", |it| it.max_queuable_jobs = Some(0))));
    given.extend(reason(&|it| it.queue("ce-a/q", |it| it.total_slots = None)));
    given.extend(reason(&|it| it.excluded.push("ce-a/q".to_owned())));
    let filters: Vec<&Filter> = kind("nordugrid").expect("built in").filters();
    let declared: BTreeSet<&str> =
        filters.iter().flat_map(|it| it.reasons).map(|reason| reason.name).collect();
    assert_eq!(given, declared);
}
