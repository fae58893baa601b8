//! The end of a demo's summary: the page, and commands that look at what the demo leaves.

use crate::cli::log_args::LogArgs;
use std::path::Path;

/// What there is to look at.
pub(super) struct NextLook {
    /// Where the page is served while the demo holds; `None`: it ends.
    pub page: Option<String>,
    /// Flags by which another verb finds the log.
    log: String,
}

impl NextLook {
    /// Of a demo in a directory, by its flags; `page`: where the page stays.
    pub fn new(dir: &Path, args: &LogArgs, page: Option<String>) -> NextLook {
        let mut log = format!("--dir {}", quoted(&dir.display().to_string()));
        for topology in &args.topology {
            log += &format!(" --topology {}", quoted(&topology.display().to_string()));
        }
        NextLook { page, log }
    }

    /// Prints it; `name` is worth an explanation.
    pub fn print(&self, name: Option<&str>) {
        println!("\nlook next:");
        match &self.page {
            Some(page) => println!("  {page}  (the page, until Ctrl-C)"),
            None => println!("  the page: the same demo with --hold"),
        }
        self.commands(name).iter().for_each(|command| println!("  {command}"));
    }

    fn commands(&self, name: Option<&str>) -> Vec<String> {
        let log = &self.log;
        let explain = name.map(|name| format!("yardmaster explain {} {log}", quoted(name)));
        let others = [
            format!("yardmaster counters --by queue --sort jobs_running --top 5 {log}"),
            format!("yardmaster tail -n 20 --no-follow {log}"),
        ];
        explain.into_iter().chain(others).collect()
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_anything_else_than_plain_characters_is_quoted() {
        let words = ["yard", "a/b-c.d", "", "two words", "it's"].map(quoted);
        assert_eq!(words, ["yard", "a/b-c.d", "''", "'two words'", "'it'\\''s'"]);
    }
}
