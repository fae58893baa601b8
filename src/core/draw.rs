//! A weighted random choice that replays (spec cms-nordugrid B.10): the same on every machine and
//! in whatever order candidates come, drawn from the subject, the attempt and the cut.

use sha2::{Digest, Sha256};

/// Separates the parts of a seed, and the columns of a cut's text.
const UNIT_SEPARATOR: &str = "\u{1f}";

/// The inputs of a draw: none of them comes from a clock or a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed<'a> {
    /// Name and version of the procedure, the first part of the seed's text.
    pub algorithm: &'static str,
    /// Id of the job that the draw is for.
    pub subject: &'a str,
    /// 0 for the first decision on the subject, one more after each refusal.
    pub attempt: u64,
    /// Identifier of the cut: see [`cut_id`].
    pub cut_id: &'a str,
    /// 0 for the first draw of a decision, one more for each further draw.
    pub round: u32,
}

/// A draw with all that is needed to make it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeededDraw {
    /// Name and version of the procedure.
    pub algorithm: &'static str,
    /// The seed's attempt.
    pub attempt: u64,
    /// The seed's round.
    pub round: u32,
    /// First 16 bytes of the SHA-256 of the seed's text.
    pub digest: [u8; 16],
    /// Sum of the weights.
    pub total: u128,
    /// The number drawn: 0 or more, below `total`.
    pub drawn: u128,
    /// Candidates with their weights, sorted by name bytewise. All 1 if all weights were 0.
    pub weights: Vec<(String, u64)>,
    /// Which of `weights` was chosen.
    pub chosen: usize,
}

impl Seed<'_> {
    /// First 16 bytes of the SHA-256 of its text.
    pub fn digest(&self) -> [u8; 16] {
        let Seed { algorithm, subject, attempt, cut_id, round } = self;
        let (attempt, round) = (attempt.to_string(), round.to_string());
        let text = [algorithm, *subject, &attempt, cut_id, &round].join(UNIT_SEPARATOR);
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        first
    }

    /// Draws one of some candidates, each as likely as its weight. `None` if there are none. The
    /// bias is below `total` / 2^128.
    pub fn draw(&self, mut weights: Vec<(String, u64)>) -> Option<SeededDraw> {
        weights.sort();
        if weights.iter().all(|(_, weight)| *weight == 0) {
            weights.iter_mut().for_each(|(_, weight)| *weight = 1);
        }
        let total: u128 = weights.iter().map(|(_, weight)| u128::from(*weight)).sum();
        let digest = self.digest();
        let drawn = u128::from_be_bytes(digest).checked_rem(total)?;
        let mut running = 0;
        let chosen = weights.iter().position(|(_, weight)| {
            running += u128::from(*weight);
            running > drawn
        })?;
        let Seed { algorithm, attempt, round, .. } = *self;
        Some(SeededDraw { algorithm, attempt, round, digest, total, drawn, weights, chosen })
    }
}

impl SeededDraw {
    /// The name of the candidate that was chosen.
    pub fn winner(&self) -> &str {
        // cannot fail: `chosen` is a place in `weights`.
        &self.weights[self.chosen].0
    }
}

/// The id of a cut (spec cms-nordugrid S-02): first 16 hex digits of the SHA-256 of its canonical
/// text. A position is a topic, a partition and the number of the next record there.
pub fn cut_id(positions: &[(&str, u32, u64)]) -> String {
    let line = |(topic, partition, position): &(&str, u32, u64)| {
        let (partition, position) = (partition.to_string(), position.to_string());
        [*topic, &partition, &position].join(UNIT_SEPARATOR) + "\n"
    };
    let mut lines: Vec<String> = positions.iter().map(line).collect();
    lines.sort();
    let digest = Sha256::digest(format!("cut.v1\n{}", lines.concat()).as_bytes());
    hex::encode(&digest[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "ce-a.example.org/long";
    const B: &str = "ce-b.example.org/short";
    const C: &str = "ce-c.example.org/grid";

    fn seed<'a>(subject: &'a str, attempt: u64, cut_id: &'a str) -> Seed<'a> {
        Seed { algorithm: "ngbroker.v1", subject, attempt, cut_id, round: 0 }
    }

    fn weights(of: &[(&str, u64)]) -> Vec<(String, u64)> {
        of.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect()
    }

    /// TN-28.
    #[test]
    fn the_vectors_of_the_specification() {
        let (first, second) = ("c000000000000001", "c000000000000002");
        let all = [
            ("gsid-0001", 0, first, "99d4ea5f05b8b19c28c177582742d364", 52, C),
            ("gsid-0001", 1, first, "a63c7972f53f88b648408442d7c63f7e", 58, C),
            ("gsid-0001", 0, second, "1736d738c1bc6ed301333062e6aadd69", 49, C),
            ("gsid-0002", 0, first, "8281c3d9f520e5affccf13fa306de730", 16, B),
            ("gsid-0003", 0, first, "f1afa6f484b3f898fd1474906f276eac", 72, C),
        ];
        for (subject, attempt, cut_id, digest, drawn, chosen) in all {
            let targets = weights(&[(C, 60), (A, 10), (B, 30)]);
            let draw = seed(subject, attempt, cut_id).draw(targets).expect("three targets");
            assert_eq!(hex::encode(draw.digest), digest);
            assert_eq!((draw.total, draw.drawn, draw.winner()), (100, drawn, chosen));
        }
    }

    /// TN-28: the retries after the first pick failed.
    #[test]
    fn the_retries_of_the_specification() {
        let all = [
            ("gsid-0001", [(A, 10), (B, 30)], (40, 38), B),
            ("gsid-0002", [(A, 10), (C, 60)], (70, 46), C),
            ("gsid-0003", [(A, 10), (B, 30)], (40, 11), B),
        ];
        for (subject, left, (total, drawn), chosen) in all {
            let draw = seed(subject, 1, "c000000000000001").draw(weights(&left)).expect("two");
            assert_eq!((draw.total, draw.drawn, draw.winner()), (total, drawn, chosen));
        }
    }

    /// TN-43, TS-08: chi-square over 100,000 jobs within the 99.9 % bound of two degrees of
    /// freedom, and the counts that the specification states.
    #[test]
    fn the_shares_of_many_draws_are_those_of_the_weights() {
        let mut counts = [0u32; 3];
        for job in 0..100_000 {
            let subject = format!("gsid-{job:06}");
            let targets = weights(&[(A, 10), (B, 30), (C, 60)]);
            let draw = seed(&subject, 0, "c000000000000001").draw(targets).expect("three targets");
            counts[draw.chosen] += 1;
        }
        assert_eq!(counts, [10_059, 29_965, 59_976]);
        let expected = [10_000.0, 30_000.0, 60_000.0];
        let square =
            |(count, expected): (&u32, f64)| (f64::from(*count) - expected).powi(2) / expected;
        let chi_square: f64 = counts.iter().zip(expected).map(square).sum();
        assert!(chi_square < 13.82, "{chi_square}");
    }

    #[test]
    fn nothing_to_draw_from_gives_nothing() {
        assert_eq!(seed("gsid-0001", 0, "c000000000000001").draw(Vec::new()), None);
    }

    #[test]
    fn every_candidate_is_as_likely_if_all_weights_are_0() {
        let draw = seed("gsid-0001", 0, "c000000000000001").draw(weights(&[(B, 0), (A, 0)]));
        let draw = draw.expect("two targets");
        assert_eq!((draw.total, draw.weights), (2, weights(&[(A, 1), (B, 1)])));
    }

    #[test]
    fn the_id_of_a_cut_is_that_of_the_specification() {
        let mut positions =
            [("resource-share", 0, 77), ("job-state", 1, 998), ("job-state", 0, 1042)];
        assert_eq!(cut_id(&positions), "a3cc478bd724f01a");
        positions.reverse();
        assert_eq!(cut_id(&positions), "a3cc478bd724f01a");
        assert_eq!(cut_id(&[]), "b0fb3345c9191663");
    }
}
