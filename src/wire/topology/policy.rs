//! Policies as the topology file lists them: names in order, and what differs from the defaults.
//! The meaning of a name is known to the core alone.

use super::complaint::one_of;
use super::read::{Reader, Value, show};
use std::collections::BTreeMap;
use toml::de::DeTable;
use yardmaster_core::command::Mode;
use yardmaster_core::policy::{ListedStep, Mistake, Policy, PolicySpec, Rules, Wake, kind};
use yardmaster_core::unit::{DAY, SECOND};

/// A policy with the lines its parts stand on, so that what the core finds wrong with a part can be
/// shown of a line.
pub(super) struct Placed {
    pub(super) policy: PolicySpec,
    pub(super) line: usize,
    lines: BTreeMap<String, usize>,
}

impl Placed {
    /// The line of a part: `filter memory, compensation`, or the nearest that is known.
    fn line_of(&self, place: &str) -> usize {
        let mut place = place;
        loop {
            if let Some(line) = self.lines.get(place) {
                return *line;
            }
            match place.rsplit_once(", ") {
                Some((shorter, _)) => place = shorter,
                None => return self.line,
            }
        }
    }
}

/// Keys of a policy that are not parameters of its kind.
const KEYS: [&str; 12] = [
    "name",
    "kind",
    "mode",
    "rules",
    "wake",
    "defer_s",
    "dwell_s",
    "candidates_max",
    "bunch",
    "bunch_scout",
    "filters",
    "weights",
];

/// Reads every policy of the file.
pub(super) fn policies(reader: &mut Reader, value: Option<&Value<'_>>) -> Vec<Placed> {
    let Some(value) = value else {
        reader.complain(1, "no [[policy]]", "at least one policy");
        return Vec::new();
    };
    let Some(list) = value.get_ref().as_array() else {
        reader.complain_at(value, "policy", "a list of tables, each headed [[policy]]");
        return Vec::new();
    };
    let mut found: Vec<Placed> = Vec::new();
    for value in list.iter() {
        let Some(placed) = policy(reader, value) else { continue };
        if let Some(earlier) = found.iter().find(|p| p.policy.name == placed.policy.name) {
            let name = &placed.policy.name;
            let found = format!("a second policy {name:?} (the first: line {})", earlier.line);
            reader.complain(placed.line, found, "each name once");
        }
        found.push(placed);
    }
    complain_of_others(reader, &found);
    for placed in &found {
        let Err(mistakes) = Policy::compile(&placed.policy) else { continue };
        for Mistake { place, found, allowed } in mistakes {
            let line = placed.line_of(&place);
            // The name that is wrong is the place's last word.
            let wrong = place.rsplit(' ').next().unwrap_or("");
            let allowed = match allowed.strip_prefix("one of ") {
                Some(words) => one_of(wrong, &words.split(", ").collect::<Vec<_>>()),
                None => allowed,
            };
            let name = &placed.policy.name;
            reader.complain(line, format!("policy {name}, {place}: {found}"), allowed);
        }
    }
    found
}

/// One policy answers every offer of a pool, and a pool's jobs are in no queue that another policy
/// could send work to. A domain that a program brings has its requests answered by one as well.
fn complain_of_others(reader: &mut Reader, policies: &[Placed]) {
    let alone = policies.iter().find_map(|placed| {
        let kind = kind(&placed.policy.kind)?;
        let offers = kind.judges_offers().then_some("answers slot offers");
        let why = offers.or(kind.domain().map(|_| "answers for a domain of its own"))?;
        Some((placed, why))
    });
    let Some((alone, why)) = alone else { return };
    for other in policies.iter().filter(|other| other.policy.name != alone.policy.name) {
        let PolicySpec { name, kind, .. } = &other.policy;
        let (first, line) = (&alone.policy.name, alone.line);
        let found = format!(
            "policy {name} of kind {kind:?} beside policy {first} (line {line}), which {why}"
        );
        let allowed = format!(
            "one policy in a file of which one {why}; another domain has a file of its own"
        );
        reader.complain(other.line, found, allowed);
    }
}

fn policy(reader: &mut Reader, value: &Value<'_>) -> Option<Placed> {
    let table = reader.table(value, "policy")?;
    let line = reader.line(&value.span());
    let mut placed = Placed { policy: PolicySpec::empty("", ""), line, lines: BTreeMap::new() };
    for required in ["name", "kind", "filters", "weights"] {
        if !table.contains_key(required) {
            reader.complain(line, format!("no `{required}` in [[policy]]"), "a policy with one");
        }
    }
    for (key, value) in table {
        let key: &str = key.get_ref();
        placed.lines.insert(key.to_string(), reader.line(&value.span()));
        if KEYS.contains(&key) {
            read_key(reader, &mut placed, key, value);
        } else if let Some(arg) = reader.arg(value, key) {
            placed.policy.args.push((key.to_string(), arg));
        }
    }
    // Known only now: the kind may stand behind the lists.
    if let Some(kind) = kind(&placed.policy.kind) {
        let all = PolicySpec::full("", kind, placed.policy.rules);
        if !table.contains_key("defer_s") {
            placed.policy.defer = all.defer;
        }
        if asks_for_all(table.get("filters")) {
            placed.policy.filters = all.filters;
        }
        if asks_for_all(table.get("weights")) {
            placed.policy.weights = all.weights;
        }
    }
    Some(placed)
}

/// Whether a list is the word `all`: every filter or weight of the kind, in the kind's order.
fn asks_for_all(value: Option<&Value<'_>>) -> bool {
    value.is_some_and(|value| value.get_ref().as_str() == Some(ALL))
}

const ALL: &str = "all";

fn read_key(reader: &mut Reader, placed: &mut Placed, key: &str, value: &Value<'_>) {
    let at = format!("policy.{key}");
    let policy = &mut placed.policy;
    let count = |reader: &mut Reader, max: i64| reader.int(value, &at, 1..=max).map(|n| n as u32);
    match key {
        "name" | "kind" => {
            let allowed = "a word of letters, digits, `-` and `_`";
            let word = reader.text(value, &at, allowed, is_word).unwrap_or("").to_string();
            *(if key == "name" { &mut policy.name } else { &mut policy.kind }) = word;
        }
        "mode" => {
            let words = [(Mode::On.name(), false), (Mode::DryRun.name(), true)];
            policy.dry_run = reader.word(value, &at, &words).unwrap_or(policy.dry_run);
        }
        "rules" => {
            let words = Rules::ALL.map(|rules| (rules.name(), rules));
            policy.rules = reader.word(value, &at, &words).unwrap_or(policy.rules);
        }
        "wake" => {
            let words = [Wake::Event, Wake::Timer].map(|wake| (wake.name(), wake));
            policy.wake = reader.word(value, &at, &words).unwrap_or(policy.wake);
        }
        "defer_s" => {
            let seconds = reader.int(value, &at, 1..=30 * DAY / SECOND);
            policy.defer = seconds.map_or(policy.defer, |seconds| seconds * SECOND);
        }
        "dwell_s" => {
            let seconds = reader.int(value, &at, 0..=30 * DAY / SECOND);
            policy.dwell = seconds.map_or(policy.dwell, |seconds| seconds * SECOND);
        }
        "candidates_max" => {
            policy.candidates_max = count(reader, 1_000).unwrap_or(policy.candidates_max);
        }
        "bunch" => policy.bunch = count(reader, 1_000_000).unwrap_or(policy.bunch),
        "bunch_scout" => {
            policy.bunch_scout = count(reader, 1_000_000).unwrap_or(policy.bunch_scout);
        }
        "filters" | "weights" if asks_for_all(Some(value)) => {}
        "filters" => policy.filters = steps(reader, &mut placed.lines, "filter", value),
        "weights" => policy.weights = steps(reader, &mut placed.lines, "weight", value),
        _ => {}
    }
}

/// Reads a list of filters or weights: names, or tables with a `name` and parameters.
fn steps(
    reader: &mut Reader,
    lines: &mut BTreeMap<String, usize>,
    what: &str,
    value: &Value<'_>,
) -> Vec<ListedStep> {
    let allowed =
        format!("a list of {what} names, or of tables with `name` and parameters; or \"all\"");
    let Some(list) = value.get_ref().as_array() else {
        reader.complain_at(value, &format!("policy.{what}s"), allowed);
        return Vec::new();
    };
    let mut steps = Vec::new();
    for value in list.iter() {
        let empty = DeTable::new();
        let (name, table) = match (value.get_ref().as_str(), value.get_ref().as_table()) {
            (Some(name), _) => (Some(name), &empty),
            (None, Some(table)) => (name_of(table), table),
            (None, None) => (None, &empty),
        };
        let line = reader.line(&value.span());
        let Some(name) = name else {
            let found = format!("{} in policy.{what}s", show(value.get_ref()));
            reader.complain(line, found, allowed.clone());
            continue;
        };
        let place = format!("{what} {name}");
        let mut args = Vec::new();
        for (key, value) in table.iter().filter(|(key, _)| key.get_ref() != "name") {
            lines.insert(format!("{place}, {}", key.get_ref()), reader.line(&value.span()));
            let shown = format!("{place}, {}", key.get_ref());
            if let Some(arg) = reader.arg(value, &shown) {
                args.push((key.get_ref().to_string(), arg));
            }
        }
        lines.insert(place, line);
        steps.push(ListedStep { name: name.to_string(), args });
    }
    steps
}

fn name_of<'a>(table: &'a DeTable<'_>) -> Option<&'a str> {
    table.get("name").and_then(|name| name.get_ref().as_str())
}

/// A word that may be a label and a part of a key.
pub(super) fn is_word(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(legal)
}
