//! One binary for all tests that use the crate from outside.

#[cfg(feature = "shell")]
mod api;
#[cfg(feature = "shell")]
mod archive;
#[cfg(feature = "tls")]
mod arex;
#[cfg(feature = "shell")]
mod ask;
#[cfg(feature = "shell")]
mod broker;
mod cases;
#[cfg(feature = "shell")]
mod compare;
#[cfg(feature = "shell")]
mod compose;
mod conform;
mod conform_cms;
mod conform_generic;
mod contract;
mod crash;
#[cfg(feature = "shell")]
mod dashboards;
#[cfg(feature = "shell")]
mod demo;
#[cfg(feature = "shell")]
mod dirlog;
mod docs;
#[cfg(feature = "shell")]
mod domains;
mod drive;
#[cfg(feature = "shell")]
mod estimate;
#[cfg(feature = "shell")]
mod exec;
#[cfg(feature = "shell")]
mod explain;
#[cfg(feature = "shell")]
mod faults;
#[cfg(all(feature = "shell", target_os = "linux"))]
mod full;
mod fuzz;
#[cfg(feature = "shell")]
mod grid;
#[cfg(feature = "shell")]
mod hold;
#[cfg(feature = "shell")]
mod http;
mod import;
mod intake;
#[cfg(feature = "shell")]
mod judge;
#[cfg(feature = "shell")]
mod kafka;
#[cfg(feature = "shell")]
mod kill;
mod laws;
#[cfg(feature = "shell")]
mod letters;
#[cfg(feature = "shell")]
mod lint;
mod logs;
#[cfg(feature = "shell")]
mod nordugrid;
#[cfg(feature = "shell")]
mod other_rules;
#[cfg(feature = "shell")]
mod output;
mod own_domain;
mod own_kind;
#[cfg(feature = "shell")]
mod packaging;
#[cfg(feature = "shell")]
mod page;
#[cfg(feature = "shell")]
mod panda;
mod peers;
#[cfg(feature = "shell")]
mod plain_calls;
mod pool;
mod pool_rules;
#[cfg(feature = "shell")]
mod publish;
mod published;
#[cfg(feature = "shell")]
mod read_ahead;
mod reasons;
#[cfg(feature = "shell")]
mod registry;
#[cfg(feature = "shell")]
mod retention;
#[cfg(feature = "tls")]
mod secure;
#[cfg(feature = "shell")]
mod shift;
mod sim;
#[cfg(feature = "shell")]
mod sim_cms;
#[cfg(feature = "shell")]
mod sim_nordugrid;
#[cfg(feature = "shell")]
mod sim_panda;
#[cfg(feature = "shell")]
mod store;
#[cfg(feature = "shell")]
mod tail;
mod targets;
mod tidy;
#[cfg(feature = "shell")]
mod top;
mod topology;
mod topology_cms;
#[cfg(feature = "shell")]
mod traces;
mod verbs;
mod wire;
mod world;
