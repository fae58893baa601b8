//! The catalogue of topics: each kind of record with all that is true of it wherever it is read.

/// Role of a topic's records in the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Reports of what happened. One that states a time ahead of the log's has no effect.
    Report,
    /// Requests for brokerage. They want an answer whatever time they state.
    Request,
    /// Slowly changing facts by name: a null removes one, and silence is no sign of trouble.
    Configuration,
    /// Published by the leader and folded by every process: they count like any event.
    Folded,
    /// Published by the leader and read back, but not folded.
    ReadBack,
    /// Published by the leader for others.
    Published,
    /// Written by clients and read beside the fold: no decision depends on it.
    Beside,
}

/// Which topology files must have a topic. Others may leave it out; then it is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Every one.
    All,
    /// Those with a policy whose candidates are targets: clusters' queues (NorduGrid).
    Targets,
    /// Only those that give offered slots to waiting jobs.
    Offers,
    /// Those with a policy of a domain that a program brings.
    Domains,
    /// None: without it nothing but what is read there is missing.
    Optional,
}

/// Hands the catalogue to a macro: number (persisted: none is ever given again), type, name (that
/// of its schema, its default name in a log, its metric label), class, which topologies need it,
/// the releases that have a version of its schema, who writes it, and what reads it.
#[macro_export]
macro_rules! each_topic {
    ($then:ident) => {
        $then! {
            0 JobState "job-state" Report All [1 2 3],
                "the workload system", "fold: load, windows, reservations";
            1 Heartbeat "heartbeat" Report All [1 2],
                "the workload system", "fold: signs of life, disk I/O";
            2 Transfer "transfer" Report All [1 2 3],
                "the data management system", "fold: queued files, throughput";
            3 Pilot "pilot" Report All [1 2 3 4],
                "pilots and the workers' harvester", "fold: nodes, workers, slots";
            4 Task "task" Request All [1 2 3 4],
                "the workload system", "fold: requests to judge";
            5 Outcome "outcome" Report All [1 2],
                "the workload system", "fold: ends of reservations";
            6 Queue "queue" Configuration All [1 2 4],
                "`import cric`, operators", "fold: candidates";
            7 Site "site" Configuration All [1 2 3],
                "`import nuclei`, `import pool-sites`, operators", "fold: nuclei, sites of a pool";
            8 Storage "storage" Configuration All [1 2],
                "`import storage`, operators", "fold: space and status";
            9 Link "link" Configuration All [1 2],
                "`import netmetrics`, the network service", "fold: links";
            10 Release "release" Configuration All [1 2],
                "`import releases`, operators", "fold: published software";
            11 Replica "replica" Configuration All [1 2],
                "intake, `import replicas`, operators", "fold: where datasets lie";
            12 Share "share" Configuration All [1 2],
                "`import shares`, operators", "fold: share tree and targets";
            13 Quota "quota" Configuration All [1 2],
                "`import quotas`, operators", "fold: quotas";
            14 User "user" Configuration All [1 2 3],
                "`import members`, operators", "fold: users, groups, caps";
            15 Parameter "parameter" Configuration All [1 2],
                "`import gdpconfig`, operators", "fold: run-time parameters";
            16 Decision "decision" Folded All [1 2 3],
                "the leader", "fold (every process), the workload system";
            17 Throttle "throttle" Folded All [1 2 3],
                "the leader", "fold (every process), the workload system";
            18 Command "command" Folded All [1 2 3],
                "the leader", "fold (every process), what carries commands out";
            19 Progress "progress" ReadBack All [1 2],
                "the leader", "every process: the cycles in order";
            20 Counter "counter" Published All [1 2],
                "the leader", "dashboards and other programs";
            21 DeadLetter "dead-letter" ReadBack All [1 2],
                "the leader", "every process on a rebuild: what was unreadable stays so; operators";
            22 Registration "registration" Configuration Targets [],
                "index servers of NorduGrid", "fold: which clusters there are";
            23 UserShare "user-share" Configuration Targets [],
                "clusters of NorduGrid", "fold: what is free for each user at a queue";
            24 Grant "grant" Configuration Offers [3],
                "operators", "fold: who goes first in a pool of slots";
            25 Comparison "comparison" Beside Optional [],
                "clients that ask a broker of their own as well",
                "`compare`, `explain`, metrics of `run`";
            26 DomainRecord "domain-record" Configuration Domains [],
                "`import domain-records`, a program's own domain", "fold: for that domain alone";
        }
    };
}
pub use each_topic;

macro_rules! topics {
    ($(
        $number:literal $kind:ident $name:literal $class:ident $need:ident
            [$($release:tt)*],
            $writer:literal, $reader:literal;
    )*) => {
        /// A kind of topic. The name in the log comes from the topology file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Topic { $(#[doc = $name] $kind = $number,)* }

        impl Topic {
            /// Every topic there is, in order of their numbers.
            pub const ALL: &'static [Topic] = &[$(Topic::$kind,)*];

            /// Its name: that of its schema, its default name in a log, its metric label.
            pub const fn name(self) -> &'static str {
                match self { $(Topic::$kind => $name,)* }
            }

            /// The topic of a word.
            pub fn from_name(name: &str) -> Option<Topic> {
                match name { $($name => Some(Topic::$kind),)* _ => None }
            }

            /// Role of its records in the engine.
            pub const fn class(self) -> Class {
                match self { $(Topic::$kind => Class::$class,)* }
            }

            /// Which topology files must have it.
            pub const fn need(self) -> Need {
                match self { $(Topic::$kind => Need::$need,)* }
            }

            /// Who writes it.
            pub const fn writer(self) -> &'static str {
                match self { $(Topic::$kind => $writer,)* }
            }

            /// Its readers.
            pub const fn reader(self) -> &'static str {
                match self { $(Topic::$kind => $reader,)* }
            }
        }
    };
}
each_topic!(topics);

impl Topic {
    /// The topic of a persisted number.
    pub fn from_number(number: u8) -> Option<Topic> {
        Topic::ALL.get(usize::from(number)).copied()
    }

    /// Topics that processes read, in order of their numbers.
    pub fn read() -> impl Iterator<Item = Topic> {
        Topic::ALL.iter().copied().filter(|topic| topic.is_read())
    }

    /// Whether processes read it.
    pub const fn is_read(self) -> bool {
        !matches!(self.class(), Class::Published | Class::Beside)
    }

    /// Whether the leader publishes it.
    pub const fn is_own(self) -> bool {
        matches!(self.class(), Class::Folded | Class::ReadBack | Class::Published)
    }

    /// Whether the leader publishes it, and processes read it.
    pub const fn is_read_back(self) -> bool {
        self.is_own() && self.is_read()
    }

    /// Whether the leader publishes it, and it is folded like any event.
    pub const fn is_folded_output(self) -> bool {
        matches!(self.class(), Class::Folded)
    }

    /// Whether it holds reports of what happened.
    pub const fn is_report(self) -> bool {
        matches!(self.class(), Class::Report)
    }

    /// Whether it holds slowly changing facts.
    pub const fn is_configuration(self) -> bool {
        matches!(self.class(), Class::Configuration)
    }

    /// Whether two domains may read one topic of this kind: its records name their domain (`task`,
    /// `comparison`), or are facts that are the same for all of them. A record of a job, an outcome
    /// or a pilot names no domain, so each domain would count it as its own, and an offer would be
    /// taken twice.
    pub const fn may_be_shared(self) -> bool {
        self.is_configuration() || matches!(self, Topic::Task | Topic::Transfer | Topic::Comparison)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Configuration;

    #[test]
    fn topics_have_their_numbers_and_names() {
        for (index, topic) in Topic::ALL.iter().enumerate() {
            assert_eq!(*topic as usize, index);
            assert_eq!(Topic::from_name(topic.name()), Some(*topic));
            assert_eq!(Topic::from_number(index as u8), Some(*topic));
        }
        assert_eq!(Topic::from_number(27), None);
    }

    #[test]
    fn what_a_leader_publishes_and_what_counts_as_its_own_work_is_not_shared() {
        for topic in Topic::ALL {
            let is_of_one = topic.is_own()
                || [Topic::JobState, Topic::Heartbeat, Topic::Pilot, Topic::Outcome]
                    .contains(topic);
            assert_eq!(topic.may_be_shared(), !is_of_one, "{}", topic.name());
        }
    }

    #[test]
    fn every_configuration_topic_has_a_kind_of_record() {
        let mut kinds = Configuration::TOPICS.to_vec();
        kinds.sort();
        let topics = Topic::read().filter(|topic| topic.is_configuration());
        assert_eq!(kinds, topics.collect::<Vec<_>>());
    }
}
