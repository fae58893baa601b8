//! `--help` of the program, and what is made of its flags: completions, man pages.

use super::Ended;
use crate::cli::Usage;
use anyhow::Context;
use clap::{Args, Command};
use clap_complete::Shell;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// The verbs by what a user wants; each is in one group.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Serve", &["run", "submit", "publish", "intake", "import"]),
    (
        "Look",
        &[
            "attention",
            "waiting",
            "throttles",
            "usage",
            "explain",
            "judge",
            "compare",
            "top",
            "tail",
            "changes",
            "counters",
            "commands",
            "dead-letters",
        ],
    ),
    ("Check and mend", &["health", "audit", "replay", "archive", "repair"]),
    ("Try", &["demo", "bench", "conformance"]),
    ("Set up", &["topology", "panda", "completions", "man"]),
];

/// The program with its verbs in groups.
pub fn with_groups(program: Command) -> Command {
    let template = template(&program);
    program.help_template(template)
}

fn template(program: &Command) -> String {
    let about = |verb: &str| program.find_subcommand(verb).and_then(Command::get_about);
    let longest = GROUPS.iter().flat_map(|(_, verbs)| *verbs).map(|verb| verb.len()).max();
    let width = longest.unwrap_or(0);
    let mut groups = String::new();
    for (heading, verbs) in GROUPS {
        // Writing to a text cannot fail.
        let _ = writeln!(groups, "{heading}:");
        for verb in verbs {
            let about = about(verb).map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(groups, "  {verb:<width$}  {about}");
        }
        groups.push('\n');
    }
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}\n\n\
         `yardmaster VERB --help` has the flags of a verb, with examples.\n"
    )
}

/// Prints what a shell completes verbs and flags by.
///
/// Examples:
///   yardmaster completions bash > ~/.local/share/bash-completion/completions/yardmaster
///   yardmaster completions zsh > ~/.zfunc/_yardmaster
///   yardmaster completions fish > ~/.config/fish/completions/yardmaster.fish
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Completions {
    /// Which shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completions {
    /// Runs the verb.
    pub fn run(self, mut program: Command) -> Ended {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "yardmaster", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints a man page: of the program, or of a verb.
///
/// Examples:
///   yardmaster man counters | man -l -
///   yardmaster man --dir ~/.local/share/man/man1
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Man {
    /// The verb, and what it does where it does several things: `dead-letters show`.
    #[arg(value_name = "VERB")]
    verb: Vec<String>,
    /// Write the pages of the program and of all verbs into this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    dir: Option<PathBuf>,
}

impl Man {
    /// Runs the verb.
    pub fn run(self, mut program: Command) -> Ended {
        program.build();
        if let Some(dir) = &self.dir {
            let at = || format!("--dir {}", dir.display());
            std::fs::create_dir_all(dir).with_context(at)?;
            let pages = write_pages(&program, dir).with_context(at)?;
            println!("{pages} pages in {}", dir.display());
            return Ok(ExitCode::SUCCESS);
        }
        let mut of = &program;
        for verb in &self.verb {
            of = of.find_subcommand(verb).ok_or_else(|| {
                let known: Vec<&str> = of.get_subcommands().map(Command::get_name).collect();
                let name = of.get_name();
                Usage(format!("{name} {verb}: no such verb; give one of {}", known.join(", ")))
            })?;
        }
        io::stdout().write_all(&page(of)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn page(of: &Command) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(of.clone()).render(&mut page)?;
    Ok(page)
}

/// Writes the page of a verb, and those of what is below it; how many there are.
fn write_pages(of: &Command, dir: &std::path::Path) -> io::Result<usize> {
    let name = of.get_display_name().unwrap_or_else(|| of.get_name());
    std::fs::write(dir.join(format!("{name}.1")), page(of)?)?;
    let below = of.get_subcommands().filter(|it| it.get_name() != "help");
    below.map(|it| write_pages(it, dir)).try_fold(1, |sum, pages| Ok(sum + pages?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::program;

    #[test]
    fn each_verb_is_in_one_group() {
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        let program = program();
        let mut verbs: Vec<&str> = program.get_subcommands().map(Command::get_name).collect();
        verbs.retain(|verb| *verb != "help");
        listed.sort_unstable();
        verbs.sort_unstable();
        assert_eq!(listed, verbs, "GROUPS in src/shell/cli/help.rs names each verb once");
    }

    #[test]
    fn the_groups_fit_a_terminal() {
        let help = program().render_help().to_string();
        let groups = help.split("Options:").next().unwrap_or_default();
        let verbs = groups.lines().filter(|line| line.starts_with("  "));
        let long: Vec<&str> = verbs.filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{long:#?}");
        for (heading, _) in GROUPS {
            assert!(groups.contains(&format!("\n{heading}:\n  ")), "{heading}: {help}");
        }
    }
}
