//! `replay --with-topology`: what other policies would have answered over a recorded log.

use super::report::{Report, json, text};
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::moment::ends;
use crate::cli::rebuild::{Until, start};
use crate::cli::supposed::supposed;
use crate::cli::units::moment as shown;
use crate::cli::{Ended, Usage};
use crate::ports::AnyStore;
use crate::suppose::SupposedField;
use crate::when::{When, when};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use yardmaster_core::policy::{Policy, PolicySpec, kind};
use yardmaster_core::unit::Millis;
use yardmaster_drive::alternative::Alternative;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::topology::{Severity, Topology, findings};

/// Flags of `replay` with other rules.
#[derive(Args)]
pub(super) struct OtherRules {
    /// Topology file, or the name of a built-in one, whose policies are asked too at each recorded
    /// cycle. Of it the policies and their parameters count; all else is that of the log.
    #[arg(long, value_name = "FILE|NAME", help_heading = "Other rules")]
    with_topology: Option<PathBuf>,
    /// What if a configuration record of the log had another value: TOPIC.KEY.FIELD=VALUE, as
    /// queue.CERN-PROD_UCORE.status=offline, or parameter.NAME=VALUE; VALUE in JSON or a word that
    /// stands for itself. Each request is judged by that too at each recorded cycle, by the rules
    /// of --with-topology, or by those of --topology. Repeated for several.
    #[arg(long, value_name = "TOPIC.KEY.FIELD=VALUE", value_parser = SupposedField::parse_only)]
    #[arg(help_heading = "Other rules")]
    set: Vec<SupposedField>,
    /// Only cycles whose now is not before this: a moment (2026-05-01T12:00:00Z), an age before the
    /// last cycle (30m, 2h, 7d), or ms since 1970.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    #[arg(help_heading = "Other rules")]
    from: Option<When>,
    /// Only cycles whose now is not after this.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    #[arg(help_heading = "Other rules")]
    to: Option<When>,
    /// Exit 1 if more than this share of the requests are answered otherwise.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    #[arg(help_heading = "Other rules")]
    max_changed: Option<f64>,
    /// So many of the requests that are answered otherwise are named, with both answers.
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(help_heading = "Other rules")]
    show: usize,
    /// How the report is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    #[arg(help_heading = "Other rules")]
    format: Format,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Tables.
    Text,
    /// One JSON object.
    Json,
}

impl OtherRules {
    /// The rules that are asked, and when; `None`: none are.
    ///
    /// # Errors
    /// Every mistake in the other topology, what it has otherwise than it may, and moments that the
    /// log does not have.
    pub(super) fn alternative(
        &self,
        log_args: &LogArgs,
        read: &Read,
    ) -> anyhow::Result<Option<Alternative>> {
        let policies = match &self.with_topology {
            Some(path) => other_policies(path, read)?,
            None if !self.set.is_empty() => read.epoch_config()?.policies,
            None => return self.without_rules().map(|()| None),
        };
        let [from, to] = range(log_args, read, self.from, self.to)?;
        let supposed = supposed(&self.set, log_args, read)?;
        Ok(Some(Alternative::new(policies, from, to, self.show).suppose(supposed)))
    }

    /// Refuses flags that are about other rules where there are none.
    fn without_rules(&self) -> anyhow::Result<()> {
        let given = [
            (self.from.is_some(), "--from"),
            (self.to.is_some(), "--to"),
            (self.max_changed.is_some(), "--max-changed"),
        ];
        match given.iter().find(|(is_given, _)| *is_given) {
            None => Ok(()),
            Some((_, flag)) => Err(Usage(format!(
                "{flag} is about other rules, and none are given; give --with-topology or --set"
            ))
            .into()),
        }
    }

    /// Follows the log with these rules beside its own, and prints how they differ.
    pub(super) fn run(
        &self,
        log_args: &LogArgs,
        read: &Read,
        store: AnyStore,
        alternative: Alternative,
    ) -> Ended {
        let (mut rebuilt, newest) = start(log_args, read, store, false)?;
        let begins_at = rebuilt.drive.state().now;
        let [from, to] = alternative.during;
        if self.from.is_some() && begins_at > from {
            return Err(Usage(format!(
                "--from {}: the store begins after it, at {}; leave --from-store out",
                shown(from),
                shown(begins_at)
            ))
            .into());
        }
        rebuilt.drive.set_alternative(alternative);
        rebuilt.follow(newest, self.to.map_or(Until::End, |_| Until::Moment(to)), |_| ())?;
        let Some(found) = rebuilt.drive.take_alternative() else {
            anyhow::bail!("nothing was compared");
        };
        let rules = self.with_topology.as_ref().map(|path| path.display().to_string());
        let set = self.set.iter().map(|it| it.given().to_owned());
        let name: Vec<String> = rules.into_iter().chain(set).collect();
        let report = Report {
            rules: name.join(", "),
            found: &found,
            strays: rebuilt.strays,
            max_changed: self.max_changed,
        };
        match self.format {
            Format::Text => print!("{}", text(&report)),
            Format::Json => println!("{}", json(&report)),
        }
        Ok(if report.is_within() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// The policies of another topology, for the same requests.
fn other_policies(path: &Path, read: &Read) -> anyhow::Result<Vec<Policy>> {
    let new = Read::open(Some(path))?;
    check(&new)?;
    let of = |read: &Read| {
        EpochConfig::of(&read.name, &read.text).map_err(|lines| Usage(lines.join("\n")))
    };
    let (epoch_config, ours) = (of(&new)?, of(read)?);
    comparable(&new, read)?;
    if epoch_config.setting.pool != ours.setting.pool {
        return Err(Usage(format!(
            "{}: half_life_s or reservation_ttl_s of the pool's policy is not that of {}: use and \
             reservations of the log are counted by its own; give both the same",
            new.name, read.name
        ))
        .into());
    }
    for part in other_parts(&epoch_config.text, &ours.text)? {
        eprintln!("{}: {part} differs from {} and is not used here", new.name, read.name);
    }
    Ok(epoch_config.policies)
}

/// A share in percent, with or without its sign.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let share = number.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| format!("{text:?} is no share; give a percentage from 0 to 100, as in 1%"))
}

/// Refuses a topology with something in it that cannot be meant; names what is worth a look.
fn check(new: &Read) -> Result<(), Usage> {
    let found = findings(&new.name, &new.text, &new.topology);
    let (errors, warnings): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|it| it.severity == Severity::Error);
    warnings.iter().for_each(|warning| eprintln!("{warning}"));
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if lines.is_empty() { Ok(()) } else { Err(Usage(lines.join("\n"))) }
}

/// Refuses a topology for something else than the log is of.
fn comparable(new: &Read, read: &Read) -> Result<(), Usage> {
    let (other, ours) = (&new.topology, &read.topology);
    let refuse = |what: String, remedy: &str| Err(Usage(format!("{}: {what}; {remedy}", new.name)));
    if other.domain != ours.domain {
        let what = format!("domain {:?}, and the log is of {:?}", other.domain, ours.domain);
        return refuse(what, "give a topology of the same domain");
    }
    let topics = |topology: &Topology| {
        let topics = topology.topics.iter();
        topics.map(|(topic, it)| (*topic, it.name.clone())).collect::<Vec<_>>()
    };
    if topics(other) != topics(ours) {
        let what = format!("its topics are not those of {}", read.name);
        return refuse(what, "give both the same [topics]");
    }
    for spec in &ours.policies {
        let Some(new_spec) = other.policies.iter().find(|it| it.name == spec.name) else {
            let what = format!("no policy {:?}, which {} has", spec.name, read.name);
            return refuse(what, "give both policies of the same names");
        };
        if class(new_spec) != class(spec) {
            let what = format!("policy {:?} is of kind {}", spec.name, new_spec.kind);
            let remedy = format!("give it a kind that answers the same requests as {}", spec.kind);
            return refuse(what, &remedy);
        }
    }
    let classes = |topology: &Topology| {
        topology.policies.iter().map(class).collect::<std::collections::BTreeSet<_>>()
    };
    match classes(other) == classes(ours) {
        true => Ok(()),
        false => refuse(
            format!("it has policies for requests that {} does not answer", read.name),
            "give both policies of the same kinds",
        ),
    }
}

/// Kind of a policy's candidates: nuclei, targets, jobs for offers, those of a domain; else queues.
fn class(spec: &PolicySpec) -> [bool; 4] {
    let Some(kind) = kind(&spec.kind) else { return [false; 4] };
    let is_of_domain = kind.domain().is_some();
    [kind.judges_nuclei(), kind.judges_targets(), kind.judges_offers(), is_of_domain]
}

/// Parts of two texts beside policies that differ, as `limits.batch_records`.
fn other_parts(new: &str, ours: &str) -> anyhow::Result<Vec<String>> {
    let (new, ours): (toml::Table, toml::Table) = (new.parse()?, ours.parse()?);
    let empty = toml::Value::Table(toml::Table::new());
    let mut parts = Vec::new();
    let mut names: Vec<&String> = new.keys().chain(ours.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| !["domain", "policy"].contains(&name.as_str())) {
        let (one, other) = (new.get(name).unwrap_or(&empty), ours.get(name).unwrap_or(&empty));
        match (one, other) {
            (toml::Value::Table(one), toml::Value::Table(other)) => {
                let mut keys: Vec<&String> = one.keys().chain(other.keys()).collect();
                keys.sort_unstable();
                keys.dedup();
                keys.retain(|key| one.get(*key) != other.get(*key));
                parts.extend(keys.into_iter().map(|key| format!("{name}.{key}")));
            }
            (one, other) if one != other => parts.push(name.clone()),
            _ => {}
        }
    }
    Ok(parts)
}

/// The moments between which cycles are looked at.
///
/// # Errors
/// The log has no cycle there.
fn range(
    log_args: &LogArgs,
    read: &Read,
    from: Option<When>,
    to: Option<When>,
) -> anyhow::Result<[Millis; 2]> {
    let Some([first, last]) = ends(log_args, read)? else {
        return Err(Usage("--with-topology: the log has no cycle to compare".to_owned()).into());
    };
    let from = from.map_or(Millis::MIN, |from| from.before(last));
    let to = to.map_or(Millis::MAX, |to| to.before(last));
    if from > to || from > last || to < first {
        let side = |flag: &str, at: Millis| match at {
            Millis::MIN | Millis::MAX => String::new(),
            at => format!("{flag} {} ", shown(at)),
        };
        return Err(Usage(format!(
            "{}{}names no cycle; give moments from {} to {}, the earlier as --from",
            side("--from", from),
            side("--to", to),
            shown(first),
            shown(last)
        ))
        .into());
    }
    Ok([from, to])
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_wire::topology::ATLAS;

    fn read(text: &str) -> Read {
        let topology = Topology::parse("new.toml", text).unwrap();
        Read { name: "new.toml".to_owned(), text: text.to_owned(), topology }
    }

    #[test]
    fn a_share_is_a_percentage() {
        assert_eq!(
            (percent("1%"), percent("0.5"), percent("100 %")),
            (Ok(1.0), Ok(0.5), Ok(100.0))
        );
        for wrong in ["", "%", "-1%", "101", "one", "NaN"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_not_of_the_policies_is_named_or_refused() {
        let ours = read(ATLAS);
        assert_eq!(other_parts(ATLAS, ATLAS).unwrap(), Vec::<String>::new());
        let text = ATLAS.replacen("\nbatch_records = 10_000", "\nbatch_records = 77", 1);
        assert_ne!(text, ATLAS);
        assert_eq!(other_parts(&text, ATLAS).unwrap(), ["limits.batch_records"]);
        assert!(comparable(&read(&text), &ours).is_ok());
        let text = ATLAS.replacen("domain = \"atlas\"", "domain = \"other\"", 1);
        let refused = comparable(&read(&text), &ours).unwrap_err().0;
        assert!(refused.contains("\"other\"") && refused.contains("same domain"), "{refused}");
        let text = ATLAS.replacen("name = \"production-job\"", "name = \"other-job\"", 1);
        assert_ne!(text, ATLAS);
        let refused = comparable(&read(&text), &ours).unwrap_err().0;
        assert!(refused.contains("production-job"), "{refused}");
    }
}
