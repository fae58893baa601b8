//! The attributes of xRSL: what each takes (B.9, table).

use super::Relation;

/// Form of the values that an attribute takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One string.
    Text,
    /// Any number of strings.
    Texts,
    /// Any number of pairs of strings.
    Pairs,
    /// One whole number within a range.
    Number(i128, i128),
    /// One amount in MB, of which a fraction is cut off.
    Megabytes,
    /// One time.
    Time,
    /// yes, true, no or false.
    Flag,
    /// One name, asked for or refused.
    Name,
    /// One name, asked for.
    Platform,
    /// Software with a version, in any relation, and whether options may follow.
    Software { has_options: bool },
    /// inbound, outbound or both.
    Access,
    /// Input files with their options.
    Files,
    /// Output files with their options.
    Outputs,
    /// Benchmarks: lists of a name, a value and a time.
    Benchmarks,
    /// Addresses, each behind the states that it is sent.
    Notify,
    /// An option for the cache.
    Cache,
    /// Variables.
    Substitution,
}

/// How a relation is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// As it stands.
    AsWritten,
    /// As `=`, with a note: so ARC reads relations that mean nothing to it.
    AsEqual,
    /// It is an error: the relation cannot be dropped without another meaning.
    Not,
}

impl Form {
    /// How it takes a relation.
    pub(super) fn takes(self, relation: Relation) -> Taken {
        match (self, relation) {
            (_, Relation::Equal)
            | (Form::Software { .. }, _)
            | (Form::Name, Relation::NotEqual) => Taken::AsWritten,
            (Form::Name | Form::Platform, _) => Taken::Not,
            _ => Taken::AsEqual,
        }
    }
}

/// What holds if an attribute stands more than once in an alternative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repetition {
    /// All of it.
    Adds,
    /// The last one, with a note.
    Replaces,
    /// It is an error, for ARC as well.
    Fails,
}

/// A known attribute.
#[derive(Debug)]
pub(super) struct KnownAttribute {
    /// Name in lower case without underscores.
    pub(super) name: &'static str,
    /// Form of its values.
    pub(super) form: Form,
    /// What holds if it stands more than once in an alternative.
    pub(super) again: Repetition,
}

const ANY: Form = Form::Number(i128::MIN, i128::MAX);
const SLOTS: Form = Form::Number(1, u64::MAX as i128);
const SOFTWARE: Form = Form::Software { has_options: false };
const ENVIRONMENT: Form = Form::Software { has_options: true };

const fn once(name: &'static str, form: Form) -> KnownAttribute {
    KnownAttribute { name, form, again: Repetition::Fails }
}

const fn last(name: &'static str, form: Form) -> KnownAttribute {
    KnownAttribute { name, form, again: Repetition::Replaces }
}

const fn repeated(name: &'static str, form: Form) -> KnownAttribute {
    KnownAttribute { name, form, again: Repetition::Adds }
}

/// Every known attribute, in order of name.
static ALL: [KnownAttribute; 48] = [
    repeated("acl", Form::Texts),
    last("action", Form::Text),
    once("architecture", Form::Platform),
    once("arguments", Form::Texts),
    last("benchmarks", Form::Benchmarks),
    last("cache", Form::Cache),
    last("clientsoftware", Form::Text),
    last("clientxrsl", Form::Text),
    repeated("cluster", Form::Name),
    last("count", SLOTS),
    last("countpernode", SLOTS),
    last("cputime", Form::Time),
    repeated("credentialserver", Form::Texts),
    last("delegationid", Form::Text),
    last("disk", Form::Megabytes),
    last("dryrun", Form::Flag),
    repeated("environment", Form::Pairs),
    last("exclusiveexecution", Form::Flag),
    once("executable", Form::Text),
    repeated("executables", Form::Texts),
    last("ftpthreads", Form::Number(1, 10)),
    once("gmlog", Form::Text),
    last("gridtime", Form::Time),
    last("hostname", Form::Text),
    repeated("inputfiles", Form::Files),
    last("jobid", Form::Text),
    once("jobname", Form::Text),
    repeated("jobreport", Form::Texts),
    last("join", Form::Flag),
    last("lifetime", Form::Time),
    last("memory", Form::Megabytes),
    repeated("middleware", SOFTWARE),
    repeated("nodeaccess", Form::Access),
    repeated("notify", Form::Notify),
    repeated("opsys", SOFTWARE),
    repeated("outputfiles", Form::Outputs),
    last("priority", ANY),
    repeated("queue", Form::Name),
    last("replicacollection", Form::Text),
    last("rerun", ANY),
    repeated("rslsubstitution", Form::Substitution),
    repeated("runtimeenvironment", ENVIRONMENT),
    last("savestate", Form::Text),
    last("starttime", Form::Text),
    once("stderr", Form::Text),
    once("stdin", Form::Text),
    once("stdout", Form::Text),
    last("walltime", Form::Time),
];

/// The attribute of a name. `None`: it is not known.
pub(super) fn known(name: &str) -> Option<&'static KnownAttribute> {
    ALL.iter().find(|it| it.name == name)
}
