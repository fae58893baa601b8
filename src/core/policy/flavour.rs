//! The plug-in point: what a kind of policy brings.

use super::declare::{DescribedRules, Filter, RuleBook, Weight};
use super::lists::{ALLOWED, ListParam, show_list};
use super::param::{Param, Rules};
use super::phrase::{limit, parameter, phrase};
use super::spec::PolicySpec;
use super::values::Values;
use super::wait::Wait;
use crate::dice::Dice;
use crate::domain::atlas::policy::candidate::Candidate;
use crate::domain::atlas::policy::case::{Case, Generic, Preassigned, Times, WholeCopies};
use crate::domain::atlas::policy::divide::{QueueShare, divide};
use crate::domain::atlas::policy::judgement::{Chosen, Judgement};
use crate::domain::atlas::policy::owner::Owner;
use crate::domain::atlas::policy::queues::{QueueFilter, Queues};
use crate::domain::atlas::policy::room::Room;
use crate::domain::atlas::policy::site::SiteRules;
use crate::domain::atlas::policy::task::Nuclei;
use crate::domain::atlas::policy::throttling::Throttling;
use crate::domain::cms::policy::Jobs;
use crate::domain::cms::policy::settings::LISTS;
use crate::domain::nordugrid::policy::Targets;
use crate::domain::own::policy::Domain;
use crate::event::{ChunkKind, Queue, Scope, Task};
use crate::limits::Limits;
use crate::unit::Millis;

/// A kind of policy: the filters and weights there are, and the steps that are code.
pub struct Flavour {
    /// Its name in a topology file.
    pub name: &'static str,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// One line for an operator.
    pub help: &'static str,
    /// Its own parameters: of candidates, flags and division.
    pub params: &'static [Param],
    /// How long a deferral lasts at most, where the topology states nothing.
    pub defer: Millis,
    /// Kind of its subjects and candidates, with their filters and weights and the steps that are
    /// code for them.
    pub style: Style,
}

/// Kind of the subjects and candidates of a policy, with the filters and weights there are for
/// them, and the steps that are code.
pub enum Style {
    /// A chunk of a task, and the queues that its jobs may go to.
    Queues(QueueStyle),
    /// A task, and the nuclei that its output may be gathered at.
    Nuclei(NucleusStyle),
    /// A job description, and the queues of clusters that it may be sent to.
    Targets(RuleBook<Targets>),
    /// A slot offer of a pilot, and the pending jobs that may get it: repeated until the offer is
    /// full.
    Jobs(RuleBook<Jobs>),
    /// What a domain asks for, and its candidates, which the engine does not know.
    Domain(Domain),
}

/// The parts of a kind whose candidates are nuclei.
pub struct NucleusStyle {
    /// Its filters and weights.
    pub rules: RuleBook<Nuclei>,
    /// The filters of job brokerage that its dry run has (spec atlas N7).
    pub dry_run: &'static [&'static QueueFilter],
}

/// The steps of a kind whose candidates are queues.
pub struct QueueStyle {
    /// Its filters and weights.
    pub rules: RuleBook<Queues>,
    /// Whether a queue is on the candidate list of a task that names no queues.
    pub lists: fn(&Queue, &Values) -> bool,
    /// Whether a queue is on the candidate list of a task that names queues, or whose chunk is
    /// bound to one: `home`, if it is known.
    pub admits: fn(&Case<'_>, Option<&Queue>, &Queue, &Values) -> bool,
    /// Whether a task counts as express.
    pub express: fn(&Task, &Values) -> bool,
    /// Of which of a task's datasets only whole copies count for a queue.
    pub whole_copies: fn(&Task, &Values) -> WholeCopies,
    /// How the candidate list of a task is given at a moment.
    pub preassigned: fn(&Task, Times, &Values) -> Preassigned,
    /// The next moment after this one at which a task is judged otherwise by the passing of time
    /// alone, if there is one.
    pub turns_at: fn(&Task, Times, &Values) -> Option<Millis>,
    /// Why no candidate is looked at, if so: the task as a whole must wait.
    pub waits: fn(&Case<'_>, &Values) -> Option<Wait>,
    /// How much work a queue has room for.
    pub room: fn(&Values) -> Room,
    /// How many of the chunk's jobs go to each ranked candidate.
    pub select: fn(&Select<'_>, &mut Dice) -> Vec<u32>,
    /// Its filters that look at nothing of a candidate but the make of its queue (`Make` of
    /// ATLAS): they are asked once for all queues of a make.
    pub of_make: &'static [&'static QueueFilter],
    /// Its filters that look at nothing of a candidate but its configuration: counters are looked
    /// up for those alone that pass them.
    pub of_queue: &'static [&'static QueueFilter],
    /// How it holds owners, tasks and shares as a whole, if it does.
    pub throttling: Option<&'static Throttling>,
    /// Its steps beside judging each candidate once.
    pub plan: Option<&'static Plan>,
}

/// Steps of a kind beside judging each candidate once: it looks at all of them first, judges a
/// second time, keeps another number of them.
pub struct Plan {
    /// Which of a queue's endpoints count for a task.
    pub scope: fn(&Task) -> Scope,
    /// How sites are classified (spec atlas 8.1.3).
    pub sites: fn(&Values) -> SiteRules,
    /// An owner as counted, with what follows from its figures for a task.
    pub owner: fn(&Task, Owner, &Values) -> Owner,
    /// Facts and rules of the generic broker alone; given what the configuration says.
    pub generic: fn(&Task, Generic, &Values) -> Generic,
    /// Its filters before weighing that look at what is known of the user at a queue; all others
    /// before weighing do not.
    pub user_early: &'static [&'static QueueFilter],
    /// The case of the first pass over all candidates.
    pub first_pass: for<'a> fn(&Case<'a>, &[&Queue], &Values) -> Case<'a>,
    /// The case of the pass after another.
    pub next_pass: for<'a> fn(&Case<'a>) -> Case<'a>,
    /// Whether candidates are judged once more, in the next pass.
    pub again: fn(&Case<'_>, &Found<'_>, &Values) -> bool,
    /// Why a task is rejected for good, by its last pass.
    pub rejects: fn(&Found<'_>, &Values) -> Option<&'static str>,
    /// Most queues in an answer; given what the policy allows, and how many are preferred.
    pub most: fn(&Case<'_>, usize, usize) -> usize,
}

/// Result of a pass.
pub struct Found<'a> {
    /// The case.
    pub case: &'a Case<'a>,
    /// Judgement of the candidates.
    pub judgement: &'a Judgement,
    /// The policy's filters, by their indices.
    pub filters: &'a [&'static Filter],
}

/// The inputs of a selection.
pub struct Select<'a> {
    /// The policy as data.
    pub spec: &'a PolicySpec,
    /// The kind's own parameters, resolved.
    pub own: &'a Values,
    /// The case that was judged.
    pub case: &'a Case<'a>,
    /// The ranked candidates, in the order of the judgement.
    pub ranked: &'a [Candidate<'a>],
    /// Judgement of the candidates.
    pub judgement: &'a Judgement,
}

impl Select<'_> {
    /// All of the chunk's jobs to the best candidate.
    pub fn first(&self) -> Vec<u32> {
        let jobs = self.case.task.jobs;
        (0..self.ranked.len()).map(|at| if at == 0 { jobs } else { 0 }).collect()
    }

    /// The chunk's jobs in bunches (`bunch`, `bunch_scout` of the policy), each to a candidate
    /// drawn in proportion to its weight, which stays as it is (spec panda-generic 1.7).
    pub fn in_proportion(&self, dice: &mut Dice) -> Vec<u32> {
        let bunch = match self.case.task.chunk {
            ChunkKind::Scout => self.spec.bunch_scout,
            ChunkKind::Normal | ChunkKind::Merge => self.spec.bunch,
        };
        let share = |chosen: &Chosen| QueueShare {
            weight: chosen.weighed.total,
            queued: None,
            cap: None,
            room: f64::INFINITY,
        };
        let shares: Vec<QueueShare> = self.judgement.ranked.iter().map(share).collect();
        divide(self.case.task.jobs, bunch, &shares, dice)
    }
}

/// Lists no queue.
static NO_QUEUES: QueueStyle = QueueStyle {
    rules: RuleBook { filters: &[], weights: &[] },
    lists: |_, _| false,
    admits: |_, _, _, _| false,
    express: |_, _| false,
    whole_copies: |_, _| WholeCopies::OfNone,
    preassigned: |_, _, _| Preassigned::No,
    turns_at: |_, _, _| None,
    waits: |_, _| None,
    room: |_| Room::default(),
    select: |_, _| Vec::new(),
    of_make: &[],
    of_queue: &[],
    throttling: None,
    plan: None,
};

impl Flavour {
    /// Its filters and weights, whatever their candidates are.
    fn rules(&self) -> &dyn DescribedRules {
        match &self.style {
            Style::Queues(style) => &style.rules,
            Style::Nuclei(style) => &style.rules,
            Style::Targets(rules) => rules,
            Style::Jobs(rules) => rules,
            Style::Domain(domain) => domain.rules,
        }
    }

    /// Filters there are, in the order of the specification.
    pub fn filters(&self) -> Vec<&'static Filter> {
        self.rules().filters()
    }

    /// Weights there are, in the order of the specification.
    pub fn weights(&self) -> Vec<&'static Weight> {
        self.rules().weights()
    }

    /// Whether a weight of it leaves figures alone, and is no factor.
    pub(super) fn is_figure(&self, weight: &str) -> bool {
        self.rules().is_figure(weight)
    }

    /// The filter of a name.
    pub fn filter(&self, name: &str) -> Option<&'static Filter> {
        self.filters().into_iter().find(|filter| filter.name == name)
    }

    /// Whether its candidates are nuclei.
    pub fn judges_nuclei(&self) -> bool {
        matches!(self.style, Style::Nuclei(_))
    }

    /// Whether its candidates are targets: queues of clusters that take single jobs.
    pub fn judges_targets(&self) -> bool {
        matches!(self.style, Style::Targets(_))
    }

    /// Whether its subjects are slot offers, and its candidates jobs.
    pub fn judges_offers(&self) -> bool {
        matches!(self.style, Style::Jobs(_))
    }

    /// The domain that it joins to the engine, if it is one of a domain that a program brings.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.style {
            Style::Domain(domain) => Some(domain),
            Style::Queues(_) | Style::Nuclei(_) | Style::Targets(_) | Style::Jobs(_) => None,
        }
    }

    /// The steps of queue brokerage; those of a kind that lists no queue where its candidates are
    /// something else.
    pub(crate) fn queues(&self) -> &QueueStyle {
        match &self.style {
            Style::Queues(style) => style,
            Style::Nuclei(_) | Style::Targets(_) | Style::Jobs(_) | Style::Domain(_) => &NO_QUEUES,
        }
    }

    /// Its steps beside judging each queue once, if it has any.
    pub fn plan(&self) -> Option<&'static Plan> {
        self.queues().plan
    }

    /// The dry run of a policy of jobs: its filters among those that this kind names, no weights.
    pub fn dry_run_of(&self, jobs: &PolicySpec) -> PolicySpec {
        let mut spec = PolicySpec { weights: Vec::new(), ..jobs.clone() };
        let kept: &[&QueueFilter] = match &self.style {
            Style::Nuclei(style) => style.dry_run,
            Style::Queues(_) | Style::Targets(_) | Style::Jobs(_) | Style::Domain(_) => &[],
        };
        spec.filters.retain(|step| kept.iter().any(|it| it.filter.name == step.name));
        spec
    }

    /// Its own parameters that are lists of names.
    pub fn lists(&self) -> &'static [ListParam] {
        match self.style {
            Style::Jobs(_) => LISTS,
            Style::Queues(_) | Style::Nuclei(_) | Style::Targets(_) | Style::Domain(_) => &[],
        }
    }

    /// The weight of a name.
    pub fn weight(&self, name: &str) -> Option<&'static Weight> {
        self.weights().into_iter().find(|weight| weight.name == name)
    }

    /// Text for a reader: filters, weights, parameters with both defaults.
    pub fn describe(&self) -> String {
        let mut text = format!("{} ({})\n  {}\n", self.name, self.spec, self.help);
        describe_params(&mut text, self.params);
        for list in self.lists() {
            let ListParam { name, default, help, .. } = list;
            let default = show_list(default);
            text += &format!("    {name} = {default} ({ALLOWED}): {help}\n");
        }
        for filter in self.filters() {
            let help = with_defaults(filter.help, filter.params);
            text += &format!("  filter {} ({}): {help}\n", filter.name, filter.spec);
            describe_params(&mut text, filter.params);
        }
        for weight in self.weights() {
            let help = with_defaults(weight.help, weight.params);
            text += &format!("  weight {} ({}): {help}\n", weight.name, weight.spec);
            describe_params(&mut text, weight.params);
        }
        text
    }
}

/// A text with the documented defaults of parameters and the defaults of limits in it.
fn with_defaults(text: &str, params: &[Param]) -> String {
    let (values, limits) = (Values::defaults(params, Rules::Documented), Limits::default());
    phrase(text, &|name| parameter(params, &values, name).or_else(|| limit(&limits, name)))
}

fn describe_params(text: &mut String, params: &[Param]) {
    for param in params {
        let under = |rules| param.show(param.default_under(rules));
        let mut default = under(Rules::Documented);
        for rules in [Rules::Panda, Rules::Tuned] {
            if under(rules) != under(Rules::Documented) {
                default += &format!(", {} {}", rules.name(), under(rules));
            }
        }
        let gdp = param.gdp.map(|key| format!("; gdpconfig {key}")).unwrap_or_default();
        let unit = match param.unit.symbol() {
            "" => String::new(),
            symbol => format!("; {symbol}"),
        };
        let (name, allowed, help) = (param.name, param.allowed(), param.help);
        *text += &format!("    {name} = {default} ({allowed}{unit}{gdp}): {help}\n");
    }
}
