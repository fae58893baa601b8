//! Sites change: their status, what they pledge; some make jobs fail for a while.

use super::Cms;
use super::agenda::CmsStep;
use yardmaster_core::event::{SiteStatus, SlotQuota, Tier};
use yardmaster_core::unit::{HOUR, MINUTE, Millis};

/// How often a site goes out of service, and for how long.
const STATUS: (Millis, Millis) = (2 * HOUR, 5 * HOUR);
/// See `STATUS`.
const OUT: (Millis, Millis) = (HOUR, 4 * HOUR);
/// How often a site begins to fail, and for how long.
const FAILS: (Millis, Millis) = (2 * HOUR, 6 * HOUR);
/// See `FAILS`.
const FAILING: (Millis, Millis) = (20 * MINUTE, 80 * MINUTE);
/// When pledges change: a revision that cannot be, a cut, and back again.
const PLEDGES: [Millis; 3] = [50 * MINUTE, 80 * MINUTE, 4 * HOUR];

impl Cms {
    /// Plans what happens to sites.
    pub(super) fn plan_trouble(&mut self) {
        self.after_between(30 * MINUTE, STATUS.0, CmsStep::StatusChanges);
        self.after_between(30 * MINUTE, FAILS.0, CmsStep::SiteFails);
        for (at, when) in (0..).zip(PLEDGES) {
            self.after(when, CmsStep::PledgeChanges(at));
        }
    }

    /// Publishes what a site gives.
    pub(super) fn publish_site(&mut self, site: u32) {
        let of = &mut self.sites[site as usize];
        of.quota.revision = of.revision;
        let record = of.record(&of.quota, self.now);
        self.publisher.fact(&record);
    }

    /// A site has another status.
    pub(super) fn set_status(&mut self, site: u32, status: SiteStatus) {
        let of = &mut self.sites[site as usize];
        of.quota.status = status;
        of.revision += 1;
        self.publish_site(site);
    }

    /// A T2 goes out of service; it is back later.
    pub(super) fn status_changes(&mut self) {
        self.after_between(STATUS.0, STATUS.1, CmsStep::StatusChanges);
        let site = self.some_site(Tier::T2);
        if self.sites[site as usize].quota.status != SiteStatus::Online {
            return;
        }
        let status = if self.dice.chance(0.5) { SiteStatus::Drain } else { SiteStatus::Offline };
        self.count.sites_out += 1;
        self.set_status(site, status);
        self.after_between(OUT.0, OUT.1, CmsStep::ComesBack(site));
    }

    /// A site is in service again.
    pub(super) fn comes_back(&mut self, site: u32) {
        self.set_status(site, SiteStatus::Online);
    }

    /// A site makes jobs fail for a while.
    pub(super) fn site_fails(&mut self) {
        self.after_between(FAILS.0, FAILS.1, CmsStep::SiteFails);
        let site = self.dice.below(self.sites.len());
        self.sites[site].failing_until = self.now + self.dice.between(FAILING.0, FAILING.1);
        self.count.sites_failing += 1;
    }

    /// The last T2 publishes a pledge that cannot be, which has no effect (C-26); later a third
    /// less, whatever runs there (C-24); and at last what it had.
    pub(super) fn pledge_changes(&mut self, at: u32) {
        let twos = self.sites.iter().zip(0..).filter(|(site, _)| site.tier == Tier::T2);
        let Some(site) = twos.last().map(|(_, number)| number) else { return };
        let of = &mut self.sites[site as usize];
        of.revision += 1;
        match at {
            0 => {
                let (revision, pledged_slots) = (of.revision, -1);
                let bad = SlotQuota { revision, pledged_slots, ..of.quota.clone() };
                let record = of.record(&bad, self.now);
                return self.publisher.fact(&record);
            }
            1 => of.quota.pledged_slots = of.quota.pledged_slots * 2 / 3,
            _ => of.quota.pledged_slots = of.quota.pledged_slots * 3 / 2,
        }
        self.publish_site(site);
    }
}
