//! The counters of the policy: sums of contributions of jobs (spec cms-nordugrid A.2). A
//! contribution is a pure function of a record; nothing else changes a counter.

use super::facts::{Band, Class, HeldJob, MilliWeight, PerClass};
use super::settings::Settings;
use crate::id::Name;
use crate::math::decay::{Decay, Usage};
use std::collections::BTreeMap;

/// Numbers by name; those that are 0 are left out, so that equal sums are equal values.
pub type Sums = BTreeMap<Name, i64>;

/// Counters of a site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteCounters {
    /// U: weight of each class, running and reserved.
    pub used: PerClass<MilliWeight>,
    /// The part of U that restricted pools were charged with.
    pub pooled: PerClass<MilliWeight>,
    /// OV: what is read remotely from its storage, in overflow slots.
    pub overflow: i64,
    /// HIO: HighIO jobs on its storage.
    pub high_io: i64,
    /// Ug: weight of each group's members here.
    pub groups: Sums,
    /// Weight of each user here.
    pub users: Sums,
    /// The part of `groups` that is of central jobs.
    pub groups_central: Sums,
    /// The part of `users` that is of central jobs.
    pub users_central: Sums,
}

impl SiteCounters {
    /// Weight of a group's members here, by class.
    pub fn group(&self, group: Name) -> PerClass<MilliWeight> {
        by_class(&self.groups, &self.groups_central, group)
    }

    /// Weight of a user here, by class.
    pub fn user(&self, user: Name) -> PerClass<MilliWeight> {
        by_class(&self.users, &self.users_central, user)
    }
}

fn by_class(both: &Sums, central: &Sums, name: Name) -> PerClass<MilliWeight> {
    let of = |sums: &Sums| sums.get(&name).copied().unwrap_or(0);
    PerClass { central: of(central), analysis: of(both).saturating_sub(of(central)) }
}

/// Counters of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserCounters {
    /// Weight held everywhere.
    pub weight: MilliWeight,
    /// Usage that counts in the fair share.
    pub usage: Usage,
    /// Jobs held that were chosen in the test band (C-51).
    pub test_jobs: i64,
    /// Jobs held that were chosen as system jobs (C-05).
    pub system_jobs: i64,
}

/// Counters of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkflowCounters {
    /// Jobs that wait.
    pub pending: i64,
    /// Their fewest cores: the work that remains (C-16).
    pub pending_cores: i64,
    /// Jobs held.
    pub held: i64,
    /// Jobs held by site that they overflowed to (C-40).
    pub overflow_sites: Sums,
}

/// All counters, by interned names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    sites: Vec<SiteCounters>,
    users: Vec<UserCounters>,
    workflows: Vec<WorkflowCounters>,
    groups: Vec<MilliWeight>,
}

/// One number that a record adds to a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contribution {
    /// Weight of a class at a site.
    Used(Name, Class, MilliWeight),
    /// Weight of a class at a site that a restricted pool is charged with.
    Pooled(Name, Class, MilliWeight),
    /// Overflow slots of a host.
    Overflow(Name, i64),
    /// A HighIO job on a site's storage.
    HighIo(Name),
    /// Weight of a user at a site, of a class.
    User(Name, Name, Class, MilliWeight),
    /// Weight of a group's members at a site, of a class.
    Group(Name, Name, Class, MilliWeight),
    /// Usage of a user.
    Usage(Name, Usage),
    /// A job of a user in the test band.
    TestJob(Name),
    /// A job of a user that was chosen as a system job.
    SystemJob(Name),
    /// A job of a workflow that waits, with its fewest cores.
    Pending(Name, i64),
    /// A job of a workflow that is held.
    Held(Name),
    /// A job of a workflow that overflowed to a site.
    OverflowSite(Name, Name),
}

/// The names of a held job.
pub struct HeldNames {
    /// Run site.
    pub site: Name,
    /// User.
    pub user: Name,
    /// Workflow.
    pub workflow: Name,
    /// The host of remote data, where it overflows.
    pub source: Option<Name>,
}

/// Contributions of a held job; `groups` are those of its user now.
pub fn of_held(
    held: &HeldJob,
    names: &HeldNames,
    groups: &[Name],
    settings: &Settings,
    decay: &Decay,
) -> Vec<Contribution> {
    let HeldNames { site, user, workflow, source } = *names;
    let weight = held.weight_milli;
    let charge = settings.charge_milli(weight, held.charged_group.is_some());
    let usage = match held.reserved_at_s {
        Some(_) => Usage { reserved: charge, ..Usage::default() },
        None => {
            let x = grown(charge, decay.growth(held.counts_from_s)).saturating_neg();
            Usage { running: charge, x, ..Usage::default() }
        }
    };
    let mut all = vec![
        Contribution::Used(site, held.class, weight),
        Contribution::User(user, site, held.class, weight),
        Contribution::Usage(user, usage),
        Contribution::Held(workflow),
    ];
    all.extend(groups.iter().map(|group| Contribution::Group(*group, site, held.class, weight)));
    if held.charged_group.is_some() {
        all.push(Contribution::Pooled(site, held.class, weight));
    }
    match held.band {
        Band::System => all.push(Contribution::SystemJob(user)),
        Band::Test => all.push(Contribution::TestJob(user)),
        Band::Normal => {}
    }
    if let Some(source) = source {
        all.push(Contribution::Overflow(source, overflow_cost(held.cores, settings)));
        all.push(Contribution::OverflowSite(workflow, site));
    }
    if is_high_io(&held.job, settings) {
        all.push(Contribution::HighIo(source.unwrap_or(site)));
    }
    all
}

/// Whether a job counts as HighIO: one without a whitelist does not where its flag is ignored
/// (C-04).
pub fn is_high_io(job: &super::facts::PendingJob, settings: &Settings) -> bool {
    job.high_io && (job.site_whitelist.is_some() || !settings.ignores_bare_high_io)
}

/// Overflow slots of its host that an overflow job uses (C-43).
pub fn overflow_cost(cores: i64, settings: &Settings) -> i64 {
    if settings.overflow_in_cores { cores } else { 1 }
}

impl Counters {
    /// Those of a site.
    pub fn site(&self, site: Name) -> &SiteCounters {
        static NONE: SiteCounters = SiteCounters {
            used: PerClass { central: 0, analysis: 0 },
            pooled: PerClass { central: 0, analysis: 0 },
            overflow: 0,
            high_io: 0,
            groups: BTreeMap::new(),
            users: BTreeMap::new(),
            groups_central: BTreeMap::new(),
            users_central: BTreeMap::new(),
        };
        self.sites.get(site.index()).unwrap_or(&NONE)
    }

    /// Those of a user.
    pub fn user(&self, user: Name) -> &UserCounters {
        static NONE: UserCounters = UserCounters {
            weight: 0,
            usage: Usage { running: 0, reserved: 0, x: 0 },
            test_jobs: 0,
            system_jobs: 0,
        };
        self.users.get(user.index()).unwrap_or(&NONE)
    }

    /// Those of all users.
    pub fn users(&self) -> impl Iterator<Item = (Name, UserCounters)> {
        (0u32..).zip(&self.users).map(|(at, user)| (Name(at), *user))
    }

    /// Those of a workflow.
    pub fn workflow(&self, workflow: Name) -> &WorkflowCounters {
        static NONE: WorkflowCounters = WorkflowCounters {
            pending: 0,
            pending_cores: 0,
            held: 0,
            overflow_sites: BTreeMap::new(),
        };
        self.workflows.get(workflow.index()).unwrap_or(&NONE)
    }

    /// Weight of a group's members everywhere.
    pub fn group(&self, group: Name) -> MilliWeight {
        self.groups.get(group.index()).copied().unwrap_or(0)
    }

    /// Adds contributions (`sign` 1) or takes them away (`sign` -1).
    pub fn book(&mut self, contributions: &[Contribution], sign: i64) {
        for contribution in contributions {
            self.book_one(contribution, sign);
        }
    }

    fn book_one(&mut self, contribution: &Contribution, sign: i64) {
        match *contribution {
            Contribution::Used(site, class, milli) => {
                change(at(&mut self.sites, site).used.of_mut(class), sign, milli);
            }
            Contribution::Pooled(site, class, milli) => {
                change(at(&mut self.sites, site).pooled.of_mut(class), sign, milli);
            }
            Contribution::Overflow(site, slots) => {
                change(&mut at(&mut self.sites, site).overflow, sign, slots);
            }
            Contribution::HighIo(site) => at(&mut self.sites, site).high_io += sign,
            Contribution::User(user, site, class, milli) => {
                change(&mut at(&mut self.users, user).weight, sign, milli);
                let own = at(&mut self.sites, site);
                add(&mut own.users, user, sign, milli);
                add(&mut own.users_central, user, sign, of_central(class, milli));
            }
            Contribution::Group(group, site, class, milli) => {
                change(at(&mut self.groups, group), sign, milli);
                let own = at(&mut self.sites, site);
                add(&mut own.groups, group, sign, milli);
                add(&mut own.groups_central, group, sign, of_central(class, milli));
            }
            Contribution::Usage(user, usage) => {
                let own = &mut at(&mut self.users, user).usage;
                change(&mut own.running, sign, usage.running);
                change(&mut own.reserved, sign, usage.reserved);
                own.x = own.x.saturating_add(i128::from(sign).saturating_mul(usage.x));
            }
            Contribution::TestJob(user) => at(&mut self.users, user).test_jobs += sign,
            Contribution::SystemJob(user) => at(&mut self.users, user).system_jobs += sign,
            Contribution::Pending(workflow, cores) => {
                let own = at(&mut self.workflows, workflow);
                own.pending += sign;
                change(&mut own.pending_cores, sign, cores);
            }
            Contribution::Held(workflow) => at(&mut self.workflows, workflow).held += sign,
            Contribution::OverflowSite(workflow, site) => {
                add(&mut at(&mut self.workflows, workflow).overflow_sites, site, sign, 1);
            }
        }
    }

    /// Weight that each site holds of a user, by class.
    pub fn sites_of_user(&self, user: Name) -> Vec<(Name, PerClass<MilliWeight>)> {
        let sites = (0u32..).zip(&self.sites).filter(|(_, site)| site.users.contains_key(&user));
        sites.map(|(at, site)| (Name(at), site.user(user))).collect()
    }

    /// The landmark of decay moved: every X shrinks by so many binary digits.
    pub fn shrink(&mut self, digits: u32) {
        self.users.iter_mut().for_each(|user| user.usage.x >>= digits);
    }

    /// These counters without zeros at the ends, as a recount gives them.
    pub fn trimmed(&self) -> Counters {
        let mut own = self.clone();
        trim(&mut own.sites);
        trim(&mut own.users);
        trim(&mut own.workflows);
        trim(&mut own.groups);
        own
    }
}

fn trim<T: Default + PartialEq>(all: &mut Vec<T>) {
    while all.last().is_some_and(|last| *last == T::default()) {
        all.pop();
    }
}

/// The entry of a name, made if it is not there.
pub(super) fn at<T: Default>(all: &mut Vec<T>, name: Name) -> &mut T {
    if all.len() <= name.index() {
        all.resize_with(name.index() + 1, T::default);
    }
    &mut all[name.index()]
}

/// Adds a number to a sum or takes it away. A sum of numbers within their bounds is exact.
fn change(sum: &mut i64, sign: i64, number: i64) {
    *sum = sum.saturating_add(number.saturating_mul(sign));
}

const fn of_central(class: Class, milli: MilliWeight) -> MilliWeight {
    match class {
        Class::Central => milli,
        Class::Analysis => 0,
    }
}

fn add(sums: &mut Sums, name: Name, sign: i64, number: i64) {
    let sum = sums.entry(name).or_insert(0);
    change(sum, sign, number);
    if *sum == 0 {
        sums.remove(&name);
    }
}

/// A weight times growth of decay.
pub(super) fn grown(milli: MilliWeight, growth: i128) -> i128 {
    i128::from(milli).saturating_mul(growth)
}
