//! A part of a policy with its parameters as the file has them: the policy's own, a filter, a
//! weight.

use yardmaster_core::policy::{Arg, Param, PolicySpec, kind};

/// A policy's own parameters, or those of one of its filters or weights.
#[derive(Clone, Copy)]
pub(super) struct Part<'a> {
    /// The policy.
    pub(super) policy: &'a PolicySpec,
    /// `filters`, `weights`, or empty for the policy itself.
    pub(super) list: &'static str,
    /// Name of the filter or weight; empty for the policy itself.
    pub(super) name: &'a str,
    /// The parameters that it has.
    pub(super) params: &'static [Param],
    args: &'a [(String, Arg)],
}

/// Every part of a policy: its own parameters, its filters, its weights, in the order of the file.
pub(super) fn parts(policy: &PolicySpec) -> Vec<Part<'_>> {
    let Some(kind) = kind(&policy.kind) else { return Vec::new() };
    let own = Part { policy, list: "", name: "", params: kind.params, args: &policy.args };
    let filters = policy.filters.iter().filter_map(|step| {
        let params = kind.filter(&step.name)?.params;
        Some(Part { policy, list: "filters", name: &step.name, params, args: &step.args })
    });
    let weights = policy.weights.iter().filter_map(|step| {
        let params = kind.weight(&step.name)?.params;
        Some(Part { policy, list: "weights", name: &step.name, params, args: &step.args })
    });
    std::iter::once(own).chain(filters).chain(weights).collect()
}

/// A filter that a policy lists.
pub(super) fn filter<'a>(policy: &'a PolicySpec, name: &str) -> Option<Part<'a>> {
    parts(policy).into_iter().find(|part| part.list == "filters" && part.name == name)
}

/// A weight that a policy lists.
pub(super) fn weight<'a>(policy: &'a PolicySpec, name: &str) -> Option<Part<'a>> {
    parts(policy).into_iter().find(|part| part.list == "weights" && part.name == name)
}

/// The policy's own parameters.
pub(super) fn own(policy: &PolicySpec) -> Option<Part<'_>> {
    parts(policy).into_iter().next()
}

impl<'a> Part<'a> {
    /// A parameter that it has.
    pub(super) fn param(&self, name: &str) -> Option<&'static Param> {
        self.params.iter().find(|param| param.name == name)
    }

    /// Whether the file states a parameter.
    pub(super) fn gives(&self, name: &str) -> bool {
        self.args.iter().any(|(given, _)| given == name)
    }

    /// The parameters that the file states.
    pub(super) fn given(&self) -> impl Iterator<Item = &'a str> {
        self.args.iter().map(|(name, _)| name.as_str())
    }

    /// The value of a parameter as the file has it, or its default; 0 and 1 for false and true.
    /// `None` where it has no such parameter.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        let param = self.param(name)?;
        let given = self.args.iter().find(|(given, _)| given == name);
        let given = given.and_then(|(_, arg)| param.read(arg));
        Some(given.unwrap_or_else(|| param.default_under(self.policy.rules)))
    }

    /// The same, as the file would have it: `"strict"`, `true`, `12`.
    pub(super) fn shown(&self, name: &str) -> Option<String> {
        Some(self.param(name)?.show(self.value(name)?))
    }

    /// Whether a parameter has a value, as the file would have it.
    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.shown(name).is_some_and(|shown| shown == value)
    }

    /// Where a parameter is in the file.
    pub(super) fn path<'b>(&self, param: &'b str) -> Vec<&'b str>
    where
        'a: 'b,
    {
        let parts = ["policy", &self.policy.name, self.list, self.name, param];
        parts.into_iter().filter(|part| !part.is_empty()).collect()
    }

    /// Where a parameter is, for people: `policy production-job, filter cap, NQUEUELIMITSITE`.
    pub(super) fn place(&self, param: &str) -> String {
        let what = match self.list {
            "filters" => format!(", filter {}", self.name),
            "weights" => format!(", weight {}", self.name),
            _ => String::new(),
        };
        let param = if param.is_empty() { String::new() } else { format!(", {param}") };
        format!("policy {}{what}{param}", self.policy.name)
    }
}
