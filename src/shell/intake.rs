//! Intake against a Kafka: read back, go on where it was, read, publish; again and again.

mod framed;

use crate::clock;
use crate::kafka::{ForeignRecord, KafkaConf, KafkaIntake, KafkaLog};
use crate::stuck::{Partition, Stuck, Waits};
use framed::{Decoded, FramedSources};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Cut, Lane, Topic};
use yardmaster_core::output::progress::LaneFlags;
use yardmaster_core::unit::Millis;
use yardmaster_drive::intake::{
    Intake, IntakeCounts, Origin, PUBLISHED_TOPICS, READ_TOPICS, Records, TABLE_TOPICS,
};
use yardmaster_drive::port::{Batch, LaneSpan, Log, LogError, Mark};
use yardmaster_wire::dialect::Dialect;
use yardmaster_wire::topology::{Framing, Topology};

/// Longest wait for a message; facts of tasks are looked for as often.
const WAIT: Duration = Duration::from_millis(20);
/// The same for our own records while they are read back.
const WAIT_BACK: Duration = Duration::from_millis(200);
/// Records taken at once while reading back.
const BACK_RECORDS: usize = 50_000;
/// Decisions and outcomes are read back so many lifetimes of a reservation: those before have no
/// places any more, and are most of what their topics hold.
const LIFETIMES: i64 = 3;
/// Topics of which a part is enough.
const RECENT_TOPICS: [Topic; 2] = [Topic::Decision, Topic::Outcome];

/// Report of a stage, made now and then.
#[derive(Clone, Debug, Default)]
pub struct IntakeReport {
    /// Counts since the last report.
    pub counts: IntakeCounts,
    /// Jobs that wait for their task's facts.
    pub waiting: usize,
    /// Jobs that are to be published again, since their task is known now or its facts changed.
    pub queued: usize,
    /// Jobs whose row was deleted, and may have moved.
    pub gone: usize,
    /// Partitions whose committed offset is held back.
    pub held: usize,
    /// Sources of which the broker has no topic yet.
    pub absent: usize,
    /// Whether our own records are still being read back.
    pub is_reading_back: bool,
    /// Partitions that cannot be read on, ours and foreign ones, each with a sentence.
    pub stuck: Vec<(Partition, String)>,
}

/// The stage of intake that a topology describes.
fn intake_of(topology: &Topology) -> Intake {
    let sites = topology.intake.sites.clone();
    let intake = Intake::new(&topology.domain, sites, &topology.limits);
    intake.with_parents(topology.parents())
}

/// One run of the stage: until `goes_on` is false, or something fails. After any error it is begun
/// again with nothing in memory.
pub fn live(
    conf: &KafkaConf,
    topology: &Topology,
    skip_lost: bool,
    goes_on: &dyn Fn() -> bool,
    report: &mut dyn FnMut(IntakeReport),
) -> Result<(), LogError> {
    report(IntakeReport { is_reading_back: true, ..IntakeReport::default() });
    refuse_framings(topology)?;
    let topics = read_topics(topology);
    // The process before must be fenced before its records are read back.
    let published: Vec<Topic> = published_topics(topology).collect();
    let mut producer = KafkaIntake::lead(&conf_for(conf, topology, &published))?;
    let mut log = KafkaLog::open(conf_for(conf, topology, &topics))?;
    let limits = &topology.limits;
    let mut intake = intake_of(topology);
    let mut records = Records::default();
    let since =
        clock::now().saturating_sub(limits.reservation_lifetime_ms.saturating_mul(LIFETIMES));
    let mut stopped = Stopped::new(conf);
    let mut go_on = |batch: &Batch| {
        stopped.note(&batch.marks);
        let waits = |topic| if is_ours(topic) { Waits::Intake } else { Waits::Nothing };
        let stuck = stopped.look(waits, []);
        report(IntakeReport { is_reading_back: true, stuck, ..IntakeReport::default() });
        goes_on()
    };
    if !read_back(&mut log, &mut intake, &mut records, since, &mut go_on)? {
        return Ok(());
    }
    let names: Vec<(&str, Dialect)> =
        topology.intake.sources.iter().map(|(name, dialect)| (name.as_str(), *dialect)).collect();
    begin(&mut producer, &names, skip_lost, &mut intake, &mut records)?;
    let mut framed = FramedSources::of(topology)?;
    // The lanes that are read on are met again.
    let mut stopped = Stopped::new(conf);
    let mut batch = Batch::default();
    while goes_on() {
        let wait = if intake.queued() > 0 { Duration::ZERO } else { WAIT };
        producer.take(limits.intake_batch_records, wait, &mut |it| {
            if it.is_first_left {
                intake.note_history(it.appended_at, &mut records);
            }
            meet(&mut intake, &mut framed, names[it.source], &it, &mut records);
        })?;
        framed.settle(&mut producer)?;
        batch.clear();
        log.take(&mut batch, limits.intake_batch_records, Duration::ZERO)?;
        learn(&mut intake, &batch, &mut records);
        stopped.note(&batch.marks);
        intake.publish_again(limits.intake_batch_records, &mut records);
        if intake.is_unsettled() {
            intake.settle(clock::now(), &producer.reach(), &mut records);
        }
        producer.publish(&records, &|topic, partition| intake.held(topic, partition))?;
        intake.take_notices().iter().for_each(|notice| tracing::warn!("intake: {notice}"));
        records.clear();
        report(IntakeReport {
            counts: intake.take_counts(),
            waiting: intake.waiting(),
            queued: intake.queued(),
            gone: intake.gone(),
            held: intake.held_partitions(),
            absent: producer.absent().count(),
            is_reading_back: false,
            stuck: stopped.look(|_| Waits::Nothing, producer.blocked()),
        });
    }
    Ok(())
}

/// Begins to read the sources where they were left.
fn begin(
    producer: &mut KafkaIntake,
    names: &[(&str, Dialect)],
    skip_lost: bool,
    intake: &mut Intake,
    records: &mut Records,
) -> Result<(), LogError> {
    // A connector makes the topic of a table with its first row.
    let may_come = |dialect| dialect == Dialect::PandaCdc;
    let topics: Vec<_> = names.iter().map(|(name, it)| (*name, may_come(*it))).collect();
    let begun = producer.read(&topics, skip_lost, intake.has_published())?;
    for note in &begun.notes {
        tracing::warn!("intake: {note}; decisions note partial_history until a window is past it");
    }
    let absent: Vec<&str> = producer.absent().collect();
    if !absent.is_empty() {
        tracing::warn!(
            "intake: waits for {}: the broker has no such topic yet, and all else is read. A \
             connector makes it with the first row of its table, `topology apply` makes it now; a \
             wrong name is to be corrected in [[intake.source]]",
            absent.join(", ")
        );
    }
    let (jobs, waiting) = (intake.jobs(), intake.waiting());
    tracing::info!("intake: {jobs} jobs read back, {waiting} wait for their task's facts");
    intake.caught_up();
    if begun.is_all_gone {
        intake.note_history(clock::now(), records);
    }
    Ok(())
}

/// Takes a message of a source in, or refuses it.
fn meet(
    intake: &mut Intake,
    framed: &mut FramedSources,
    (topic, dialect): (&str, Dialect),
    it: &ForeignRecord<'_>,
    records: &mut Records,
) {
    let (partition, offset, appended_at) = (it.partition, it.offset, it.appended_at);
    let origin = Origin { topic, partition, offset, appended_at };
    match framed.decode(it) {
        Decoded::Plain => intake.meet(dialect, origin, it.key, it.value, records),
        Decoded::Json => {
            let (key, value) = (&framed.key, &framed.value);
            let key = it.key.map(|_| key.as_slice());
            let (decoded, raw) = ((key, Some(value.as_slice())), (it.key, it.value));
            intake.meet_decoded(dialect, origin, decoded, raw, records);
        }
        Decoded::Wrong(why) => {
            let (key, value) = (it.key.unwrap_or(b""), it.value.unwrap_or(b""));
            intake.refuse(dialect, origin, key, value, why, records);
        }
        Decoded::Waits => {}
    }
}

/// Whether intake publishes to a topic, and so waits until all of it was read back.
fn is_ours(topic: Topic) -> bool {
    PUBLISHED_TOPICS.contains(&topic) || TABLE_TOPICS.contains(&topic)
}

/// Topics of ours that this topology's sources are published to.
fn published_topics(topology: &Topology) -> impl Iterator<Item = Topic> {
    PUBLISHED_TOPICS.into_iter().chain(table_topics(topology).iter().copied())
}

/// Those of them that rows of configuration tables are published to.
fn table_topics(topology: &Topology) -> &'static [Topic] {
    let has_tables = topology.intake.sources.values().any(|it| *it == Dialect::PandaCdc);
    if has_tables { &TABLE_TOPICS } else { &[] }
}

fn is_framed(topology: &Topology, topic: Topic) -> bool {
    topology.topic(topic).framing != Framing::SingleObject
}

/// The topics of ours that are read. Without the decisions jobs are published, but none gets the
/// request that its source does not state.
fn read_topics(topology: &Topology) -> Vec<Topic> {
    let mut topics = READ_TOPICS.to_vec();
    topics.extend(table_topics(topology).iter().filter(|topic| !READ_TOPICS.contains(topic)));
    if let Some(framed) = RECENT_TOPICS.iter().find(|topic| is_framed(topology, **topic)) {
        tracing::warn!(
            "intake does not read {} in framing \"confluent\": jobs get no request, so reservations \
             end by creation times and lifetime; leave the topic in single-object encoding",
            framed.name()
        );
        topics.retain(|topic| !RECENT_TOPICS.contains(topic));
    }
    topics
}

/// Intake publishes and reads back in single-object encoding alone.
fn refuse_framings(topology: &Topology) -> Result<(), LogError> {
    let framed = |topic: &&Topic| !RECENT_TOPICS.contains(topic) && is_framed(topology, **topic);
    let published: Vec<Topic> = published_topics(topology).collect();
    match published.iter().chain(&READ_TOPICS).find(framed) {
        None => Ok(()),
        Some(topic) => Err(LogError::Stop(format!(
            "intake cannot write or read back {} in framing \"confluent\": leave it in \
             single-object encoding, or leave out [[intake.source]]",
            topic.name()
        ))),
    }
}

/// Reads our own records from their beginning to where they end now, and goes on with those of
/// which news are wanted. Decisions and outcomes are read since a moment. Whether it came to the
/// end. Our own records may lie behind the open transaction of another program, which is waited
/// for: without them jobs would be published again, and ends of others not at all.
fn read_back(
    log: &mut KafkaLog,
    intake: &mut Intake,
    records: &mut Records,
    since: Millis,
    go_on: &mut dyn FnMut(&Batch) -> bool,
) -> Result<bool, LogError> {
    let spans = log.lanes()?;
    let mut cut = Cut(spans.iter().map(|span| (span.lane, span.first)).collect());
    let recent = log.offsets_since(since)?.unwrap_or_default();
    for (lane, offset) in recent.iter().filter(|(lane, _)| RECENT_TOPICS.contains(&lane.topic)) {
        cut.advance(*lane, *offset);
    }
    // The process before is fenced, so no transaction is open that is intake's.
    let end = |it: &LaneSpan| if is_ours(it.lane.topic) { it.end } else { it.stable_end };
    let ends: BTreeMap<Lane, u64> = spans.iter().map(|it| (it.lane, end(it))).collect();
    log.assign(&cut)?;
    let mut batch = Batch::default();
    let is_behind = |cut: &Cut| ends.iter().any(|(lane, end)| cut.next(*lane) < Some(*end));
    while is_behind(&cut) {
        if !go_on(&batch) {
            return Ok(false);
        }
        batch.clear();
        log.take(&mut batch, BACK_RECORDS, WAIT_BACK)?;
        learn(intake, &batch, records);
        batch.records.iter().for_each(|it| cut.advance(it.lane, it.offset + 1));
        batch.marks.iter().for_each(|mark| cut.advance(mark.lane, mark.position));
    }
    // What was on the topics of tables is of use at the start alone.
    let is_wanted = |topic| topic != Topic::JobState && READ_TOPICS.contains(&topic);
    cut.0.retain(|lane, _| is_wanted(lane.topic));
    log.assign(&cut)?;
    Ok(true)
}

/// Partitions that cannot be read on.
struct Stopped {
    lanes: BTreeMap<Lane, LaneFlags>,
    stuck: Stuck,
}

impl Stopped {
    fn new(conf: &KafkaConf) -> Stopped {
        let names = conf.topics.iter().map(|map| (map.topic, map.name.clone()));
        Stopped { lanes: BTreeMap::new(), stuck: Stuck::new(names) }
    }

    /// Takes in news of our own lanes.
    fn note(&mut self, marks: &[Mark]) {
        for Mark { lane, flags, .. } in marks {
            match flags.unreadable || flags.blocked_at.is_some() {
                true => _ = self.lanes.insert(*lane, *flags),
                false => _ = self.lanes.remove(lane),
            }
        }
    }

    /// Those that are to be shown; `blocked` are foreign ones behind an open transaction. News are
    /// logged.
    fn look<'a>(
        &mut self,
        waits: impl Fn(Topic) -> Waits,
        blocked: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> Vec<(Partition, String)> {
        let lanes = self.lanes.iter();
        let ours = lanes.map(|(lane, it)| (self.stuck.partition(*lane, waits(lane.topic)), *it));
        let open = LaneFlags { blocked_at: Some(0), ..LaneFlags::default() };
        let foreign = blocked.into_iter().map(|(name, it)| (Partition::foreign(name, it), open));
        let stopped = ours.chain(foreign).collect();
        let report = self.stuck.look(&stopped, Instant::now());
        report.log();
        report.all
    }
}

fn learn(intake: &mut Intake, batch: &Batch, records: &mut Records) {
    for raw in &batch.records {
        intake.learn(raw.lane.topic, batch.key(raw), batch.value(raw), records);
    }
}

/// The same Kafka with intake's own id and some of the topics.
fn conf_for(conf: &KafkaConf, topology: &Topology, topics: &[Topic]) -> KafkaConf {
    let mut conf = conf.clone();
    conf.transactional_id = topology.intake_id();
    conf.group = None;
    conf.topics.retain(|map| topics.contains(&map.topic));
    // A key must lie where other writers' records of it lie: where Kafka's Java client puts it.
    conf.properties.insert("partitioner".into(), "murmur2_random".into());
    conf
}
