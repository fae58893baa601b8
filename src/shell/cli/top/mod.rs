//! `top`: a live view of a running process on a terminal.

mod columns;
mod data;
mod model;
mod process;
mod view;
mod words;

use crate::cli::Ended;
use crate::cli::http_args::AskArgs;
use crate::cli::stop::Stop;
use crate::clock;
use crate::store::SledStore;
use anyhow::Context;
use clap::Args;
use model::{Effect, Model, News, Subject};
use process::{Process, ProcessPlace};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal;
use ratatui::layout::Rect;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};
use view::{LINES_OF_TWO, Plan, TerminalStyles};

/// How long one look at the keyboard may wait, and so news and a signal.
const LOOK: Duration = Duration::from_millis(100);
/// Ages are drawn again after so long, even if nothing is new.
const REDRAW: Duration = Duration::from_secs(1);
/// Columns of a frame that goes elsewhere than to a terminal.
const PLAIN_WIDTH: u16 = 180;
/// Lines of outputs in it.
const PLAIN_EVENTS: u16 = 22;

/// Text of `--help` below the flags.
const HELP: &str = "\
Shows what a running process knows, on a terminal: whether it leads and is ready; queues, sorted by
any column; use of shares against their targets; the last decisions, throttles and commands. Of a
pool of slots: sites with used and free cores; why jobs are idle, workflows, users, drained nodes.
Enter shows why: what `explain` prints of the chosen queue or request. ? shows all keys.
It is asked over its HTTP API, and shows nothing that is not there. Without a terminal, or with
--once, one frame is printed as text.

Examples:
  yardmaster top
  yardmaster top --http leader:9187 --http-token-file token
  yardmaster top --store /var/lib/yardmaster/store --once
  yardmaster top --domain cms";

/// A live view of a running process.
#[derive(Args)]
#[command(after_long_help = HELP)]
pub struct Top {
    /// Where the process is asked.
    #[arg(
        long,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:9187",
        conflicts_with = "store"
    )]
    http: String,
    /// Take the address from the store that the process holds.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Of a process of several domains: the one to show. Without it the first, or with --store the
    /// one whose store it is.
    #[arg(long, value_name = "DOMAIN")]
    domain: Option<String>,
    #[command(flatten)]
    ask_args: AskArgs,
    /// Between two questions; s.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..=3_600)
    )]
    interval: u64,
    /// Print one frame as text, and end.
    #[arg(long)]
    once: bool,
}

impl Top {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let place = match self.store {
            Some(store) => ProcessPlace::Store(of_domain(store, self.domain.as_deref())),
            None => ProcessPlace::Http(self.http),
        };
        let process = Process::new(place, self.domain, self.ask_args.proof()?);
        if self.once || !std::io::stdout().is_terminal() {
            return once(process);
        }
        let stop = Stop::on_signals()?;
        let (wish, wishes) = channel();
        let (sender, news) = channel();
        let interval = Duration::from_secs(self.interval);
        std::thread::Builder::new()
            .name("top".into())
            .spawn(move || process.watch(interval, &wishes, &sender))
            .context("starting a thread that asks the process")?;
        // It also restores the terminal when this process panics.
        let mut terminal = ratatui::try_init().context("the terminal")?;
        let shown = Shown { model: Model::new(), news, wish }.show(&mut terminal, &stop);
        let restored = ratatui::try_restore().context("restoring the terminal");
        shown.and(restored)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The store of a domain in a directory that was named as that of stores.
fn of_domain(store: PathBuf, domain: Option<&str>) -> PathBuf {
    let own = domain.map(|domain| store.join(domain));
    own.filter(|own| SledStore::is_there(own)).unwrap_or(store)
}

/// Prints one frame.
fn once(mut process: Process) -> Ended {
    let mut model = Model::new();
    match process.look() {
        News::Failed(why) => anyhow::bail!("{why}"),
        news => model.take(news, clock::now()),
    }
    let width = match std::io::stdout().is_terminal() {
        true => terminal::size().map_or(PLAIN_WIDTH, |(width, _)| width.max(20)),
        false => PLAIN_WIDTH,
    };
    let mut out = std::io::stdout().lock();
    for line in plain(&model, width) {
        writeln!(out, "{line}")?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A frame as lines of text, as high as it has to be to show all queues and shares.
fn plain(model: &Model, width: u16) -> Vec<String> {
    let rows = model.answered.queues.len().max(view::beside(model));
    let upper = u16::try_from(rows).unwrap_or(u16::MAX).clamp(1, u16::MAX / 2) + 2;
    let shown = u16::try_from(model.events.len()).unwrap_or(u16::MAX).min(PLAIN_EVENTS - 2);
    let events = shown + 2;
    let area = Rect::new(0, 0, width, (3 + upper + events + 1).max(LINES_OF_TWO));
    let plan = Plan::new(area, model, Some(events));
    // Its errors are none: it draws into memory.
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, area.height));
    let look = TerminalStyles { has_colours: false };
    let Ok(drawn) = terminal.draw(|frame| view::draw(frame, model, &plan, look, clock::now()));
    let buffer = drawn.buffer;
    let lines = (0..area.height - 1).map(|y| {
        let cells = (0..width).filter_map(|x| buffer.cell((x, y)));
        let text: String = cells.map(|cell| cell.symbol()).collect();
        text.trim_end().to_owned()
    });
    lines.collect()
}

/// The live view.
struct Shown {
    model: Model,
    news: Receiver<News>,
    wish: Sender<Option<Subject>>,
}

impl Shown {
    /// Draws what is new and takes keys, until it is ended.
    fn show(&mut self, terminal: &mut ratatui::DefaultTerminal, stop: &Stop) -> anyhow::Result<()> {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let look = TerminalStyles { has_colours: !no_colour };
        let mut drawn: Option<Instant> = None;
        while stop.goes_on() {
            let mut is_new = drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW);
            loop {
                match self.news.try_recv() {
                    Ok(news) => self.model.take(news, clock::now()),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        anyhow::bail!("the thread that asks the process has ended; start again")
                    }
                }
                is_new = true;
            }
            if is_new {
                terminal.draw(|frame| {
                    let plan = Plan::new(frame.area(), &self.model, None);
                    view::draw(frame, &self.model, &plan, look, clock::now());
                })?;
                drawn = Some(Instant::now());
            }
            if !event::poll(LOOK)? {
                continue;
            }
            drawn = None;
            let Event::Key(key) = event::read()? else { continue };
            if key.kind == KeyEventKind::Release {
                continue;
            }
            let size = terminal.size()?;
            let area = Rect::new(0, 0, size.width, size.height);
            let page = Plan::new(area, &self.model, None).page(&self.model);
            match self.model.key(key, page) {
                Effect::None => {}
                Effect::Quit => return Ok(()),
                Effect::Ask(subject) => {
                    // Without the thread there is nobody to ask: the view shows what it has.
                    let _ = self.wish.send(subject);
                }
            }
        }
        Ok(())
    }
}
