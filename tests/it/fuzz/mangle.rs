//! Inputs made of valid ones: bits flipped, ends cut off, pieces swapped, counts that claim too
//! much; and some of nothing but dice.

use crate::world::Chance;

/// Bytes that do most harm where a number is expected: the longest and the most negative counts,
/// sizes just beyond a bound, marks of other framings.
const HARM: [&[u8]; 9] = [
    &[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
    &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
    &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
    &[0xFE, 0xFF, 0xFF, 0xFF, 0x1F],
    &[0xFF, 0xFF, 0xFF, 0xFF, 0x0F],
    &[0x80],
    &[0x00],
    &[0xC3, 0x01],
    "\u{FEFF}\"\\u0000}]{[,-1e999\n=".as_bytes(),
];

/// Longest input; bytes.
const LONGEST: usize = 1 << 16;

/// Draws inputs.
pub struct Mangler<'a> {
    chance: Chance,
    corpus: &'a [Vec<u8>],
}

impl<'a> Mangler<'a> {
    pub fn new(chance: Chance, corpus: &'a [Vec<u8>]) -> Mangler<'a> {
        Mangler { chance, corpus }
    }

    /// One in sixteen is nothing but dice; the others are a valid one changed once or more.
    pub fn next(&mut self) -> Vec<u8> {
        let length = self.chance.below(200);
        if self.chance.below(16) == 0 {
            return (0..length).map(|_| self.chance.word() as u8).collect();
        }
        let mut bytes = self.pick().clone();
        for _ in 0..=self.chance.below(3) {
            self.change(&mut bytes);
        }
        bytes.truncate(LONGEST);
        bytes
    }

    fn pick(&mut self) -> &'a Vec<u8> {
        &self.corpus[self.chance.below(self.corpus.len())]
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.chance.below(bytes.len() + 1);
        match self.chance.below(8) {
            0 | 1 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << self.chance.below(8);
                }
            }
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = self.chance.word() as u8;
                }
            }
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..(at + 1 + self.chance.below(16)).min(bytes.len()).max(at))),
            5 => {
                let harm = HARM[self.chance.below(HARM.len())];
                let over = if self.chance.below(2) == 0 { harm.len() } else { 0 };
                bytes.splice(at..(at + over).min(bytes.len()), harm.iter().copied());
            }
            // The end of another input, or a piece of this one once more.
            6 => {
                let other = self.pick();
                let from = self.chance.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let end = (at + self.chance.below(64)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = self.chance.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
        }
    }
}
