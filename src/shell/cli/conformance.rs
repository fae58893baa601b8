//! `conformance`: recorded cases judged and compared.

use super::log_args::Read;
use super::progress::{self, Bar};
use super::{Ended, Usage};
use anyhow::Context;
use clap::Args;
use flate2::read::MultiGzDecoder;
use serde_json::json;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use yardmaster_core::policy::Rules;
use yardmaster_sim::conform::{Configuration, Recorded, Summary};

/// Judges recorded cases and shows in what our answers agree with what was recorded.
#[derive(Args)]
pub(super) struct Conformance {
    /// Files of cases, one JSON object a line; `.gz` is unpacked.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Set of defaults of the shipped topology: what `panda` gives is compared with what PanDA did,
    /// that of the others with the documentation.
    #[arg(long, default_value = "documented", value_parser = ["documented", "panda", "tuned"])]
    rules: String,
    /// Judges by the policies of a topology file; a case's own parameters count before its.
    #[arg(long, value_name = "FILE", conflicts_with = "rules")]
    topology: Option<PathBuf>,
    /// One JSON object a case: id, agreed, and our answer.
    #[arg(long)]
    json: bool,
    /// Shows each disagreement side by side.
    #[arg(long)]
    verbose: bool,
}

impl Conformance {
    pub(super) fn run(self) -> Ended {
        let given = self.topology.as_deref().map(|path| Read::open(Some(path))).transpose()?;
        let by = match &given {
            Some(Read { name, text, .. }) => Configuration::File { name, text },
            None => Configuration::Shipped(Rules::from_name(&self.rules).unwrap_or_default()),
        };
        let mut summary = Summary::default();
        let (mut beyond, mut alone) = (Vec::new(), 0);
        let sizes = self.files.iter().filter_map(|path| path.metadata().ok());
        let mut bar = Bar::later("judging", "bytes", sizes.map(|it| it.len()).sum());
        let done = Rc::new(Cell::new(0));
        for path in &self.files {
            for (number, line) in (1..).zip(lines(path, &done)?) {
                bar.at(done.get());
                let line = line.with_context(|| format!("{}:{number}", path.display()))?;
                if line.trim().is_empty() {
                    continue;
                }
                let located =
                    |error: String| Usage(format!("{}:{number}: {error}", path.display()));
                let case = Recorded::read(&line).map_err(located)?;
                let judged = case.judge(by).map_err(located)?;
                let found = case.compare(&judged);
                let excuse = found.as_ref().and_then(|found| found.excuse(&judged));
                let why_not = case.out_of_scope().or(excuse);
                let agreement = found.as_ref().filter(|_| why_not.is_none());
                if let Some(agreement) = agreement {
                    summary.add(agreement);
                } else if let (Some(why), true) = (why_not, found.is_some()) {
                    beyond.push(format!("{} ({why})", case.id));
                } else {
                    alone += 1;
                }
                if self.json {
                    progress::give_way();
                    let agreed = agreement.map(|agreement| agreement.is_whole());
                    println!(
                        "{}",
                        json!({"id": case.id, "agreed": agreed, "result": judged.to_json()})
                    );
                }
                if let Some(agreement) = found.filter(|it| self.verbose && !it.is_whole()) {
                    progress::give_way();
                    let beyond =
                        why_not.map_or(String::new(), |why| format!(" (out of scope: {why})"));
                    println!("{} {}{beyond}", case.id, case.rule());
                    agreement.differences.iter().for_each(|line| println!("    {line}"));
                }
            }
        }
        drop(bar);
        if summary.cases == 0 && beyond.is_empty() && alone == 0 {
            let none = "no case in the files: a file of recorded cases has a JSON object a line";
            return Err(Usage(none.to_owned()).into());
        }
        if !beyond.is_empty() && !self.json {
            println!("out of scope: {}", beyond.join(", "));
        }
        if alone > 0 && !self.json {
            println!("judged, with nothing to compare with: {alone}");
        }
        println!("{summary}");
        Ok(if summary.whole == summary.cases { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// A file, and the sum of the bytes that were read.
struct Counted {
    file: File,
    done: Rc<Cell<u64>>,
}

impl io::Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.done.set(self.done.get() + read as u64);
        Ok(read)
    }
}

/// The lines of a file, unpacked where its name has the ending of a packed one; `done` counts its
/// bytes as they are read.
fn lines(
    path: &Path,
    done: &Rc<Cell<u64>>,
) -> anyhow::Result<impl Iterator<Item = io::Result<String>> + use<>> {
    let file = File::open(path).map_err(|error| {
        Usage(format!("{}: {error}; give a file of recorded cases", path.display()))
    })?;
    let file = Counted { file, done: Rc::clone(done) };
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    let bytes: Box<dyn io::Read> =
        if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    Ok(BufReader::new(bytes).lines())
}
