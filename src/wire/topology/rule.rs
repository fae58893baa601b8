//! Rules that give commands, and the governor that bounds them, as the topology file has them.

use super::complaint::one_of;
use super::read::{Reader, Value};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use toml::de::DeTable;
use yardmaster_core::command::rule::{CommandRule, Mode, Reading, RuleParam};
use yardmaster_core::command::setting::{CommandSetting, Governor, RuleSetting};
use yardmaster_core::policy::{Arg, PolicySpec};

/// The key of the reading of the timeouts.
const RULES: &str = "rules";

/// Reads `[[rule]]` and `[governor]`. `pool`: the policy that answers slot offers. Where there is
/// one, the rules of a pool that the file does not state are as they are by default; they ask for
/// what that policy finds, so none is carried out while its decisions are not (S-06, TS-14).
pub(super) fn commands(
    reader: &mut Reader,
    rules: Option<&Value<'_>>,
    governor: Option<&Value<'_>>,
    pool: Option<&PolicySpec>,
) -> CommandSetting {
    let mut rules = read_rules(reader, rules);
    for rule in CommandRule::of_pool().filter(|_| pool.is_some()) {
        if rules.iter().all(|stated| stated.rule != rule) {
            rules.push(RuleSetting::default_of(rule));
        }
    }
    let is_shown = |rule: &&mut RuleSetting| rule.rule.is_of_pool() && rule.mode == Mode::On;
    if pool.is_some_and(|policy| policy.dry_run) {
        rules.iter_mut().filter(is_shown).for_each(|rule| rule.mode = Mode::DryRun);
    }
    let (governor, reading) = read_governor(reader, governor);
    let mut setting = CommandSetting { rules, governor, reading, hash: String::new() };
    setting.rules.sort_by_key(|setting| setting.rule);
    setting.hash = hash_of(&setting);
    setting
}

fn read_rules(reader: &mut Reader, value: Option<&Value<'_>>) -> Vec<RuleSetting> {
    let Some(value) = value else { return Vec::new() };
    let Some(list) = value.get_ref().as_array() else {
        reader.complain_at(value, "rule", "a list of tables, each headed [[rule]]");
        return Vec::new();
    };
    let mut found: Vec<RuleSetting> = Vec::new();
    for value in list.iter() {
        let Some(setting) = read_rule(reader, value) else { continue };
        if found.iter().any(|other| other.rule == setting.rule) {
            let what = format!("a second rule {:?}", setting.rule.name());
            reader.complain(reader.line(&value.span()), what, "each rule once");
            continue;
        }
        found.push(setting);
    }
    found
}

fn read_rule(reader: &mut Reader, value: &Value<'_>) -> Option<RuleSetting> {
    let table = reader.table(value, "rule")?;
    let line = reader.line(&value.span());
    let words = CommandRule::ALL.iter().map(|rule| (rule.name(), *rule));
    let words: Vec<(&str, CommandRule)> = words.collect();
    let Some(name) = table.get("name") else {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        reader.complain(line, "no `name` in [[rule]]", one_of("", &known));
        return None;
    };
    let rule = reader.word(name, "rule.name", &words)?;
    let mut setting = RuleSetting::default_of(rule);
    let params: Vec<&RuleParam> = rule.params().collect();
    let known: Vec<&str> =
        ["name", "mode"].into_iter().chain(params.iter().map(|param| param.key)).collect();
    reader.only(table, &format!("[[rule]] {}", rule.name()), &known);
    if let Some(mode) = table.get("mode") {
        let modes = Mode::ALL.map(|mode| (mode.name(), mode));
        setting.mode = reader.word(mode, "rule.mode", &modes).unwrap_or(setting.mode);
    }
    for param in params {
        read_param(reader, table, param, &mut setting);
    }
    Some(setting)
}

fn read_param(
    reader: &mut Reader,
    table: &DeTable<'_>,
    param: &RuleParam,
    setting: &mut RuleSetting,
) {
    let Some(value) = table.get(param.key) else { return };
    let place = format!("rule {}, {}", setting.rule.name(), param.key);
    let Some(arg) = reader.arg(value, &place) else { return };
    let number = match arg {
        Arg::Int(number) => Some(number as f64),
        Arg::Float(number) if !param.is_whole => Some(number),
        Arg::Float(_) | Arg::Bool(_) | Arg::Text(_) | Arg::List(_) => None,
    };
    match number.filter(|number| (param.min..=param.max).contains(number)) {
        Some(number) => setting.set(param.key, number),
        None => {
            let what = if param.is_whole { "a whole number" } else { "a number" };
            reader.complain_at(value, &place, format!("{what} {}..={}", param.min, param.max));
        }
    }
}

fn read_governor(reader: &mut Reader, value: Option<&Value<'_>>) -> (Governor, Reading) {
    let (mut governor, mut reading) = (Governor::default(), Reading::default());
    let table = value.and_then(|value| reader.table(value, "governor"));
    let Some(table) = table else { return (governor, reading) };
    let bounds = Governor::ALL.iter().map(|bound| bound.key);
    let known: Vec<&str> = std::iter::once(RULES).chain(bounds).collect();
    reader.only(table, "[governor]", &known);
    if let Some(word) = table.get(RULES) {
        let words = Reading::ALL.map(|reading| (reading.name(), reading));
        reading = reader.word(word, "governor.rules", &words).unwrap_or_default();
    }
    for bound in Governor::ALL {
        let Some(value) = table.get(bound.key) else { continue };
        let place = format!("governor.{}", bound.key);
        if let Some(number) = reader.int(value, &place, bound.min..=bound.max) {
            (bound.set)(&mut governor, number);
        }
    }
    (governor, reading)
}

/// First 16 hex digits of the SHA-256 of all values of rules and governor. Their help is not among
/// them: other words make no other commands.
fn hash_of(setting: &CommandSetting) -> String {
    let mut text = format!("{RULES} {}\n", setting.reading.name());
    for rule in &setting.rules {
        let _ = writeln!(text, "{} {}", rule.rule.name(), rule.mode.name());
        for (param, value) in rule.rule.params().zip(&rule.values) {
            let _ = writeln!(text, "{} {value}", param.key);
        }
    }
    for bound in Governor::ALL {
        let _ = writeln!(text, "{} {}", bound.key, (bound.get)(&setting.governor));
    }
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

/// Rules and governor as text, every value included.
pub(super) fn describe(setting: &CommandSetting) -> String {
    let mut text = String::new();
    for rule in &setting.rules {
        let all = rule.rule.text();
        let (name, mode, kind) = (all.name, rule.mode.name(), all.kind.name());
        let _ = writeln!(text, "\nrule {name} ({}): {mode}, {kind}: {}", all.spec, all.help);
        for (param, value) in rule.rule.params().zip(&rule.values) {
            let is_default = (param.default)(rule.rule) == Some(*value);
            let note = if is_default { "" } else { " (changed)" };
            let _ = writeln!(text, "  {} = {value}{note}\n      {}", param.key, param.help);
        }
        let needs: Vec<&str> = all.needs.iter().map(|topic| topic.name()).collect();
        let _ = writeln!(text, "  waits while late: {}", needs.join(", "));
    }
    text.push_str("\ngovernor\n");
    let reading = setting.reading.name();
    let _ = writeln!(text, "  {RULES} = {reading}\n      Whose jobs the timeouts are about.");
    for bound in Governor::ALL {
        let value = (bound.get)(&setting.governor);
        let note = if value == bound.default { "" } else { " (changed)" };
        let _ = writeln!(text, "  {} = {value}{note}\n      {}", bound.key, bound.help);
    }
    text
}
