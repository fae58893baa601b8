//! A program of the operator's that is handed one command at a time: started, fed, listened to, and
//! ended when it takes too long.

use crate::cli::{Usage, secret};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of each of its outputs is kept: the end; bytes.
const TAIL_BYTES: usize = 8_192;
/// Between two looks at whether it has ended.
const TICK: Duration = Duration::from_millis(20);
/// Time that it has to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long the system may take to end it after SIGKILL.
const KILL_WAIT: Duration = Duration::from_secs(5);
/// Longer after its timeout no program is waited for.
pub(super) const MOST_AFTER_TIMEOUT: Duration = Duration::from_secs(15);

/// A program, its arguments, and how long it may take.
pub(super) struct Program {
    path: PathBuf,
    args: Vec<String>,
    /// After so long it is ended.
    pub timeout: Duration,
}

/// How a program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// By itself.
    Code(i32),
    /// By a signal that is not ours.
    Signal(i32),
    /// It took too long.
    TimedOut,
    /// It was not started; why.
    NotStarted(String),
}

/// How it ended, and the ends of its outputs.
pub(super) struct Finished {
    pub exit: Exit,
    pub stderr: Vec<u8>,
    pub stdout: Vec<u8>,
}

impl Program {
    /// Finds a program as a shell does.
    pub fn find(name: &str, args: &[String], timeout: Duration) -> Result<Program, Usage> {
        let found = match name.contains('/') {
            true => vec![PathBuf::from(name)],
            false => {
                let path = std::env::var_os("PATH").unwrap_or_default();
                std::env::split_paths(&path).map(|dir| dir.join(name)).collect()
            }
        };
        let files: Vec<PathBuf> = found.into_iter().filter(|path| path.is_file()).collect();
        let path = files.iter().find(|path| is_executable(path)).cloned();
        let path = path.ok_or_else(|| match files.first() {
            Some(path) => Usage(format!(
                "--exec {}: the file is not executable; make it so (chmod +x)",
                path.display()
            )),
            None if name.contains('/') => {
                Usage(format!("--exec {name:?}: there is no such file; name a program"))
            }
            None => Usage(format!(
                "--exec {name:?}: no program of this name in PATH; name a program, or give its path"
            )),
        })?;
        Ok(Program { path, args: args.to_vec(), timeout })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs it with an input and further variables of its environment. It is a process group of its
    /// own, so no signal of a terminal reaches it.
    pub fn run(&self, input: Vec<u8>, variables: &[(&str, &str)]) -> Finished {
        let mut command = Command::new(&self.path);
        command.args(&self.args).envs(variables.iter().copied()).process_group(0);
        // How we reach the broker is none of its business.
        for name in secret::variables() {
            command.env_remove(name);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = command.spawn().and_then(|mut child| match Pipes::of(&mut child, input) {
            Ok(pipes) => Ok((child, pipes)),
            Err(error) => {
                // It was to read and print, so nothing is lost that is not tried again.
                let _ = child.kill().and_then(|()| child.wait());
                Err(error)
            }
        });
        match started {
            Ok((child, pipes)) => self.attend(child, pipes),
            Err(error) => Finished {
                exit: Exit::NotStarted(error.to_string()),
                stderr: Vec::new(),
                stdout: Vec::new(),
            },
        }
    }

    fn attend(&self, mut child: Child, mut pipes: Pipes) -> Finished {
        let began = Instant::now();
        let exit = loop {
            pipes.pump(TICK);
            match child.try_wait() {
                Ok(Some(status)) => break exit_of(status),
                Ok(None) if began.elapsed() < self.timeout => {}
                Ok(None) => {
                    end(&mut child, &mut pipes);
                    break Exit::TimedOut;
                }
                Err(error) => break Exit::NotStarted(format!("cannot wait for it: {error}")),
            }
        };
        // What it printed last.
        pipes.pump(Duration::ZERO);
        Finished { exit, stderr: pipes.stderr.tail, stdout: pipes.stdout.tail }
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.permissions().mode() & 0o111 != 0)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal.unwrap_or(0)),
    }
}

/// Ends a program and all processes of its group: SIGTERM, then SIGKILL.
fn end(child: &mut Child, pipes: &mut Pipes) {
    // The number stands for this group until the child is waited for, which comes last.
    signal_group(child, Signal::TERM);
    let began = Instant::now();
    while !has_ended(child) && began.elapsed() < GRACE {
        pipes.pump(TICK);
    }
    signal_group(child, Signal::KILL);
    let began = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && began.elapsed() < KILL_WAIT {
        pipes.pump(TICK);
    }
}

/// The child leads its group and was not waited for, so the number is no other group's. A group
/// that has ended is no error for us.
fn signal_group(child: &Child, signal: Signal) {
    let _ = kill_process_group(Pid::from_child(child), signal);
}

/// Whether a child has ended; it is not waited for.
fn has_ended(child: &Child) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(None))
}

/// An output of a program.
struct Output {
    pipe: Option<Box<dyn Pipe>>,
    tail: Vec<u8>,
}

trait Pipe: Read + AsFd + Send {}
impl<T: Read + AsFd + Send> Pipe for T {}

/// Pipes to and from a program, written and read without waiting for it.
struct Pipes {
    stdin: Option<ChildStdin>,
    input: Vec<u8>,
    written: usize,
    stdout: Output,
    stderr: Output,
}

impl Pipes {
    fn of(child: &mut Child, input: Vec<u8>) -> io::Result<Pipes> {
        let output = |pipe: Option<Box<dyn Pipe>>| Output { pipe, tail: Vec::new() };
        let stdout = child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Pipe>);
        let stderr = child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Pipe>);
        let pipes = Pipes {
            stdin: child.stdin.take(),
            input,
            written: 0,
            stdout: output(stdout),
            stderr: output(stderr),
        };
        // Reading and writing them never waits from now on.
        pipes.files().try_for_each(|(file, _)| ioctl_fionbio(file, true))?;
        Ok(pipes)
    }

    /// The open ones, each with what is waited for.
    fn files(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let outputs = [&self.stdout, &self.stderr].into_iter().filter_map(|it| it.pipe.as_ref());
        let outputs = outputs.map(|pipe| (pipe.as_fd(), PollFlags::IN));
        self.stdin.iter().map(|pipe| (pipe.as_fd(), PollFlags::OUT)).chain(outputs)
    }

    /// Writes and reads what can be, after waiting for that so long at most.
    fn pump(&mut self, wait: Duration) {
        let polled = self.files().map(|(file, wanted)| PollFd::from_borrowed_fd(file, wanted));
        let mut polled: Vec<PollFd<'_>> = polled.collect();
        let wait = Timespec::try_from(wait).unwrap_or_default();
        // After an error nothing is ready, or reading reports it.
        let _ = poll(&mut polled, Some(&wait));
        self.write();
        self.stdout.read();
        self.stderr.read();
    }

    /// A program that does not read what it is given is no error.
    fn write(&mut self) {
        while let Some(stdin) = &mut self.stdin {
            match stdin.write(&self.input[self.written..]) {
                Ok(count) if count > 0 => self.written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(_) | Err(_) => self.stdin = None,
            }
        }
    }
}

impl Output {
    /// Reads what is there, a bounded amount at once, and keeps the end of it.
    fn read(&mut self) {
        let mut bytes = [0; TAIL_BYTES];
        for _ in 0..16 {
            let Some(pipe) = &mut self.pipe else { return };
            match pipe.read(&mut bytes) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    self.tail.extend_from_slice(&bytes[..count]);
                    let surplus = self.tail.len().saturating_sub(TAIL_BYTES);
                    self.tail.drain(..surplus);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.pipe = None,
            }
        }
    }
}

#[cfg(test)]
mod tests;
