//! `counter`.

use crate::avro::Sink;
use std::borrow::Cow;
use yardmaster_core::cut::Topic;
use yardmaster_core::state::changed::{Changed, Of};
use yardmaster_core::unit::Millis;

/// Gives `put` the key and the value of the record of each counter that changed: one of the
/// jobs, one of their cores. They stood so at the end of cycle `cycle` of epoch `epoch`, at `now`.
pub fn write_counter(
    changed: &Changed<'_>,
    (domain, epoch, cycle, now): (&str, u64, u64, Millis),
    put: &mut dyn FnMut(&[u8], &[u8]),
) {
    let mut labels = labels(&changed.of);
    labels.push(("status", changed.status.name()));
    let (mut key, mut bytes) = (String::with_capacity(128), Vec::with_capacity(192));
    for (name, value) in [("jobs", changed.jobs), ("cores", changed.cores)] {
        key.clear();
        key.push_str(name);
        for (label, value) in &labels {
            key.extend([",", label, "=", &distinct(value)]);
        }
        bytes.clear();
        let mut sink = Sink::begin(&mut bytes, Topic::Counter);
        sink.string(name);
        sink.array(&labels, |sink, (label, value)| {
            sink.string(label);
            sink.string(value);
        });
        sink.count(value);
        sink.string(name);
        sink.string(domain);
        sink.amount(epoch);
        sink.amount(cycle);
        sink.long(now);
        put(key.as_bytes(), &bytes);
    }
}

/// A name as it stands in a key. One with a comma and an equals sign could be taken for a name and
/// the next label: each of its equals signs and backslashes has a backslash before it.
fn distinct(name: &str) -> Cow<'_, str> {
    if name.contains(',') && name.contains('=') {
        Cow::Owned(name.replace('\\', "\\\\").replace('=', "\\="))
    } else {
        Cow::Borrowed(name)
    }
}

fn labels<'a>(of: &Of<'a>) -> Vec<(&'static str, &'a str)> {
    match *of {
        Of::Load([queue, gshare, resource_type]) => {
            vec![("queue", queue), ("gshare", gshare), ("resource_type", resource_type)]
        }
        Of::User([user, queue]) => vec![("user", user), ("queue", queue)],
        Of::Group([group, queue]) => vec![("working_group", group), ("queue", queue)],
        Of::Nucleus(nucleus) => vec![("nucleus", nucleus)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avro::schema;
    use apache_avro::reader::datum::GenericDatumReader;
    use apache_avro::types::Value;
    use yardmaster_core::event::Status;

    #[test]
    fn counters_of_different_names_have_different_keys() {
        let key_of = |names| {
            let of = Of::User(names);
            let changed = Changed { of, status: Status::Running, jobs: 3, cores: 24 };
            let mut keys = Vec::new();
            write_counter(&changed, ("atlas", 7, 8, 9), &mut |key, _| keys.push(key.to_vec()));
            String::from_utf8(keys.remove(0)).unwrap()
        };
        assert_ne!(key_of(["jo,queue=A", "B"]), key_of(["jo", "A,queue=B"]));
        assert_eq!(key_of(["Doe, J\\o", "A=B"]), "jobs,user=Doe, J\\o,queue=A=B,status=running");
    }

    /// The reference library reads what is written, with the right values.
    #[test]
    fn a_counter_is_read_by_the_reference_library() {
        let of = Of::Load(["BNL", "MC", "MCORE"]);
        let changed = Changed { of, status: Status::Running, jobs: 3, cores: 24 };
        let mut records = Vec::new();
        let mut put = |key: &[u8], value: &[u8]| records.push((key.to_vec(), value.to_vec()));
        write_counter(&changed, ("atlas", 7, 812, 1_760_000_000_050), &mut put);
        let keys: Vec<_> = records.iter().map(|(key, _)| String::from_utf8_lossy(key)).collect();
        assert_eq!(keys[0], "jobs,queue=BNL,gshare=MC,resource_type=MCORE,status=running");
        assert_eq!(keys[1], "cores,queue=BNL,gshare=MC,resource_type=MCORE,status=running");
        for ((_, bytes), number) in records.iter().zip([3, 24]) {
            let mut datum = &bytes[10..];
            let schema = schema(Topic::Counter);
            let reader = GenericDatumReader::builder(schema).build().unwrap();
            let read = reader.read_value(&mut datum).unwrap();
            let Value::Record(fields) = read else { panic!("no record: {read:?}") };
            assert!(datum.is_empty());
            assert_eq!(fields[2], ("value".to_owned(), Value::Long(number)));
            assert_eq!(fields[6], ("cycle".to_owned(), Value::Long(812)));
            let Value::Array(labels) = &fields[1].1 else { panic!("no labels") };
            assert_eq!(labels.len(), 4);
        }
    }
}
