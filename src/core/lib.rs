//! State, rules and decisions. No clock, environment, file or network: the same log gives the same
//! decisions on every machine.

#![forbid(unsafe_code)]

pub mod budget;
pub mod command;
pub mod comparison;
pub mod content;
pub mod copy;
pub mod cut;
pub mod dice;
pub mod difference;
pub mod domain;
pub mod draw;
pub mod engine;
pub mod estimate;
pub mod event;
pub mod explain;
pub mod fold;
pub mod govern;
pub mod id;
pub mod judge;
pub mod limits;
pub mod math;
pub mod oddity;
pub mod output;
pub mod plain;
pub mod policy;
pub mod record;
pub mod request;
pub mod state;
pub mod topic;
mod turns;
pub mod unit;
pub mod view;
pub mod xml;
