//! Times in all their forms.

use super::only;
use crate::domain::nordugrid::xrsl::{Dialect, read};

fn seconds(time: &str) -> Option<u64> {
    only(&format!("&(cputime=\"{time}\")")).cpu_time_s
}

#[test]
fn times_are_minutes_or_figures_with_units_or_iso() {
    for (time, expected) in [
        ("5", 300),
        ("00090", 5_400),
        ("0", 0),
        ("600s", 600),
        ("90m", 5_400),
        ("2 hours", 7_200),
        ("2 HOURS 30 Minutes", 9_000),
        ("1h30m", 5_400),
        ("1 week 1 day", 691_200),
        ("2d12h", 216_000),
        ("10 sec 1 min", 70),
        ("PT10M", 600),
        ("PT2H", 7_200),
        ("P1DT2H", 93_600),
        ("P2W", 1_209_600),
        ("PT1H1M1S", 3_661),
        ("2 hours 30", 9_000),
        ("2h30", 9_000),
        ("1 day 12", 129_600),
        ("1 week 2", 777_600),
        ("1m 30", 90),
        ("1h,30m", 5_400),
        ("2 hours and 30 minutes", 9_000),
        ("5s 500", 5),
        ("P1Y1M", 34_128_000),
        ("1 month", 60),
    ] {
        assert_eq!(seconds(time), Some(expected), "{time}");
    }
}

#[test]
fn what_is_no_time_is_refused() {
    for time in [
        "",
        "long",
        "5 moons",
        "1.5 hours",
        "-5",
        "+5",
        "8.5 hours",
        "02:30",
        "hours 2",
        "1 year",
        "P",
        "PT",
        "P1",
        "P1DT",
        "P1H",
        "PT1D",
        "PT1M1H",
        "PT1.5H",
        "30 2 hours",
        "h",
        "٣",
        "99999999999999999999",
        "18446744073709551615 weeks",
        "P1€",
    ] {
        let text = format!("&(cputime=\"{time}\")");
        let code = read(&text, Dialect::User).map_err(|error| error.code.name());
        assert_eq!(code.err(), Some("bad_time"), "{time:?}");
    }
}

#[test]
fn a_server_counts_in_seconds() {
    let text = "&(cputime=600)(walltime=PT5M)(lifetime=\"1 week\")";
    let read = read(text, Dialect::Server).expect("a description");
    let job = &read.jobs[0][0];
    assert_eq!((job.cpu_time_s, job.wall_time_s), (Some(600), Some(300)));
}
