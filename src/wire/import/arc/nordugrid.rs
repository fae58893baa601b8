//! A cluster from its entries in the NorduGrid schema, which LDAP shows below
//! `Mds-Vo-name=local,o=grid`. Times are in minutes, sizes in MB.

use super::entry::LdapEntry;
use super::figures::{MIB, MINUTE_S, known, moment, times, whole};
use super::jobs::ArcJob;
use super::ldap::LdapFilter;
use super::{ArcCluster, ArcShare};
use yardmaster_core::event::{BatchFacts, ClusterFacts};
use yardmaster_core::unit::Millis;

/// Attributes that are read: a server need not send others.
pub const CLUSTER_ATTRIBUTES: [&str; 45] = [
    "objectClass",
    "Mds-validfrom",
    "nordugrid-cluster-name",
    "nordugrid-cluster-aliasname",
    "nordugrid-cluster-contactstring",
    "nordugrid-cluster-lrms-type",
    "nordugrid-cluster-architecture",
    "nordugrid-cluster-opsys",
    "nordugrid-cluster-nodecpu",
    "nordugrid-cluster-nodememory",
    "nordugrid-cluster-nodeaccess",
    "nordugrid-cluster-totalcpus",
    "nordugrid-cluster-sessiondir-free",
    "nordugrid-cluster-cache-free",
    "nordugrid-cluster-localse",
    "nordugrid-cluster-middleware",
    "nordugrid-cluster-runtimeenvironment",
    "nordugrid-queue-name",
    "nordugrid-queue-status",
    "nordugrid-queue-running",
    "nordugrid-queue-totalcpus",
    "nordugrid-queue-maxqueuable",
    "nordugrid-queue-gridqueued",
    "nordugrid-queue-localqueued",
    "nordugrid-queue-mincputime",
    "nordugrid-queue-maxcputime",
    "nordugrid-queue-maxtotalcputime",
    "nordugrid-queue-defaultcputime",
    "nordugrid-queue-minwalltime",
    "nordugrid-queue-maxwalltime",
    "nordugrid-queue-defaultwalltime",
    "nordugrid-queue-nodememory",
    "nordugrid-queue-acl",
    "nordugrid-authuser-sn",
    "nordugrid-authuser-freecpus",
    "nordugrid-authuser-diskspace",
    "nordugrid-job-globalid",
    "nordugrid-job-globalowner",
    "nordugrid-job-execqueue",
    "nordugrid-job-status",
    "nordugrid-job-cpucount",
    "nordugrid-job-reqcputime",
    "nordugrid-job-reqwalltime",
    "nordugrid-job-submissiontime",
    "nordugrid-job-completiontime",
];

const CLUSTER: &str = "nordugrid-cluster";
const QUEUE: &str = "nordugrid-queue";
const USER: &str = "nordugrid-authuser";
const JOB: &str = "nordugrid-job";
/// Words of jobs that are over: their entries stay for a week.
const ENDED: [&str; 4] = ["FINISHED", "FAILED", "KILLED", "DELETED"];

/// Entries of a cluster, its queues, its users, and its jobs that are not over.
pub fn unended() -> LdapFilter {
    let of = |class: &str| LdapFilter::Is("objectClass", class.to_owned());
    let is_over = ENDED.map(|word| LdapFilter::Begins("nordugrid-job-status", word.to_owned()));
    let is_over = LdapFilter::Not(Box::new(LdapFilter::Any(is_over.to_vec())));
    let jobs = LdapFilter::All(vec![of(JOB), is_over]);
    LdapFilter::Any(vec![of(CLUSTER), of(QUEUE), of(USER), jobs])
}

/// Entries of jobs with these ids, over or not; ids as in [`ArcJob::id`].
pub fn ended_jobs<'i>(ids: impl Iterator<Item = &'i str>) -> LdapFilter {
    let named = ids.map(|id| LdapFilter::Ends("nordugrid-job-globalid", id.to_owned())).collect();
    let job = LdapFilter::Is("objectClass", JOB.to_owned());
    LdapFilter::All(vec![job, LdapFilter::Any(named)])
}

/// Reads the entries of a cluster. Those that are of nothing known are passed over.
///
/// # Errors
/// No cluster is among them; with the remedy.
pub fn nordugrid(entries: &[LdapEntry]) -> Result<ArcCluster, String> {
    let of = |class: &'static str| entries.iter().filter(move |entry| entry.is_of(class));
    let is_named = |entry: &&LdapEntry| !entry.one("nordugrid-cluster-name").trim().is_empty();
    let entry = of(CLUSTER).find(is_named).ok_or(
        "no entry of class nordugrid-cluster with a name; give the address of a cluster's \
         information system, ldap://HOST:2135",
    )?;
    let mut cluster = ArcCluster {
        name: entry.one("nordugrid-cluster-name").trim().to_ascii_lowercase(),
        as_of: moment(entry.one("Mds-validfrom")),
        facts: facts(entry),
        ..ArcCluster::default()
    };
    let disk_free_bytes = times(entry.one("nordugrid-cluster-sessiondir-free"), MIB);
    let is_fork = entry.one("nordugrid-cluster-lrms-type").eq_ignore_ascii_case("fork");
    let mut listed: Vec<&str> = Vec::new();
    for user in of(USER) {
        // Clusters before ARC 6 list the users of a queue: they alone may submit there.
        let (queue, name) = (user.in_dn("nordugrid-queue-name"), user.one("nordugrid-authuser-sn"));
        let free = known(user.one("nordugrid-authuser-freecpus")).unwrap_or("0");
        let disk_free_bytes = times(user.one("nordugrid-authuser-diskspace"), MIB);
        let share = ArcShare { free_slots: free.to_owned(), disk_free_bytes };
        cluster.shares.entry((queue.to_owned(), name.to_owned())).or_insert(share);
        listed.push(queue);
    }
    for entry in of(QUEUE) {
        let name = entry.one("nordugrid-queue-name").trim();
        if name.is_empty() {
            cluster.notes.push(format!("{}: a queue without a name; left out", cluster.name));
            continue;
        }
        cluster.queues.insert(name.to_owned(), batch(entry, is_fork));
        if listed.contains(&name) {
            continue;
        }
        let total = whole(entry.one("nordugrid-queue-totalcpus")).or(cluster.facts.total_slots);
        let running = whole(entry.one("nordugrid-queue-running")).unwrap_or(0);
        let free_slots = total.unwrap_or(0).saturating_sub(running).to_string();
        for user in users(entry) {
            let share = ArcShare { free_slots: free_slots.clone(), disk_free_bytes };
            cluster.shares.insert((name.to_owned(), user), share);
        }
    }
    cluster
        .shares
        .retain(|(queue, user), _| cluster.queues.contains_key(queue) && !user.is_empty());
    cluster.jobs = arc_jobs(&cluster.name, cluster.as_of, entries);
    Ok(cluster)
}

/// Jobs among entries of a cluster, published at a time; ms since 1970.
pub fn arc_jobs(cluster: &str, as_of: Option<Millis>, entries: &[LdapEntry]) -> Vec<ArcJob> {
    let jobs = entries.iter().filter(|entry| entry.is_of(JOB));
    jobs.filter_map(|entry| ArcJob::read(cluster, as_of.unwrap_or(0), entry)).collect()
}

/// Virtual organisations that a queue advertises; all users where it names none.
fn users(entry: &LdapEntry) -> Vec<String> {
    let acl = entry.all("nordugrid-queue-acl").iter();
    let vos = acl.filter_map(|rule| rule.trim().strip_prefix("VO:"));
    let vos: Vec<String> = vos.map(|vo| format!("vo:{vo}")).collect();
    if vos.is_empty() { vec!["*".to_owned()] } else { vos }
}

fn facts(entry: &LdapEntry) -> ClusterFacts {
    let all = |field: &str| {
        let values = entry.all(&format!("nordugrid-cluster-{field}")).iter();
        values.filter_map(|value| known(value)).map(str::to_owned).collect::<Vec<_>>()
    };
    let one = |field: &str| entry.one(&format!("nordugrid-cluster-{field}")).trim();
    let has_access = |way: &str| all("nodeaccess").iter().any(|it| it.eq_ignore_ascii_case(way));
    // 7.0.0 knows no version of its own, and publishes the dash.
    let middleware =
        all("middleware").iter().map(|it| it.trim_end_matches('-').to_owned()).collect();
    ClusterFacts {
        answered: true,
        alias: one("aliasname").to_owned(),
        total_slots: whole(one("totalcpus")),
        node_memory_mb: whole(one("nodememory")),
        clock_mhz: clock_mhz(one("nodecpu")),
        architecture: one("architecture").to_owned(),
        middleware,
        runtime_environments: all("runtimeenvironment"),
        operating_systems: all("opsys"),
        inbound: has_access("inbound"),
        outbound: has_access("outbound"),
        local_storage: all("localse"),
        cache_free_bytes: times(one("cache-free"), MIB),
        submission_url: one("contactstring").to_owned(),
    }
}

/// The clock behind the `@` of a processor's name, `AMD EPYC @ 2445 MHz` or `... @ 2.4 GHz`.
fn clock_mhz(processor: &str) -> Option<u64> {
    let (_, clock) = processor.rsplit_once('@')?;
    let unit_at = clock.find(|c: char| c.is_ascii_alphabetic())?;
    let (figure, unit) = clock.split_at(unit_at);
    let thousands = match unit.trim().get(..3)? {
        "MHz" => 1,
        "GHz" => 1000,
        _ => return None,
    };
    let (whole_part, fraction) = figure.trim().split_once('.').unwrap_or((figure.trim(), "0"));
    let thousandths = format!("{fraction:0<3}").get(..3)?.parse::<u64>().ok()?;
    let whole_part: u64 = whole_part.parse().ok()?;
    whole_part.checked_mul(thousands)?.checked_add(thousandths * thousands / 1000)
}

fn batch(entry: &LdapEntry, is_fork: bool) -> BatchFacts {
    let text = |field: &str| entry.one(&format!("nordugrid-queue-{field}"));
    let figure = |field: &str| whole(text(field));
    let seconds = |field: &str| times(text(field), MINUTE_S);
    BatchFacts {
        status: text("status").trim().to_owned(),
        total_slots: figure("totalcpus"),
        max_slots_per_job: None,
        // The module for fork states 1, however many jobs A-REX takes.
        max_queuable_jobs: figure("maxqueuable").filter(|_| !is_fork),
        grid_queued_jobs: figure("gridqueued").unwrap_or(0),
        local_queued_jobs: figure("localqueued").unwrap_or(0),
        min_cpu_time_s: seconds("mincputime"),
        max_cpu_time_s: seconds("maxcputime"),
        max_total_cpu_time_s: seconds("maxtotalcputime"),
        default_cpu_time_s: seconds("defaultcputime"),
        default_wall_time_s: seconds("defaultwalltime"),
        min_wall_time_s: seconds("minwalltime"),
        max_wall_time_s: seconds("maxwalltime"),
        max_memory_mb: figure("nodememory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_behind_the_sign() {
        for (processor, mhz) in [
            ("AMD EPYC @ 2445 MHz", Some(2445)),
            ("Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.4 GHz", Some(2400)),
            ("i7 @ 3.75GHz", Some(3750)),
            ("AMD EPYC", None),
            ("odd @ fast", None),
            ("odd @ ", None),
            ("odd @ 18446744073709551615 GHz", None),
        ] {
            assert_eq!(clock_mhz(processor), mhz, "{processor}");
        }
    }
}
