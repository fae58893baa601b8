//! The meaning of descriptions: the examples of B.9, alternatives, variables, files, options.

use super::{alternatives, jobs, only, strings};
use crate::domain::nordugrid::xrsl::{CacheOption, NodeAccess, Relation};

const MIB: u64 = 1 << 20;

#[test]
fn example_1_asks_for_slots_time_memory_disk_and_three_files() {
    let job = only(
        "&(executable=run.sh)(count=4)(cputime=\"2 hours\")(memory=2000)(disk=500)\
         (inputfiles=(\"d\" \"rls://x/raw1\")(\"c\" \"gsiftp://y/c\" \"cache=no\")(\"s\" \"\"))",
    );
    assert_eq!((job.count, job.count_given, job.cpu_time_s), (4, true, Some(7_200)));
    assert_eq!((job.memory_mb, job.disk_bytes), (Some(2_000), 500 * MIB));
    let files = job.input_files.iter().map(|it| (it.name.as_str(), it.source.as_str(), it.cache));
    let expected = [
        ("d", "rls://x/raw1", CacheOption::Yes),
        ("c", "gsiftp://y/c", CacheOption::No),
        ("s", "", CacheOption::Yes),
    ];
    assert_eq!(files.collect::<Vec<_>>(), expected);
}

#[test]
fn example_2_has_two_alternatives_in_written_order() {
    assert_eq!(queues("&(executable=a)(|(queue=short)(queue=long))"), ["short", "long"]);
}

#[test]
fn example_3_has_conditions_on_software() {
    let job = only(
        "&(executable=a)(runtimeenvironment>=\"APPS/HEP/ROOT-6.20\")\
         (middleware!=\"nordugrid-arc-5.0\")",
    );
    let root = &job.runtime_environment[0];
    assert_eq!(root.relation, Relation::GreaterOrEqual);
    assert_eq!((root.name.as_str(), root.version.as_str()), ("APPS/HEP/ROOT", "6.20"));
    let arc = &job.middleware[0];
    assert_eq!(arc.relation, Relation::NotEqual);
    assert_eq!((arc.name.as_str(), arc.version.as_str()), ("nordugrid-arc", "5.0"));
}

#[test]
fn example_4_is_two_jobs() {
    let executables = |text: &str| {
        let jobs = jobs(text).jobs;
        let of = |job: &Vec<_>| strings(&job[0], "executable")[0].to_owned();
        jobs.iter().map(of).collect::<Vec<String>>()
    };
    assert_eq!(executables("+(&(executable=a))(&(executable=b))"), ["a", "b"]);
    let nested = "+(+(&(executable=a))(executable=b))(&(executable=c))";
    assert_eq!(executables(nested), ["a", "b", "c"]);
}

/// TN-42.
#[test]
fn names_lose_case_and_underscores_and_a_plain_time_is_minutes() {
    let job = only("&(Run_Time_Environment=X)(CPUTIME=5)");
    let names: Vec<&str> = job.attributes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["runtimeenvironment", "cputime"]);
    assert_eq!(job.cpu_time_s, Some(300));
    assert_eq!(job.runtime_environment[0].name, "X");
}

/// The name in the first condition on the queue of each alternative.
fn queues(text: &str) -> Vec<String> {
    let first = |it: &super::Alternative| it.queue.first().map(|it| it.name.clone());
    alternatives(text).iter().filter_map(first).collect()
}

#[test]
fn alternatives_are_flattened_in_place_and_multiply_the_first_slowest() {
    let nested = "&(|(|(queue=1)(|(queue=2)(queue=3)))(queue=4))";
    assert_eq!(queues(nested), ["1", "2", "3", "4"]);
    let both = alternatives("&(a=0)(|(queue=x)(queue=y))(b=0)(|(count=1)(count=2))(c=0)");
    let of = |it: &super::Alternative| format!("{}{}", it.queue[0].name, it.count);
    assert_eq!(both.iter().map(of).collect::<Vec<_>>(), ["x1", "x2", "y1", "y2"]);
    let names: Vec<&str> = both[3].attributes.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["a", "queue", "b", "count", "c"], "written order");
    assert_eq!(both[3].unknown_attributes, ["a", "b", "c"]);
}

#[test]
fn strings_are_bare_or_quoted_or_in_delimiters_of_their_own() {
    let arguments = |text: &str| {
        let job = only(&format!("&(arguments={text})"));
        strings(&job, "arguments").into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        arguments("a/b:c*~[i] 'it''s' \"say \"\"hi\"\"\""),
        ["a/b:c*~[i]", "it's", "say \"hi\""]
    );
    assert_eq!(arguments("^|a||b| ^zfuzzyz ^§x y§"), ["a|b", "fuzy", "x y"]);
    assert_eq!(arguments("a # b # c d(**)e"), ["abc", "d", "e"]);
    assert_eq!(arguments("\"\" '' a\rb\u{b}c\u{c}"), ["", "", "a", "b", "c"]);
}

#[test]
fn variables_hold_for_what_follows_in_the_same_branch() {
    let arguments = |text: &str| strings(&only(text), "arguments").join(" ");
    let define = "(rsl_substitution=(A x)(B $(A)y))";
    assert_eq!(arguments(&format!("&{define}(arguments=$(A)/z$(B) $(b) u$(A)#v)")), "x/zxy  uxv");
    assert_eq!(arguments("&(arguments=$(A))(rsl_substitution=(A 1))"), "", "defined afterwards");
    assert_eq!(arguments("&(&(rsl_substitution=(A 1)))(arguments=$(A))"), "", "in a branch");
    let again = "&(rsl_substitution=(A 1))(rsl_substitution=(A $(A)2))(arguments=$(A))";
    assert_eq!(arguments(again), "12");
    let inner = "&(rsl_substitution=(A 1))(|(&(rsl_substitution=(A 2))(queue=$(A)))(queue=$(A)))";
    assert_eq!(queues(inner), ["2", "1"]);
    let siblings = "&(|(rsl_substitution=(A 1))(queue=q$(A)))";
    assert_eq!(queues(siblings), ["q"], "an alternative defines nothing for the next");
    let two = jobs("+(&(rsl_substitution=(A 1))(stdin=$(A)))(&(stdin=$(A)))");
    assert_eq!(strings(&two.jobs[0][0], "stdin"), ["1"]);
    assert_eq!(strings(&two.jobs[1][0], "stdin"), [""]);
}

#[test]
fn the_general_cache_option_is_for_files_that_are_no_executables() {
    let job = only(
        "&(executable=a)(executables=x)(cache=copy)\
         (inputfiles=(\"x\" \"u:x\")(\"y\" \"u:y\" \"cache=no\" \"local=yes\" \"threads=3\"))\
         (inputfiles=(\"z\" \"\"))",
    );
    let files = job.input_files.iter();
    let files = files.map(|it| (it.name.as_str(), it.executable, it.cache, it.local));
    let expected = [
        ("x", true, CacheOption::Yes, false),
        ("y", false, CacheOption::No, true),
        ("z", false, CacheOption::Copy, false),
    ];
    assert_eq!(files.collect::<Vec<_>>(), expected);
}

#[test]
fn single_attributes_have_their_meaning() {
    let job = only(
        "&(nodeaccess=outbound)(nodeaccess=inbound)(priority=101)(exclusiveexecution=NO)(count=8)\
         (countpernode=4)(gridtime=60)(architecture=x86_64)(cluster!=c)(opsys<linux-5)\
         (runtimeenvironment=ENV/CONDA base)(disk=0)",
    );
    let access = job.node_access.expect("nodeaccess was given");
    assert_eq!(access.into_iter().collect::<Vec<_>>(), [NodeAccess::Inbound, NodeAccess::Outbound]);
    assert_eq!((job.priority, job.exclusive_execution), (Some(100), Some(false)));
    assert_eq!((job.count, job.count_per_node), (8, Some(4)));
    assert_eq!((job.grid_time_s, job.cpu_time_s, job.wall_time_s), (Some(3_600), None, None));
    assert_eq!(job.architecture[0].name, "x86_64");
    assert_eq!(
        (job.cluster[0].relation, job.operating_system[0].version.as_str()),
        (Relation::NotEqual, "5")
    );
    assert_eq!(job.runtime_environment[0].name, "ENV/CONDA");
    let plain = only("executable=a");
    assert_eq!((plain.count, plain.count_given, plain.disk_bytes), (1, false, 0));
    assert_eq!((plain.node_access, plain.priority), (None, None));
}

#[test]
fn options_of_a_source_stand_in_its_url_or_behind_it() {
    let job = only(
        "&(inputfiles=(a \"http://h;cache=no;local=yes/p\")(b \"srm://h:8443;threads=2/p?SFN=/x;y\")\
         (c \"https://h/p\" \"location=gsiftp://g/q\" \"cache=no\" \"local=yes\")\
         (d \"http://h;cache=no/p\" \"cache=renew\")(e \"dir/e;f\"))",
    );
    let files = job.input_files.iter();
    let files = files.map(|it| (it.source.as_str(), it.path.as_str(), it.cache, it.local));
    let expected = [
        ("http://h/p", "", CacheOption::No, true),
        ("srm://h:8443/p?SFN=/x;y", "", CacheOption::Yes, false),
        ("https://h/p", "", CacheOption::Yes, false),
        ("http://h/p", "", CacheOption::Renew, false),
        ("", "dir/e;f", CacheOption::Yes, false),
    ];
    assert_eq!(files.collect::<Vec<_>>(), expected);
}

#[test]
fn uploads_have_a_path_and_programs_are_uploads_unless_they_are_there_already() {
    let path = |source: &str| {
        let job = only(&format!("&(executable=/bin/a)(stdin=d)(inputfiles=(d \"{source}\"))"));
        assert_eq!(job.implied_uploads, Vec::<String>::new());
        (job.input_files[0].source.is_empty()).then(|| job.input_files[0].path.clone())
    };
    let uploads = [
        ("", "d"),
        ("sub/data.txt", "sub/data.txt"),
        ("/etc/hosts", "/etc/hosts"),
        ("file:///etc/hosts", "/etc/hosts"),
        ("file:/etc/hosts", "/etc/hosts"),
        ("FILE:data.txt", "data.txt"),
    ];
    uploads
        .iter()
        .for_each(|(source, at)| assert_eq!(path(source).as_deref(), Some(*at), "{source}"));
    for source in ["http://h/p", "rls://h/f", "u:f", "lfc://h/file:/x"] {
        assert_eq!(path(source), None, "{source}");
    }
    assert_eq!(only("&(executable=a)(stdin=a)").implied_uploads, ["a"]);
    assert_eq!(only("&(executable=bin/a)(stdin=b)").implied_uploads, ["bin/a", "b"]);
}

/// Of two queues that are asked for ARC keeps the last; a queue that is refused stays refused.
#[test]
fn the_last_of_two_queues_holds_and_so_does_every_refusal() {
    let job = only("&(queue!=a)(queue=b)(queue!=c)(queue=d)");
    let queues = job.queue.iter().map(|it| (it.relation.name(), it.name.as_str()));
    assert_eq!(queues.collect::<Vec<_>>(), [("!=", "a"), ("!=", "c"), ("=", "d")]);
    assert_eq!(job.notes[0].code.name(), "last_holds");
}

#[test]
fn adl_has_what_xrsl_has_beside_what_is_passed_over() {
    let job = only(
        "\u{feff} <?xml version='1.0'?><!-- a job -->\
         <a:ActivityDescription xmlns:a='http://www.eu-emi.eu/es/2010/12/adl'>\
         <a:Application><a:Executable><a:Path>a&amp;b</a:Path><a:Argument>&#65; <![CDATA[<]]>\
         </a:Argument></a:Executable></a:Application><a:Resources>\
         <a:RuntimeEnvironment><a:Name>ROOT</a:Name><a:Version>6.2</a:Version>\
         <a:Option>x</a:Option></a:RuntimeEnvironment>\
         <a:NodeAccess>inoutbound</a:NodeAccess>\
         <a:IndividualPhysicalMemory>1048577</a:IndividualPhysicalMemory>\
         <a:SlotRequirement><a:NumberOfSlots>4</a:NumberOfSlots>\
         <a:SlotsPerHost useNumberOfSlots='true'>1</a:SlotsPerHost>\
         <a:ExclusiveExecution>true</a:ExclusiveExecution></a:SlotRequirement>\
         <a:IndividualCPUTime>60</a:IndividualCPUTime><a:WallTime>90</a:WallTime></a:Resources>\
         <a:DataStaging><a:InputFile><a:Name>f</a:Name><a:Source><a:URI>http://h/f</a:URI>\
         <a:Option><a:Name>cache</a:Name><a:Value>no</a:Value></a:Option></a:Source>\
         <a:Source><a:URI>http://g/f</a:URI></a:Source></a:InputFile></a:DataStaging>\
         </a:ActivityDescription>",
    );
    assert_eq!(strings(&job, "executable"), ["a&b"]);
    assert_eq!(strings(&job, "arguments"), ["A <"]);
    assert_eq!(job.runtime_environment[0].version, "6.2");
    assert_eq!(job.node_access.map(|it| it.len()), Some(2));
    assert_eq!((job.memory_mb, job.wall_time_s, job.cpu_time_s), (Some(2), Some(90), None));
    assert_eq!((job.count, job.count_per_node, job.exclusive_execution), (4, Some(4), Some(true)));
    assert_eq!(
        (job.input_files[0].source.as_str(), job.input_files[0].cache.name()),
        ("http://h/f", "no")
    );
    assert_eq!(job.unknown_attributes, ["individualcputime"]);
}
