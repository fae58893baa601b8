//! Classes of sites, by how long sample jobs wait there (spec atlas 8.1.3).

use crate::math::student::point95;
use crate::policy::param::{Param, Unit};
use crate::policy::typed::params;
use crate::unit::{DAY, HOUR, Millis};

params! {
    /// The parameters of classes of sites.
    SiteClasses {
        half_life: f64 = Param::float("site_half_life", (1.0, 1_000.0), 6.0, 12.0)
            .unit(Unit::Hours)
            .help(
                "class of a site: a sample weighs half as much after so long (the documentation and \
                 the code differ)",
            ),
        days: f64 = Param::float("site_days", (0.1, 4.0), 4.0, 4.0)
            .unit(Unit::Days)
            .help("class of a site: samples that started within so long count"),
        hi_wait: f64 = Param::int("site_hi_wait", 3_600, 3_600)
            .unit(Unit::Seconds)
            .help("class of a site: one that waits no longer may be hi, whatever others do"),
        lo_wait: f64 = Param::int("site_lo_wait", 10_800, 10_800)
            .unit(Unit::Seconds)
            .help("class of a site: one that waits no longer is not lo, whatever others do"),
        hi_part: f64 = Param::float("site_hi_part", (0.0, 1.0), 0.333, 0.333)
            .help("class of a site: this part of the GRID sites, the quickest, may be hi"),
        lo_part: f64 = Param::float("site_lo_part", (0.0, 1.0), 0.667, 0.667)
            .help("class of a site: all but this part of the GRID sites may be lo"),
        long_most: f64 = Param::int("site_long_most", 3, 3).unit(Unit::Jobs).help(
            "class of a site: so many jobs may wait long where the samples that started did not",
        ),
        start_hours: f64 = Param::float("site_start_hours", (0.1, 1_000.0), 24.0, 24.0)
            .unit(Unit::Hours)
            .help("class of a site: where no job started for so long is not hi"),
        spread_needed: bool = Param::flag("site_spread_needed", false, true).help(
            "whether a site whose samples all waited equally long, as one sample does, has no class; \
             there PanDA's library gives no number",
        ),
    }
}

/// How sites are classified: the parameters, resolved.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiteRules {
    /// A sample weighs half as much after this.
    pub half_life: Millis,
    /// Samples that started within this count.
    pub reach: Millis,
    /// Longest wait of a site that is hi whatever others do, and that is not lo; s.
    pub waits: [f64; 2],
    /// Parts of the sites below which one may be hi, and above which lo.
    pub parts: [f64; 2],
    /// Most jobs that may wait long at a hi site; jobs.
    pub long_most: f64,
    /// A hi site has had a start within this.
    pub start_within: Millis,
    /// Whether a site whose samples all waited equally long has no class.
    pub spread_needed: bool,
}

impl SiteClasses {
    /// The rules they come to.
    pub(super) fn rules(&self) -> SiteRules {
        SiteRules {
            half_life: (self.half_life * HOUR as f64) as Millis,
            reach: (self.days * DAY as f64) as Millis,
            waits: [self.hi_wait, self.lo_wait],
            parts: [self.hi_part, self.lo_part],
            long_most: self.long_most,
            start_within: (self.start_hours * HOUR as f64) as Millis,
            spread_needed: self.spread_needed,
        }
    }
}

/// How long samples waited at a site.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waited {
    /// Sum of their weights; above 0.
    pub weights: f64,
    /// Weighted mean; s.
    pub mean: f64,
    /// Weighted standard deviation; s.
    pub spread: f64,
    /// Merge jobs that wait there longer than the mean; jobs.
    pub long: f64,
    /// How long those wait in the mean; the mean of all, where there is none; s.
    pub long_mean: f64,
    /// Whether others are measured by it.
    pub is_grid: bool,
}

/// Classes that a site may have by its waiting times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// It is hi, if jobs start there.
    pub may_be_hi: bool,
    /// It is lo, if it is not hi.
    pub may_be_lo: bool,
}

impl Rank {
    /// Its class: 1 hi, 0 mid, -1 lo; `starts`: whether a job started there lately.
    pub fn class(self, starts: bool) -> i8 {
        match (self.may_be_hi && starts, self.may_be_lo) {
            (true, _) => 1,
            (false, true) => -1,
            (false, false) => 0,
        }
    }
}

/// No wait counts as longer; s.
const WAIT_MAX: f64 = 999_999.0;

impl Waited {
    /// 95 % of the jobs wait no longer; s. `None`: it is not known.
    fn most(&self, rules: &SiteRules) -> Option<f64> {
        if self.spread <= 0.0 {
            return (!rules.spread_needed).then_some(self.mean.min(WAIT_MAX));
        }
        Some((self.mean + self.spread * point95(self.weights)).min(WAIT_MAX))
    }
}

/// The ranks of some sites, in their order.
pub fn ranks(sites: &[Waited], rules: &SiteRules) -> Vec<Rank> {
    let most: Vec<Option<f64>> = sites.iter().map(|site| site.most(rules)).collect();
    let known = || sites.iter().zip(&most).filter_map(|(site, most)| Some((site, (*most)?)));
    let longest = |(site, most): (&Waited, f64)| most.max(site.long_mean);
    let mut measures: Vec<f64> = known().filter(|(site, _)| site.is_grid).map(longest).collect();
    measures.sort_by(f64::total_cmp);
    let [hi, lo] = [0, 1].map(|at| quantile(&measures, rules.parts[at]).max(rules.waits[at]));
    let rank = |(site, most): (&Waited, &Option<f64>)| {
        let Some(most) = *most else { return Rank::default() };
        let longest = longest((site, most));
        Rank {
            may_be_hi: longest <= hi || most <= hi && site.long <= rules.long_most,
            may_be_lo: longest > lo,
        }
    };
    sites.iter().zip(&most).map(rank).collect()
}

/// The value below which a part of others lies, between two of them in proportion; 0 of none.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = part * last as f64;
    let below = (place.floor() as usize).min(last);
    let above = (below + 1).min(last);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::typed::read;
    use crate::policy::{Rules, Values};

    fn under(reading: Rules) -> SiteRules {
        read!(SiteClasses, Values::defaults(SiteClasses::DECLARED, reading)).rules()
    }

    /// Many samples that waited so long, give or take nothing.
    fn steady(mean: f64) -> Waited {
        let is_grid = true;
        Waited { weights: 1e9, mean, spread: 0.0, long: 0.0, long_mean: mean, is_grid }
    }

    fn classes(sites: &[Waited]) -> Vec<i8> {
        let ranks = ranks(sites, &under(Rules::Documented));
        ranks.into_iter().map(|rank| rank.class(true)).collect()
    }

    #[test]
    fn the_parameters_are_those_of_both_readings() {
        let [documented, panda] = [Rules::Documented, Rules::Panda].map(under);
        assert_eq!([documented.half_life, panda.half_life], [6 * HOUR, 12 * HOUR]);
        assert_eq!([documented.reach, documented.start_within], [4 * DAY, DAY]);
        assert_eq!((documented.waits, documented.parts), ([3_600.0, 10_800.0], [0.333, 0.667]));
        assert_eq!([documented.spread_needed, panda.spread_needed], [false, true]);
    }

    #[test]
    fn quantiles_lie_between_values_in_proportion() {
        assert_eq!(quantile(&[], 0.333), 0.0);
        assert_eq!(quantile(&[7.0], 0.333), 7.0);
        assert_eq!(quantile(&[0.0, 1_000.0], 0.333), 333.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 1.0), 4.0);
    }

    #[test]
    fn below_an_hour_is_hi_and_up_to_three_is_not_lo_whatever_others_do() {
        assert_eq!(classes(&[60.0, 1_800.0, 3_600.0, 3_601.0].map(steady)), [1, 1, 1, 0]);
        assert_eq!(classes(&[60.0, 60.0, 60.0, 10_800.0].map(steady)), [1, 1, 1, 0]);
        assert_eq!(classes(&[60.0, 60.0, 60.0, 10_801.0].map(steady)), [1, 1, 1, -1]);
    }

    #[test]
    fn where_all_wait_long_a_third_of_them_is_hi_and_a_third_lo() {
        let waits: Vec<Waited> =
            (0..7).map(|it| steady(20_000.0 + 1_000.0 * f64::from(it))).collect();
        // Six steps: a third of the way is 1.998 of them, two thirds 4.002.
        assert_eq!(classes(&waits), [1, 1, 0, 0, 0, -1, -1]);
        // Only sites of the grid are what others are measured by.
        let odd = Waited { is_grid: false, ..steady(1.0) };
        let with_odd: Vec<Waited> = [odd; 20].into_iter().chain(waits).collect();
        assert_eq!(classes(&with_odd)[20..], [1, 1, 0, 0, 0, -1, -1]);
        assert_eq!(classes(&with_odd)[0], 1);
    }

    #[test]
    fn jobs_that_wait_long_count_and_few_of_them_are_forgiven() {
        let long = |long: f64| Waited { long, long_mean: 50_000.0, ..steady(60.0) };
        let quick = [1.0, 2.0, 3.0, 4.0, 5.0].map(steady);
        let sites: Vec<Waited> = [long(3.0), long(4.0)].into_iter().chain(quick).collect();
        assert_eq!(classes(&sites)[..3], [1, -1, 1]);
    }

    #[test]
    fn a_site_where_nothing_starts_is_not_hi() {
        let ranks = ranks(&[steady(60.0)], &under(Rules::Documented));
        assert_eq!([ranks[0].class(true), ranks[0].class(false)], [1, 0]);
        let slow = Waited { long: 1.0, long_mean: 50_000.0, ..steady(60.0) };
        let rank = super::ranks(&[slow, steady(1.0), steady(1.0)], &under(Rules::Documented))[0];
        assert_eq!([rank.class(true), rank.class(false)], [1, -1]);
    }

    /// Two samples of weight 1 each, an hour and two hours: the mean is 5,400, the deviation 1,800,
    /// and the point for two degrees of freedom 2.92.
    #[test]
    fn few_samples_say_less_than_many() {
        let rules = under(Rules::Documented);
        let pair = Waited { weights: 2.0, mean: 5_400.0, spread: 1_800.0, ..steady(5_400.0) };
        let most = pair.most(&rules).unwrap_or_default();
        assert!((most - 10_655.974).abs() < 1e-3, "{most}");
        let many = Waited { weights: 1e6, ..pair };
        assert!((many.most(&rules).unwrap_or_default() - 8_360.737).abs() < 1e-2);
        let hardly = Waited { weights: 0.001, ..pair };
        assert_eq!(hardly.most(&rules), Some(999_999.0));
    }

    #[test]
    fn samples_that_all_waited_equally_long_have_two_readings() {
        let one = Waited { weights: 0.4, ..steady(60.0) };
        assert_eq!(ranks(&[one], &under(Rules::Documented))[0].class(true), 1);
        assert_eq!(ranks(&[one], &under(Rules::Panda)), [Rank::default()]);
    }
}
