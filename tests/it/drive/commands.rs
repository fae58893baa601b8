//! Commands: each rule with the moment before and the moment at its threshold, what exempts from it,
//! and what the governor holds back.

mod circles;
mod exempt;
mod governor;
mod heartbeats;
mod outputs;
mod panda;
mod rebroker;
mod rules;
mod stage;
mod stale;
mod story;
mod twin;
mod week;
mod worked;
