//! Run time and memory of a job that may use more or fewer cores (F-6, C-53).

use super::bounds::whole;
use super::facts::Seconds;
use super::settings::Settings;

/// Run time and memory of a job at some number of cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Run time, s.
    pub wall_s: Seconds,
    /// Memory of the whole job, MB.
    pub rss_mb: i64,
}

impl Needs {
    /// Needs stated at `base` cores, at `cores`: the same core time, the part of the run time that
    /// is no core time, an overhead, and so much memory for each further core.
    pub fn at(self, cores: i64, base: i64, settings: &Settings) -> Needs {
        if cores == base || cores <= 0 {
            return self;
        }
        let fixed_s = settings.fixed_wall_time_s;
        let overhead_s = settings.resize_overhead_s.saturating_add(fixed_s);
        let scales_s = self.wall_s.saturating_sub(fixed_s).max(0);
        Needs {
            wall_s: spread(scales_s, base, cores).saturating_add(overhead_s),
            rss_mb: self.rss_mb.saturating_add(extra_mb(cores, base, settings)),
        }
    }

    /// Needs measured at `cores`, at `base`: the other way round. What is learnt from one job is
    /// stated at the base that the jobs after it are scaled from (C-50, A.13 2).
    pub fn measured_at(self, cores: i64, base: i64, settings: &Settings) -> Needs {
        if cores == base || cores <= 0 || base <= 0 {
            return self;
        }
        let fixed_s = settings.fixed_wall_time_s;
        let overhead_s = settings.resize_overhead_s.saturating_add(fixed_s);
        let ran_s = self.wall_s.saturating_sub(overhead_s).max(0);
        Needs {
            wall_s: spread(ran_s, cores, base).saturating_add(fixed_s),
            rss_mb: self.rss_mb.saturating_sub(extra_mb(cores, base, settings)).max(0),
        }
    }
}

/// The time that work takes on `to` cores which takes `wall_s` on `from`, rounded up; s.
fn spread(wall_s: Seconds, from: i64, to: i64) -> Seconds {
    // The times of real jobs fit 64 bits, which are divided several times faster.
    let narrow = wall_s.checked_mul(from).and_then(|core_s| core_s.checked_add(to - 1));
    narrow.map_or_else(|| spread_wide(wall_s, from, to), |core_s| core_s.div_euclid(to))
}

fn spread_wide(wall_s: Seconds, from: i64, to: i64) -> Seconds {
    let core_s = i128::from(wall_s) * i128::from(from);
    whole((core_s + i128::from(to) - 1).div_euclid(i128::from(to)))
}

fn extra_mb(cores: i64, base: i64, settings: &Settings) -> i64 {
    settings.extra_mb_per_core.saturating_mul(cores.saturating_sub(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_on_many_cores_is_stated_at_the_base() {
        let settings = Settings::default();
        let stated = Needs { wall_s: 40_000, rss_mb: 8_000 };
        for cores in [1, 2, 4, 8, 64] {
            let measured = stated.at(cores, 4, &settings);
            assert_eq!(measured.measured_at(cores, 4, &settings), stated, "{cores} cores");
        }
        let short = Needs { wall_s: 60, rss_mb: 100 };
        let back = short.measured_at(64, 4, &settings);
        assert_eq!(back, Needs { wall_s: 0, rss_mb: 0 }, "less than the overhead is nothing");
    }

    #[test]
    fn any_time_is_spread_over_any_cores() {
        let times = [-86_401, -1, 0, 1, 86_399, i64::MAX / 8, i64::MAX];
        for (wall_s, from, to) in
            times.iter().flat_map(|it| [(*it, 8, 3), (*it, 1, 64), (*it, 9, 1)])
        {
            assert_eq!(spread(wall_s, from, to), spread_wide(wall_s, from, to), "{wall_s}");
        }
        assert_eq!((spread(86_400, 8, 3), spread(i64::MAX, 9, 1)), (230_400, i64::MAX));
    }
}
