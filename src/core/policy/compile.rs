//! From a policy as data to a policy that judges: names looked up, parameters checked, all
//! mistakes found at once.

use super::declare::{Filter, RulesOf, Weight};
use super::flavour::Flavour;
use super::kinds::{kind, kinds};
use super::lists::{ListParam, read_lists, show_list};
use super::param::{Arg, ListedStep, Mistake, Param};
use super::phrase::{limit, parameter, phrase};
use super::picked::PolicyRules;
use super::resolved::Resolved;
use super::spec::PolicySpec;
use super::values::Values;
use crate::domain::atlas::policy::queues::{QueueFilter, Queues};
use crate::domain::atlas::policy::task::Nuclei;
use crate::domain::cms::policy::Jobs;
use crate::domain::nordugrid::policy::Targets;
use crate::domain::own::policy::PickedRules;
use crate::limits::Limits;
use sha2::{Digest, Sha256};

/// A policy that judges.
#[derive(Clone)]
pub struct Policy {
    /// The policy as data, of which it was made.
    pub spec: PolicySpec,
    /// Its kind.
    pub flavour: &'static Flavour,
    /// Filters in the order of the topology file: a filter's index is that here.
    pub(crate) filters: Vec<&'static Filter>,
    /// By the filter's index: whether it looks at the make of a queue alone.
    pub(crate) are_of_make: Vec<bool>,
    /// By the filter's index: whether it looks at the configuration of a queue alone.
    pub(crate) are_of_queue: Vec<bool>,
    /// Weights in the order of the topology file.
    pub(crate) weights: Vec<&'static Weight>,
    /// Filters and weights with their functions.
    pub(super) rules: PolicyRules,
    /// The parameters before gdpconfig.
    pub(super) stated: Resolved,
    /// Whether any weight sees all candidates at once.
    pub(crate) weighs_all: bool,
    /// How many of `weights` are factors.
    pub(crate) factor_count: usize,
    factor_names: Vec<String>,
    text: String,
    hash: String,
}

impl std::fmt::Debug for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Policy {} {}", self.spec.name, self.hash)
    }
}

impl Policy {
    /// Checks a policy and makes it ready to judge; else every mistake in it.
    pub fn compile(spec: &PolicySpec) -> Result<Policy, Vec<Mistake>> {
        let mut check = Check { mistakes: Vec::new() };
        check.figures(spec);
        let Some(flavour) = kind(&spec.kind) else {
            let names: Vec<&str> = kinds().iter().map(|flavour| flavour.name).collect();
            check.wrong("kind", format!("{:?} is not known", spec.kind), one_of(&names));
            return Err(check.mistakes);
        };
        let lists = flavour.lists();
        let own = check.values(("", lists), flavour.params, &spec.args, spec);
        let (lists, mistakes) = read_lists(lists, &spec.args);
        check.mistakes.extend(mistakes);
        let filters = check.filters(spec, flavour);
        let weights = check.weights(spec, flavour);
        if !check.mistakes.is_empty() {
            return Err(check.mistakes);
        }
        let (filters, of_filters): (Vec<_>, Vec<_>) = filters.into_iter().unzip();
        let (weights, of_weights): (Vec<_>, Vec<_>) = weights.into_iter().unzip();
        let stated =
            Resolved { own, filters: of_filters, weights: of_weights, lists, notes: Vec::new() };
        let are_in = |list: &[&QueueFilter]| {
            let is_in = |it: &&Filter| list.iter().any(|other| other.filter.name == it.name);
            filters.iter().map(is_in).collect()
        };
        let are_of_make = are_in(flavour.queues().of_make);
        let are_of_queue = are_in(flavour.queues().of_queue);
        let rules = PolicyRules::of(&flavour.style, &filters, &weights);
        let weighs_all = rules.weighs_all();
        let factor_count = factors(flavour, &weights).count();
        let factor_names = factor_names(flavour, &weights);
        let text = text_of(spec, flavour, &filters, &weights, &stated);
        let hash = hash_of(&text);
        let spec = spec.clone();
        let made = Policy {
            spec,
            flavour,
            filters,
            are_of_make,
            are_of_queue,
            weights,
            rules,
            stated,
            weighs_all,
            factor_count,
            factor_names,
            text,
            hash,
        };
        Ok(made)
    }

    /// The parameters for a share: gdpconfig's value (`lookup(component, key)`) wins over the
    /// topology's; one of the wrong type or out of range is ignored and noted.
    pub fn resolve<'a>(
        &self,
        lookup: &dyn Fn(&str, &str) -> Option<&'a str>,
        gshare: &str,
    ) -> Resolved {
        let mut notes = Vec::new();
        let mut over = |params: &[Param], stated: &Values| -> Values {
            let mut values = stated.clone();
            for (param, value) in params.iter().zip(&mut values.0) {
                if let Some(found) = look_up(param, lookup, gshare, &mut notes) {
                    *value = found;
                }
            }
            values
        };
        let stated = &self.stated;
        let own = over(self.flavour.params, &stated.own);
        let filters = self.filters.iter().zip(&stated.filters);
        let filters = filters.map(|(filter, stated)| over(filter.params, stated)).collect();
        let weights = self.weights.iter().zip(&stated.weights);
        let weights = weights.map(|(weight, stated)| over(weight.params, stated)).collect();
        notes.dedup();
        Resolved { own, filters, weights, lists: stated.lists.clone(), notes }
    }

    /// The parameters where gdpconfig sets none.
    pub fn unchanged(&self) -> Resolved {
        self.resolve(&|_, _| None, "")
    }

    /// Everything that decides how it judges, one line each, in a fixed order: what its hash is
    /// of, and what `progress` carries.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// First 16 hex digits of the SHA-256 of [`Policy::text`].
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Names of [`super::Weighed::factors`]: the factors, then the figures behind them.
    pub fn factor_names(&self) -> &[String] {
        &self.factor_names
    }

    /// Whether the filter at an index sees all candidates: its verdict on one depends on the
    /// others.
    pub fn is_joint(&self, at: usize) -> bool {
        self.rules.is_joint(at)
    }

    /// How many filters it has.
    pub fn filter_count(&self) -> usize {
        self.filters.len()
    }

    /// The filter at an index; `None` when there is none.
    pub fn filter(&self, at: usize) -> Option<&'static Filter> {
        self.filters.get(at).copied()
    }

    /// The value of a parameter of a filter, by their names, as a topology file would have it.
    pub fn value(&self, resolved: &Resolved, filter: &str, name: &str) -> Option<String> {
        let at = self.filters.iter().position(|it| it.name == filter)?;
        parameter(self.filters[at].params, resolved.filters.get(at)?, name)
    }

    /// The value that the topology gives a parameter of a filter, where no gdpconfig key may have
    /// given another.
    pub fn stated_value(&self, filter: &str, name: &str) -> Option<String> {
        let declared = self.filters.iter().find(|it| it.name == filter)?.params;
        let is_fixed = declared.iter().any(|param| param.name == name && param.gdp.is_none());
        is_fixed.then(|| self.value(&self.stated, filter, name)).flatten()
    }

    /// Where a filter stands in the order in which they are asked; `None` for one it has not.
    pub fn position(&self, filter: &str) -> Option<usize> {
        self.filters.iter().position(|it| it.name == filter)
    }

    /// Its filters and weights with their parameters, for a reader.
    pub fn describe(&self, limits: &Limits) -> String {
        let Policy { spec, flavour, stated, .. } = self;
        let mut text = format!("policy {} {}: {}\n", spec.name, self.hash, flavour.help);
        describe_values(&mut text, flavour.params, &stated.own);
        for (list, names) in flavour.lists().iter().zip(&stated.lists) {
            text += &format!("    {} = {}: {}\n", list.name, show_list(names), list.help);
        }
        let with_values = |text: &str, params: &[Param], values: &Values| {
            phrase(text, &|name| parameter(params, values, name).or_else(|| limit(limits, name)))
        };
        for (filter, values) in self.filters.iter().zip(&stated.filters) {
            let help = with_values(filter.help, filter.params, values);
            text += &format!("  filter {} ({}): {help}\n", filter.name, filter.spec);
            describe_values(&mut text, filter.params, values);
        }
        for (weight, values) in self.weights.iter().zip(&stated.weights) {
            let help = with_values(weight.help, weight.params, values);
            text += &format!("  weight {} ({}): {help}\n", weight.name, weight.spec);
            describe_values(&mut text, weight.params, values);
        }
        text
    }
}

/// The rules of a kind of candidates; none where the candidates are of another kind.
macro_rules! rules_of {
    ($($function:ident $kind:ident,)*) => {
        impl Policy {
            $(#[doc = concat!("Its rules, if its candidates are `", stringify!($kind), "`.")]
            pub fn $function(&self) -> &RulesOf<$kind> {
                match &self.rules {
                    PolicyRules::$kind(rules) => rules,
                    _ => RulesOf::NONE,
                }
            })*
        }
    };
}
rules_of!(queue_rules Queues, nucleus_rules Nuclei, target_rules Targets, job_rules Jobs,);

impl Policy {
    /// Its rules, if it is one of a domain that a program brings.
    pub(crate) fn domain_rules(&self) -> Option<&PickedRules> {
        match &self.rules {
            PolicyRules::Domain(rules) => Some(rules),
            _ => None,
        }
    }
}

fn describe_values(text: &mut String, params: &[Param], values: &Values) {
    for (param, value) in params.iter().zip(&values.0) {
        let gdp = param.gdp.map(|key| format!(" [gdpconfig {key}]")).unwrap_or_default();
        let shown = param.show_with_unit(*value);
        *text += &format!("    {} = {shown}{gdp}: {}\n", param.name, param.help);
    }
}

/// gdpconfig's value for a parameter, if there is one that fits.
fn look_up<'a>(
    param: &Param,
    lookup: &dyn Fn(&str, &str) -> Option<&'a str>,
    gshare: &str,
    notes: &mut Vec<String>,
) -> Option<f64> {
    let (component, key) = param.gdp?.split_once('/')?;
    let shared = key.strip_suffix("<gshare>").map(|stem| format!("{stem}{gshare}"));
    let key = shared.as_deref().unwrap_or(key);
    let text = lookup(component, key)?;
    let value = param.read_text(text);
    if value.is_none() {
        let allowed = param.allowed();
        notes.push(format!("parameter {component}/{key} = {text:?} ignored: wants {allowed}"));
    }
    value.filter(|value| *value != 0.0 || !param.zero_is_unset)
}

/// Collects mistakes while a policy is read.
struct Check {
    mistakes: Vec<Mistake>,
}

impl Check {
    fn wrong(&mut self, place: &str, found: String, allowed: String) {
        self.mistakes.push(Mistake { place: place.to_string(), found, allowed });
    }

    fn figures(&mut self, spec: &PolicySpec) {
        if spec.name.is_empty() {
            self.wrong(
                "name",
                "empty".to_string(),
                "the name that requests have in `policy`".to_string(),
            );
        }
        const DAY_MS: i64 = crate::unit::DAY;
        for (place, value, least, most) in
            [("defer_s", spec.defer, 1_000, 30 * DAY_MS), ("dwell_s", spec.dwell, 0, 30 * DAY_MS)]
        {
            if !(least..=most).contains(&value) {
                let allowed = format!("{}..={} s", least / 1_000, most / 1_000);
                self.wrong(place, format!("{} s", value as f64 / 1_000.0), allowed);
            }
        }
        for (place, value, most) in [
            ("candidates_max", spec.candidates_max, 1_000),
            ("bunch", spec.bunch, 1_000_000),
            ("bunch_scout", spec.bunch_scout, 1_000_000),
        ] {
            if !(1..=most).contains(&value) {
                self.wrong(place, value.to_string(), format!("1..={most}"));
            }
        }
    }

    fn filters(
        &mut self,
        spec: &PolicySpec,
        flavour: &'static Flavour,
    ) -> Vec<(&'static Filter, Values)> {
        let names: Vec<&str> = flavour.filters().iter().map(|filter| filter.name).collect();
        let mut found = Vec::new();
        for (at, step) in spec.filters.iter().enumerate() {
            let place = format!("filter {}", step.name);
            self.twice(&place, step, &spec.filters[..at]);
            match flavour.filter(&step.name) {
                Some(filter) => {
                    found.push((
                        filter,
                        self.values((&place, &[]), filter.params, &step.args, spec),
                    ));
                }
                None => self.wrong(&place, "not known".to_string(), one_of(&names)),
            }
        }
        found
    }

    fn weights(
        &mut self,
        spec: &PolicySpec,
        flavour: &'static Flavour,
    ) -> Vec<(&'static Weight, Values)> {
        let names: Vec<&str> = flavour.weights().iter().map(|weight| weight.name).collect();
        let mut found: Vec<(&'static Weight, Values)> = Vec::new();
        for (at, step) in spec.weights.iter().enumerate() {
            let place = format!("weight {}", step.name);
            self.twice(&place, step, &spec.weights[..at]);
            let Some(weight) = flavour.weight(&step.name) else {
                self.wrong(&place, "not known".to_string(), one_of(&names));
                continue;
            };
            let factor_before = found.iter().any(|(it, _)| !flavour.is_figure(it.name));
            if flavour.is_figure(weight.name) && factor_before {
                let found = "stands after a weight that may use its figures".to_string();
                self.wrong(&place, found, "before all factors".to_string());
            }
            found.push((weight, self.values((&place, &[]), weight.params, &step.args, spec)));
        }
        found
    }

    fn twice(&mut self, place: &str, step: &ListedStep, earlier: &[ListedStep]) {
        if earlier.iter().any(|other| other.name == step.name) {
            self.wrong(place, "listed twice".to_string(), "once".to_string());
        }
    }

    fn values(
        &mut self,
        (place, lists): (&str, &[ListParam]),
        params: &'static [Param],
        given: &[(String, Arg)],
        spec: &PolicySpec,
    ) -> Values {
        let mut values = Values::defaults(params, spec.rules);
        let comma = if place.is_empty() { "" } else { ", " };
        for (at, (name, arg)) in given.iter().enumerate() {
            let here = format!("{place}{comma}{name}");
            if given[..at].iter().any(|(other, _)| other == name) {
                self.wrong(&here, "given twice".to_string(), "once".to_string());
            }
            if lists.iter().any(|list| list.name == name) {
                continue;
            }
            let Some(index) = params.iter().position(|param| param.name == name) else {
                let names = params.iter().map(|param| param.name);
                let names: Vec<&str> = names.chain(lists.iter().map(|list| list.name)).collect();
                self.wrong(&here, "not known".to_string(), one_of(&names));
                continue;
            };
            match params[index].read(arg) {
                Some(value) => values.0[index] = value,
                None => self.wrong(&here, arg.to_string(), params[index].allowed()),
            }
        }
        values
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing: it has no parameters".to_string(),
        _ => format!("one of {}", names.join(", ")),
    }
}

fn factors(
    flavour: &Flavour,
    weights: &[&'static Weight],
) -> impl Iterator<Item = &'static Weight> {
    weights.iter().copied().filter(|weight| !flavour.is_figure(weight.name))
}

fn factor_names(flavour: &Flavour, weights: &[&'static Weight]) -> Vec<String> {
    let figures = weights.iter().flat_map(|weight| weight.figures);
    let names =
        factors(flavour, weights).map(|weight| weight.name).chain(figures.map(|(name, _)| *name));
    names.map(str::to_string).collect()
}

fn text_of(
    spec: &PolicySpec,
    flavour: &Flavour,
    filters: &[&'static Filter],
    weights: &[&'static Weight],
    stated: &Resolved,
) -> String {
    let mut text = format!(
        "policy {}\nkind {}\nrules {}\nwake {}\ndefer_ms {}\ndwell_ms {}\ncandidates_max {}\n\
         bunch {}\nbunch_scout {}\n",
        spec.name,
        flavour.name,
        spec.rules.name(),
        spec.wake.name(),
        spec.defer,
        spec.dwell,
        spec.candidates_max,
        spec.bunch,
        spec.bunch_scout
    );
    text_of_values(&mut text, "", flavour.params, &stated.own);
    for (list, names) in flavour.lists().iter().zip(&stated.lists) {
        // Logs name policies by the hash of a text without it.
        if !list.is_default(names) {
            text += &format!("{} {}\n", list.name, show_list(names));
        }
    }
    for (filter, values) in filters.iter().zip(&stated.filters) {
        text += &format!("filter {}\n", filter.name);
        text_of_values(&mut text, "  ", filter.params, values);
    }
    for (weight, values) in weights.iter().zip(&stated.weights) {
        text += &format!("weight {}\n", weight.name);
        text_of_values(&mut text, "  ", weight.params, values);
    }
    text
}

fn text_of_values(text: &mut String, indent: &str, params: &[Param], values: &Values) {
    for (param, value) in params.iter().zip(&values.0) {
        *text += &format!("{indent}{} {}\n", param.name, param.show(*value));
    }
}

fn hash_of(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex::encode(&digest[..8])
}
