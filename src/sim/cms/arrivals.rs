//! Work arrives: of operations all the time, of users by their kinds of demand, and now and then
//! what is rare or broken.

use super::Cms;
use super::agenda::CmsStep;
use super::sites::Site;
use super::users::Demand;
use super::work::Kind;
use super::workflows::Size;
use yardmaster_core::event::{SiteStatus, Tier};
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// Part of the central slots that central work keeps busy.
const CENTRAL_LOAD: f64 = 0.7;
/// Central work at the beginning; h of all central slots.
const CENTRAL_FIRST_H: f64 = 3.0;
/// Part of the HighIO places that skims keep busy.
const SKIM_LOAD: f64 = 0.15;
/// Parts of the slots of analysis: of all users with bursts, of a boosted group, of a regional one,
/// of one user with a grant for a while, of one with tiny workflows.
const BURSTS: f64 = 0.18;
/// See `BURSTS`.
const BOOSTED: f64 = 0.07;
/// See `BURSTS`.
const REGIONAL: f64 = 0.03;
/// See `BURSTS`.
const FOR_A_WHILE: f64 = 0.02;
/// Part of its own slots that a local group keeps busy.
const LOCAL: f64 = 0.8;
/// How much work of a user with steady demand waits at least: h of its slots.
const WAITS_H: f64 = 1.5;
/// Work of users at the few sites that have the data, beside all other work.
const REMOTE: f64 = 0.25;

/// Workflows that are rare: kind, jobs, when the first comes and how often; min.
const RARE: [(Kind, i64, Millis, Millis); 7] = [
    (Kind::Fails, 60, 15, 120),
    (Kind::UserFails, 40, 25, 150),
    (Kind::SitesFail, 30, 40, 240),
    (Kind::WholeNode, 2, 20, 240),
    (Kind::SiteTest, 10, 60, 360),
    (Kind::Tiny, 1, 100, 480),
    (Kind::TooLarge, 3, 10, 300),
];
/// Tiny workflows that come at once.
const TINY: i64 = 60;
/// How long a site is tested.
const TESTED: Millis = 90 * MINUTE;

impl Cms {
    /// Plans the first arrivals: before pilots offer anything.
    pub(super) fn plan_arrivals(&mut self) {
        self.central_backlog_s = self.central_slots() * CENTRAL_FIRST_H * 3_600.0;
        self.after(20 * SECOND, CmsStep::CentralArrives);
        self.after(MINUTE, CmsStep::SkimArrives);
        for user in 0..self.users.len() as u32 {
            match self.users[user as usize].demand {
                Demand::Steady => self.go_on_soon(user as usize),
                Demand::Central | Demand::Tiny => {}
                Demand::Bursts => self.after_between(0, 8 * HOUR, CmsStep::UserSubmits(user)),
                Demand::ForAWhile => self.after(HOUR, CmsStep::UserSubmits(user)),
                _ => self.after_between(MINUTE, 30 * MINUTE, CmsStep::UserSubmits(user)),
            }
        }
        for (at, (_, _, first, _)) in (0..).zip(RARE) {
            self.after(first * MINUTE, CmsStep::RareArrives(at));
        }
    }

    fn central_slots(&self) -> f64 {
        self.sites.iter().map(Site::central_slots).sum::<i64>() as f64
    }

    fn analysis_slots(&self) -> f64 {
        self.sites.iter().map(Site::analysis_slots).sum::<i64>() as f64
    }

    /// Operations inject central work; the next follows when its part of the slots has done this.
    pub(super) fn central_arrives(&mut self) {
        let slots = self.central_slots();
        let kind = if self.dice.chance(0.6) { Kind::Processing } else { Kind::Simulation };
        let hours = self.dice.within(0.1, 0.6);
        let work_s = self.inject(kind, 0, Size::CoreTime(slots * hours * 3_600.0), 0);
        if self.central_backlog_s > 0.0 {
            self.central_backlog_s -= work_s;
            return self.after(2 * SECOND, CmsStep::CentralArrives);
        }
        let seconds = work_s / (slots * CENTRAL_LOAD) * self.dice.within(0.6, 1.4);
        self.go_on_after(seconds, CmsStep::CentralArrives);
    }

    /// Operations inject work that reads heavily.
    pub(super) fn skim_arrives(&mut self) {
        let storages = self.sites.iter().filter(|site| site.keeps_data());
        let places: i64 = storages.map(|site| site.quota.high_io_slots).sum();
        let each = places / self.sites.len().max(1) as i64;
        let jobs = self.dice.between(4, 6 + 2 * each);
        let work_s = self.inject(Kind::Skim, 0, Size::Jobs(jobs), 0);
        let seconds = work_s / (places as f64 * SKIM_LOAD) * self.dice.within(0.6, 1.4);
        self.go_on_after(seconds, CmsStep::SkimArrives);
    }

    /// A user without steady demand submits work; the next follows when its part of the slots has
    /// done this.
    pub(super) fn user_submits(&mut self, user: u32) {
        let of = &self.users[user as usize];
        let (demand, all) = (of.demand, self.analysis_slots());
        let alike = self.users.iter().filter(|it| it.demand == demand).count().max(1) as f64;
        let (part, hours, kind, home) = match demand {
            Demand::Bursts => (all * BURSTS, 6.0, Kind::Analysis, 0),
            Demand::Boosted => (all * BOOSTED, 1.5, Kind::Analysis, 0),
            Demand::Regional => (all * REGIONAL, 1.5, Kind::Analysis, 0),
            Demand::ForAWhile => (all * FOR_A_WHILE, 1.0, Kind::Analysis, 0),
            Demand::Local(site) => {
                let of = &self.sites[site as usize];
                let groups = of.restricted_groups();
                let own: i64 = groups.iter().filter_map(|it| of.restricted_slots(it)).sum();
                (own as f64 * LOCAL, 1.5, Kind::Local, site)
            }
            Demand::Central | Demand::Steady | Demand::Tiny => return,
        };
        let slots = part / alike;
        let size = Size::CoreTime(slots * hours * 3_600.0);
        let work_s = self.inject(kind, user as usize, size, home);
        let seconds = work_s / slots * self.dice.exponential();
        self.go_on_after(seconds, CmsStep::UserSubmits(user));
    }

    /// Plans to look whether a user with steady demand has work enough that waits.
    pub(super) fn go_on_soon(&mut self, user: usize) {
        let of = &mut self.users[user];
        if of.demand != Demand::Steady || of.is_due || !self.needs_work(user) {
            return;
        }
        self.users[user].is_due = true;
        self.after_between(SECOND, 10 * SECOND, CmsStep::UserGoesOn(user as u32));
    }

    fn needs_work(&self, user: usize) -> bool {
        (self.users[user].waiting_s as f64) < self.steady_slots * WAITS_H * 3_600.0
    }

    /// A user with steady demand submits more work.
    pub(super) fn user_goes_on(&mut self, user: u32) {
        self.users[user as usize].is_due = false;
        if self.now >= self.end {
            return;
        }
        let hours = self.dice.within(0.5, 1.5);
        let size = Size::CoreTime(self.steady_slots * hours * 3_600.0);
        self.inject(Kind::Analysis, user as usize, size, 0);
        if self.dice.chance(REMOTE) {
            let jobs = self.dice.between(4, 12);
            self.inject(Kind::Remote, user as usize, Size::Jobs(jobs), 0);
        }
        self.go_on_soon(user as usize);
    }

    /// Something rare arrives.
    pub(super) fn rare_arrives(&mut self, at: u32) {
        let (kind, jobs, _, period) = RARE[at as usize];
        self.go_on_after((period * 60) as f64, CmsStep::RareArrives(at));
        let user = match kind {
            Kind::UserFails => self.user_with(Demand::Bursts),
            Kind::Tiny => self.user_with(Demand::Tiny),
            _ => 0,
        };
        match kind {
            Kind::Tiny => {
                for _ in 0..TINY {
                    self.inject(kind, user, Size::Jobs(1), 0);
                }
            }
            Kind::SiteTest => {
                let site = self.some_site(Tier::T2);
                if self.sites[site as usize].quota.status == SiteStatus::Online {
                    self.set_status(site, SiteStatus::Test);
                    self.inject(kind, user, Size::Jobs(jobs), site);
                    self.after(TESTED, CmsStep::ComesBack(site));
                }
            }
            _ => {
                self.inject(kind, user, Size::Jobs(jobs), 0);
            }
        }
    }

    fn user_with(&mut self, demand: Demand) -> usize {
        let fitting = self.users.iter().enumerate().filter(|(_, it)| it.demand == demand);
        let fitting: Vec<usize> = fitting.map(|(at, _)| at).collect();
        fitting.get(self.dice.below(fitting.len())).copied().unwrap_or(0)
    }

    /// A site of a tier.
    pub(super) fn some_site(&mut self, tier: Tier) -> u32 {
        let fitting = self.sites.iter().zip(0..).filter(|(site, _)| site.tier == tier);
        let fitting: Vec<u32> = fitting.map(|(_, number)| number).collect();
        fitting.get(self.dice.below(fitting.len())).copied().unwrap_or(0)
    }

    /// Plans what follows an arrival, while anything arrives.
    fn go_on_after(&mut self, seconds: f64, what: CmsStep) {
        let span = ((seconds * 1_000.0) as Millis).max(SECOND);
        if self.now + span < self.end {
            self.after(span, what);
        }
    }
}
