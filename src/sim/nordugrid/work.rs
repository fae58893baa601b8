//! Jobs that users submit: of several kinds, each described in xRSL.

use super::catalogue::Catalogue;
use super::words::{ATLAS, BLAST, ENVIRONMENTS, MPI, PYTHON, ROOT};
use crate::dice::{Dice, Quantiles};
use std::fmt::Write;
use yardmaster_core::event::{JobDescription, Upload};

/// A kind of jobs.
struct Class {
    /// How common it is.
    weight: f64,
    /// CPUs: at least, and how often that is doubled at most.
    count: (u64, u32),
    /// How long a job runs; minutes.
    minutes: Quantiles,
    memory_mb: u64,
    /// Environments, each with the least version, by position: one of them will do.
    environments: &'static [(usize, usize)],
    /// Most input files of the catalogue.
    files: usize,
    /// Whether the files go round the cache.
    no_cache: bool,
    /// Whether the user uploads files.
    uploads: bool,
}

const SHORT: Quantiles = [2.0, 4.0, 8.0, 15.0, 30.0, 45.0, 60.0];
const MIDDLE: Quantiles = [10.0, 30.0, 70.0, 150.0, 300.0, 420.0, 600.0];
const LONG: Quantiles = [60.0, 180.0, 360.0, 600.0, 900.0, 1_100.0, 1_400.0];

const CLASSES: [Class; 6] = [
    // Analysis reads data, popular data most of all.
    class(0.42, (1, 0), MIDDLE, 2_000, &[(ROOT, 1)], (10, false, true)),
    // Simulation reads little and runs long.
    class(0.22, (1, 0), LONG, 3_000, &[(ATLAS, 0)], (2, false, false)),
    class(0.06, (4, 3), MIDDLE, 1_000, &[(MPI, 0)], (0, false, true)),
    class(0.12, (1, 0), MIDDLE, 4_000, &[(BLAST, 1), (PYTHON, 1)], (3, false, true)),
    // Files that change are not cached.
    class(0.08, (1, 1), MIDDLE, 1_500, &[(PYTHON, 0)], (4, true, false)),
    class(0.10, (1, 0), SHORT, 500, &[], (0, false, true)),
];

const fn class(
    weight: f64,
    count: (u64, u32),
    minutes: Quantiles,
    memory_mb: u64,
    environments: &'static [(usize, usize)],
    (files, no_cache, uploads): (usize, bool, bool),
) -> Class {
    Class { weight, count, minutes, memory_mb, environments, files, no_cache, uploads }
}

/// Of a thousand descriptions, so many cannot be read, and as many ask for what nobody has.
const BROKEN: f64 = 5.0 / 1_000.0;
/// What is asked for and nobody has: an environment, and a file of the catalogue.
const OF_NOBODY: [&str; 2] = [
    "(runtimeenvironment=\"APPS/LOCAL/OF-NOBODY\")",
    "(inputfiles=(\"lost.root\" \"rls://rls.nordugrid.org/of-nobody\"))",
];
/// Jobs with files that run only where these are close by.
const LOCAL: f64 = 0.02;
/// Jobs that read from a server that no catalogue has, through the cache and past it.
const PLAIN: f64 = 0.04;
const PLAIN_INPUTS: [&str; 2] = [
    "(\"calibration.db\" \"http://data.nordugrid.org/calibration.db\")",
    "(\"conditions.db\" \"http://data.nordugrid.org;cache=no/conditions.db\")",
];
/// How descriptions go wrong; each takes the place of the last parenthesis.
const MISTAKES: [&str; 4] = ["", "(memory=much))", "(count=0))", ")(memory"];

/// A job as its user wants it.
#[derive(Clone, Debug)]
pub struct WantedJob {
    /// The description as the user wrote it.
    pub text: String,
    /// CPUs.
    pub count: u64,
    /// CPU time asked for, of the whole job; s.
    pub cpu_time_s: u64,
    /// How long it will run; s.
    pub runs_s: u64,
    /// Memory of a slot; MB.
    pub memory_mb: u64,
    /// Environments, each with the least version, by position: one will do; empty: none is needed.
    pub environments: Vec<(usize, usize)>,
    /// Files of the catalogue.
    pub files: Vec<u32>,
    /// Whether they go round the cache.
    pub no_cache: bool,
    /// Whether it runs only where they are close by.
    pub is_local: bool,
    /// Input from a server that no catalogue has, as it is described; empty: none.
    pub plain: &'static str,
    /// Bytes that the user uploads.
    pub upload_bytes: Option<u64>,
    /// Disk beyond that; bytes.
    pub disk_bytes: u64,
    /// Whether the description can be read and asks for what there is.
    pub is_sound: bool,
}

/// CPU seconds of a mean job, about.
pub fn mean_cpu_s(speed: u32) -> f64 {
    let mut dice = Dice::new(0, "mean job");
    let jobs = 20_000;
    let cpu_s = |dice: &mut Dice| {
        let class = pick(dice);
        let count = class.count.0 << dice.below(class.count.1 as usize + 1);
        count as f64 * dice.measured(&class.minutes) * 60.0
    };
    (0..jobs).map(|_| cpu_s(&mut dice)).sum::<f64>() / f64::from(jobs) / f64::from(speed.max(1))
}

fn pick(dice: &mut Dice) -> &'static Class {
    &CLASSES[dice.weighted(CLASSES.iter().map(|class| class.weight))]
}

impl WantedJob {
    /// The next job; `speed` makes it shorter.
    pub fn draw(dice: &mut Dice, catalogue: &Catalogue, speed: u32) -> WantedJob {
        let class = pick(dice);
        let count = class.count.0 << dice.below(class.count.1 as usize + 1);
        let runs_s = (dice.measured(&class.minutes) * 60.0 / f64::from(speed.max(1))) as u64 + 1;
        // Users ask for more than they need, in whole minutes.
        let asked_min = (runs_s as f64 * dice.within(1.2, 3.0) / 60.0) as u64 + 1;
        let files = match class.files {
            0 => Vec::new(),
            most => catalogue.some(dice, most),
        };
        let mut wanted = WantedJob {
            text: String::new(),
            count,
            cpu_time_s: asked_min * 60 * count,
            runs_s,
            memory_mb: class.memory_mb,
            environments: class.environments.to_vec(),
            files,
            no_cache: class.no_cache,
            is_local: class.files > 0 && dice.chance(LOCAL),
            plain: if dice.chance(PLAIN) { PLAIN_INPUTS[dice.below(2)] } else { "" },
            upload_bytes: class.uploads.then(|| 1_000 * dice.between(1, 50_000) as u64),
            disk_bytes: (100 * dice.between(1, 20) as u64) << 20,
            is_sound: true,
        };
        wanted.text = wanted.describe(catalogue);
        if dice.chance(BROKEN) {
            wanted.text.pop();
            wanted.text.push_str(MISTAKES[dice.below(MISTAKES.len())]);
            wanted.is_sound = false;
        } else if dice.chance(BROKEN) {
            wanted.text.push_str(OF_NOBODY[dice.below(OF_NOBODY.len())]);
            wanted.is_sound = false;
        }
        wanted
    }

    fn describe(&self, catalogue: &Catalogue) -> String {
        let (minutes, megabytes) = (self.cpu_time_s / 60, self.disk_bytes >> 20);
        let mut text = format!(
            "&(executable=run.sh)(cputime=\"{minutes} minutes\")(memory={})(disk={megabytes})",
            self.memory_mb
        );
        if self.count > 1 {
            text += &format!("(count={})", self.count);
        }
        let of = |(at, version): &(usize, usize)| {
            let environment = &ENVIRONMENTS[*at];
            let (name, version) = (environment.name, environment.versions[*version]);
            format!("(runtimeenvironment>=\"{name}-{version}\")")
        };
        let environments: Vec<String> = self.environments.iter().map(of).collect();
        match environments.as_slice() {
            [] => {}
            [only] => text += only,
            several => text += &format!("(|{})", several.concat()),
        }
        let cache = if self.no_cache { " \"cache=no\"" } else { "" };
        let local = if self.is_local { " \"local=yes\"" } else { "" };
        let mut files = self.plain.to_owned();
        for (at, file) in self.files.iter().enumerate() {
            // cannot fail: a string takes everything.
            let _ = write!(
                files,
                "(\"in{at}.root\" \"{}\"{cache}{local})",
                catalogue.file(*file).source
            );
        }
        if self.upload_bytes.is_some() {
            files += "(\"settings.tar\" \"work/settings.tar\")";
        }
        if !files.is_empty() {
            text += &format!("(inputfiles={files})");
        }
        text
    }

    /// Its description, as published.
    pub fn description(&self, index_server: &str) -> JobDescription {
        let upload = |bytes| Upload { name: "settings.tar".to_owned(), bytes: Some(bytes) };
        JobDescription {
            text: self.text.clone(),
            index_servers: vec![index_server.to_owned()],
            uploads: self.upload_bytes.map(upload).into_iter().collect(),
            ..JobDescription::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::domain::nordugrid::xrsl::{Dialect, read};

    #[test]
    fn descriptions_say_what_is_wanted_and_few_cannot_be_read() {
        let catalogue = Catalogue::new(1, 1);
        let mut dice = Dice::new(1, "test");
        let mut unread = 0;
        for _ in 0..4_000 {
            let wanted = WantedJob::draw(&mut dice, &catalogue, 1);
            let read = match read(&wanted.text, Dialect::User) {
                Ok(read) => read,
                Err(_) => {
                    assert!(!wanted.is_sound, "{}", wanted.text);
                    unread += 1;
                    continue;
                }
            };
            let alternative = &read.jobs[0][0];
            assert_eq!(read.jobs[0].len(), wanted.environments.len().max(1));
            assert_eq!(alternative.count, wanted.count);
            assert_eq!(alternative.cpu_time_s, Some(wanted.cpu_time_s));
            assert_eq!(alternative.disk_bytes, wanted.disk_bytes);
            let uploads = usize::from(wanted.upload_bytes.is_some());
            let plain = usize::from(!wanted.plain.is_empty());
            let lost = alternative.input_files.iter().filter(|it| it.name == "lost.root").count();
            assert!(lost == 0 || !wanted.is_sound, "{}", wanted.text);
            let inputs = wanted.files.len() + uploads + plain + lost;
            assert_eq!(alternative.input_files.len(), inputs);
        }
        assert!((5..60).contains(&unread), "{unread}");
    }
}
