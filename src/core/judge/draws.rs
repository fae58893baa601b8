//! Draws for tests of what is kept beside what is made again.

/// A small generator, so that a failure is found again by its seed.
pub(crate) struct Draws(pub u64);

impl Draws {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % most
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
