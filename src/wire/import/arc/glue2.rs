//! A cluster from the document that its REST interface gives to everybody: GLUE2 as XML. The JSON
//! that it offers too is not read: of 6.17 it lacks attributes and makes one object of a list.

use super::figures::{GIB, each_once, free_slots, known, times, versioned, whole};
use super::{ArcCluster, ArcShare};
use crate::stamp;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{BatchFacts, ClusterFacts};
use yardmaster_core::unit::Bytes;
use yardmaster_core::xml::{self, Element, XmlFault};

/// How deep elements may be nested: those of GLUE2 are, up to 12.
const DEPTH_MAX: usize = 64;
/// Name of the interface that is read here.
const REST: &str = "org.nordugrid.arcrest";
/// Name of that whose address the document may state.
const LDAP: &str = "org.nordugrid.ldapng";

/// A cluster as its REST interface publishes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArcDocument {
    /// The cluster.
    pub cluster: ArcCluster,
    /// Address of its entries in LDAP; `None`: it names none.
    pub ldap: Option<String>,
}

/// Reads the answer to `GET URL/rest/1.0/info`.
///
/// # Errors
/// Text that is no XML, or has no service for jobs; with the remedy.
pub fn glue2(text: &str) -> Result<ArcDocument, String> {
    let root = xml::root(text, DEPTH_MAX).map_err(|fault| match fault {
        XmlFault::Broken(at) => {
            format!("byte {at}: no XML; give the address of A-REX, https://HOST:PORT/arex")
        }
        XmlFault::TooLarge(at) => {
            format!("byte {at}: more or deeper elements than a cluster has; nothing of it is read")
        }
    })?;
    let service = descendant(&root, "ComputingService").ok_or(
        "no ComputingService in the document; give the address of A-REX, https://HOST:PORT/arex",
    )?;
    let id = service.text_of("ID");
    let name = id.strip_prefix("urn:ogf:ComputingService:").and_then(|it| it.split(':').next());
    let name = name.filter(|name| !name.is_empty()).ok_or_else(|| {
        format!("ID {id:?} of ComputingService: wants urn:ogf:ComputingService:HOST:NAME")
    })?;
    let endpoint = |interface: &str| {
        let named = |it: &&Element| it.text_of("InterfaceName") == interface;
        service.children("ComputingEndpoint").find(named)
    };
    let rest = endpoint(REST);
    let nothing = Element::default();
    let manager = service.child("ComputingManager").unwrap_or(&nothing);
    let machines = Machines::of(manager);
    let mut cluster = ArcCluster {
        name: name.to_ascii_lowercase(),
        as_of: attribute(service, "CreationTime").and_then(stamp::parse),
        facts: facts(service, rest.unwrap_or(&nothing), manager, &machines),
        ..ArcCluster::default()
    };
    queues(service, rest.unwrap_or(&nothing), manager, &machines, &mut cluster);
    let ldap = endpoint(LDAP).map(|it| it.text_of("URL").to_owned());
    Ok(ArcDocument { cluster, ldap: ldap.filter(|url| !url.is_empty()) })
}

fn descendant<'e>(element: &'e Element, name: &str) -> Option<&'e Element> {
    let below = || element.children.iter().find_map(|child| descendant(child, name));
    if element.name == name { Some(element) } else { below() }
}

fn attribute<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    let mut named = element.attributes.iter().filter(|(attribute, _)| attribute == name);
    named.next().map(|(_, value)| value.as_str())
}

/// Elements of a kind in the list of them.
fn listed<'e>(manager: &'e Element, list: &'e str, kind: &'e str) -> Vec<&'e Element> {
    manager.children(list).flat_map(|list| list.children(kind)).collect()
}

/// Kinds of nodes.
struct Machines<'e> {
    all: Vec<&'e Element>,
}

impl<'e> Machines<'e> {
    fn of(manager: &'e Element) -> Machines<'e> {
        Machines { all: listed(manager, "ExecutionEnvironments", "ExecutionEnvironment") }
    }

    fn first(&self, field: &str) -> &'e str {
        self.all.first().map_or("", |first| first.text_of(field))
    }

    fn is_any(&self, field: &str) -> bool {
        self.all.iter().any(|it| it.text_of(field) == "true")
    }

    /// Memory of the smallest; MB.
    fn memory_mb(&self) -> Option<u64> {
        self.all
            .iter()
            .filter_map(|it| whole(it.text_of("MainMemorySize")))
            .filter(|mb| *mb > 0)
            .min()
    }
}

fn facts(
    service: &Element,
    rest: &Element,
    manager: &Element,
    machines: &Machines<'_>,
) -> ClusterFacts {
    let named =
        |it: &&Element, name: &str, version: &str| versioned(it.text_of(name), it.text_of(version));
    let environments = listed(manager, "ApplicationEnvironments", "ApplicationEnvironment");
    let environments = environments.iter().filter_map(|it| named(it, "AppName", "AppVersion"));
    let systems = machines.all.iter().filter_map(|it| named(it, "OSName", "OSVersion"));
    let middleware = named(&rest, "ImplementationName", "ImplementationVersion");
    ClusterFacts {
        answered: true,
        alias: known(service.text_of("Name")).unwrap_or("").to_owned(),
        total_slots: whole(manager.text_of("TotalSlots")),
        node_memory_mb: machines.memory_mb(),
        clock_mhz: whole(machines.first("CPUClockSpeed")),
        architecture: architecture(machines.first("Platform")).to_owned(),
        middleware: middleware.into_iter().collect(),
        runtime_environments: each_once(environments),
        operating_systems: each_once(systems),
        inbound: machines.is_any("ConnectivityIn"),
        outbound: machines.is_any("ConnectivityOut"),
        local_storage: Vec::new(),
        cache_free_bytes: times(manager.text_of("CacheFree"), GIB),
        submission_url: rest.text_of("URL").to_owned(),
    }
}

/// A platform of GLUE2 as `uname -m`, LDAP and users name it.
fn architecture(platform: &str) -> &str {
    match known(platform).unwrap_or("") {
        "amd64" => "x86_64",
        "arm64" => "aarch64",
        other => other,
    }
}

/// Queues and what is free there. A queue has a share of its name, and one more for each virtual
/// organisation, of which only what is free differs.
fn queues(
    service: &Element,
    rest: &Element,
    manager: &Element,
    machines: &Machines<'_>,
    cluster: &mut ArcCluster,
) {
    let is_fork = manager.text_of("ProductName") == "fork";
    let disk = times(manager.text_of("WorkingAreaFree"), GIB);
    let closed = closed(rest);
    let names: BTreeSet<&str> =
        service.children("ComputingShare").map(|share| share.text_of("Name")).collect();
    let mut shares: BTreeMap<&str, Vec<&Element>> = BTreeMap::new();
    for share in service.children("ComputingShare") {
        let name = share.text_of("Name");
        let queue = Some(share.text_of("MappingQueue")).filter(|it| !it.is_empty()).unwrap_or(name);
        if queue.is_empty() {
            cluster.notes.push(format!("{}: a share without a name; left out", cluster.name));
            continue;
        }
        shares.entry(queue).or_default().push(share);
        if name != queue && names.contains(queue) {
            continue;
        }
        cluster.queues.insert(queue.to_owned(), batch(share, closed.as_deref(), is_fork, machines));
        let before = whole(share.text_of("PreLRMSWaitingJobs")).unwrap_or(0);
        if before > 0 {
            cluster.notes.push(format!(
                "{}/{queue}: {before} jobs before the batch system, of which REST states no times; \
                 LDAP does",
                cluster.name
            ));
        }
    }
    for (queue, shares) in shares {
        for (user, share) in free(&shares, disk) {
            cluster.shares.entry((queue.to_owned(), user)).or_insert(share);
        }
    }
}

/// Why the cluster takes no jobs; `None`: it does.
fn closed(rest: &Element) -> Option<String> {
    let stated = |field: &str, otherwise: &'static str| {
        Some(rest.text_of(field).to_owned()).filter(|it| !it.is_empty()).unwrap_or(otherwise.into())
    };
    let (health, serving) = (stated("HealthState", "unknown"), stated("ServingState", "closed"));
    if matches!(health.as_str(), "ok" | "warning") && serving == "production" {
        return None;
    }
    let why = format!("inactive, {serving}, {health} {}", rest.text_of("HealthStateInfo"));
    Some(why.trim_end().to_owned())
}

fn batch(
    share: &Element,
    closed: Option<&str>,
    is_fork: bool,
    machines: &Machines<'_>,
) -> BatchFacts {
    let figure = |field: &str| whole(share.text_of(field));
    let waiting = figure("WaitingJobs").unwrap_or(0);
    let local = figure("LocalWaitingJobs").unwrap_or(0);
    let status = match (closed, share.text_of("ServingState")) {
        (Some(why), _) => why.to_owned(),
        (None, "production") => "active".to_owned(),
        (None, other) => format!("inactive, {other}"),
    };
    let ids = share.children("Associations").flat_map(|it| it.children("ExecutionEnvironmentID"));
    let ids: Vec<&str> = ids.map(|it| it.text.trim_ascii()).collect();
    let own = machines.all.iter().filter(|it| ids.contains(&it.text_of("ID")));
    let memory = own.filter_map(|it| whole(it.text_of("MainMemorySize")));
    let memory = figure("MaxVirtualMemory").into_iter().chain(memory).find(|mb| *mb > 0);
    BatchFacts {
        status,
        total_slots: None,
        max_slots_per_job: figure("MaxSlotsPerJob"),
        // The module for fork states 1, however many jobs A-REX takes.
        max_queuable_jobs: figure("MaxWaitingJobs").filter(|_| !is_fork),
        grid_queued_jobs: waiting.saturating_sub(local),
        local_queued_jobs: local,
        min_cpu_time_s: figure("MinCPUTime"),
        max_cpu_time_s: figure("MaxCPUTime"),
        max_total_cpu_time_s: figure("MaxTotalCPUTime"),
        default_cpu_time_s: figure("DefaultCPUTime"),
        default_wall_time_s: figure("DefaultWallTime"),
        min_wall_time_s: figure("MinWallTime"),
        max_wall_time_s: figure("MaxWallTime"),
        max_memory_mb: memory,
    }
}

/// By user: what is free at a queue for members of each virtual organisation that one of its shares
/// names; where none names any, for all.
fn free(shares: &[&Element], disk: Option<Bytes>) -> Vec<(String, ArcShare)> {
    let share = |it: &Element| {
        let free = Some(it.text_of("FreeSlotsWithDuration")).filter(|text| !text.is_empty());
        let free_slots = free_slots(free.unwrap_or(it.text_of("FreeSlots")));
        let free_slots = if free_slots.is_empty() { "0".to_owned() } else { free_slots };
        ArcShare { free_slots, disk_free_bytes: disk }
    };
    let rules = |it: &&'_ Element| -> Vec<String> {
        let rules = it.children("MappingPolicy").flat_map(|policy| policy.children("Rule"));
        let rules = rules.map(|rule| rule.text.trim_ascii()).filter(|rule| rule.starts_with("vo:"));
        rules.map(str::to_owned).collect()
    };
    let of_vos = shares.iter().flat_map(|it| rules(it).into_iter().map(|vo| (vo, share(it))));
    let of_vos: Vec<(String, ArcShare)> = of_vos.collect();
    match (of_vos.is_empty(), shares.first()) {
        (true, Some(first)) => vec![("*".to_owned(), share(first))],
        _ => of_vos,
    }
}
