//! The attributes of xRSL: what each takes (B.9, table).

use super::Relation;

/// Form of the values that an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One string.
    Text,
    /// Any number of strings.
    Texts,
    /// Any number of lists of so many strings.
    Rows(usize),
    /// One whole number within a range.
    Number(i128, i128),
    /// One time.
    Time,
    /// yes, true, no or false.
    Flag,
    /// One name, asked for or refused.
    Name,
    /// Software with a version, in any relation, and whether options may follow.
    Software { has_options: bool },
    /// inbound, outbound or both.
    Access,
    /// Files with their options.
    Files,
    /// An option for the cache.
    Cache,
    /// Variables.
    Substitution,
}

impl Form {
    /// Whether it may stand in a relation.
    pub(super) fn takes(self, relation: Relation) -> bool {
        match self {
            Form::Software { .. } => true,
            Form::Name => matches!(relation, Relation::Equal | Relation::NotEqual),
            _ => relation == Relation::Equal,
        }
    }
}

/// A known attribute.
#[derive(Debug)]
pub(super) struct KnownAttribute {
    /// Name in lower case without underscores.
    pub(super) name: &'static str,
    /// Form of its values.
    pub(super) form: Form,
    /// Whether it may stand more than once in an alternative.
    pub(super) repeats: bool,
}

const ANY: Form = Form::Number(i128::MIN, i128::MAX);
const SLOTS: Form = Form::Number(1, u64::MAX as i128);
const MEGABYTES: Form = Form::Number(0, (u64::MAX >> 20) as i128);
const SOFTWARE: Form = Form::Software { has_options: false };
const ENVIRONMENT: Form = Form::Software { has_options: true };

const fn once(name: &'static str, form: Form) -> KnownAttribute {
    KnownAttribute { name, form, repeats: false }
}

const fn repeated(name: &'static str, form: Form) -> KnownAttribute {
    KnownAttribute { name, form, repeats: true }
}

/// Every known attribute, in order of name.
static ALL: [KnownAttribute; 48] = [
    repeated("acl", Form::Texts),
    once("action", Form::Text),
    repeated("architecture", Form::Name),
    once("arguments", Form::Texts),
    repeated("benchmarks", Form::Rows(3)),
    once("cache", Form::Cache),
    once("clientsoftware", Form::Text),
    once("clientxrsl", Form::Text),
    repeated("cluster", Form::Name),
    once("count", SLOTS),
    once("countpernode", SLOTS),
    once("cputime", Form::Time),
    repeated("credentialserver", Form::Texts),
    once("delegationid", Form::Text),
    once("disk", MEGABYTES),
    once("dryrun", Form::Flag),
    repeated("environment", Form::Rows(2)),
    once("exclusiveexecution", Form::Flag),
    once("executable", Form::Text),
    repeated("executables", Form::Texts),
    once("ftpthreads", Form::Number(1, 10)),
    once("gmlog", Form::Text),
    once("gridtime", Form::Time),
    once("hostname", Form::Text),
    repeated("inputfiles", Form::Files),
    once("jobid", Form::Text),
    once("jobname", Form::Text),
    repeated("jobreport", Form::Texts),
    once("join", Form::Flag),
    once("lifetime", Form::Time),
    once("memory", MEGABYTES),
    repeated("middleware", SOFTWARE),
    repeated("nodeaccess", Form::Access),
    repeated("notify", Form::Texts),
    repeated("opsys", SOFTWARE),
    repeated("outputfiles", Form::Files),
    once("priority", ANY),
    repeated("queue", Form::Name),
    once("replicacollection", Form::Text),
    once("rerun", ANY),
    repeated("rslsubstitution", Form::Substitution),
    repeated("runtimeenvironment", ENVIRONMENT),
    once("savestate", Form::Text),
    once("starttime", Form::Text),
    once("stderr", Form::Text),
    once("stdin", Form::Text),
    once("stdout", Form::Text),
    once("walltime", Form::Time),
];

/// The attribute of a name. `None`: it is not known.
pub(super) fn known(name: &str) -> Option<&'static KnownAttribute> {
    ALL.iter().find(|it| it.name == name)
}
