//! One round over the clusters of a grid: index servers are walked, clusters asked, and what they
//! answer becomes rows, beside what was published of those that do not answer.

use super::Entry;
use super::arc_targets::{ArcTargets, TOPICS};
use super::fact::Fact;
use super::load::{Loaded, Row, last_of_each_key};
use super::local::CopyEndpoints;
use super::others::OthersJobs;
use crate::arc::{ArcAnswer, ArcClient, NameServers, at_once};
use crate::cli::Usage;
use crate::cli::log_args::LogArgs;
use crate::{clock, fetch};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::{Configuration, Registration, Site};
use yardmaster_core::limits::Limits;
use yardmaster_core::unit::{MINUTE, Millis};
use yardmaster_wire::import::arc::{
    ArcCluster, ArcInterfaces, IndexServer, IndexWalk, Registered, arc_records, archery, giis,
    glue2, host_of, joined, ldif, nordugrid, rest_base, unanswered,
};
use yardmaster_wire::topology::Topology;

/// So many servers are asked at the same time.
const AT_ONCE: usize = 16;
/// How long what LDAP alone stated is used while that does not answer and REST does: as long as a
/// decision uses a queue's facts.
const LDAP_LASTS: Millis = 30 * MINUTE;

/// Index servers and clusters that are asked.
pub struct ClusterSources {
    /// Index servers to begin at.
    pub servers: Vec<IndexServer>,
    /// Addresses of REST.
    pub rest: Vec<String>,
    /// Addresses of LDAP.
    pub ldap: Vec<String>,
    /// Saved documents.
    pub files: Vec<PathBuf>,
    /// Name servers, where an ARCHERY is among the index servers.
    pub names: Option<NameServers>,
}

/// The clusters of a grid, and what earlier rounds found.
pub struct ArcGrid {
    asked: ClusterSources,
    client: ArcClient,
    /// Registrations hold for so long at least; s.
    ttl_min_s: u64,
    copies: CopyEndpoints,
    /// Jobs that their submitters publish.
    pub others: OthersJobs,
    /// ClusterSources that were found last.
    known: BTreeMap<String, ArcInterfaces>,
    /// Names of clusters by those under which they were asked.
    names: BTreeMap<String, String>,
    /// ClusterSources as LDAP stated them last, and when.
    ldap: BTreeMap<String, (Millis, ArcCluster)>,
    /// The newest time that a cluster stated.
    as_of: Option<Millis>,
}

/// Records that a round makes.
pub struct ArcRound {
    /// By topic, those of what clusters and index servers publish.
    pub loaded: Vec<(Topic, Loaded)>,
    /// Of jobs that others published and state no more.
    pub carried_on: Vec<Entry>,
}

/// Facts that one round found.
#[derive(Default)]
struct Found {
    registrations: Vec<Registration>,
    clusters: BTreeMap<String, ArcCluster>,
    /// ClusterSources that did not answer.
    unanswered: BTreeSet<String>,
    /// ClusterSources whose jobs are not known.
    without_jobs: BTreeSet<String>,
    /// Whether an index server did not answer: nothing is known to be gone.
    is_partial: bool,
    silent: Vec<String>,
    complaints: Vec<String>,
    notes: Vec<String>,
}

impl ArcGrid {
    /// One that has asked nobody yet, and is asked every so long; s; 0: once.
    pub fn new(asked: ClusterSources, client: ArcClient, every_s: u64) -> ArcGrid {
        ArcGrid {
            asked,
            client,
            ttl_min_s: every_s.saturating_mul(3),
            copies: CopyEndpoints::default(),
            others: OthersJobs::default(),
            known: BTreeMap::new(),
            names: BTreeMap::new(),
            ldap: BTreeMap::new(),
            as_of: None,
        }
    }

    /// Reads where copies of files were published since the last time.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn read_copies(&mut self, log_args: &LogArgs, topology: &Topology) -> anyhow::Result<()> {
        self.copies.read_on(log_args, topology)
    }

    /// Asks all, and makes rows for each topic of what they answer, beside records of jobs that
    /// others published and state no more. `targets`: what was published before.
    ///
    /// # Errors
    /// No cluster is known, or a file cannot be read.
    pub fn load(
        &mut self,
        targets: Option<&ArcTargets>,
        limits: &Limits,
    ) -> anyhow::Result<ArcRound> {
        let now = clock::now();
        let mut found = Found { clusters: self.files()?, ..Found::default() };
        let asked = self.walk(now, &mut found)?;
        if asked.is_empty() && found.clusters.is_empty() {
            let why = match found.silent.is_empty() {
                true => "the index servers answer, and name none that can be asked".to_owned(),
                false => found.silent.join("; "),
            };
            anyhow::bail!("no cluster is known: {why}; name an index server that has some");
        }
        self.ask(&asked, targets, now, &mut found);
        let jobs = found.clusters.values().flat_map(|it| &it.jobs);
        let carried_on = self.others.carried_on(jobs, now);
        Ok(ArcRound { loaded: self.rows(found, targets, now, limits), carried_on })
    }

    /// Ids of jobs that were published and were not over, by their cluster.
    fn live_jobs(&self, targets: Option<&ArcTargets>) -> BTreeMap<String, BTreeSet<String>> {
        let mut live: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let own = targets.into_iter().flat_map(|it| it.of(Topic::JobState).published());
        let own = own.filter_map(|key| key.rsplit_once(':'));
        let others = self.others.ids().map(|(cluster, id)| (cluster.as_str(), id.as_str()));
        for (cluster, id) in own.chain(others) {
            live.entry(cluster.to_owned()).or_default().insert(id.to_owned());
        }
        live
    }

    /// ClusterSources of saved documents.
    fn files(&self) -> anyhow::Result<BTreeMap<String, ArcCluster>> {
        let [mut rest, mut ldap] = [BTreeMap::new(), BTreeMap::new()];
        for path in &self.asked.files {
            let read = fetch::file(path).and_then(|text| {
                if text.trim_start().starts_with('<') {
                    return glue2(&text).map(|it| rest.insert(it.cluster.name.clone(), it.cluster));
                }
                let cluster = nordugrid(&ldif(&text)?)?;
                Ok(ldap.insert(cluster.name.clone(), cluster))
            });
            read.map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?;
        }
        for (name, other) in ldap {
            let both = match rest.remove(&name) {
                Some(own) => joined(own, other),
                None => other,
            };
            rest.insert(name, both);
        }
        Ok(rest)
    }

    /// Walks the index servers; the clusters to be asked, by the names under which they are known
    /// there.
    fn walk(
        &mut self,
        now: Millis,
        found: &mut Found,
    ) -> anyhow::Result<BTreeMap<String, ArcInterfaces>> {
        let mut walk = IndexWalk::from(self.asked.servers.iter().cloned());
        let mut is_root = true;
        loop {
            let servers = walk.unread();
            if servers.is_empty() {
                break;
            }
            let answers = at_once(&servers, AT_ONCE, |server| self.registered(server));
            for (server, answer) in servers.iter().zip(answers) {
                match answer {
                    Ok(lines) if lines.is_empty() && is_root => {
                        found.is_partial = true;
                        found.silent.push(format!(
                            "{}: nothing is registered there; is it the name of an index server?",
                            server.name()
                        ));
                    }
                    Ok(lines) => walk.put(server, &lines, now, self.ttl_min_s),
                    Err(why) => {
                        found.is_partial = true;
                        found.silent.push(format!(
                            "{}: {why}; what was registered there stays until it lapses",
                            server.name()
                        ));
                    }
                }
            }
            is_root = false;
        }
        self.asked.rest.iter().for_each(|url| walk.add_rest(url));
        for url in &self.asked.ldap {
            walk.add_ldap(url).map_err(Usage)?;
        }
        let (registrations, mut clusters, notes) = walk.end();
        (found.registrations, found.notes) = (registrations, notes);
        if found.is_partial {
            let known = std::mem::take(&mut self.known);
            for (name, interfaces) in known {
                clusters.entry(name).or_insert(interfaces);
            }
        }
        self.known.clone_from(&clusters);
        Ok(clusters)
    }

    fn registered(&self, server: &IndexServer) -> Result<Vec<Registered>, String> {
        match server {
            IndexServer::Archery { asked, .. } => {
                let names = self.asked.names.as_ref().ok_or("no name server is known")?;
                let answer = names.txt(asked)?;
                Ok(archery(&answer.texts, answer.ttl_s))
            }
            IndexServer::Giis(url) => Ok(giis(&self.client.registered(url)?)),
        }
    }

    fn ask(
        &mut self,
        asked: &BTreeMap<String, ArcInterfaces>,
        targets: Option<&ArcTargets>,
        now: Millis,
        found: &mut Found,
    ) {
        let live = self.live_jobs(targets);
        let hosts: BTreeSet<&String> = asked.keys().collect();
        let asked: Vec<(&String, &ArcInterfaces)> = asked.iter().collect();
        let answers = at_once(&asked, AT_ONCE, |(_, interfaces)| {
            self.client.ask(interfaces, &|name| live.get(name).cloned().unwrap_or_default())
        });
        for ((name, interfaces), answer) in asked.into_iter().zip(answers) {
            match answer {
                // The host of a name is meant where another one states the same name.
                Ok(it) if *name != it.cluster.name && hosts.contains(&it.cluster.name) => {
                    let stated = it.cluster.name;
                    found.complaints.push(format!(
                        "{name}: states the name {stated}, of a cluster that is asked itself; left \
                         out"
                    ));
                }
                Ok(answer) => self.answered(name, answer, now, found),
                Err(why) => {
                    let name = self.name_of(name, interfaces, targets);
                    let stays = "gives no answer that can be used, and keeps its facts";
                    found.silent.push(format!("{name}: {stays}: {why}"));
                    found.unanswered.insert(name);
                }
            }
        }
        // One that answers under another name as well is there.
        found.unanswered.retain(|name| !found.clusters.contains_key(name));
    }

    fn answered(&mut self, asked: &str, answer: ArcAnswer, now: Millis, found: &mut Found) {
        let ArcAnswer { mut cluster, ldap, ldap_failed } = answer;
        let name = cluster.name.clone();
        self.names.insert(asked.to_owned(), name.clone());
        if let Some(ldap) = ldap {
            self.ldap.insert(name.clone(), (now, ldap));
        } else if let Some(why) = ldap_failed {
            found.silent.push(format!("{name}: LDAP does not answer, its jobs stay: {why}"));
            found.without_jobs.insert(name.clone());
            let before = self.ldap.get(&name).filter(|(at, _)| now - at < LDAP_LASTS);
            if let Some((_, ldap)) = before {
                cluster = joined(cluster, ldap.clone());
            }
        } else {
            self.ldap.remove(&name);
        }
        found.notes.append(&mut cluster.notes);
        found.clusters.insert(name, cluster);
    }

    /// The name of a cluster that does not answer: what it stated before, else that of its host.
    fn name_of(
        &self,
        asked: &str,
        interfaces: &ArcInterfaces,
        targets: Option<&ArcTargets>,
    ) -> String {
        if let Some(name) = self.names.get(asked) {
            return name.clone();
        }
        let sites = targets.map(|targets| targets.of(Topic::Site));
        let is_there = |site: &&Site| {
            let url = site.cluster.as_ref().map_or("", |facts| &facts.submission_url);
            let host = host_of(url);
            !host.is_empty()
                && match &interfaces.rest {
                    Some(base) => rest_base(url) == base,
                    None => interfaces.ldap.as_ref().is_some_and(|ldap| ldap.host == host),
                }
        };
        let published = sites
            .into_iter()
            .flat_map(|sites| sites.published().filter_map(|key| site(sites.held(key)?)));
        let before = published.filter(is_there).map(|site| site.name.clone()).next();
        before.unwrap_or_else(
            || if asked.contains("://") { host_of(asked) } else { asked.to_owned() },
        )
    }

    /// Rows for each topic.
    fn rows(
        &mut self,
        found: Found,
        targets: Option<&ArcTargets>,
        now: Millis,
        limits: &Limits,
    ) -> Vec<(Topic, Loaded)> {
        let held = |topic: Topic, key: &str| targets.and_then(|it| it.of(topic).held(key));
        let mut rows: BTreeMap<Topic, Vec<Row>> = BTreeMap::new();
        let mut add = |topic: Topic, fact: Fact| {
            // A job is in a state since it was first seen there.
            rows.entry(topic).or_default().push(Row::new(&fact, topic != Topic::JobState));
        };
        let mut configure = |record: Configuration| {
            add(record.topic(), Fact::Configuration(Box::new(record)));
        };
        found
            .registrations
            .iter()
            .for_each(|it| configure(Configuration::Registration(it.clone())));
        for name in &found.unanswered {
            let before = held(Topic::Site, name).and_then(site);
            configure(Configuration::Site(unanswered(name, before, now)));
        }
        for cluster in found.clusters.values() {
            let mut cluster = cluster.clone();
            self.as_of = self.as_of.max(cluster.as_of.map(|at| at.min(now)));
            self.copies.complete(&mut cluster.facts);
            arc_records(&cluster, now).into_iter().for_each(&mut configure);
        }
        for mut job in found.clusters.values().flat_map(|it| it.jobs.iter().cloned()) {
            // The clock of a cluster may be ahead.
            job.changed_at = job.changed_at.min(now);
            if self.others.has(&job) {
                continue;
            }
            match held(Topic::JobState, &job.key()) {
                Some(Fact::Job(before)) if before.activated_at > 0 => {
                    job.activated_at = before.activated_at;
                }
                // Jobs that were over before they were seen hold nothing.
                None if job.is_ended() => continue,
                _ => {}
            }
            add(Topic::JobState, Fact::Job(job));
        }
        let loaded = |topic: Topic| {
            let is_site = topic == Topic::Site;
            let mut loaded = Loaded {
                rows: rows.remove(&topic).unwrap_or_default(),
                silent: if is_site { found.silent.clone() } else { Vec::new() },
                complaints: if is_site { found.complaints.clone() } else { Vec::new() },
                notes: if is_site { found.notes.clone() } else { Vec::new() },
                left_out: targets.map_or_else(BTreeSet::new, |it| stays(it, topic, &found)),
                as_of: match topic {
                    Topic::Registration => now,
                    _ => self.as_of.unwrap_or(now),
                },
                ..Loaded::default()
            };
            last_of_each_key(&mut loaded.rows);
            loaded.leave_out_oversized(topic, limits);
            (topic, loaded)
        };
        TOPICS.map(loaded).into()
    }
}

fn site(fact: &Fact) -> Option<&Site> {
    match fact {
        Fact::Configuration(it) => <&Site>::try_from(it.as_ref()).ok(),
        Fact::Slots(_) | Fact::Job(_) => None,
    }
}

/// Keys of a topic that stay as they are: of clusters that did not answer, of jobs where LDAP did
/// not, and where an index server did not, of all that is not known to be gone.
fn stays(targets: &ArcTargets, topic: Topic, found: &Found) -> BTreeSet<String> {
    let is_kept = |key: &&String| {
        let cluster = match topic {
            Topic::Registration => return found.is_partial,
            Topic::Queue | Topic::UserShare => key.split('/').next().unwrap_or(key),
            Topic::JobState => key.rsplit_once(':').map_or("", |(cluster, _)| cluster),
            _ => key,
        };
        let is_silent = found.unanswered.contains(cluster)
            || topic == Topic::JobState && found.without_jobs.contains(cluster);
        is_silent || found.is_partial && !found.clusters.contains_key(cluster)
    };
    targets.of(topic).published().filter(is_kept).cloned().collect()
}
