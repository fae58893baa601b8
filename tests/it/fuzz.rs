//! Bytes nobody meant, for every reader there is: no panic, and each is either read or reported to be
//! unreadable. Inputs are drawn from a seed, so each run is the same; `YARDMASTER_FUZZ=N` draws N
//! times as many, `YARDMASTER_FUZZ_SEED=S` draws others.

mod changes;
mod dialects;
#[cfg(feature = "shell")]
mod logs;
mod mangle;
mod readers;

use crate::world::Chance;
use mangle::Mangler;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Inputs to each reader when nothing else is given.
const INPUTS: u64 = 4_000;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Feeds one reader, which says of each input whether it could be read, and prints how many there
/// were. A panic is shown with the bytes that caused it.
#[track_caller]
fn feed(name: &str, share: u64, corpus: &[Vec<u8>], mut read: impl FnMut(&[u8]) -> bool) -> u64 {
    assert!(!corpus.is_empty(), "{name} has nothing to begin with");
    let whole = corpus.iter().filter(|bytes| read(bytes)).count();
    assert!(whole > 0, "{name}: nothing of its corpus can be read");
    let inputs = (INPUTS * number("YARDMASTER_FUZZ", 1) / share).max(50);
    let seed = number("YARDMASTER_FUZZ_SEED", 1) ^ yardmaster::core::id::hash(name.as_bytes());
    let mut mangler = Mangler::new(Chance(seed), corpus);
    let mut could = 0;
    for at in 0..inputs {
        let bytes = mangler.next();
        match catch_unwind(AssertUnwindSafe(|| read(&bytes))) {
            Ok(read) => could += u64::from(read),
            Err(_) => {
                let hex = hex::encode(&bytes);
                panic!("{name}: panics at input {at} of seed {seed}: {hex}");
            }
        }
    }
    println!(
        "fuzz {name}: {inputs} inputs, {could} read, {} reported to be unreadable",
        inputs - could
    );
    inputs
}
