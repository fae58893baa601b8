//! From the start of a process to its first decision.

use super::Figures;
use super::world::{ask, facts_of};
use crate::cli::import::{encode, lane};
use crate::cli::log_args::{Read, dir_topics, open_store};
use crate::cli::progress::Bar;
use crate::clock;
use crate::dirlog::{DirLog, DirOptions, DirWriter, Mode};
use crate::ports::{AnyLog, AnyStore};
use std::path::Path;
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_core::state::counters::counters;
use yardmaster_core::unit::{HOUR, Millis};
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_drive::{Config, Drive};
use yardmaster_sim::load::Load;
use yardmaster_wire::counter;

/// Measures a restart with `jobs` live jobs in the store, over what `over` makes of the load.
pub fn measure(
    read: &Read,
    scratch: &Path,
    (jobs, over): (u64, &dyn Fn(Load) -> Load),
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let dir = scratch.join("restart");
    std::fs::create_dir_all(&dir)?;
    let (mut drive, mut writer) = start(&dir, read)?;
    lead(&mut drive)?;
    // Its records lie a millisecond apart, and the last of them two hours back.
    let load = over(Load::new(5, jobs, clock::now() - 2 * HOUR - jobs as Millis));
    fill(&mut writer, read, jobs, load)?;
    let mut bar = Bar::new("filling the store", "jobs", jobs);
    while drive.state().jobs.slab.len() < jobs as usize {
        bar.at(drive.state().jobs.slab.len() as u64);
        turn(&mut drive)?;
    }
    drop(bar);
    drive.finish(clock::now())?;
    drop((drive, writer));
    let began = clock::stopwatch();
    let (mut drive, mut writer) = start(&dir, read)?;
    let loaded = clock::stopwatch();
    ask(&mut writer, read, clock::now())?;
    lead(&mut drive)?;
    while drive.take_report().decisions().next().is_none() {
        turn(&mut drive)?;
    }
    let seconds = |from: u64, to: u64| (to - from) as f64 / 1e9;
    figures.insert("restart_live_jobs".into(), drive.state().jobs.slab.len() as f64);
    figures.insert("restart_load_seconds".into(), seconds(began, loaded));
    figures.insert("restart_to_decision_seconds".into(), seconds(began, clock::stopwatch()));
    let began = clock::stopwatch();
    let lines = counters(drive.state());
    let bytes: usize = lines.iter().map(|it| it.key().len() + counter::to_json(it).len()).sum();
    figures.insert("counters_of_live_jobs".into(), lines.len() as f64);
    figures.insert("counters_bytes".into(), bytes as f64);
    figures.insert("counters_made_seconds".into(), seconds(began, clock::stopwatch()));
    drive.finish(clock::now())?;
    drop((drive, writer, lines));
    let mut epoch_config = read.epoch_config()?;
    epoch_config.setting.limits.node_window_ms += HOUR;
    epoch_config.text.push_str("\n# another topology\n");
    let (mut drive, _writer) = start_with(&dir, read, epoch_config)?;
    let began = clock::stopwatch();
    lead(&mut drive)?;
    figures.insert("lead_with_another_topology_seconds".into(), seconds(began, clock::stopwatch()));
    let began = clock::stopwatch();
    while drive.take_report().cycles == 0 || drive.state().number == 0 {
        turn(&mut drive)?;
    }
    figures.insert("first_cycle_after_it_seconds".into(), seconds(began, clock::stopwatch()));
    Ok(())
}

fn start(dir: &Path, read: &Read) -> anyhow::Result<(Drive<AnyLog, AnyStore>, DirWriter)> {
    start_with(dir, read, read.epoch_config()?)
}

fn start_with(
    dir: &Path,
    read: &Read,
    epoch_config: EpochConfig,
) -> anyhow::Result<(Drive<AnyLog, AnyStore>, DirWriter)> {
    let topics = dir_topics(&read.topology);
    let log = DirLog::open(dir, Mode::Write, &topics, DirOptions::default())?;
    let writer = log.writer()?;
    let config = Config {
        instance: "bench".to_owned(),
        epoch_config,
        stopwatch: clock::stopwatch,
        verify: false,
        keeps: true,
        store_not_before: 0,
        uptime: None,
        counters: None,
    };
    let store = open_store(&dir.join("store"))?;
    Ok((Drive::start(AnyLog::dir(log)?, store, config)?, writer))
}

fn lead(drive: &mut Drive<AnyLog, AnyStore>) -> anyhow::Result<()> {
    while !drive.may_lead(clock::now(), clock::now(), 0) {
        drive.pump(Duration::from_millis(5))?;
        drive.follow()?;
    }
    Ok(drive.take_lead(clock::now())?)
}

fn turn(drive: &mut Drive<AnyLog, AnyStore>) -> anyhow::Result<()> {
    drive.pump(Duration::from_millis(1))?;
    drive.lead(clock::now())?;
    Ok(())
}

/// Queues, storage and jobs.
fn fill(writer: &mut DirWriter, read: &Read, jobs: u64, mut load: Load) -> anyhow::Result<()> {
    let now: Millis = clock::now();
    let partitions = |topic: Topic| read.topology.topic(topic).partitions;
    for event in facts_of(now) {
        let (topic, key, bytes) = encode(&event);
        let lane = lane(topic, &key, partitions(topic));
        writer.append(lane, Some(key.as_bytes()), Some(&bytes), &[], now)?;
    }
    for from in (0..jobs).step_by(10_000) {
        let batch = load.first(from, from + 10_000);
        for raw in &batch.records {
            let key = batch.key(raw).unwrap_or_default();
            let lane =
                lane(Topic::JobState, &String::from_utf8_lossy(key), partitions(Topic::JobState));
            writer.append(lane, Some(key), batch.value(raw), &[], raw.appended_at)?;
        }
    }
    Ok(writer.flush()?)
}
