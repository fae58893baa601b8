//! ADL, the language in XML that ARC takes wherever it takes xRSL: a text becomes the tree that the
//! same job has in xRSL, with times in seconds.

use super::error::{ErrorCode, Fault};
use super::tree::{Condition, Expression, Item, Operator};
use super::{DEPTH_MAX, Relation, TEXT_BYTES_MAX};
use crate::xml::{self, Element, XmlFault};

/// Bytes of a MB.
const MB: u64 = 1 << 20;

/// Elements with one text, where they are, and the attributes that they are in xRSL.
const TEXTS: [(&str, &str, &str); 12] = [
    ("ActivityIdentification", "Name", "jobname"),
    ("Application", "Input", "stdin"),
    ("Application", "Output", "stdout"),
    ("Application", "Error", "stderr"),
    ("Application", "LoggingDirectory", "gmlog"),
    ("Application", "Rerun", "rerun"),
    ("Application", "Priority", "priority"),
    ("Application", "StartTime", "starttime"),
    ("Resources", "Platform", "architecture"),
    ("Resources", "QueueName", "queue"),
    ("Resources", "TotalCPUTime", "cputime"),
    ("Resources", "WallTime", "walltime"),
];

/// Elements that say something and are not read here, beside those that nothing depends on.
const IGNORED: [&str; 7] = [
    "IndividualCPUTime",
    "IndividualVirtualMemory",
    "ParallelEnvironment",
    "Coprocessor",
    "NetworkInfo",
    "Benchmark",
    "RemoteSessionAccess",
];

/// Reads a text in XML as a tree.
pub(super) fn parse(text: &str) -> Result<Item, Fault> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Fault::new(ErrorCode::TooLong, 0));
    }
    let root = xml::root(text, DEPTH_MAX).map_err(|fault| match fault {
        XmlFault::Broken(at) => Fault::new(ErrorCode::BadXml, at),
        XmlFault::TooLarge(at) => Fault::new(ErrorCode::TooDeep, at),
    })?;
    if root.name != "ActivityDescription" {
        return Err(Fault::new(ErrorCode::UnknownLanguage, root.at));
    }
    let mut made = Conditions::default();
    for (part, name, attribute) in TEXTS {
        if let Some(element) = root.child(part).and_then(|part| part.child(name)) {
            made.text(attribute, element, element.text.trim_ascii());
        }
    }
    root.children("Application").for_each(|it| made.application(it));
    root.children("Resources").for_each(|it| made.resources(it));
    root.children("DataStaging").for_each(|it| made.staging(it));
    // The first error in the text is reported, and what is listed stands in written order.
    made.items.sort_by_key(|(at, _)| *at);
    if made.items.is_empty() {
        return Err(Fault::new(ErrorCode::ExecutableMissing, root.at));
    }
    let items = made.items.into_iter().map(|(_, condition)| Item::Condition(condition)).collect();
    Ok(Item::Joined { operator: Operator::All, items, at: root.at })
}

/// Conditions, each with its place.
#[derive(Default)]
struct Conditions {
    items: Vec<(usize, Condition)>,
}

impl Conditions {
    fn values(&mut self, attribute: &str, element: &Element, values: Vec<Expression>) {
        let condition = Condition {
            attribute: attribute.to_owned(),
            written: attribute.to_owned(),
            relation: Relation::Equal,
            values,
            at: element.at,
        };
        self.items.push((element.at, condition));
    }

    fn text(&mut self, attribute: &str, element: &Element, text: &str) {
        if !text.is_empty() {
            self.values(attribute, element, vec![Expression::Text(text.to_owned())]);
        }
    }

    fn application(&mut self, application: &Element) {
        if let Some(executable) = application.child("Executable") {
            self.text("executable", executable, executable.text_of("Path"));
            let arguments = executable.children("Argument").map(|it| literal(&it.text)).collect();
            self.values("arguments", executable, arguments);
        }
        for variable in application.children("Environment") {
            let pair = ["Name", "Value"].map(|name| variable.child(name).map_or("", |it| &it.text));
            self.values("environment", variable, vec![list(&pair)]);
        }
        if let Some(dry_run) = application.child("DryRun") {
            self.text("dryrun", dry_run, yes_or_no(&dry_run.text));
        }
    }

    fn resources(&mut self, resources: &Element) {
        for (name, attribute) in
            [("OperatingSystem", "opsys"), ("RuntimeEnvironment", "runtimeenvironment")]
        {
            for software in resources.children(name) {
                let (name, version) = (software.text_of("Name"), software.text_of("Version"));
                let dash = if version.is_empty() { "" } else { "-" };
                let mut values = vec![literal(&format!("{name}{dash}{version}"))];
                values.extend(software.children("Option").map(|it| literal(it.text.trim_ascii())));
                self.values(attribute, software, values);
            }
        }
        for (name, attribute) in
            [("IndividualPhysicalMemory", "memory"), ("DiskSpaceRequirement", "disk")]
        {
            if let Some(amount) = resources.child(name) {
                self.text(attribute, amount, &megabytes(amount.text.trim_ascii()));
            }
        }
        if let Some(access) = resources.child("NodeAccess") {
            let words: &[&str] = match access.text.trim_ascii() {
                "inoutbound" => &["inbound", "outbound"],
                word => &[word],
            };
            self.values("nodeaccess", access, words.iter().map(|word| literal(word)).collect());
        }
        if let Some(slots) = resources.child("SlotRequirement") {
            self.slots(slots);
        }
        let ignored = resources.children.iter().filter(|it| IGNORED.contains(&it.name.as_str()));
        ignored.for_each(|it| self.values(&it.name.to_lowercase(), it, Vec::new()));
    }

    fn slots(&mut self, slots: &Element) {
        let count = slots.text_of("NumberOfSlots");
        self.values("count", slots, vec![literal(count)]);
        if let Some(host) = slots.child("SlotsPerHost") {
            let is_all = |(name, value): &(String, String)| {
                name == "useNumberOfSlots" && yes_or_no(value) == "yes"
            };
            let is_all = host.attributes.iter().any(is_all);
            self.text("countpernode", host, if is_all { count } else { host.text.trim_ascii() });
        }
        if let Some(exclusive) = slots.child("ExclusiveExecution") {
            self.text("exclusiveexecution", exclusive, yes_or_no(&exclusive.text));
        }
    }

    fn staging(&mut self, staging: &Element) {
        for input in staging.children("InputFile") {
            let file = file(input, "Source");
            self.values("inputfiles", input, vec![file]);
            if yes_or_no(input.text_of("IsExecutable")) == "yes" {
                self.text("executables", input, input.text_of("Name"));
            }
        }
        for output in staging.children("OutputFile") {
            self.values("outputfiles", output, vec![file(output, "Target")]);
        }
    }
}

/// A file as a list of its name, its first URL, the options of that and the other URLs.
fn file(file: &Element, place: &str) -> Expression {
    let mut places = file.children(place);
    let first = places.next();
    let mut parts =
        vec![file.text_of("Name").to_owned(), first.map_or("", |it| it.text_of("URI")).to_owned()];
    for option in first.into_iter().flat_map(|it| it.children("Option")) {
        parts.push(format!("{}={}", option.text_of("Name"), option.text_of("Value")));
    }
    parts.extend(places.map(|other| format!("location={}", other.text_of("URI"))));
    list(&parts)
}

/// An amount of bytes in MB, rounded up; what is none as it stands.
fn megabytes(text: &str) -> String {
    text.parse().map_or(text.to_owned(), |bytes: u64| bytes.div_ceil(MB).to_string())
}

/// The word in xRSL for a flag in XML.
fn yes_or_no(text: &str) -> &str {
    match text.trim_ascii() {
        "true" | "1" => "yes",
        "false" | "0" => "no",
        other => other,
    }
}

fn literal(text: &str) -> Expression {
    Expression::Text(text.to_owned())
}

fn list<T: AsRef<str>>(parts: &[T]) -> Expression {
    Expression::List(parts.iter().map(|part| literal(part.as_ref())).collect())
}
