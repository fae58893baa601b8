//! A program of the operator's that is handed one command at a time: started, fed, listened to, and
//! ended when it takes too long.

use crate::shell::cli::{Usage, secret};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// How much of each of its outputs is kept: the end; bytes.
const TAIL_BYTES: usize = 8_192;
/// Between two looks at whether it has ended.
const TICK: Duration = Duration::from_millis(20);
/// What it has to end in after SIGTERM, before SIGKILL.
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
    signal_group(child, libc::SIGTERM);
    let began = Instant::now();
    while !has_ended(child) && began.elapsed() < GRACE {
        pipes.pump(TICK);
    }
    signal_group(child, libc::SIGKILL);
    let began = Instant::now();
    while matches!(child.try_wait(), Ok(None)) && began.elapsed() < KILL_WAIT {
        pipes.pump(TICK);
    }
}

fn signal_group(child: &Child, signal: i32) {
    let Ok(group) = libc::pid_t::try_from(child.id()) else { return };
    // SAFETY: no memory is involved. The child leads its group and was not waited for, so the
    // number is no other group's. A group that has ended is no error for us.
    unsafe { libc::kill(-group, signal) };
}

/// Whether a child has ended; it is not waited for.
fn has_ended(child: &Child) -> bool {
    // SAFETY: all zeros are a valid `siginfo_t`, which the call fills; the flags leave the child as
    // it is. `si_pid` reads a field that is there after a call that succeeded, and 0 before.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        let asked = libc::waitid(libc::P_PID, child.id(), &raw mut info, flags);
        asked != 0 || info.si_pid() != 0
    }
}

/// An output of a program.
struct Output {
    pipe: Option<Box<dyn Pipe>>,
    tail: Vec<u8>,
}

trait Pipe: Read + AsRawFd + Send {}
impl<T: Read + AsRawFd + Send> Pipe for T {}

/// What is written to a program and read from it, without waiting for it.
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
        pipes.files().try_for_each(|(file, _)| never_wait(file))?;
        Ok(pipes)
    }

    /// The open ones, each with what is waited for.
    fn files(&self) -> impl Iterator<Item = (RawFd, libc::c_short)> {
        let outputs = [&self.stdout, &self.stderr].into_iter().filter_map(|it| it.pipe.as_ref());
        let outputs = outputs.map(|pipe| (pipe.as_raw_fd(), libc::POLLIN));
        self.stdin.iter().map(|pipe| (pipe.as_raw_fd(), libc::POLLOUT)).chain(outputs)
    }

    /// Writes and reads what can be, after waiting for that so long at most.
    fn pump(&mut self, wait: Duration) {
        let poll = |(fd, events)| libc::pollfd { fd, events, revents: 0 };
        let mut polled: Vec<libc::pollfd> = self.files().map(poll).collect();
        let wait = i32::try_from(wait.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: the list lives through the call and its length is given; the files are open,
        // since `self` owns them. After an error nothing is ready, or reading reports it.
        unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, wait) };
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

/// Reading and writing a file never waits from now on.
fn never_wait(file: RawFd) -> io::Result<()> {
    // SAFETY: no memory is involved, and the caller owns the file.
    let done = unsafe {
        let flags = libc::fcntl(file, libc::F_GETFL);
        flags != -1 && libc::fcntl(file, libc::F_SETFL, flags | libc::O_NONBLOCK) != -1
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;
