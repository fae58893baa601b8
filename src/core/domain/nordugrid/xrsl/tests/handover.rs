//! Jobs as they are handed over: the ADL that is written is read as the description was.

use super::arc::rows;
use super::{Alternative, Value, only};
use crate::domain::nordugrid::xrsl::{
    AdlError, Description, Dialect, Handover, InputFile, NameCondition, Relation,
    SoftwareCondition, mark_in, read, to_adl,
};

const QUEUE: &str = "the-queue";

fn handover(environments: &[String]) -> Handover<'_> {
    let (delegation, dialect) = (None, Dialect::User);
    Handover { queue: QUEUE, environments, delegation, mark: "m:1", description: "", dialect }
}

/// Environments of which each is the one that a job asks for.
fn as_asked(job: &Alternative) -> Vec<String> {
    let text = |it: &SoftwareCondition| {
        let dash = if it.version.is_empty() { "" } else { "-" };
        let beyond = if it.relation == Relation::Greater { ".1" } else { "" };
        format!("{}{dash}{}{beyond}", it.name, it.version)
    };
    let wanted = job.runtime_environment.iter().filter(|it| it.relation != Relation::NotEqual);
    wanted.map(text).collect()
}

fn written(job: &Alternative) -> String {
    to_adl(job, &handover(&as_asked(job))).unwrap_or_else(|error| panic!("{error}"))
}

/// A job as it is handed over, in the form in which it is read from ADL: what ADL has no words for
/// is gone, and files that are uploaded are listed.
fn expected(job: &Alternative) -> Alternative {
    let mut it = job.clone();
    let executable = text(&it, "executable");
    it.input_files.iter_mut().for_each(|file| {
        file.executable |= file.name == executable;
    });
    for name in std::mem::take(&mut it.implied_uploads) {
        let (source, path, executable) = (String::new(), name.clone(), name == executable);
        let (cache, local) = Default::default();
        it.input_files.push(InputFile { name, source, path, executable, cache, local });
    }
    it.queue = vec![NameCondition { relation: Relation::Equal, name: QUEUE.to_owned() }];
    it.cpu_time_s = it.cpu_time_s.or(it.grid_time_s);
    it.wall_time_s = it.wall_time_s.or(it.grid_time_s.map(|grid_s| grid_s * it.count));
    it.grid_time_s = None;
    it.cluster.clear();
    it.middleware.clear();
    it.architecture.retain(|it| it.relation == Relation::Equal);
    it.operating_system.retain(|it| it.relation == Relation::Equal);
    it.runtime_environment.retain(|it| it.relation == Relation::Equal);
    it.count_given |= it.exclusive_execution.is_some();
    it
}

/// What ADL states of a job, without the words in which it does.
fn bare(job: &Alternative) -> Alternative {
    let mut it = job.clone();
    for file in &mut it.input_files {
        // The path of an upload stays here.
        file.path = if file.source.is_empty() { file.name.clone() } else { String::new() };
    }
    it.attributes.clear();
    it.notes.clear();
    it.unknown_attributes.clear();
    it.priority = it.priority.filter(|priority| *priority >= 0);
    it
}

fn text(job: &Alternative, name: &str) -> String {
    let values = all(job, name);
    values.last().map(|value| format!("{value:?}")).map_or(String::new(), |_| match values.last() {
        Some(Value::Text(text)) => text.clone(),
        Some(Value::List(_)) | None => String::new(),
    })
}

fn all(job: &Alternative, name: &str) -> Vec<Value> {
    let named = job.attributes.iter().filter(|it| it.name == name);
    named.flat_map(|it| it.values.clone()).collect()
}

fn reading(adl: &str) -> Alternative {
    let Description { mut jobs } =
        read(adl, Dialect::User).unwrap_or_else(|error| panic!("{adl}: {error}"));
    assert_eq!((jobs.len(), jobs[0].len()), (1, 1), "{adl}");
    jobs.remove(0).remove(0)
}

/// Every text of ARC's table that is read: nothing is lost that ADL has words for.
#[test]
fn every_job_is_read_from_its_adl_as_from_its_xrsl() {
    let mut compared = 0;
    for row in rows() {
        let Ok(description) = read(&row.text, Dialect::User) else { continue };
        for job in description.jobs.iter().flatten() {
            if text(job, "executable").is_empty() {
                continue;
            }
            let adl = written(job);
            let back = reading(&adl);
            let mut wanted = bare(&expected(job));
            let mut found = bare(&back);
            // A bound is met by an environment that is named.
            let chosen = std::mem::take(&mut found.runtime_environment);
            let asked = std::mem::take(&mut wanted.runtime_environment);
            assert!(asked.iter().all(|it| chosen.contains(it)), "{}\n{adl}", row.name);
            assert_eq!(found, wanted, "{}\n{}\n{adl}", row.name, row.text);
            for name in ["jobname", "executable", "stdin", "stdout", "gmlog", "rerun"] {
                assert_eq!(text(&back, name), text(job, name), "{name} of {}", row.name);
            }
            for name in ["arguments", "environment"] {
                assert_eq!(all(&back, name), all(job, name), "{name} of {}", row.name);
            }
            compared += 1;
        }
    }
    assert!(compared > 70, "{compared}");
}

#[test]
fn of_environments_that_meet_all_bounds_the_highest_is_named() {
    let published = ["ROOT-6.9", "ROOT-6.20", "ROOT-6.14", "ROOT-7.1-beta", "OTHER-9", "ENV/PROXY"];
    let published = published.map(str::to_owned);
    let chosen = |asked: &str| {
        let job = only(&format!("&(executable=/bin/a){asked}"));
        to_adl(&job, &handover(&published)).map(|adl| {
            let back = reading(&adl).runtime_environment;
            back.iter()
                .map(|it| format!("{}:{}", it.name, it.version))
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    let found = |text: &str| Ok(text.to_owned());
    let gone = |text: &str| Err(AdlError::NoEnvironment(text.to_owned()));
    assert_eq!(chosen(""), found(""));
    assert_eq!(
        chosen("(runtimeenvironment>=ROOT-6.10)(runtimeenvironment<ROOT-7)"),
        found("ROOT:6.20")
    );
    assert_eq!(
        chosen(
            "(runtimeenvironment>=ROOT-6.10)(runtimeenvironment!=ROOT-6.20)(runtimeenvironment<=ROOT-6.20)"
        ),
        found("ROOT:6.14")
    );
    assert_eq!(chosen("(runtimeenvironment=ROOT-6.09)"), found("ROOT:6.9"), "as it is published");
    assert_eq!(
        chosen("(runtimeenvironment=ROOT-6.14)(runtimeenvironment>=ROOT-6)"),
        found("ROOT:6.14")
    );
    assert_eq!(
        chosen("(runtimeenvironment=ROOT-6.14)(runtimeenvironment=ROOT-6.9)"),
        found("ROOT:6.14 ROOT:6.9")
    );
    assert_eq!(
        chosen("(runtimeenvironment=ENV/PROXY)(runtimeenvironment!=ROOT-5)"),
        found("ENV/PROXY:")
    );
    assert_eq!(chosen("(runtimeenvironment>=ROOT-8)"), gone(">=ROOT-8"));
    assert_eq!(chosen("(runtimeenvironment=NONE-1)"), gone("=NONE-1"));
    let with_options = only("&(executable=/bin/a)(runtimeenvironment>=ROOT-6 python \"x y\")");
    let adl = to_adl(&with_options, &handover(&published)).expect("it is there");
    assert!(adl.contains("<Option>python</Option><Option>x y</Option>"), "{adl}");
}

#[test]
fn credentials_stand_wherever_the_cluster_fetches_or_sends() {
    let job = only(
        "&(executable=run.sh)(stdout=o)(inputfiles=(a http://h/a \"cache=no\" \"threads=2\" \
         \"location=http://far/a\" \"cache=yes\")(b \"\"))(outputfiles=\
         (c \"srm://h;preserve=yes/c\")(d \"\")(e here))",
    );
    assert!(job.is_staged_by_the_cluster());
    assert_eq!(job.uploads().collect::<Vec<_>>(), [("b", "b"), ("run.sh", "run.sh")]);
    let to = Handover { delegation: Some("d&1"), ..handover(&[]) };
    let adl = to_adl(&job, &to).expect("all of it is XML");
    let id = "<DelegationID>d&amp;1</DelegationID>";
    let has = |part: String| assert!(adl.contains(&part), "{part} is not in {adl}");
    has(format!(
        "<Source><URI>http://h/a</URI>{id}<Option><Name>threads</Name><Value>2</Value></Option>\
         <Option><Name>cache</Name><Value>no</Value></Option></Source>\
         <Source><URI>http://far/a</URI></Source>"
    ));
    has(format!(
        "<Target><URI>srm://h/c</URI>{id}\
         <Option><Name>preserve</Name><Value>yes</Value></Option></Target>"
    ));
    has("<InputFile><Name>b</Name></InputFile>".to_owned());
    has("<OutputFile><Name>e</Name></OutputFile>".to_owned());
    has("<OutputFile><Name>o</Name></OutputFile>".to_owned());
    has("<ng:DelegationID>d&amp;1</ng:DelegationID>".to_owned());
    let plain = only("&(executable=/bin/a)(inputfiles=(b \"\"))(outputfiles=(c \"\"))");
    assert!(!plain.is_staged_by_the_cluster());
    assert!(!to_adl(&plain, &handover(&[])).expect("all of it is XML").contains("DelegationID"));
}

#[test]
fn what_a_user_wrote_is_text_in_xml_and_nothing_else() {
    let job = only(
        "&(executable=\"/bin/<a>&\"\"'\")(arguments=\" two  blanks\" \"a\r\nb\" \"\" \"]]>\")",
    );
    let back = reading(&written(&job));
    assert_eq!(
        (text(&back, "executable"), all(&back, "arguments")),
        (text(&job, "executable"), all(&job, "arguments"))
    );
    assert!(written(&job).contains("a&#13;\nb"), "as it is it would be a line feed to ARC");
    let bad = only("&(executable=/bin/a)(arguments=\"\u{1}\")");
    assert_eq!(to_adl(&bad, &handover(&[])), Err(AdlError::Character('\u{1}')));
}

#[test]
fn notices_lifetimes_and_grid_times_are_in_the_units_of_adl() {
    let job = only(
        "&(executable=/bin/a)(count=4)(gridtime=10)(lifetime=\"2 days\")(memory=3)\
         (notify=\"bf a@h b@h\" c@h)(nodeaccess=inbound outbound)(stdout=o)(join=yes)",
    );
    let adl = written(&job);
    for part in [
        "<TotalCPUTime>600</TotalCPUTime><WallTime>2400</WallTime>",
        "<WipeTime>PT172800S</WipeTime>",
        "<IndividualPhysicalMemory>3145728</IndividualPhysicalMemory>",
        "<Recipient>b@h</Recipient><OnState>PREPROCESSING</OnState><OnState>POSTPROCESSING</OnState>",
        "<Recipient>c@h</Recipient><OnState>PREPROCESSING</OnState><OnState>TERMINAL</OnState>",
        "<NodeAccess>inoutbound</NodeAccess>",
        "<Output>o</Output><Error>o</Error>",
    ] {
        assert!(adl.contains(part), "{part} is not in {adl}");
    }
}

/// What only ARC reads stays, the queue is the target's, and files are added as ARC's client does.
#[test]
fn a_job_that_is_written_in_adl_is_handed_over_as_it_is_written() {
    let before = "<?xml version=\"1.0\"?><!-- mine --><a:ActivityDescription \
        xmlns:a=\"http://www.eu-emi.eu/es/2010/12/adl\"><a:Application><a:Executable>\
        <a:Path>run.sh</a:Path></a:Executable><a:Output>o</a:Output><a:PreExecutable>\
        <a:Path>/bin/true</a:Path></a:PreExecutable></a:Application><a:Resources>\
        <a:QueueName>old</a:QueueName><a:Coprocessor>CUDA</a:Coprocessor></a:Resources>\
        <a:DataStaging><a:InputFile><a:Name>x&amp;y</a:Name><a:Source><a:URI>http://h/x</a:URI>\
        <a:DelegationID>old</a:DelegationID></a:Source></a:InputFile></a:DataStaging>\
        </a:ActivityDescription>";
    let job = only(before);
    let to = Handover { delegation: Some("new"), description: before, ..handover(&[]) };
    let after = before
        .replace("<a:QueueName>old</a:QueueName>", "")
        .replace("</a:Resources>", "<a:QueueName>the-queue</a:QueueName></a:Resources>")
        .replace("<a:DelegationID>old</a:DelegationID>", "<a:DelegationID>new</a:DelegationID>")
        .replace(
            "</a:DataStaging>",
            "<a:InputFile><a:Name>run.sh</a:Name><a:IsExecutable>true</a:IsExecutable>\
             </a:InputFile><a:OutputFile><a:Name>o</a:Name></a:OutputFile><ng:DelegationID \
             xmlns:ng=\"http://www.nordugrid.org/es/2011/12/nordugrid-adl\">new</ng:DelegationID>\
             </a:DataStaging>",
        )
        .replace("</a:ActivityDescription>", "<!--yardmaster:m:1--></a:ActivityDescription>");
    assert_eq!(to_adl(&job, &to).as_deref(), Ok(after.as_str()));

    let bare = "<ActivityDescription><Application><Executable><Path>/bin/a</Path></Executable>\
                </Application></ActivityDescription>";
    let to = Handover { description: bare, ..handover(&[]) };
    let after = bare.replace(
        "</ActivityDescription>",
        "<Resources><QueueName>the-queue</QueueName></Resources><DataStaging></DataStaging>\
         <!--yardmaster:m:1--></ActivityDescription>",
    );
    assert_eq!(to_adl(&only(bare), &to).as_deref(), Ok(after.as_str()));
    assert_eq!((mark_in(bare), mark_in(&after)), (None, Some("m:1")));
    // What a cluster has kept is handed over again.
    let to = Handover { description: &after, mark: "m:2", ..to };
    let again = to_adl(&only(&after), &to).unwrap();
    assert_eq!(mark_in(&again), Some("m:2"), "{again}");
    let empty = bare.replace("</ActivityDescription>", "<Resources/></ActivityDescription>");
    let to = Handover { description: &empty, ..handover(&[]) };
    assert!(to_adl(&only(&empty), &to).is_ok_and(|adl| adl == after), "an empty part");
}
