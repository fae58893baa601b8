//! One cluster of what both its interfaces publish.

use super::ArcCluster;
use super::figures::each_once;

/// The status of a queue of 6.17 in LDAP where GridFTP, of no use to REST, does not run.
const GRIDFTP: &str = "gridftpd";

/// REST states more (network, virtual organisations, slots of a job, whether the door is open) and
/// counts; LDAP alone states jobs, local storage, CPUs of a queue and a queue that is closed
/// (`allownew=no`), and sizes in MB instead of GB. The time is that of REST.
pub fn joined(rest: ArcCluster, ldap: ArcCluster) -> ArcCluster {
    let (mut joined, ldap_facts) = (rest, ldap.facts);
    let facts = &mut joined.facts;
    facts.local_storage = ldap_facts.local_storage;
    facts.cache_free_bytes = ldap_facts.cache_free_bytes.or(facts.cache_free_bytes);
    facts.node_memory_mb = facts.node_memory_mb.or(ldap_facts.node_memory_mb);
    facts.clock_mhz = facts.clock_mhz.or(ldap_facts.clock_mhz);
    facts.total_slots = facts.total_slots.or(ldap_facts.total_slots);
    for (own, other) in [
        (&mut facts.middleware, ldap_facts.middleware),
        (&mut facts.operating_systems, ldap_facts.operating_systems),
        (&mut facts.runtime_environments, ldap_facts.runtime_environments),
    ] {
        *own = each_once(own.drain(..).chain(other));
    }
    if !ldap_facts.architecture.is_empty() {
        facts.architecture = ldap_facts.architecture;
    }
    if facts.submission_url.is_empty() {
        facts.submission_url = ldap_facts.submission_url;
    }
    for (name, queue) in &mut joined.queues {
        let Some(other) = ldap.queues.get(name) else { continue };
        queue.total_slots = other.total_slots;
        if other.status.starts_with("inactive") && !other.status.contains(GRIDFTP) {
            queue.status.clone_from(&other.status);
        }
    }
    for ((queue, _), share) in &mut joined.shares {
        let same = ldap.shares.iter().find(|((other, _), _)| other == queue);
        let disk = same.and_then(|(_, other)| other.disk_free_bytes);
        share.disk_free_bytes = disk.or(share.disk_free_bytes);
    }
    joined.jobs = ldap.jobs;
    // Those of REST are about what LDAP states.
    joined.notes = ldap.notes;
    joined
}
