//! Maps by numbers that are spread already.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use yardmaster_core::id::stir;

/// Spreads numbers without a keyed hash: PanDA makes them, so nobody chooses them to collide.
#[derive(Clone, Copy, Default)]
pub(super) struct Stirred(u64);

impl Hasher for Stirred {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = yardmaster_core::id::hash(bytes);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = stir(number);
    }
}

/// A map by number.
pub(super) type ByNumber<T> = HashMap<u64, T, BuildHasherDefault<Stirred>>;
