//! A source in Confluent framing whose registry cannot be reached: the partition of a message whose
//! schema is not known waits, the others go on, and nothing is lost or published twice.

use super::SECOND;
use super::intake::Place;
use super::process::wait_until;
use super::witness::glance;
use crate::registry::desk::Registry;
use std::collections::BTreeMap;
use std::io::Write;
use yardmaster::core::cut::Topic;

/// Schema of a job's message; `more` is a field that distinguishes it from others.
fn schema(more: &str) -> String {
    format!(
        r#"{{"type": "record", "name": "Message", "fields": [
            {{"name": "msg_type", "type": "string"}}, {{"name": "jobid", "type": "long"}},
            {{"name": "status", "type": "string"}}, {{"name": "timestamp", "type": "long"}},
            {{"name": "{more}", "type": "null"}}]}}"#
    )
}

/// A message of a running job in Confluent framing.
fn message(id: u32, job: u8) -> Vec<u8> {
    let mut bytes = [&[0][..], &id.to_be_bytes()].concat();
    let text = |text: &str, out: &mut Vec<u8>| {
        out.push(text.len() as u8 * 2);
        out.extend_from_slice(text.as_bytes());
    };
    text("job_status", &mut bytes);
    bytes.push(job * 2);
    text("running", &mut bytes);
    // 1760000000, as a long.
    bytes.extend_from_slice(&[0x80, 0xE0, 0xBB, 0x8E, 0x0D]);
    bytes
}

/// Keys of the jobs that were published, and how often.
fn published(place: &Place) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (key, _) in glance(&place.bus.bootstrap, &place.bus.topic(Topic::JobState)) {
        *counts.entry(String::from_utf8(key).unwrap()).or_default() += 1;
    }
    counts
}

#[test]
fn a_partition_waits_for_the_registry_and_the_others_go_on() {
    let Some(place) = Place::with(2, "", |_| ()) else { return };
    let registry = Registry::start();
    let (known, later) = (registry.put(&schema("a")), registry.put(&schema("b")));
    let text = format!("framing = \"confluent\"\n[registry]\nurls = [{:?}]\n", registry.url);
    let mut topology = std::fs::OpenOptions::new().append(true).open(&place.topology).unwrap();
    topology.write_all(text.as_bytes()).unwrap();
    let put = |partition: u32, id: u32, job: u8| {
        let value = message(id, job);
        let topic = &place.foreign;
        place.writer.append(topic, Some(partition), None, Some(&value), &[], None).unwrap();
        place.writer.flush().unwrap();
    };
    let once = |jobs: &[u8]| {
        jobs.iter().map(|job| (job.to_string(), 1)).collect::<BTreeMap<String, usize>>()
    };
    let reach = |stage: &super::intake::Stage, wants: &[u8]| {
        let wants = once(wants);
        let logged = || format!("{:?}\n{}", published(&place), stage.logged());
        wait_until(60 * SECOND, logged, || published(&place) == wants);
    };
    put(0, known, 1);
    let stage = place.start_with(&[]);
    reach(&stage, &[1]);
    registry.books().is_down = true;
    for (partition, id, job) in
        [(0, known, 2), (0, later, 3), (0, known, 4), (1, known, 5), (1, known, 6)]
    {
        put(partition, id, job);
    }
    reach(&stage, &[1, 2, 5, 6]);
    // Another life knows no schema at all, and loses nothing of what waits.
    stage.kill();
    let stage = place.start_with(&[]);
    put(1, known, 7);
    wait_until(
        60 * SECOND,
        || stage.logged(),
        || stage.logged().contains("for the schema registry"),
    );
    assert_eq!(published(&place), once(&[1, 2, 5, 6]));
    registry.books().is_down = false;
    reach(&stage, &[1, 2, 3, 4, 5, 6, 7]);
    // A number without a schema, and bytes that are not as theirs says, are dead letters.
    put(0, 1_000, 8);
    put(1, known, 9);
    let cut = &message(known, 10)[..9];
    place.writer.append(&place.foreign, Some(1), None, Some(cut), &[], None).unwrap();
    place.writer.flush().unwrap();
    let letters = || glance(&place.bus.bootstrap, &place.bus.topic(Topic::DeadLetter)).len();
    wait_until(60 * SECOND, || stage.logged(), || letters() == 2);
    reach(&stage, &[1, 2, 3, 4, 5, 6, 7, 9]);
}
