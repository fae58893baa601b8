//! Requirements of jobs: kinds of work, and how a workflow of each is drawn.

use super::sites::Site;
use crate::dice::{Dice, Quantiles};
use yardmaster_core::event::{Class, Requirements, SiteStatus, Tier};

/// Run times at the cores they are stated for: central work, analysis, reading; s.
const CENTRAL_S: Quantiles = [3.6e3, 7.2e3, 13e3, 20e3, 27e3, 31e3, 36e3];
/// See `CENTRAL_S`.
const ANALYSIS_S: Quantiles = [900.0, 2.4e3, 5.4e3, 9e3, 15e3, 20e3, 28e3];
/// See `CENTRAL_S`.
const SKIM_S: Quantiles = [600.0, 1.2e3, 1.8e3, 2.4e3, 3.0e3, 3.6e3, 4.2e3];
/// Memory of a core, MB.
const RSS_MB: i64 = 2_000;

/// Memory that no node has, MB.
const TOO_LARGE_MB: i64 = 400_000;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Central: reads data where it lies.
    Processing,
    /// Central: reads nothing.
    Simulation,
    /// Central: reads much and computes little.
    Skim,
    /// Central: each job takes a node, at a few sites.
    WholeNode,
    /// Central: asks for more memory than any node has.
    TooLarge,
    /// Of a user, at most sites.
    Analysis,
    /// Of a user, at the few sites that have its data; may overflow.
    Remote,
    /// Of a user, at one site.
    Local,
    /// Of a user: one job.
    Tiny,
    /// Central: its program always fails.
    Fails,
    /// Of a user: its program always fails.
    UserFails,
    /// Central: its sites make it fail at first.
    SitesFail,
    /// Central: tests a site.
    SiteTest,
}

impl Kind {
    /// Its word in names of workflows.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Processing => "processing",
            Kind::Simulation => "simulation",
            Kind::Skim => "skim",
            Kind::WholeNode => "node",
            Kind::TooLarge => "toolarge",
            Kind::Analysis => "analysis",
            Kind::Remote => "remote",
            Kind::Local => "local",
            Kind::Tiny => "tiny",
            Kind::Fails | Kind::UserFails => "broken",
            Kind::SitesFail => "unlucky",
            Kind::SiteTest => "sitetest",
        }
    }

    /// Its class.
    pub const fn class(self) -> Class {
        match self {
            Kind::Analysis | Kind::Remote | Kind::Local | Kind::Tiny | Kind::UserFails => {
                Class::Analysis
            }
            _ => Class::Central,
        }
    }

    /// Whether it is of operations.
    pub fn is_central(self) -> bool {
        self.class() == Class::Central
    }

    /// Whether what it writes is merged.
    pub const fn is_merged(self) -> bool {
        matches!(self, Kind::Processing | Kind::Simulation)
    }
}

/// Requirements of the jobs of a workflow, all of them alike.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRequirements {
    /// Sites with their input, by number; `None`: they may run anywhere.
    pub sites: Option<Vec<u32>>,
    /// The same as text.
    pub whitelist: Option<String>,
    /// The class they state, if they state one.
    pub class: Option<Class>,
    /// Their own word on overflow.
    pub allow_overflow: Option<bool>,
    /// Whether they read heavily.
    pub high_io: bool,
    /// Whether they free resources when done.
    pub system_job: bool,
    /// Whether they take a node alone.
    pub whole_node: bool,
    /// Fewest cores.
    pub cores_min: i64,
    /// Most cores.
    pub cores_max: Option<i64>,
    /// Whether they use all that a node has left.
    pub all_cores: bool,
    /// Cores at which time and memory are stated.
    pub base_cores: Option<i64>,
    /// Run time on average, s.
    pub runs_s: f64,
    /// Longest run time that is stated, s.
    pub max_wall_time_s: Option<i64>,
    /// Most memory that is stated, MB.
    pub max_rss_mb: Option<i64>,
    /// Order among the jobs of one user.
    pub user_priority: i64,
}

impl JobRequirements {
    /// Jobs of some cores that run so long.
    fn new(cores: i64, runs_s: f64, speed: u32) -> JobRequirements {
        let runs_s = runs_s / f64::from(speed.max(1));
        JobRequirements {
            sites: None,
            whitelist: None,
            class: None,
            allow_overflow: None,
            high_io: false,
            system_job: false,
            whole_node: false,
            cores_min: cores,
            cores_max: None,
            all_cores: false,
            base_cores: None,
            runs_s,
            // Twice the mean, in whole ten minutes: no job runs longer than 1.5 times the mean.
            max_wall_time_s: Some(((runs_s * 2.0 / 600.0) as i64 + 1) * 600),
            max_rss_mb: Some(RSS_MB * cores),
            user_priority: 0,
        }
    }

    fn at(mut self, numbers: Vec<u32>, sites: &[Site]) -> JobRequirements {
        let names: Vec<&str> =
            numbers.iter().map(|number| sites[*number as usize].name.as_str()).collect();
        self.whitelist = Some(names.join(","));
        self.sites = Some(numbers);
        self
    }

    /// Cores at which run time and memory are stated.
    pub fn base(&self) -> i64 {
        self.base_cores.unwrap_or(self.cores_min)
    }

    /// As published of a job in a place of its workflow.
    pub fn requirements(&self, seq: i64) -> Requirements<&str> {
        Requirements {
            seq: Some(seq),
            class: self.class,
            site_whitelist: self.whitelist.as_deref(),
            allow_overflow: self.allow_overflow,
            high_io: self.high_io,
            system_job: self.system_job,
            whole_node: self.whole_node,
            cores_min: self.cores_min,
            cores_max: self.cores_max,
            all_cores: self.all_cores,
            base_cores: self.base_cores,
            max_wall_time_s: self.max_wall_time_s,
            max_rss_mb: self.max_rss_mb,
            user_priority: self.user_priority,
            ..Requirements::default()
        }
    }

    /// Merge jobs, where what they merge lies.
    pub fn merge(site: u32, sites: &[Site], speed: u32) -> JobRequirements {
        let wanted = JobRequirements::new(1, 600.0, speed).at(vec![site], sites);
        JobRequirements { system_job: true, high_io: true, ..wanted }
    }
}

/// Draws what a workflow's jobs want; `home` is the site that a local kind is for.
pub fn draw(dice: &mut Dice, kind: Kind, sites: &[Site], home: u32, speed: u32) -> JobRequirements {
    let of = |cores: i64, runs_s: f64| JobRequirements::new(cores, runs_s, speed);
    match kind {
        Kind::Processing => {
            let (hosts, has_t1) = hosts(dice, sites);
            // Where users' jobs of one core take every core that is free, more are never free.
            let parts = if has_t1 { [0.6, 0.2, 0.2] } else { [0.0, 0.0, 1.0] };
            let cores = [8, 4, 1][dice.weighted(parts.into_iter())];
            let runs_s = dice.measured(&CENTRAL_S);
            of(cores, runs_s).at(hosts, sites)
        }
        Kind::Simulation => simulation(dice, &of),
        Kind::Skim => {
            let runs_s = dice.measured(&SKIM_S);
            let count = 1 + dice.below(3);
            let hosts = some(dice, sites, count, Site::keeps_data);
            JobRequirements { high_io: true, ..of(1, runs_s).at(hosts, sites) }
        }
        Kind::WholeNode => {
            let runs_s = dice.within(3_600.0, 7_200.0);
            // Where one site is out of service, the others are drained for it.
            let hosts = some(dice, sites, 3, |site| site.tier == Tier::T2);
            let wanted = of(8, runs_s).at(hosts, sites);
            JobRequirements {
                whole_node: true,
                base_cores: Some(16),
                max_rss_mb: Some(16_000),
                ..wanted
            }
        }
        Kind::TooLarge => {
            let hosts = some(dice, sites, 3, |site| site.tier == Tier::T2);
            let wanted = of(8, 3_600.0).at(hosts, sites);
            JobRequirements { max_rss_mb: Some(TOO_LARGE_MB), ..wanted }
        }
        Kind::Analysis => {
            let runs_s = dice.measured(&ANALYSIS_S);
            let user_priority = i64::from(dice.chance(0.1));
            let cores_max = dice.chance(0.05).then_some(4);
            let wanted = JobRequirements { user_priority, cores_max, ..of(1, runs_s) };
            match dice.chance(0.4) {
                true => wanted,
                false => wanted.at(most(dice, sites), sites),
            }
        }
        Kind::Remote => {
            let runs_s = dice.measured(&ANALYSIS_S) / 2.0;
            let count = 1 + dice.below(2);
            let hosts = some(dice, sites, count, |site| site.tier == Tier::T1);
            let hosts =
                if dice.chance(0.7) { hosts } else { some(dice, sites, 2, Site::keeps_data) };
            // Some jobs state it themselves where their workflow does not (C-06).
            let allow_overflow = dice.chance(0.2).then_some(true);
            // Of one user's jobs those that overflow go last (C-21): with its other work waiting
            // all the time they would never run.
            JobRequirements { allow_overflow, user_priority: 2, ..of(1, runs_s).at(hosts, sites) }
        }
        Kind::Local => of(1, dice.measured(&ANALYSIS_S)).at(vec![home], sites),
        Kind::Tiny => of(1, 600.0),
        Kind::Fails | Kind::UserFails => {
            let hosts = some(dice, sites, 4, |site| site.tier == Tier::T2);
            of(1, 600.0).at(hosts, sites)
        }
        Kind::SitesFail => of(1, 1_800.0).at(most(dice, sites), sites),
        Kind::SiteTest => of(1, 900.0).at(vec![home], sites),
    }
}

fn simulation(dice: &mut Dice, of: &dyn Fn(i64, f64) -> JobRequirements) -> JobRequirements {
    let runs_s = dice.measured(&CENTRAL_S);
    // Most of it uses what is free: eight cores at once are rare where users' jobs take one each.
    match dice.weighted([0.2, 0.6, 0.2].into_iter()) {
        0 => of(8, runs_s),
        1 => JobRequirements {
            cores_min: 2,
            cores_max: Some(8),
            base_cores: Some(8),
            max_rss_mb: Some(8 * RSS_MB),
            ..of(8, runs_s)
        },
        _ => {
            let max_rss_mb = Some(4 * RSS_MB);
            let base_cores = Some(4);
            JobRequirements {
                cores_min: 2,
                all_cores: true,
                base_cores,
                max_rss_mb,
                ..of(4, runs_s)
            }
        }
    }
}

/// Sites with data: a T1 and some T2s, a T1 alone, or T2s alone; and whether a T1 is among them.
fn hosts(dice: &mut Dice, sites: &[Site]) -> (Vec<u32>, bool) {
    let is_t1 = |site: &Site| site.tier == Tier::T1;
    let is_t2 = |site: &Site| site.tier == Tier::T2;
    let (ones, twos) = match dice.weighted([0.6, 0.2, 0.2].into_iter()) {
        0 => (1, 2 + dice.below(5)),
        1 => (1, 0),
        _ => (0, 3 + dice.below(5)),
    };
    let mut all = some(dice, sites, ones, is_t1);
    all.extend(some(dice, sites, twos, is_t2));
    (all, ones > 0)
}

/// Some of the sites that fit, each once.
fn some(dice: &mut Dice, sites: &[Site], count: usize, fits: impl Fn(&Site) -> bool) -> Vec<u32> {
    let fitting = sites.iter().zip(0..).filter(|(site, _)| fits(site));
    let mut fitting: Vec<u32> = fitting.map(|(_, number)| number).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count && !fitting.is_empty() {
        chosen.push(fitting.swap_remove(dice.below(fitting.len())));
    }
    chosen.sort_unstable();
    chosen
}

/// Most of the sites that take analysis.
fn most(dice: &mut Dice, sites: &[Site]) -> Vec<u32> {
    let takes = |site: &Site| site.tier != Tier::T1 && site.quota.status == SiteStatus::Online;
    let all = sites.iter().filter(|site| takes(site)).count();
    let count = (all as f64 * dice.within(0.5, 0.9)) as usize;
    some(dice, sites, count.max(3), takes)
}

#[cfg(test)]
mod tests {
    use super::super::sites;
    use super::*;

    #[test]
    fn every_kind_of_request_is_drawn_and_can_be() {
        let sites = sites::make(1, 0.2);
        let mut dice = Dice::new(1, "test");
        let kinds = [Kind::Processing, Kind::Simulation, Kind::Skim, Kind::WholeNode];
        let users = [Kind::Analysis, Kind::Remote, Kind::Local, Kind::Tiny, Kind::UserFails];
        let others = [Kind::Fails, Kind::SitesFail, Kind::SiteTest, Kind::TooLarge];
        let (mut ranges, mut nodes, mut anywhere) = (0, 0, 0);
        for kind in kinds.into_iter().chain(users).chain(others) {
            for _ in 0..100 {
                let wanted = draw(&mut dice, kind, &sites, 1, 1);
                ranges += i32::from(wanted.cores_max.is_some());
                nodes += i32::from(wanted.all_cores);
                anywhere += i32::from(wanted.sites.is_none());
                assert!(wanted.cores_min >= 1 && wanted.cores_max.is_none_or(|most| most >= 4));
                assert!(wanted.sites.as_ref().is_none_or(|it| !it.is_empty()), "{kind:?}");
                let stated = wanted.max_wall_time_s.unwrap();
                assert!(stated as f64 >= 1.5 * wanted.runs_s, "{wanted:?}");
                assert!(!wanted.high_io || wanted.whitelist.is_some(), "C-04");
            }
        }
        assert!(ranges > 10 && nodes > 3 && anywhere > 50, "{ranges} {nodes} {anywhere}");
    }
}
