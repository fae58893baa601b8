//! `--set TOPIC.KEY.FIELD=VALUE` of verbs that read a log.

use crate::cli::Usage;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::outputs::outputs;
use crate::dirlog::Mode;
use crate::suppose::{ReadRecords, SupposedField};
use yardmaster_core::event::Event;
use yardmaster_core::state::supposed::Supposed;

/// The records that fields are supposed to be in, found among those of the log.
///
/// # Errors
/// There is no such record or field, or the value is none that the field may have; with what is
/// allowed.
pub(in crate::cli) fn supposed(
    fields: &[SupposedField],
    log_args: &LogArgs,
    read: &Read,
) -> anyhow::Result<Vec<Supposed>> {
    let mut records = ReadRecords::new();
    for topic in fields.iter().map(SupposedField::topic) {
        if records.contains_key(&topic) {
            continue;
        }
        let mut log = log_args.log(&read.topology, Mode::Read)?;
        let found = outputs(&mut log, topic, |event| {
            let Event::Configuration(record) = event else { return None };
            Some((record.name(), *record))
        })?;
        records.insert(topic, found.into_iter().map(|(_, it)| it).collect());
    }
    let (domain, policies) = (&read.topology.domain, read.topology.policies.iter());
    let found = crate::suppose::supposed(fields, &records, domain, policies);
    Ok(found.map_err(Usage)?)
}
