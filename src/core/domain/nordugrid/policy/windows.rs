//! Free CPUs and how long they are free (N-07, N-08).

/// A duration or a need without limit.
pub const UNLIMITED_S: u64 = u64::MAX;

/// CPUs that are free for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeWindow {
    /// For how long they are free; s. [`UNLIMITED_S`]: for ever.
    pub duration_s: u64,
    /// CPUs free for that long or longer.
    pub slots: u64,
}

/// The free CPUs of a user at a queue: one window for each published duration, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows(Vec<FreeWindow>);

/// Jobs in front that need CPUs before the job that is decided on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// CPUs.
    pub slots: u64,
    /// For how long; s.
    pub time_s: u64,
}

impl Windows {
    /// Reads what is published, `n[:minutes]` separated by blanks. F of N-07: the CPUs free for a
    /// time are the largest n of all entries that last that long, so that a longer window never has
    /// more. An entry that is no such text counts as nothing.
    pub fn parse(text: &str) -> Windows {
        let mut windows: Vec<FreeWindow> = text.split_whitespace().filter_map(entry).collect();
        windows.sort_by_key(|window| (window.duration_s, window.slots));
        let mut most = 0;
        for window in windows.iter_mut().rev() {
            most = most.max(window.slots);
            window.slots = most;
        }
        windows.dedup_by_key(|window| window.duration_s);
        Windows(windows)
    }

    /// Windows with what jobs in front need taken away (N-08): F'. The order of the jobs does not
    /// matter.
    pub fn after(&self, ahead: &[Needed]) -> Windows {
        let mut left = self.clone();
        self.each_after(ahead, |at, slots| left.0[at].slots = slots);
        left
    }

    /// CPUs that are free for a time after what jobs in front need: F'(d).
    pub fn free_after(&self, ahead: &[Needed], time_s: u64) -> u64 {
        let Some(wanted) = self.0.iter().position(|window| window.duration_s >= time_s) else {
            return 0;
        };
        let mut free = 0;
        self.each_after(ahead, |at, slots| {
            if at == wanted {
                free = slots;
            }
        });
        free
    }

    /// All of them, ascending.
    pub fn all(&self) -> &[FreeWindow] {
        &self.0
    }

    /// F' of each window. A job takes its CPUs from the smallest window that lasts as long as it
    /// needs and from all shorter ones; what is left there bounds what a longer one has. A job that
    /// needs longer than every window takes nothing.
    ///
    /// So F'(x) is the least, over all windows y no longer than x, of F(y) less the CPUs of the
    /// jobs whose window is y or longer; never below 0.
    fn each_after(&self, ahead: &[Needed], mut found: impl FnMut(usize, u64)) {
        let longest = self.0.last().map_or(0, |window| window.duration_s);
        let mut least = u64::MAX;
        let mut shorter = None;
        for (at, FreeWindow { duration_s, slots }) in self.0.iter().enumerate() {
            // Its own window is this one or a longer one, since every shorter one is too short.
            let takes = |job: &&Needed| {
                job.time_s <= longest && shorter.is_none_or(|shorter| job.time_s > shorter)
            };
            let taken = ahead.iter().filter(takes).map(|job| job.slots);
            least = least.min(slots.saturating_sub(taken.fold(0, u64::saturating_add)));
            found(at, least);
            shorter = Some(*duration_s);
        }
    }
}

fn entry(text: &str) -> Option<FreeWindow> {
    let (slots, minutes) = match text.split_once(':') {
        Some((slots, minutes)) => (slots, Some(minutes)),
        None => (text, None),
    };
    let duration_s = match minutes {
        Some(minutes) => minutes.parse::<u64>().ok()?.saturating_mul(60).min(UNLIMITED_S - 1),
        None => UNLIMITED_S,
    };
    Some(FreeWindow { duration_s, slots: slots.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(text: &str) -> Vec<(u64, u64)> {
        pairs(&Windows::parse(text))
    }

    fn pairs(windows: &Windows) -> Vec<(u64, u64)> {
        windows.all().iter().map(|window| (window.duration_s, window.slots)).collect()
    }

    fn needed(of: &[(u64, u64)]) -> Vec<Needed> {
        of.iter().map(|(slots, time_s)| Needed { slots: *slots, time_s: *time_s }).collect()
    }

    /// One job taken away by the letter of N-08.
    fn by_the_letter(windows: &[(u64, u64)], job: Needed) -> Vec<(u64, u64)> {
        let Some((w, at_w)) = windows.iter().find(|(duration, _)| *duration >= job.time_s) else {
            return windows.to_vec();
        };
        let left = |(x, slots): &(u64, u64)| match x <= w {
            true => (*x, slots.saturating_sub(job.slots)),
            false => (*x, (*slots).min(at_w.saturating_sub(job.slots))),
        };
        windows.iter().map(left).collect()
    }

    #[test]
    fn a_longer_window_never_has_more() {
        let (unlimited, minute) = (UNLIMITED_S, 60);
        assert_eq!(windows("2 4:25 5:180"), [(25 * minute, 5), (180 * minute, 5), (unlimited, 2)]);
        assert_eq!(windows("7:30 7:30"), [(30 * minute, 7)]);
        assert_eq!(windows("3:10 x 4:y -1 5:"), [(10 * minute, 3)]);
        assert_eq!(windows(""), []);
        assert_eq!(windows("1:99999999999999999999"), []);
        assert_eq!(windows("1:9999999999999999999"), [(unlimited - 1, 1)]);
    }

    /// All lists of up to three jobs, in every order, on several lists of windows.
    #[test]
    fn jobs_taken_away_together_are_jobs_taken_away_one_by_one() {
        let jobs: Vec<(u64, u64)> = [1, 3]
            .into_iter()
            .flat_map(|slots| [0, 60, 61, 600, 601].map(|it| (slots, it)))
            .collect();
        for text in ["6:10 10:1", "4", "2 6:10 10:1", "0:1 5:10", "5:1 5:2 5:10"] {
            let windows = Windows::parse(text);
            for first in &jobs {
                for second in &jobs {
                    for third in &jobs {
                        let ahead = needed(&[*first, *second, *third]);
                        let expected = ahead
                            .iter()
                            .fold(pairs(&windows), |left, job| by_the_letter(&left, *job));
                        assert_eq!(pairs(&windows.after(&ahead)), expected, "{text} {ahead:?}");
                        for (duration, slots) in expected {
                            assert_eq!(windows.free_after(&ahead, duration), slots);
                        }
                    }
                }
            }
        }
    }
}
