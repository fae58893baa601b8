//! The topology file: the shipped one is right, a wrong one has every mistake named at once.

use yardmaster::core::cut::Topic;
use yardmaster::core::limits::Limits;
use yardmaster::core::policy::Arg;
use yardmaster::core::topic::Need;
use yardmaster::core::unit::{DAY, HOUR};
use yardmaster::wire::topology::{
    ATLAS, Cleanup, Complaint, NORDUGRID, PANDA, TopicSettings, Topology, describe, findings,
    mermaid, readers, shortfalls,
};

/// The shipped file with one text replaced by another, which must be there.
fn changed(from: &str, to: &str) -> String {
    assert!(ATLAS.contains(from), "{from:?} is not in the shipped file");
    ATLAS.replacen(from, to, 1)
}

fn complaints(text: &str) -> Vec<Complaint> {
    Topology::parse("my.toml", text).expect_err("the file is wrong")
}

/// The one complaint about a changed file, as a person sees it.
#[track_caller]
fn complaint(from: &str, to: &str) -> String {
    let found = complaints(&changed(from, to));
    let shown: Vec<String> = found.iter().map(Complaint::to_string).collect();
    assert_eq!(shown.len(), 1, "{shown:#?}");
    shown[0].clone()
}

#[track_caller]
fn assert_says(report: &str, parts: &[&str]) {
    for part in parts {
        assert!(report.contains(part), "{part:?} is not in {report:?}");
    }
}

/// Topics that every topology has.
fn needed() -> Vec<Topic> {
    Topic::ALL.iter().copied().filter(|topic| topic.need() == Need::All).collect()
}

/// Topics that every shipped topology has.
fn shipped() -> Vec<Topic> {
    let is_shipped = |topic: &Topic| match topic.need() {
        Need::All => true,
        Need::Targets | Need::Offers | Need::Domains => false,
        Need::Optional => true,
    };
    Topic::ALL.iter().copied().filter(is_shipped).collect()
}

#[test]
fn a_topology_with_targets_has_the_topics_of_targets() {
    let topology = Topology::default_nordugrid();
    let has = |it: &&Topic| ![Need::Offers, Need::Domains].contains(&it.need());
    assert!(topology.topics.keys().eq(Topic::ALL.iter().filter(has)));
    assert_eq!(topology.domain, "nordugrid");
    let without = NORDUGRID.replace("[topics.user-share]", "[topics.user-shares]");
    let found = Topology::parse("test.toml", &without).expect_err("a complaint");
    let shown: Vec<String> = found.iter().map(Complaint::to_string).collect();
    assert_says(&shown.join("\n"), &["no [topics.user-share]", "did you mean `user-share`?"]);
}

#[test]
fn the_shipped_topology_is_right() {
    let topology = Topology::default_atlas();
    assert_eq!(topology.domain, "atlas");
    assert!(topology.topics.keys().eq(shipped().iter()));
    assert_eq!(topology.topic(Topic::JobState).name, "yardmaster.job-state");
    assert_eq!(topology.topic(Topic::Progress).retention_ms, Some(14 * DAY));
    assert_eq!(topology.topic(Topic::Queue).cleanup, Cleanup::Compact);
    assert_eq!(topology.topic_named("yardmaster.dead-letter"), Some(Topic::DeadLetter));
    assert_eq!(topology.transactional_id(), "yardmaster-atlas");
    assert_eq!(topology.intake_id(), "yardmaster-atlas-intake");
    let trial = |topic: &str| {
        let file = format!("[topics.{topic}]\nname = \"trial.{topic}\"");
        let line = format!("[topics.{topic}]");
        let topology = Topology::parse("trial", &ATLAS.replace(&line, &file)).unwrap();
        (topology.transactional_id(), topology.intake_id())
    };
    let ids = |lead: &str, intake: &str| (lead.to_owned(), intake.to_owned());
    let (lead, intake) = ("yardmaster-atlas", "yardmaster-atlas-intake");
    assert_eq!(trial("progress"), ids("yardmaster-atlas-trial.progress", intake));
    assert_eq!(trial("job-state"), ids(lead, "yardmaster-atlas-trial.job-state-intake"));
    assert_eq!(trial("decision"), ids(lead, intake));
}

/// It differs from that of ATLAS in its policy, and by having no rules that give commands.
#[test]
fn the_shipped_topology_of_a_panda_outside_atlas_is_right() {
    let (atlas, panda) = (Topology::default_atlas(), Topology::default_panda());
    assert_eq!(panda.domain, "panda");
    // But for the line that each topic stands on.
    let topics = |topology: &Topology| {
        let topics = topology.topics.iter();
        let topics = topics.map(|(topic, it)| (*topic, TopicSettings { line: 0, ..it.clone() }));
        topics.collect::<Vec<_>>()
    };
    assert_eq!((topics(&panda), &panda.limits), (topics(&atlas), &atlas.limits));
    let policies: Vec<&str> = panda.policies.iter().map(|policy| policy.kind.as_str()).collect();
    assert_eq!(policies, ["generic-job"]);
    assert_eq!(panda.policies[0].candidates_max, 5);
    let found = findings("panda.toml", PANDA, &panda);
    assert!(found.is_empty(), "{found:?}");
}

/// A domain of a program's own may have records, and no shipped topology does.
#[test]
fn a_topology_may_name_the_records_of_a_domain_of_its_own() {
    assert_eq!(Topology::default_atlas().topics.get(&Topic::DomainRecord), None);
    let table = "[topics.domain-record]\nname = \"slurm.facts\"\npartitions = 2\n";
    let with = |keys: &str| format!("{ATLAS}\n{table}{keys}\n");
    let topology = Topology::parse("my.toml", &with("cleanup = \"compact\"")).expect("right");
    assert_eq!(topology.topic_named("slurm.facts"), Some(Topic::DomainRecord));
    let settings = topology.topic(Topic::DomainRecord);
    assert_eq!((settings.partitions, settings.cleanup), (2, Cleanup::Compact));
    assert!(topology.read_topics().any(|topic| topic == Topic::DomainRecord));
    let deleted = complaints(&with("cleanup = \"delete\"\nretention_hours = 336"));
    assert_says(&deleted[0].to_string(), &["cleanup \"delete\" for domain-record", "\"compact\""]);
}

#[test]
fn the_shipped_limits_are_the_defaults_and_all_are_there() {
    let topology = Topology::default_atlas();
    assert_eq!(topology.limits, Limits::default());
    for limit in Limits::ALL {
        let set = format!("\n{} = ", limit.key);
        assert!(ATLAS.contains(&set), "{} is not in the shipped file", limit.key);
    }
}

#[test]
fn limits_come_in_the_units_of_the_core() {
    let text = changed("ended_job_lifetime_h = 24", "ended_job_lifetime_h = 0x30");
    let topology = Topology::parse("my.toml", &text).expect("right");
    assert_eq!(topology.limits.ended_job_lifetime_ms, 48 * HOUR);
    let text = changed("max_record_bytes = 1_048_576", "max_record_bytes = 2_000_000");
    let topology = Topology::parse("my.toml", &text).expect("right");
    assert_eq!(topology.limits.max_record_bytes, 2_000_000);
}

#[test]
fn every_mistake_is_named_at_once_in_the_order_of_the_file() {
    let text = ATLAS
        .replacen("domain = \"atlas\"", "domain = \"at las\"", 1)
        .replacen("partitions = 8\n", "partitoins = 8\n", 1)
        .replacen("cleanup = \"delete\"", "cleanup = \"never\"", 1)
        .replacen("stubs_max = 100_000", "stubs_max = -1", 1)
        .replacen("tick_ms = 1_000", "tick_ms = \"fast\"", 1)
        .replacen("rules = \"documented\"", "rules = \"mine\"", 1);
    let found = complaints(&text);
    let shown = found.iter().map(Complaint::to_string).collect::<Vec<_>>().join("\n");
    for part in [
        "domain = \"at las\"",
        "`partitoins` in [topics.job-state]",
        "did you mean `partitions`?",
        "no `partitions` in [topics.job-state]",
        "topics.heartbeat.cleanup = \"never\"",
        "limits.stubs_max = -1; allowed: a whole number 0..=100000000",
        "limits.tick_ms = \"fast\"; allowed: a whole number 100..=60000",
        "policy.rules = \"mine\"; allowed: one of documented, panda",
    ] {
        assert_says(&shown, &[part]);
    }
    assert!(found.windows(2).all(|pair| pair[0].line <= pair[1].line), "{shown}");
    for complaint in &found {
        assert_eq!(complaint.file, "my.toml");
    }
}

#[test]
fn a_complaint_names_the_line() {
    let report = complaint("stubs_max = 100_000", "stubs_max = 1.5");
    let line = 1 + ATLAS.lines().position(|line| line == "stubs_max = 100_000").expect("there");
    assert!(
        report.starts_with(&format!("my.toml:{line}: found limits.stubs_max = 1.5;")),
        "{report}"
    );
}

#[test]
fn broken_toml_is_named_with_its_line_and_the_rest_is_still_read() {
    let text = changed("partitions = 8\n", "partitions = = 8\n");
    let text = text.replacen("stubs_max = 100_000", "stubs_max = -1", 1);
    let shown: Vec<String> = complaints(&text).iter().map(Complaint::to_string).collect();
    let shown = shown.join("\n");
    assert_says(&shown, &["allowed: TOML 1.0", "limits.stubs_max = -1"]);
}

#[test]
fn keys_given_twice_are_named() {
    let report = complaint("partitions = 8\n", "partitions = 8\npartitions = 8\n");
    assert_says(&report, &["duplicate key"]);
}

#[test]
fn a_missing_topic_is_named() {
    let text = changed("[topics.parameter]\npartitions = 1\ncleanup = \"compact\"\n", "[limits_]");
    let shown: Vec<String> = complaints(&text).iter().map(Complaint::to_string).collect();
    let shown = shown.join("\n");
    assert_says(&shown, &["no [topics.parameter]", "`limits_` in the file", "mean `limits`?"]);
}

#[test]
fn an_empty_file_names_all_that_is_missing() {
    let found = complaints("");
    assert_eq!(found.len(), 2 + needed().len());
}

#[test]
fn windows_longer_than_retention_are_named_at_the_limit() {
    let report = complaint("silent_job_lifetime_d = 30", "silent_job_lifetime_d = 60");
    let found = "silent_job_lifetime_d of 1440 h on job-state, kept 744 h";
    assert_says(&report, &[found, "at most what the topic's retention_hours cover"]);
    let report = complaint("node_window_h = 3", "node_window_h = 72");
    assert_says(&report, &["node_window_h of 72 h on pilot, compacted after 48 h"]);
}

#[test]
fn a_topic_kept_shorter_than_progress_is_named() {
    let from = "[topics.command]\npartitions = 1\ncleanup = \"delete\"\nretention_hours = 720";
    let found = complaints(&changed(from, &from.replace("720", "24")));
    let shown: Vec<String> = found.iter().map(Complaint::to_string).collect();
    assert_eq!(shown.len(), 2, "{shown:#?}");
    assert_says(&shown[0], &["command kept 24 h, progress 336 h", "a rebuild begins"]);
    assert_says(&shown[1], &["command_lifetime_d of 720 h on command, kept 24 h"]);
}

#[test]
fn decisions_outlive_requests() {
    let text = changed("request_lifetime_d = 14", "request_lifetime_d = 61");
    let shown: Vec<String> = complaints(&text).iter().map(Complaint::to_string).collect();
    let shown = shown.join("\n");
    assert_says(&shown, &["request_lifetime_d of 1464 h on task", "decision kept 1440 h"]);
    let report = complaint("answered_request_lifetime_h = 360", "answered_request_lifetime_h = 24");
    assert_says(&report, &["answered_request_lifetime_h of 24 h, task kept 336 h"]);
    let report = complaint("answer_lifetime_d = 60", "answer_lifetime_d = 61");
    assert_says(&report, &["answer_lifetime_d of 1464 h on decision, kept 1440 h"]);
    let report = complaint("answer_lifetime_d = 60", "answer_lifetime_d = 13");
    assert_says(&report, &["answer_lifetime_d of 312 h, requests 336 h", "answered twice"]);
}

#[test]
fn what_a_topic_is_for_decides_how_it_may_be_kept() {
    let queue = "[topics.queue]\npartitions = 1\ncleanup = \"compact\"\ncompact_after_hours = 336";
    let as_stream = "[topics.queue]\npartitions = 1\ncleanup = \"delete\"\nretention_hours = 999";
    let report = complaint(queue, as_stream);
    assert_says(&report, &["cleanup \"delete\" for queue", "\"compact\""]);
    let report = complaint("timestamp = \"append\"", "timestamp = \"create\"");
    assert_says(&report, &["timestamp \"create\" for progress", "\"append\""]);
    let report = complaint("[topics.share]\n", "[topics.share]\nsilence_limit_s = 5\n");
    assert_says(&report, &["silence_limit_s for share"]);
    let report = complaint("[topics.share]\n", "[topics.share]\nretention_hours = 500\n");
    assert_says(&report, &["retention_hours for share"]);
}

#[test]
fn names_on_the_bus_are_distinct_and_legal() {
    let report = complaint("[topics.share]\n", "[topics.share]\nname = \"yardmaster.quota\"\n");
    assert_says(&report, &["name \"yardmaster.quota\" for quota and share"]);
    let report = complaint("[topics.share]\n", "[topics.share]\nname = \"a b\"\n");
    assert_says(&report, &["topics.share.name = \"a b\""]);
}

#[test]
fn limits_that_contradict_each_other_are_named() {
    let report = complaint("reservation_lifetime_h = 2", "reservation_lifetime_h = 25");
    let found = "reservation_lifetime_h of 90000000 ms, ended_job_lifetime_h of 86400000 ms";
    assert_says(&report, &[found]);
}

#[test]
fn kafka_properties_are_passed_through_but_for_ours() {
    let topology = Topology::default_atlas();
    let has = |topology: &Topology, key: &str, value: &str| {
        topology.kafka.properties.contains(&(key.to_string(), value.to_string()))
    };
    assert!(has(&topology, "queued.min.messages", "100000"));
    let text = changed("\"linger.ms\" = 20", "linger.ms = 7\nssl.ca.location = \"/x\"");
    let topology = Topology::parse("my.toml", &text).expect("right");
    assert!(has(&topology, "linger.ms", "7") && has(&topology, "ssl.ca.location", "/x"));
    let report = complaint("\"linger.ms\" = 20", "\"isolation.level\" = \"read_uncommitted\"");
    assert_says(&report, &["property `isolation.level`"]);
}

/// The shipped file up to its first policy, and that policy with other lists.
fn with_policy(rest: &str) -> String {
    let (before, _) = ATLAS.split_once("[[policy]]").expect("a policy");
    let kind = &Topology::default_atlas().policies[0].kind;
    format!("{before}[[policy]]\nname = \"p\"\nkind = \"{kind}\"\n{rest}\n")
}

#[test]
fn steps_are_names_or_tables_with_parameters() {
    let rest = "filters = [\"status\", { name = \"memory\", compensation = 0.9 }]\nweights = []";
    let topology = Topology::parse("my.toml", &with_policy(rest)).expect("right");
    let steps = &topology.policies[0].filters;
    assert_eq!(steps[0].name, "status");
    assert_eq!(steps[1].args, [("compensation".to_string(), Arg::Float(0.9))]);
    let wrong = with_policy(&rest.replace("\"status\"", "7"));
    let shown: Vec<String> = complaints(&wrong).iter().map(Complaint::to_string).collect();
    assert_says(&shown.join("\n"), &["7 in policy.filters", "a list of filter names"]);
}

#[test]
fn objections_of_the_core_name_the_line() {
    let text = with_policy(
        "colour = 1\nfilters = [\n\"status\",\n{ name = \"memory\", compensation = true },\n\
         \"statsu\",\n\"status\"]\nweights = []",
    );
    let line = |part: &str| 1 + text.lines().position(|line| line.contains(part)).expect("there");
    let found = complaints(&text);
    let report = |part: &str| {
        let complaint = found.iter().find(|complaint| complaint.found.contains(part));
        complaint.unwrap_or_else(|| panic!("{part:?} is not in {found:#?}")).line
    };
    assert_eq!(report("policy p, colour: not known"), line("colour"));
    assert_eq!(report("filter memory, compensation: true"), line("compensation"));
    assert_eq!(report("filter statsu: not known"), line("statsu"));
    assert_eq!(report("filter status: listed twice"), line("\"status\"]"));
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(found.iter().any(|complaint| complaint.allowed.contains("did you mean `status`?")));
}

#[test]
fn policies_have_names_of_their_own() {
    let (_, policy) = ATLAS.split_once("\n[[policy]]").expect("a policy");
    let text = format!("{ATLAS}\n[[policy]]{policy}");
    let shown: Vec<String> = complaints(&text).iter().map(Complaint::to_string).collect();
    assert_says(&shown.join("\n"), &["a second policy", "each name once"]);
}

#[test]
fn it_is_described_as_text_and_as_a_chart() {
    let topology = Topology::default_atlas();
    let text = describe(&topology);
    let chart = mermaid(&topology);
    for topic in &needed() {
        assert_says(&text, &[topic.name()]);
        assert_says(&chart, &[&topology.topic(*topic).name]);
    }
    for limit in Limits::ALL {
        assert_says(&text, &[limit.key, limit.help]);
    }
    for policy in &topology.policies {
        for step in policy.filters.iter().chain(&policy.weights) {
            assert_says(&text, &[&step.name]);
            assert_says(&chart, &[&step.name]);
        }
    }
    let lifted = "set above a limit, lifted at it; lapse 3600 s";
    assert_says(&text, &[lifted, "A1 (atlas 8.1)", "read back by throttle_lifetime_d 720 h"]);
    assert!(chart.starts_with("flowchart LR\n"));
}

// --- What the broker must keep --------------------------------------------------------------------

/// A topic of the shipped topology as a broker keeps it, in the broker's words, and what it lacks.
#[track_caller]
fn lacks(topic: Topic, partitions: u32, configs: &[(&str, &str)], wanted: &[(&str, &[&str])]) {
    let topology = Topology::default_atlas();
    let mut all = std::collections::BTreeMap::from([
        ("max.message.bytes".to_owned(), "1048588".to_owned()),
        ("retention.bytes".to_owned(), "-1".to_owned()),
        ("min.compaction.lag.ms".to_owned(), "0".to_owned()),
        ("delete.retention.ms".to_owned(), "1296000000".to_owned()),
        ("message.timestamp.type".to_owned(), "LogAppendTime".to_owned()),
    ]);
    all.extend(configs.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let found = shortfalls(&topology, topic, partitions, &all);
    let settings: Vec<&str> = found.iter().map(|it| it.setting).collect();
    let expected: Vec<&str> = wanted.iter().map(|(setting, _)| *setting).collect();
    assert_eq!(settings, expected, "{found:#?}");
    for (shortfall, (_, parts)) in found.iter().zip(wanted) {
        let report = format!("{} {} {}", shortfall.found, shortfall.why, shortfall.wanted);
        assert_says(&report, parts);
    }
}

#[test]
fn the_settings_of_a_broker_are_compared_with_every_window() {
    let topic = Topic::JobState;
    let three_days = ("retention.ms", "259200000");
    let delete = ("cleanup.policy", "delete");
    lacks(
        topic,
        8,
        &[delete, three_days],
        &[("retention.ms", &["72 h", "silent_job_lifetime_d (720 h)", "a rebuild", "2678400000"])],
    );
    // Longer than asked, or for ever, does no harm; no window is short at half a day less.
    lacks(topic, 8, &[delete, ("retention.ms", "-1")], &[]);
    lacks(topic, 12, &[delete, ("retention.ms", "9999999999")], &[]);
    let less = ("retention.ms", "2635200000");
    lacks(topic, 8, &[delete, less], &[("retention.ms", &["than the topology has (744 h)"])]);
    let both = ("cleanup.policy", "delete, compact");
    let size = ("retention.bytes", "1000000");
    lacks(
        topic,
        4,
        &[both, ("retention.ms", "-1"), size],
        &[
            ("partitions", &["4 the topology has 8"]),
            ("retention.bytes", &["by size", "silent_job_lifetime_d", "-1"]),
            ("min.compaction.lag.ms", &["decisions younger than 48 h", "172800000"]),
        ],
    );
}

#[test]
fn the_use_of_each_topic_is_compared_with_the_broker() {
    let (delete, compact) = (("cleanup.policy", "delete"), ("cleanup.policy", "compact"));
    let (week, lag) = (("retention.ms", "604800000"), ("min.compaction.lag.ms", "3600000"));
    lacks(
        Topic::Queue,
        1,
        &[delete, week],
        &[("cleanup.policy", &["until it is published again"])],
    );
    lacks(Topic::Queue, 1, &[delete, ("retention.ms", "-1")], &[]);
    let day = ("delete.retention.ms", "86400000");
    lacks(
        Topic::Queue,
        1,
        &[compact, ("min.compaction.lag.ms", "1209600000"), day],
        &[("delete.retention.ms", &["24 h", "away for longer", "1296000000"])],
    );
    lacks(Topic::Pilot, 4, &[compact, lag], &[("min.compaction.lag.ms", &["node_window_h (3 h)"])]);
    let month = ("retention.ms", "2592000000");
    lacks(Topic::Task, 4, &[compact, month], &[("cleanup.policy", &["several records"])]);
    let answered =
        ["answer_lifetime_d (1440 h)", "requests, which would be answered twice (336 h)"];
    lacks(Topic::Decision, 2, &[delete, week], &[("retention.ms", &answered)]);
    lacks(Topic::Decision, 2, &[delete, month], &[("retention.ms", &answered[..1])]);
    let small = ("max.message.bytes", "100000");
    let months = ("retention.ms", "5184000000");
    lacks(Topic::Decision, 2, &[delete, months, small], &[("max.message.bytes", &["900000"])]);
    let stamp: (&str, &[&str]) = ("message.timestamp.type", &["LogAppendTime"]);
    let create = ("message.timestamp.type", "CreateTime");
    lacks(Topic::Progress, 2, &[delete, month, create], &[("partitions", &["2", "order"]), stamp]);
    let month = ("retention.ms", "2678400000");
    lacks(Topic::JobState, 8, &[delete, month, create], &[stamp]);
}

#[test]
fn every_topic_that_is_deleted_by_age_has_its_longest_reader_first() {
    let topology = Topology::default_atlas();
    for (topic, settings) in &topology.topics {
        let readers = readers(&topology, *topic);
        assert!(readers.windows(2).all(|pair| pair[0].length >= pair[1].length), "{readers:?}");
        let longest = readers.first().map_or(0, |reader| reader.length);
        let kept = settings.retention_ms.unwrap_or(i64::MAX);
        assert!(longest <= kept, "{}: {readers:?}", topic.name());
    }
}
