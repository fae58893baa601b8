//! Users and their groups: operations, and physicists with demand of different kinds.

use super::sites::{Site, local_group, physics_group};
use crate::dice::Dice;
use yardmaster_core::event::{Grant, GrantScopeKind, PrincipalKind, Tier, User, UserKind};
use yardmaster_core::unit::{HOUR, Millis};

/// The group that is boosted everywhere.
pub const BOOSTED: &str = "higgs";
/// Level of a boosted group, of a regional one, of a user for a while (C-18, C-19).
const LEVELS: (i64, i64, i64) = (10, 5, 20);

/// Pattern in which a user submits work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Central work.
    Central,
    /// Work waits all the time.
    Steady,
    /// Much at once, and nothing for hours.
    Bursts,
    /// Some, for a group with a grant.
    Boosted,
    /// Some, with a grant in a region.
    Regional,
    /// Some, at a site that has slots for its group, by the site's number.
    Local(u32),
    /// Some, with a grant of its own for some hours.
    ForAWhile,
    /// Very many tiny workflows.
    Tiny,
}

/// A user.
#[derive(Clone, Debug)]
pub struct CmsUser {
    /// Name.
    pub name: String,
    /// Groups.
    pub groups: Vec<String>,
    /// Pattern in which it submits work.
    pub demand: Demand,
    /// Core time of its jobs that wait and that most sites could run; s.
    pub waiting_s: i64,
    /// Whether more is about to be submitted for it.
    pub is_due: bool,
}

/// The share of analysis that is left to users with steady demand, about.
const STEADY_PART: f64 = 0.65;

/// Users of a seed, operations first; what each with steady demand gets, about, in slots.
pub fn make(sites: &[Site], root: f64) -> (Vec<CmsUser>, f64) {
    let region = |site: &Site| site.quota.region.clone().unwrap_or_default();
    let mut users = vec![user("cmsprod".to_owned(), &[], Demand::Central)];
    let count = |least: f64, most: f64| (least + most * root + 0.5) as usize;
    let steady = count(12.0, 36.0);
    let mut add = |word: &str, count: usize, groups: &[String], demand: Demand| {
        users.extend((1..=count).map(|at| user(format!("{word}{at:02}"), groups, demand)));
    };
    add("steady", steady, &[], Demand::Steady);
    add("burst", count(6.0, 24.0), &[], Demand::Bursts);
    add("higgs", 4, &[BOOSTED.to_owned()], Demand::Boosted);
    add("awhile", 1, &[], Demand::ForAWhile);
    add("tiny", 1, &[], Demand::Tiny);
    if let Some(site) = sites.iter().find(|site| has_priority_group(site)) {
        add("regional", 3, &[physics_group(&region(site))], Demand::Regional);
    }
    for (site, number) in sites.iter().zip(0..) {
        if !site.restricted_groups().is_empty() {
            add("local", 3, &[local_group(&region(site))], Demand::Local(number));
        }
    }
    let slots: i64 = sites.iter().map(Site::analysis_slots).sum();
    (users, slots as f64 * STEADY_PART / steady as f64)
}

fn has_priority_group(site: &Site) -> bool {
    site.tier == Tier::T2 && site.quota.extra_blocks.iter().any(|it| it.priority_group.is_some())
}

fn user(name: String, groups: &[String], demand: Demand) -> CmsUser {
    CmsUser { name, groups: groups.to_vec(), demand, waiting_s: 0, is_due: false }
}

impl CmsUser {
    /// The group that its work is for; empty: its own.
    pub fn working_group(&self) -> &str {
        match self.demand {
            Demand::Boosted => BOOSTED,
            _ => "",
        }
    }

    /// Its record. Users with bursts were busy before; operations may flag jobs that free resources
    /// (C-05).
    pub fn record(&self, dice: &mut Dice, now: Millis) -> User {
        let past_usage_milli = match self.demand {
            Demand::Bursts => dice.between(0, 40_000),
            _ => 0,
        };
        let roles = match self.demand {
            Demand::Central => vec!["production".to_owned()],
            _ => Vec::new(),
        };
        User {
            kind: UserKind::User,
            name: self.name.clone(),
            changed_at: now,
            groups: self.groups.clone(),
            roles,
            past_usage_milli,
            past_usage_at: if past_usage_milli > 0 { now } else { 0 },
            ..User::default()
        }
    }
}

/// Grants in force: of a boosted group with a cap, of a region's users, of one user for a while.
pub fn grants(sites: &[Site], now: Millis) -> Vec<Grant> {
    let slots: i64 = sites.iter().map(Site::analysis_slots).sum();
    let named = |name: &str, principal: &str, kind, level| Grant {
        name: name.to_owned(),
        changed_at: now,
        principal_kind: kind,
        principal: principal.to_owned(),
        level,
        ..Grant::default()
    };
    let mut grants = vec![
        Grant {
            only_with_group: BOOSTED.to_owned(),
            cap_weight_milli: Some(slots * 1_000 / 10),
            ..named("boosted group", BOOSTED, PrincipalKind::Group, LEVELS.0)
        },
        Grant {
            valid_from: now + HOUR,
            valid_to: now + 3 * HOUR,
            ..named("for a while", "awhile01", PrincipalKind::User, LEVELS.2)
        },
    ];
    if let Some(site) = sites.iter().find(|site| has_priority_group(site)) {
        let region = site.quota.region.clone().unwrap_or_default();
        grants.push(Grant {
            scope_kind: GrantScopeKind::Region,
            scope: region.clone(),
            ..named("region", &physics_group(&region), PrincipalKind::Group, LEVELS.1)
        });
    }
    grants
}
