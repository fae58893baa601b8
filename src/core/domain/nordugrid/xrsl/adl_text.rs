//! One alternative of a description as a text in ADL, with the queue and the runtime environments
//! of its target.

use super::environment::ChosenEnvironment;
use super::handover::{ADL, Handover, NORDUGRID, escaped, marked};
use super::listed::{parts, texts};
use super::source::source;
use super::{Alternative, CacheOption, Dialect, InputFile, NodeAccess, Relation, Software, time};

/// Letters of `notify`, and the states in ADL that they stand for; there are none for others.
const NOTIFIED: [(char, &str); 4] =
    [('b', "PREPROCESSING"), ('q', "PROCESSING"), ('f', "POSTPROCESSING"), ('e', "TERMINAL")];
/// The letters that hold where none are written.
const NOTIFIED_USUALLY: &str = "be";

/// Writes a job.
pub(super) fn adl_text(
    job: &Alternative,
    to: &Handover<'_>,
    environments: &[ChosenEnvironment],
) -> String {
    let text = format!(
        "<?xml version=\"1.0\"?><ActivityDescription xmlns=\"{ADL}\" xmlns:ng=\"{NORDUGRID}\">"
    );
    let mut adl = Adl { text };
    adl.within("ActivityIdentification", |adl| adl.text("Name", job.text("jobname")));
    adl.within("Application", |adl| application(adl, job, to.dialect));
    adl.within("Resources", |adl| {
        for it in environments {
            let asking = job.attributes.iter().filter(|it| it.name == "runtimeenvironment");
            let asking = asking.map(|it| it.values.as_slice()).nth(it.condition).unwrap_or(&[]);
            let options = asking.iter().skip(1).flat_map(texts);
            adl.software("RuntimeEnvironment", &it.software, options);
        }
        resources(adl, job, to.queue);
    });
    adl.within("DataStaging", |adl| staging(adl, job, to.delegation));
    adl.text.push_str(&marked(to.mark));
    adl.text.push_str("</ActivityDescription>");
    adl.text
}

fn application(adl: &mut Adl, job: &Alternative, dialect: Dialect) {
    adl.within("Executable", |adl| {
        adl.text("Path", job.text("executable"));
        for argument in job.values("arguments").iter().flat_map(texts) {
            adl.element("Argument", argument);
        }
    });
    adl.text("Input", job.text("stdin"));
    adl.text("Output", job.text("stdout"));
    adl.text("Error", job.stderr());
    for variable in job.all("environment") {
        let pair: Vec<&str> = texts(variable).collect();
        if let [name, value] = pair[..] {
            adl.within("Environment", |adl| {
                adl.element("Name", name);
                adl.element("Value", value);
            });
        }
    }
    adl.text("ng:LoggingDirectory", job.text("gmlog"));
    adl.text("ng:Rerun", job.text("rerun"));
    if let Some(priority) = job.priority.filter(|priority| *priority >= 0) {
        adl.text("ng:Priority", &priority.to_string());
    }
    let unit_s = dialect.unit_s();
    if let Some(lifetime) = time::seconds(job.text("lifetime"), unit_s, &mut Vec::new()) {
        adl.text("WipeTime", &format!("PT{lifetime}S"));
    }
    adl.text("ng:StartTime", job.text("starttime"));
    adl.text("ng:AccessControl", job.text("acl"));
    job.all("credentialserver").flat_map(texts).for_each(|it| adl.text("ng:CredentialService", it));
    if job.is_flagged("dryrun") {
        adl.text("ng:DryRun", "true");
    }
    job.all("jobreport").flat_map(texts).for_each(|url| {
        adl.within("RemoteLogging", |adl| {
            adl.element("ServiceType", "SGAS");
            adl.element("URL", url);
        });
    });
    job.all("notify").flat_map(texts).for_each(|it| notification(adl, it));
}

/// Letters of states, if they are written, and addresses.
fn notification(adl: &mut Adl, text: &str) {
    let words = text.split_ascii_whitespace();
    let (addresses, letters): (Vec<&str>, Vec<&str>) = words.partition(|it| it.contains('@'));
    let letters = letters.first().copied().unwrap_or(NOTIFIED_USUALLY);
    for address in addresses {
        adl.within("Notification", |adl| {
            adl.element("Protocol", "email");
            adl.element("Recipient", address);
            let states = NOTIFIED.iter().filter(|(letter, _)| letters.contains(*letter));
            states.for_each(|(_, state)| adl.element("OnState", state));
        });
    }
}

fn resources(adl: &mut Adl, job: &Alternative, queue: &str) {
    for it in job.operating_system.iter().filter(|it| it.relation == Relation::Equal) {
        let software = Software { name: it.name.clone(), version: it.version.clone() };
        adl.software("OperatingSystem", &software, std::iter::empty());
    }
    if let Some(it) = job.architecture.iter().find(|it| it.relation == Relation::Equal) {
        adl.text("Platform", &it.name);
    }
    let access: Vec<NodeAccess> = job.node_access.iter().flatten().copied().collect();
    match access[..] {
        [] => {}
        [one] => adl.text("NodeAccess", one.name()),
        _ => adl.text("NodeAccess", "inoutbound"),
    }
    adl.number("IndividualPhysicalMemory", job.memory_mb.map(|memory| memory << 20));
    adl.number("DiskSpaceRequirement", Some(job.disk_bytes).filter(|disk| *disk > 0));
    if job.count_given || job.exclusive_execution.is_some() {
        adl.within("SlotRequirement", |adl| {
            adl.number("NumberOfSlots", Some(job.count));
            adl.number("SlotsPerHost", job.count_per_node);
            if let Some(is_exclusive) = job.exclusive_execution {
                adl.text("ExclusiveExecution", if is_exclusive { "true" } else { "false" });
            }
        });
    }
    adl.text("QueueName", queue);
    // As ARC does: grid time is that of one CPU, and of the wall as often as there are slots.
    let wall_s = job.grid_time_s.map(|grid_s| grid_s.saturating_mul(job.count));
    adl.number("TotalCPUTime", job.cpu_time_s.or(job.grid_time_s));
    adl.number("WallTime", job.wall_time_s.or(wall_s));
}

fn staging(adl: &mut Adl, job: &Alternative, delegation: Option<&str>) {
    let threads = job.text("ftpthreads");
    let executable = job.text("executable");
    let listed = job.all("inputfiles").filter_map(parts);
    for (file, (_, place, listed)) in job.input_files.iter().zip(listed) {
        adl.within("InputFile", |adl| {
            adl.element("Name", &file.name);
            if !file.source.is_empty() {
                sources(adl, file, (place, &listed), threads, delegation);
            }
            if file.executable || file.name == executable {
                adl.element("IsExecutable", "true");
            }
        });
    }
    for name in &job.implied_uploads {
        adl.within("InputFile", |adl| {
            adl.element("Name", name);
            if name == executable {
                adl.element("IsExecutable", "true");
            }
        });
    }
    for output in job.outputs() {
        adl.within("OutputFile", |adl| {
            adl.element("Name", output.name);
            if !output.url.is_empty() {
                adl.within("Target", |adl| {
                    adl.element("URI", &output.url);
                    adl.text("DelegationID", delegation.unwrap_or_default());
                    output.options.iter().for_each(|it| adl.option(it));
                    adl.file_threads(threads);
                });
            }
        });
    }
    for name in job.kept_unlisted() {
        adl.within("OutputFile", |adl| adl.element("Name", name));
    }
    adl.text("ng:DelegationID", delegation.unwrap_or_default());
}

/// The URL of an input file with its options, then its other locations.
fn sources(
    adl: &mut Adl,
    file: &InputFile,
    (place, listed): (&str, &[&str]),
    threads: &str,
    delegation: Option<&str>,
) {
    let is_location = |option: &&&str| option.starts_with("location=");
    let own = listed.iter().take_while(|option| !is_location(option)).copied();
    let taken = source(place, &file.name).unwrap_or_default();
    adl.within("Source", |adl| {
        adl.element("URI", &file.source);
        adl.text("DelegationID", delegation.unwrap_or_default());
        let options = taken.options.iter().map(String::as_str).chain(own);
        options.filter(|option| !option.starts_with("cache=")).for_each(|it| adl.option(it));
        if file.cache != CacheOption::Yes {
            adl.option(&format!("cache={}", file.cache.name()));
        }
        adl.file_threads(threads);
    });
    for location in listed.iter().filter(is_location) {
        adl.within("Source", |adl| adl.element("URI", &location["location=".len()..]));
    }
}

/// A text in ADL that grows.
struct Adl {
    text: String,
}

impl Adl {
    fn within(&mut self, name: &str, write: impl FnOnce(&mut Adl)) {
        self.text.push_str(&format!("<{name}>"));
        write(self);
        self.text.push_str(&format!("</{name}>"));
    }

    fn element(&mut self, name: &str, text: &str) {
        self.within(name, |adl| adl.text.push_str(&escaped(text)));
    }

    /// An element, unless its text is empty.
    fn text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.element(name, text);
        }
    }

    fn number(&mut self, name: &str, number: Option<u64>) {
        self.text(name, &number.map_or(String::new(), |number| number.to_string()));
    }

    fn software<'t>(
        &mut self,
        name: &str,
        software: &Software,
        options: impl Iterator<Item = &'t str>,
    ) {
        self.within(name, |adl| {
            adl.element("Name", &software.name);
            adl.text("Version", &software.version);
            options.for_each(|it| adl.element("Option", it));
        });
    }

    /// An option `name=value` of a URL.
    fn option(&mut self, text: &str) {
        if let Some((name, value)) = text.split_once('=') {
            self.within("Option", |adl| {
                adl.element("Name", name);
                adl.element("Value", value);
            });
        }
    }

    fn file_threads(&mut self, threads: &str) {
        if !threads.is_empty() {
            self.option(&format!("threads={threads}"));
        }
    }
}
