//! Clusters are asked what they have; what they answer arrives a little later. Some take no jobs
//! for hours, or do not answer.

use super::agenda::NordugridStep;
use super::{NorduGrid, Standing};
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// How long an answer takes to arrive.
const LATE: (Millis, Millis) = (50 * SECOND, 2 * MINUTE);
/// How often a cluster goes down, on average, and for how long.
const UP: Millis = 40 * HOUR;
/// See `UP`.
const DOWN: (Millis, Millis) = (HOUR, 6 * HOUR);
/// Most of a queue's CPUs on which local jobs run.
const LOCAL: f64 = 0.35;
/// How often that changes.
const LOCAL_CHANGES: (Millis, Millis) = (10 * MINUTE, 40 * MINUTE);

impl NorduGrid {
    /// The files of the catalogue, once.
    pub(super) fn say_catalogue(&mut self) {
        for number in self.catalogue.numbers() {
            let record = self.publisher.made_fact(&self.catalogue.record(number, self.now));
            self.publisher.publish(record);
        }
    }

    /// A cluster is asked for its facts; the answer is as of now.
    pub(super) fn asked(&mut self, number: u32) {
        let now = self.now;
        let cluster = &mut self.clusters[number as usize];
        let mut answered = vec![self.publisher.made_fact(&cluster.record(now))];
        let period = cluster.period;
        if cluster.standing != Standing::Silent {
            for (file, is_there) in
                cluster.cache.as_mut().map(|it| it.take_changed()).unwrap_or_default()
            {
                let it = self.catalogue.cached(file, &cluster.name, is_there, now);
                answered.push(self.publisher.made_fact(&it));
            }
            for queue in &self.queues[cluster.queues.start as usize..cluster.queues.end as usize] {
                answered.push(self.publisher.made_fact(&queue.record(cluster.standing, now)));
                let may = |user: &&super::users::NordugridUser| {
                    cluster.communities.contains(&user.community)
                };
                for user in self.users.iter().filter(may) {
                    let it = cluster.share(queue, &user.name, now);
                    answered.push(self.publisher.made_fact(&it));
                }
            }
        }
        cluster.answered = answered;
        self.after_between(LATE.0, LATE.1, NordugridStep::Arrives(number));
        self.after(period, NordugridStep::Asked(number));
    }

    /// An answer arrives.
    pub(super) fn arrives(&mut self, number: u32) {
        for record in std::mem::take(&mut self.clusters[number as usize].answered) {
            self.publisher.publish(record);
        }
    }

    /// Local jobs begin or end at a queue.
    pub(super) fn local_load(&mut self, number: u32) {
        let part = self.dice.within(0.0, LOCAL);
        let queue = &mut self.queues[number as usize];
        let wanted = (queue.cpus as f64 * part) as u64;
        queue.local = wanted.min(queue.cpus - queue.busy);
        self.after_between(LOCAL_CHANGES.0, LOCAL_CHANGES.1, NordugridStep::LocalLoad(number));
        self.start_waiting(number);
    }

    /// Plans when a cluster goes down.
    pub(super) fn plan_down(&mut self, number: u32) {
        let up = UP as f64 * self.dice.exponential();
        self.after(up as Millis, NordugridStep::GoesDown(number));
    }

    /// A cluster goes inactive, or answers no more.
    pub(super) fn goes_down(&mut self, number: u32) {
        let standing = if self.dice.chance(0.5) { Standing::Silent } else { Standing::Inactive };
        self.clusters[number as usize].standing = standing;
        self.after_between(DOWN.0, DOWN.1, NordugridStep::ComesBack(number));
    }

    /// A cluster is back; what happened to its jobs is known now.
    pub(super) fn comes_back(&mut self, number: u32) {
        let cluster = &mut self.clusters[number as usize];
        cluster.standing = Standing::Active;
        for record in std::mem::take(&mut cluster.held) {
            self.publisher.publish(record);
        }
        self.plan_down(number);
    }
}
