//! Records of a cluster: `site`, `queue`, `user-share`.

use super::ArcCluster;
use yardmaster_core::event::{ClusterFacts, Configuration, Queue, QueueStatus, Site, UserShare};
use yardmaster_core::unit::Millis;

/// The records of a cluster, as of when its information provider ran, `now` at the latest.
pub fn arc_records(cluster: &ArcCluster, now: Millis) -> Vec<Configuration> {
    let changed_at = cluster.as_of.unwrap_or(now).min(now);
    let name = &cluster.name;
    let site = Site {
        name: name.clone(),
        changed_at,
        active: true,
        cluster: Some(cluster.facts.clone()),
        ..Site::default()
    };
    let queues = cluster.queues.iter().map(|(queue, batch)| {
        let target = format!("{name}/{queue}");
        Configuration::Queue(Queue {
            unified: target.clone(),
            name: target,
            changed_at,
            status: QueueStatus::Online,
            site: name.clone(),
            batch: Some(batch.clone()),
            ..Queue::default()
        })
    });
    let shares = cluster.shares.iter().map(|((queue, user), share)| {
        Configuration::UserShare(UserShare {
            queue: format!("{name}/{queue}"),
            user: user.clone(),
            changed_at,
            authorised: true,
            free_slots: share.free_slots.clone(),
            disk_free_bytes: share.disk_free_bytes,
        })
    });
    std::iter::once(Configuration::Site(site)).chain(queues).chain(shares).collect()
}

/// The record of a cluster that did not answer: the facts of the one before stay, and its time if
/// it did not answer then either.
pub fn unanswered(name: &str, before: Option<&Site>, now: Millis) -> Site {
    let facts = before.and_then(|site| site.cluster.clone());
    let was_silent = facts.as_ref().is_some_and(|facts| !facts.answered);
    let changed_at = before.filter(|_| was_silent).map_or(now, |site| site.changed_at);
    let cluster = Some(ClusterFacts { answered: false, ..facts.unwrap_or_default() });
    let site = before.cloned().unwrap_or_else(|| Site {
        name: name.to_owned(),
        active: true,
        ..Site::default()
    });
    Site { changed_at, cluster, ..site }
}
