//! The plug-in point: what a kind of policy brings. The list of kinds is the only registry.

use super::compile::Policy;
use super::param::{Args, Param};
use super::pipeline::Judgement;
use super::rule::Throttling;
use super::{Candidate, Case, Filter, Objection, Preassigned, SiteRules, Weight};
use crate::core::dice::Dice;
use crate::core::event::{Queue, Scope, Task};
use crate::core::unit::Millis;

/// A kind of policy: the filters and weights there are, and the steps that are code.
pub struct Flavour {
    /// Its word in a topology file.
    pub name: &'static str,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// One line for an operator.
    pub help: &'static str,
    /// Its own parameters: of candidates, flags and division.
    pub params: &'static [Param],
    /// Filters there are, in the order of the specification.
    pub filters: &'static [&'static Filter],
    /// Weights there are, in the order of the specification.
    pub weights: &'static [&'static Weight],
    /// Whether a queue is on the candidate list of a task that names no queues.
    pub lists: fn(&Queue, &Args) -> bool,
    /// Whether a queue is on the candidate list of a task that names queues, or whose chunk is
    /// bound to one: `home`, if it is known.
    pub admits: fn(&Case<'_>, Option<&Queue>, &Queue, &Args) -> bool,
    /// Whether a task counts as express.
    pub express: fn(&Task, &Args) -> bool,
    /// How the candidate list of a task is given at a moment.
    pub preassigned: fn(&Task, Millis, &Args) -> Preassigned,
    /// The next moment after this one at which a task is judged otherwise by the passing of time
    /// alone, if there is one.
    pub turns_at: fn(&Task, Millis, &Args) -> Option<Millis>,
    /// Why no candidate is looked at, if so: the task as a whole must wait.
    pub hold: fn(&Case<'_>, &Args) -> Option<Objection>,
    /// How many of the chunk's jobs go to each ranked candidate.
    pub select: fn(&Select<'_>, &mut Dice) -> Vec<u32>,
    /// How long a deferral lasts at most, where the topology says nothing.
    pub defer: Millis,
    /// What it does beside judging each candidate once.
    pub plan: Option<&'static Plan>,
}

/// What a kind does beside judging each candidate once: looks at all of them first, judges a second
/// time, keeps another number of them.
pub struct Plan {
    /// Which of a queue's endpoints count.
    pub scope: Scope,
    /// Whom it holds as a whole, and when it says so.
    pub throttling: &'static Throttling,
    /// How sites are classified (spec atlas 8.1.3).
    pub sites: fn(&Args) -> SiteRules,
    /// Completes the case by what follows from its figures and the parameters, before anything is
    /// judged.
    pub complete: fn(&mut Case<'_>, &Args),
    /// Completes the case from all candidates, before each pass.
    pub prepare: fn(&mut Case<'_>, &[Candidate<'_>], &Args),
    /// Whether candidates are judged once more, in the next pass.
    pub again: fn(&Policy, &Case<'_>, &Judgement, &Args) -> bool,
    /// Most queues in an answer; given what the policy says.
    pub most: fn(&Case<'_>, usize) -> usize,
}

/// What a selection sees.
pub struct Select<'a> {
    /// The policy.
    pub policy: &'a Policy,
    /// The kind's own parameters, resolved.
    pub own: &'a Args,
    /// What was judged.
    pub case: &'a Case<'a>,
    /// The ranked candidates, in the order of the judgement.
    pub ranked: &'a [Candidate<'a>],
    /// What was found.
    pub judgement: &'a Judgement,
}

/// The registry.
static KINDS: [&Flavour; 3] =
    [&super::analysis::ANALYSIS_JOB, &super::atlas::PRODUCTION_JOB, &super::task::PRODUCTION_TASK];

/// Every kind there is, in order of their names.
pub fn kinds() -> &'static [&'static Flavour] {
    &KINDS
}

/// The kind of a word.
pub fn kind(name: &str) -> Option<&'static Flavour> {
    kinds().iter().copied().find(|flavour| flavour.name == name)
}

impl Flavour {
    /// The filter of a name.
    pub fn filter(&self, name: &str) -> Option<&'static Filter> {
        self.filters.iter().copied().find(|filter| filter.name == name)
    }

    /// Whether its candidates are nuclei, not queues.
    pub fn judges_nuclei(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter.judge, super::Judge::Nuclei(_)))
    }

    /// The weight of a name.
    pub fn weight(&self, name: &str) -> Option<&'static Weight> {
        self.weights.iter().copied().find(|weight| weight.name == name)
    }

    /// What there is, for a reader: filters, weights, parameters with both defaults.
    pub fn describe(&self) -> String {
        let mut text = format!("{} ({})\n  {}\n", self.name, self.spec, self.help);
        describe_params(&mut text, self.params);
        for filter in self.filters {
            text += &format!("  filter {} ({}): {}\n", filter.name, filter.spec, filter.help);
            describe_params(&mut text, filter.params);
        }
        for weight in self.weights {
            text += &format!("  weight {} ({}): {}\n", weight.name, weight.spec, weight.help);
            describe_params(&mut text, weight.params);
        }
        text
    }
}

fn describe_params(text: &mut String, params: &[Param]) {
    use super::param::Rules;
    for param in params {
        let documented = param.show(param.default_under(Rules::Documented));
        let panda = param.show(param.default_under(Rules::Panda));
        let default = match documented == panda {
            true => documented,
            false => format!("{documented}, panda {panda}"),
        };
        let gdp = param.gdp.map(|key| format!("; gdpconfig {key}")).unwrap_or_default();
        let (name, allowed, help) = (param.name, param.allowed(), param.help);
        *text += &format!("    {name} = {default} ({allowed}{gdp}): {help}\n");
    }
}
