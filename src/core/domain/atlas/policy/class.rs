//! Classes of analysis tasks, by what their user has running (spec atlas 8.1.2, DIFF-36).

use super::owner::Slots;
use crate::event::Task;
use crate::policy::param::{Param, Unit};
use crate::policy::typed::params;

params! {
    /// The parameters of classes, beside the threshold of class A.
    Classes {
        threshold_b: f64 = Param::int("USER_USAGE_THRESHOLD_B", 8_000, 8_000)
            .at_least(1)
            .unit(Unit::Slots)
            .gdp("analy_eval/USER_USAGE_THRESHOLD_B")
            .help("slots at hi- and mid-sites up to which a user's tasks are of class B"),
        progress_a: f64 = Param::float("PROGRESS_TO_BOOST_A", (0.0, 100.0), 90.0, 90.0)
            .unit(Unit::Percent)
            .gdp("analy_eval/PROGRESS_TO_BOOST_A")
            .help("part of its files from which on a task of class A may become one of class S"),
        progress_b: f64 = Param::float("PROGRESS_TO_BOOST_B", (0.0, 100.0), 95.0, 95.0)
            .unit(Unit::Percent)
            .gdp("analy_eval/PROGRESS_TO_BOOST_B")
            .help("the same of class B"),
        jobs_a: f64 = Param::int("MAX_REM_JOBS_TO_BOOST_A", 500, 500)
            .unit(Unit::Jobs)
            .gdp("analy_eval/MAX_REM_JOBS_TO_BOOST_A")
            .help("most jobs that may remain of such a task of class A"),
        jobs_b: f64 = Param::int("MAX_REM_JOBS_TO_BOOST_B", 200, 200)
            .unit(Unit::Jobs)
            .gdp("analy_eval/MAX_REM_JOBS_TO_BOOST_B")
            .help("the same of class B"),
    }
}

/// Tasks that are nearly done.
const S: i8 = 2;
/// Tasks of users that have little running.
const A: i8 = 1;
/// Tasks of users that have much running at hi-sites.
const B: i8 = 0;
/// Tasks of users that have much running at mid-sites, too.
const C: i8 = -1;

/// The names of the classes of tasks, in metrics.
pub const TASK_CLASSES: [&str; 4] = ["S", "A", "B", "C"];

/// The name of a class: see [`super::Owner::task_class`].
pub fn task_class_name(class: i8) -> &'static str {
    let [s, a, b, c] = TASK_CLASSES;
    match class {
        S.. => s,
        A => a,
        B => b,
        _ => c,
    }
}

/// The share whose tasks are all of class S.
const EXPRESS: &str = "Express Analysis";

/// The class of a task; `threshold` is that of class A.
pub(super) fn class_of(task: &Task, slots: Slots, threshold: f64, params: &Classes) -> i8 {
    if task.gshare == EXPRESS {
        return S;
    }
    let class = match () {
        () if (slots.hi as f64) < threshold => A,
        () if (slots.hi_mid as f64) < params.threshold_b => B,
        () => C,
    };
    let options = &task.options;
    let files = options.finished_files.saturating_add(options.remaining_files);
    let nearly = |progress: f64, most: f64| {
        let jobs = options.remaining_jobs as f64;
        // Without files nothing is known of progress.
        files > 0
            && 100.0 * options.finished_files as f64 / files as f64 >= progress
            && jobs > 0.0
            && jobs <= most
    };
    let is_boosted = match class {
        A => nearly(params.progress_a, params.jobs_a),
        B => nearly(params.progress_b, params.jobs_b),
        _ => false,
    };
    if is_boosted { S } else { class }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Options;
    use crate::policy::typed::read;
    use crate::policy::{Rules, Values};

    fn class(gshare: &str, (hi, hi_mid): (u64, u64), (done, left, jobs): (u64, u64, u64)) -> i8 {
        let options = Options {
            finished_files: done,
            remaining_files: left,
            remaining_jobs: jobs,
            ..Options::default()
        };
        let task = Task { gshare: gshare.into(), options, ..Task::default() };
        let values = Values::defaults(Classes::DECLARED, Rules::Documented);
        let params = read!(Classes, values);
        class_of(&task, Slots { hi, hi_mid }, 1_000.0, &params)
    }

    #[test]
    fn classes_go_by_slots() {
        let of = |hi, hi_mid| class("User Analysis", (hi, hi_mid), (0, 100, 100));
        assert_eq!([of(0, 0), of(999, 50_000), of(0, 8_000)], [A; 3]);
        assert_eq!([of(1_000, 1_000), of(7_999, 7_999)], [B; 2]);
        assert_eq!([of(1_000, 8_000), of(8_000, 8_000)], [C; 2]);
        assert_eq!(class("Express Analysis", (9_000, 9_000), (0, 1, 1)), S);
    }

    #[test]
    fn classes_have_their_names() {
        assert_eq!([S, A, B, C].map(task_class_name), TASK_CLASSES);
    }

    #[test]
    fn a_task_that_is_nearly_done_is_of_class_s() {
        let of = |slots, files| class("User Analysis", slots, files);
        assert_eq!(of((0, 0), (90, 10, 500)), S);
        assert_eq!(of((0, 0), (89, 11, 500)), A, "too little progress");
        assert_eq!(of((0, 0), (90, 10, 501)), A, "too many jobs remain");
        assert_eq!(of((0, 0), (90, 10, 0)), A, "none remains");
        assert_eq!(of((0, 0), (0, 0, 5)), A, "nothing is known of files");
        assert_eq!(of((1_000, 1_000), (95, 5, 200)), S);
        assert_eq!(of((1_000, 1_000), (94, 6, 200)), B);
        assert_eq!(of((1_000, 1_000), (95, 5, 201)), B);
        assert_eq!(of((8_000, 8_000), (99, 1, 1)), C, "class C is never raised");
    }
}
