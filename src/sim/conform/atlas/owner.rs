//! The owner of a task, and its share, as an analysis case states them: jobs and cores on the
//! whole grid, the class of the task, quotas, what the share uses. Queues beyond the case's take
//! the jobs that are on none of them.

use super::super::json::{amount, items, number, text};
use super::publisher::CasePublisher;
use super::users::GROUP;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{JobState, Queue, QueueStatus, Quota, QuotaKind, Share, Status};
use yardmaster_wire::record;

/// A queue beyond the case's, which no analysis goes to; a core there has 1 HS06.
const ELSEWHERE: &str = "elsewhere";
/// Another one, where a core has a thousandth of it.
const FINE: &str = "elsewhere-fine";
/// The share of what runs beyond the case's queues.
const OTHER: &str = "elsewhere";
/// The node below the root that the task's share is below.
const LEVEL_1: &str = "level 1";
/// The other share below it.
const SIBLING: &str = "sibling";
/// A share that counts in slots of users, beside the one that most cases are of.
const EXPRESS: &str = "Express Analysis";
/// Cores that a user may have running before its tasks leave class A, and B.
const THRESHOLDS: [f64; 2] = [1_000.0, 8_000.0];
/// Power that is due to the task's share: a multiple of it, so that all parts are whole; HS06.
const DUE: f64 = 10_000.0;
/// Most cores that one job counts for.
const CORES_MAX: u64 = 1 << 20;
/// Most doublings of what is due.
const DOUBLINGS: usize = 20;

impl CasePublisher<'_> {
    /// Publishes it.
    ///
    /// # Errors
    /// That a record cannot be read.
    pub(super) fn owner(&mut self) -> Result<(), String> {
        if !self.scenario["analysis"].is_object() {
            return Ok(());
        }
        self.elsewhere(ELSEWHERE, 1_000)?;
        self.elsewhere(FINE, 1)?;
        let quick: Vec<String> =
            (0..=self.quick_wanted()).map(|number| format!("elsewhere-quick-{number}")).collect();
        quick.iter().try_for_each(|queue| self.elsewhere(queue, 1))?;
        self.classes(&quick)?;
        self.outcomes()?;
        self.totals()?;
        self.slots(quick.first().map_or("", String::as_str))?;
        self.quotas()?;
        self.shares()
    }

    /// A queue beyond the case's.
    fn elsewhere(&mut self, name: &str, core_power_mhs06: u32) -> Result<(), String> {
        self.powers.insert(name.to_owned(), core_power_mhs06);
        let queue = Queue {
            name: name.to_owned(),
            unified: name.to_owned(),
            changed_at: self.now,
            status: QueueStatus::Offline,
            production: true,
            site: name.to_owned(),
            cores: 1,
            core_power_mhs06,
            ..Queue::default()
        };
        self.world.read(Topic::Queue, self.now, |out| record::write(out, &queue))
    }

    /// Whose the task is: its kind and name.
    fn subject(&self) -> (QuotaKind, String) {
        let task = &self.scenario["task"];
        match text(&task["working_group"]) {
            group if group.is_empty() => (QuotaKind::User, text(&task["user_name"])),
            group => (QuotaKind::Group, group),
        }
    }

    /// Jobs and cores of the owner.
    fn totals(&mut self) -> Result<(), String> {
        let (kind, name) = self.subject();
        let totals = &self.scenario["analysis"]["owner_totals"];
        let (user, group) = match kind {
            QuotaKind::User => (&*name, ""),
            QuotaKind::Group => ("", &*name),
        };
        for (status, word) in [(Status::Running, "running"), (Status::Activated, "queued")] {
            let jobs = amount(&totals[format!("{word}_jobs")]) as u32;
            let cores = amount(&totals[format!("{word}_cores")]) as u32;
            if cores < jobs || jobs == 0 && cores > 0 {
                self.note(
                    "jobs of the owner and their cores contradict each other",
                    &["_cores_cap"],
                );
            }
            for at in 0..jobs {
                let cores = (cores / jobs + u32::from(at < cores % jobs)).max(1);
                let job = self.job(ELSEWHERE, OTHER, status);
                self.publish_job(&JobState { user, group, cores, ..job })?;
            }
        }
        Ok(())
    }

    /// Slots of the user, by which the task has its class.
    fn slots(&mut self, quick: &str) -> Result<(), String> {
        let analysis = &self.scenario["analysis"];
        let threshold = |at: usize, name: &str| {
            let stated = number(&self.gdpconfig[format!("pandaserver.analy_eval.{name}")]);
            stated.unwrap_or(THRESHOLDS[at])
        };
        let a = threshold(0, "USER_USAGE_THRESHOLD_A");
        let b = threshold(1, "USER_USAGE_THRESHOLD_B");
        let left = number(&analysis["user_eval"]["remaining_slots_class_a"]).unwrap_or(a / 2.0);
        let class = number(&analysis["task_class"]).map(|class| class as i8);
        let (at_quick, at_mid) = match class {
            Some(-1) => (a, b.max(a) - a),
            Some(0) => (a, 0.0),
            Some(1) => ((a - left.max(1.0)).max(0.0), 0.0),
            _ => (0.0, 0.0),
        };
        let [hi, mid] = self.held.map(f64::from);
        if class == Some(1) && left <= 0.0 {
            let why = "a task of class A has a user who uses more than that class has";
            self.note(why, &["gshare_class"]);
        }
        let why = "a user has more running than its task's class has";
        if class == Some(1) && hi >= a || class == Some(0) && a.max(hi) + mid >= b {
            self.note(why, &["gshare_class", "weight "]);
        } else if class == Some(1) && hi > at_quick {
            self.note(why, &["gshare_class"]);
        }
        let (at_quick, at_mid) = ((at_quick - hi).max(0.0), (at_mid - mid).max(0.0));
        let user = text(&self.scenario["task"]["user_name"]);
        for (queue, cores) in [(quick, at_quick as u32), (ELSEWHERE, at_mid as u32)] {
            let job = self.job(queue, EXPRESS, Status::Running);
            let job = JobState { user: &user, group: GROUP, cores, ..job };
            if cores > 0 {
                self.publish_job(&job)?;
            }
        }
        Ok(())
    }

    /// The owner's quota, and use of it.
    fn quotas(&mut self) -> Result<(), String> {
        let (kind, subject) = self.subject();
        let quota = &self.scenario["quota"];
        let global = items(&quota["global"]).map(|it| (it, text(&it["rse_expression"])));
        let local = items(&quota["local"]).map(|it| (it, text(&it["endpoint"])));
        for (it, expression) in global.chain(local) {
            let quota = Quota {
                kind,
                subject: subject.clone(),
                expression,
                changed_at: self.now,
                limit_bytes: number(&it["limit_bytes"]).map(|bytes| bytes as u64),
                used_bytes: amount(&it["used_bytes"]),
                ..Quota::default()
            };
            self.world.read(Topic::Quota, self.now, |out| record::write(out, &quota))?;
        }
        Ok(())
    }

    /// A tree of shares, and jobs by which the task's share uses of its due what is stated.
    fn shares(&mut self) -> Result<(), String> {
        let gshare = text(&self.scenario["task"]["gshare"]);
        let usage = &self.scenario["analysis"]["gshare_usage"];
        let Some(used) = number(&usage[&gshare]["usage_fraction"]) else { return Ok(()) };
        let level_1 = number(&usage[format!("L1 {gshare}")]["equivalent_usage_fraction"]);
        let level_1 = level_1.unwrap_or(used);
        let mut part = 0.5;
        while part * 2.0 * used.max(level_1) > 0.95 {
            part /= 2.0;
        }
        self.share(LEVEL_1, "", 200.0 * part)?;
        self.share(OTHER, "", 100.0 - 200.0 * part)?;
        self.share(&gshare, LEVEL_1, 1.0)?;
        self.share(SIBLING, LEVEL_1, 1.0)?;
        let power = |of: u128| of as f64 / 1_000.0;
        let own = power(self.executing.get(&gshare).copied().unwrap_or(0));
        let others = power(self.executing.values().sum()) - own;
        let powers = |due: f64| {
            let (own, all) = (used * due, due / part);
            let sibling = 2.0 * due * level_1 - own;
            [own, sibling, all - own - sibling - others]
        };
        let mut due = DUE;
        for _ in 0..DOUBLINGS {
            let [wanted, _, rest] = powers(due);
            if wanted < own || rest < 0.0 {
                due *= 2.0;
            }
        }
        let [wanted, sibling, rest] = powers(due);
        if wanted < own || sibling < 0.0 || rest < 0.0 {
            self.note("what shares use and their jobs contradict each other", &["gshare_class"]);
        }
        self.power(&gshare, Status::Sent, wanted - own)?;
        self.power(SIBLING, Status::Sent, sibling)?;
        self.power(OTHER, Status::Sent, rest)?;
        // So much is queued that no share leaves any of its due to others.
        self.power(SIBLING, Status::Activated, 4.0 * due)?;
        self.power(OTHER, Status::Activated, 2.0 * due / part)
    }

    fn share(&mut self, name: &str, parent: &str, value: f64) -> Result<(), String> {
        let share = Share {
            name: name.to_owned(),
            changed_at: self.now,
            parent: parent.to_owned(),
            value,
            ..Share::default()
        };
        self.world.read(Topic::Share, self.now, |out| record::write(out, &share))
    }

    /// Jobs of a share with so much power; HS06.
    fn power(&mut self, share: &str, status: Status, power: f64) -> Result<(), String> {
        let milli = (power.max(0.0) * 1_000.0).round() as u64;
        for (queue, mut cores) in [(ELSEWHERE, milli / 1_000), (FINE, milli % 1_000)] {
            while cores > 0 {
                let of_job = cores.min(CORES_MAX);
                let job = self.job(queue, share, status);
                self.publish_job(&JobState { cores: of_job as u32, ..job })?;
                cores -= of_job;
            }
        }
        Ok(())
    }
}
