//! Choices drawn from bytes, so that proptest shrinks them to fewer and simpler ones.

/// A run of choices. When it runs out, every choice is the first.
#[derive(Clone)]
pub struct Dice<'a> {
    bytes: &'a [u8],
    vocabulary: Option<&'a Vocabulary<'a>>,
}

/// The values that texts and numbers are drawn from where not all are wanted. No list is empty.
pub struct Vocabulary<'a> {
    pub texts: &'a [&'a str],
    pub longs: &'a [i64],
    pub counts: &'a [u32],
    pub amounts: &'a [u64],
    pub floats: &'a [f64],
}

impl<'a> Dice<'a> {
    pub fn new(bytes: &'a [u8]) -> Dice<'a> {
        Dice { bytes, vocabulary: None }
    }

    /// The same with values of a vocabulary only.
    pub fn of(vocabulary: &'a Vocabulary<'a>, bytes: &'a [u8]) -> Dice<'a> {
        Dice { bytes, vocabulary: Some(vocabulary) }
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
        if let Some(vocabulary) = self.vocabulary {
            return self.pick(vocabulary.longs);
        }
        let bits = self.bits();
        if self.one_in(3) { !bits as i64 } else { bits as i64 }
    }

    pub fn int(&mut self) -> i32 {
        match (self.long(), self.vocabulary) {
            (long, None) => long as i32,
            (long, Some(_)) => long.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
        }
    }

    pub fn count(&mut self) -> u32 {
        match self.vocabulary {
            None => self.bits() as u32,
            Some(vocabulary) => self.pick(vocabulary.counts),
        }
    }

    /// A number that fits an Avro long, or one that the vocabulary has.
    pub fn amount(&mut self) -> u64 {
        match self.vocabulary {
            None => self.bits() >> 1,
            Some(vocabulary) => self.pick(vocabulary.amounts),
        }
    }

    pub fn flag(&mut self) -> bool {
        self.one_in(2)
    }

    pub fn float(&mut self) -> f64 {
        if let Some(vocabulary) = self.vocabulary {
            return self.pick(vocabulary.floats);
        }
        let value = f64::from_bits(self.bits());
        if value.is_finite() { value } else { 0.5 }
    }

    /// A number that is not below 0, unless the vocabulary has such numbers.
    pub fn quantity(&mut self) -> f64 {
        match self.vocabulary {
            None => self.float().abs(),
            Some(_) => self.float(),
        }
    }

    pub fn text(&mut self) -> String {
        if let Some(vocabulary) = self.vocabulary {
            return self.pick(vocabulary.texts).to_owned();
        }
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
