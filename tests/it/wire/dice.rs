//! Choices drawn from bytes, so that proptest shrinks them to fewer and simpler ones.

/// A run of choices. When it runs out, every choice is the first.
pub struct Dice<'a> {
    bytes: &'a [u8],
}

impl<'a> Dice<'a> {
    pub fn new(bytes: &'a [u8]) -> Dice<'a> {
        Dice { bytes }
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// One of `0..sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        usize::from(self.byte()) % sides
    }

    /// True once in so many times; never when the choices have run out.
    pub fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == sides - 1
    }

    pub fn bits(&mut self) -> u64 {
        let size = self.roll(9);
        (0..size).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    pub fn long(&mut self) -> i64 {
        let bits = self.bits();
        if self.one_in(3) { !bits as i64 } else { bits as i64 }
    }

    pub fn int(&mut self) -> i32 {
        self.long() as i32
    }

    pub fn count(&mut self) -> u32 {
        self.bits() as u32
    }

    /// What fits an Avro long.
    pub fn amount(&mut self) -> u64 {
        self.bits() >> 1
    }

    pub fn flag(&mut self) -> bool {
        self.one_in(2)
    }

    pub fn float(&mut self) -> f64 {
        let value = f64::from_bits(self.bits());
        if value.is_finite() { value } else { 0.5 }
    }

    /// What cannot be below 0.
    pub fn quantity(&mut self) -> f64 {
        self.float().abs()
    }

    pub fn text(&mut self) -> String {
        const WORDS: [&str; 8] =
            ["", "BNL", "MC Default evgensimul", "é", "\0", "日本語", "💡 lamp", "\"\\"];
        let mut text = String::new();
        for _ in 0..self.roll(3) {
            text.push_str(WORDS[self.roll(WORDS.len())]);
        }
        if self.one_in(30) {
            text.push_str(&"long ".repeat(50));
        }
        text
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }

    pub fn option<T>(&mut self, each: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flag().then(|| each(self))
    }

    pub fn list<T>(&mut self, each: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = if self.one_in(20) { 70 } else { self.roll(4) };
        let mut each = each;
        (0..count).map(|_| each(self)).collect()
    }
}
