//! Decoding, per record: bytes of our own schema, bytes of an older writer's through a plan, and
//! apache-avro for comparison. `cargo bench --bench decode`.

use apache_avro::Schema;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::types::Value;
use apache_avro::writer::datum::GenericDatumWriter;
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use std::hint::black_box as keep;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Heartbeat, JobState, Pilot, Status, Transfer, TransferStatus};
use yardmaster::wire::avro::{Arena, Codec, HEADER_BYTES, MARKER, Prepared, schema, schema_text};
use yardmaster::wire::record;

fn main() {
    divan::main();
}

/// Records a batch decodes at once.
const BATCH: usize = 32;

const TOPICS: [Topic; 4] = [Topic::JobState, Topic::Heartbeat, Topic::Transfer, Topic::Pilot];

fn name(topic: &Topic) -> &'static str {
    topic.name()
}

/// One record of a topic as our own writer says it.
fn ours(topic: Topic, index: i64) -> Vec<u8> {
    let mut out = Vec::new();
    let job = format!("{}", 6_543_210_000 + index);
    let at = 1_760_000_000_000 + index * 37;
    match topic {
        Topic::JobState => {
            let state = JobState {
                job: &job,
                status: Status::Running,
                changed_at: at,
                revision: 1,
                task: "45123456",
                request: "45123456/17:0",
                queue: "CERN-T0_PROD_UCORE",
                user: "atlas-dpd-production",
                group: "AP_MCGN",
                gshare: "MC Default evgensimul",
                resource_type: "MCORE",
                nucleus: "CERN",
                workflow: "pull_ups",
                label: "managed",
                processing_type: "simul",
                cores: 8,
                priority: 650,
                created_at: at - 9_000_000,
                activated_at: at - 700_000,
                started_at: at - 600_000,
                input_bytes: 2_345_678_901,
                ..JobState::default()
            };
            record::write(&mut out, &state);
        }
        Topic::Heartbeat => {
            let heartbeat = Heartbeat {
                job: &job,
                at,
                cpu_s: 13_820,
                disk_io_kbps: 4_200,
                rss_mb: 15_872,
                events: 412,
                ..Heartbeat::default()
            };
            record::write(&mut out, &heartbeat);
        }
        Topic::Transfer => {
            let transfer = Transfer {
                request: "0f2c9e7a1b6d4c55a1d2d0b6f3a9e711",
                state: TransferStatus::Done,
                changed_at: at,
                activity: "Production Output",
                source: "CERN-PROD",
                destination: "BNL-ATLAS",
                bytes: 3_456_789_012,
                files: 1,
                ..Transfer::default()
            };
            record::write(&mut out, &transfer);
        }
        Topic::Pilot => {
            let pilot =
                Pilot::AskedJob { queue: "BNL", node: "slot1_3@spool1289.sdcc.bnl.gov", at };
            record::write(&mut out, &pilot);
        }
        other => panic!("no sample of {}", other.name()),
    }
    out
}

fn batch(topic: Topic) -> Vec<Vec<u8>> {
    (0..BATCH as i64).map(|index| ours(topic, index)).collect()
}

/// Prepares a batch, then reads it.
fn decode(codec: &Codec, topic: Topic, records: &[Vec<u8>], arena: &mut Arena) {
    arena.clear();
    let mut prepared: [Prepared; BATCH] = std::array::from_fn(|_| Prepared::Direct);
    for (slot, record) in prepared.iter_mut().zip(records) {
        *slot = codec.prepare(topic, None, Some(record), arena);
    }
    for (slot, record) in prepared.iter().zip(records) {
        keep(&codec.read_prepared(slot, topic, None, Some(record), arena, &mut false));
    }
}

#[divan::bench(args = TOPICS.iter().map(name))]
fn identity(bencher: Bencher<'_, '_>, word: &str) {
    let topic = Topic::from_name(word).expect("a topic");
    let (codec, records, mut arena) = (Codec::default(), batch(topic), Arena::default());
    bencher
        .counter(ItemsCount::new(BATCH))
        .bench_local(|| decode(&codec, topic, black_box(&records), &mut arena));
}

/// The same records by a writer whose schema has a field more at the start, and either our order or
/// the reverse of it.
fn foreign(topic: Topic, reverse: bool, codec: &mut Codec) -> Vec<Vec<u8>> {
    let mut json: serde_json::Value = serde_json::from_str(schema_text(topic)).expect("JSON");
    let fields = json["fields"].as_array_mut().expect("fields");
    if reverse {
        fields.reverse();
    }
    fields.insert(0, serde_json::json!({"name": "host", "type": "string"}));
    let text = json.to_string();
    let mark = codec.learn(topic, &text).expect("a compatible schema");
    let writer = Schema::parse_str(&text).expect("a schema");
    let sayer = GenericDatumWriter::builder(&writer).build().expect("a writer");
    let turn = |record: Vec<u8>| {
        let Value::Record(mut fields) = reference(schema(topic), &record) else {
            panic!("a record")
        };
        fields.push(("host".into(), Value::String("aipanda024.cern.ch".into())));
        let datum = sayer.write_value_to_vec(Value::Record(fields)).expect("a datum");
        [&MARKER[..], &mark.to_le_bytes(), &datum].concat()
    };
    batch(topic).into_iter().map(turn).collect()
}

#[divan::bench(args = TOPICS.iter().map(name))]
fn transcoded_in_order(bencher: Bencher<'_, '_>, word: &str) {
    transcoded(bencher, word, false);
}

#[divan::bench(args = TOPICS.iter().map(name))]
fn transcoded_reversed(bencher: Bencher<'_, '_>, word: &str) {
    transcoded(bencher, word, true);
}

fn transcoded(bencher: Bencher<'_, '_>, word: &str, reverse: bool) {
    let topic = Topic::from_name(word).expect("a topic");
    let (mut codec, mut arena) = (Codec::default(), Arena::default());
    let records = foreign(topic, reverse, &mut codec);
    bencher
        .counter(ItemsCount::new(BATCH))
        .bench_local(|| decode(&codec, topic, black_box(&records), &mut arena));
}

/// A record of our schema as apache-avro reads it.
fn reference(schema: &Schema, record: &[u8]) -> Value {
    let reader = GenericDatumReader::builder(schema).build().expect("a reader");
    reader.read_value(&mut &record[HEADER_BYTES..]).expect("a value")
}

#[divan::bench(args = TOPICS.iter().map(name))]
fn apache_avro(bencher: Bencher<'_, '_>, word: &str) {
    let topic = Topic::from_name(word).expect("a topic");
    let records = batch(topic);
    let reader = GenericDatumReader::builder(schema(topic)).build().expect("a reader");
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for record in black_box(&records) {
            keep(reader.read_value(&mut &record[HEADER_BYTES..]).expect("a value"));
        }
    });
}
