//! State of the display: what is shown and what is chosen in it; a key changes it, and so does news
//! of the process.

use super::columns::{QueueColumn, cells_of};
use super::data::{AttentionList, Event, Explained, Pool, ProcessStatus, Queue, Share};
use super::words::Words;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::cmp::Reverse;
use std::collections::VecDeque;
use yardmaster_core::unit::Millis;

/// Outputs that are remembered; the oldest go first.
const EVENTS_MAX: usize = 2_000;
/// Longest filter.
const FILTER_MAX: usize = 64;

/// News of the process.
#[derive(Debug)]
pub(super) enum News {
    /// Its state, its queues and shares, and outputs that are new, oldest first.
    Answered(Box<Answered>),
    /// It does not answer, or not as it should.
    Failed(String),
    /// The explanation of a subject, or the reason why there is none.
    Explained(Subject, Result<Explained, String>),
}

/// Answers of a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Answered {
    /// Its address.
    pub address: String,
    pub status: ProcessStatus,
    /// Words for what the rows are.
    pub words: Words,
    pub queues: Vec<Queue>,
    /// A pool of slots, where that is one.
    pub pool: Option<Pool>,
    pub shares: Vec<Share>,
    pub attention: AttentionList,
    /// Those that are new, the oldest first.
    pub events: Vec<Event>,
    /// Whether the numbers of outputs began again: those that were shown before are gone.
    pub is_fresh: bool,
}

/// Subject of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// Its name.
    pub name: String,
    /// Its kind, where that is known.
    pub kind: Option<&'static str>,
}

/// A list that keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pane {
    /// Queues.
    Queues,
    /// Decisions, throttles, commands.
    Events,
}

/// Effect of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing more.
    None,
    /// To end.
    Quit,
    /// To ask about a subject, or about none any more.
    Ask(Option<Subject>),
}

/// The answer about a subject.
#[derive(Debug)]
pub(super) struct Why {
    pub subject: Subject,
    /// `None`: not answered yet.
    pub lines: Option<Vec<String>>,
    /// Lines that are scrolled away.
    pub scroll: usize,
}

/// The newest answers, and the choice and place in each list.
#[derive(Debug)]
pub(super) struct Model {
    /// The newest answers; blank before the first.
    pub answered: Answered,
    /// Whether anything was answered yet.
    pub is_known: bool,
    /// Outputs, the newest first.
    pub events: VecDeque<Event>,
    /// Since when the process does not answer, and why.
    pub trouble: Option<(Millis, String)>,
    pub focus: Pane,
    pub sort: QueueColumn,
    pub is_descending: bool,
    /// Which of the lists beside the upper one comes first there, of a pool.
    pub beside: usize,
    queue_filter: String,
    event_filter: String,
    /// Whether keys go into the filter of the pane.
    pub is_typing: bool,
    chosen_queue: Option<String>,
    chosen_event: Option<u64>,
    pub why: Option<Why>,
    pub is_helping: bool,
}

impl Model {
    /// With nothing known.
    pub fn new() -> Model {
        Model {
            answered: Answered::default(),
            is_known: false,
            events: VecDeque::new(),
            trouble: None,
            focus: Pane::Queues,
            sort: QueueColumn::Running,
            is_descending: true,
            beside: 0,
            queue_filter: String::new(),
            event_filter: String::new(),
            is_typing: false,
            chosen_queue: None,
            chosen_event: None,
            why: None,
            is_helping: false,
        }
    }

    /// Takes up news that came at a moment.
    pub fn take(&mut self, news: News, now: Millis) {
        match news {
            News::Answered(mut answered) => {
                if answered.is_fresh {
                    self.events.clear();
                    self.chosen_event = None;
                }
                for event in answered.events.drain(..) {
                    self.events.push_front(event);
                }
                self.events.truncate(EVENTS_MAX);
                self.answered = *answered;
                self.is_known = true;
                self.trouble = None;
            }
            News::Failed(why) => {
                let since = self.trouble.as_ref().map_or(now, |(since, _)| *since);
                self.trouble = Some((since, why));
            }
            News::Explained(subject, explained) => {
                if let Some(why) = self.why.as_mut().filter(|why| why.subject == subject) {
                    let lines = explained.map_or_else(
                        |why| why.lines().map(str::to_owned).collect(),
                        |explained| explained.lines(),
                    );
                    why.scroll = why.scroll.min(lines.len().saturating_sub(1));
                    why.lines = Some(lines);
                }
            }
        }
    }

    /// The filter of a pane.
    pub fn filter(&self, pane: Pane) -> &str {
        match pane {
            Pane::Queues => &self.queue_filter,
            Pane::Events => &self.event_filter,
        }
    }

    fn filter_mut(&mut self) -> &mut String {
        match self.focus {
            Pane::Queues => &mut self.queue_filter,
            Pane::Events => &mut self.event_filter,
        }
    }

    /// The queues that are shown, in order.
    pub fn queues(&self) -> Vec<&Queue> {
        let filter = self.queue_filter.to_lowercase();
        let is_shown = |it: &&Queue| {
            let parts = [&it.queue, &it.site, &it.group, &it.status];
            parts.iter().any(|part| part.to_lowercase().contains(&filter))
        };
        let mut queues: Vec<&Queue> = self.answered.queues.iter().filter(is_shown).collect();
        queues.sort_by(|a, b| a.queue.cmp(&b.queue));
        match self.is_descending {
            true => queues.sort_by_cached_key(|it| Reverse(self.sort.key(it))),
            false => queues.sort_by_cached_key(|it| self.sort.key(it)),
        }
        queues
    }

    /// The outputs that are shown, the newest first.
    pub fn shown_events(&self) -> Vec<&Event> {
        let filter = self.event_filter.to_lowercase();
        let is_shown = |it: &&Event| {
            filter.is_empty()
                || cells_of(it).iter().any(|cell| cell.to_lowercase().contains(&filter))
        };
        self.events.iter().filter(is_shown).collect()
    }

    /// The place of the chosen one in the list of a pane; the first if none is chosen, or if the
    /// chosen one is gone.
    pub fn chosen(&self, pane: Pane) -> usize {
        let place = match pane {
            Pane::Queues => {
                let chosen = |it: &&Queue| Some(&it.queue) == self.chosen_queue.as_ref();
                self.queues().iter().position(chosen)
            }
            Pane::Events => {
                let chosen = |it: &&Event| Some(it.sequence) == self.chosen_event;
                self.shown_events().iter().position(chosen)
            }
        };
        place.unwrap_or(0)
    }

    /// Takes up a key. A page has so many lines.
    pub fn key(&mut self, key: KeyEvent, page: usize) -> Effect {
        if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
            return Effect::Quit;
        }
        if self.is_typing {
            return self.type_in(key.code);
        }
        if self.is_helping {
            self.is_helping = false;
            return if key.code == KeyCode::Char('q') { Effect::Quit } else { Effect::None };
        }
        if self.why.is_some() {
            return self.scroll(key.code, page);
        }
        match key.code {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('?') | KeyCode::F(1) => self.is_helping = true,
            KeyCode::Char('/') => self.is_typing = true,
            KeyCode::Tab | KeyCode::BackTab => {
                self.focus = match self.focus {
                    Pane::Queues => Pane::Events,
                    Pane::Events => Pane::Queues,
                };
            }
            KeyCode::Char('s') | KeyCode::Right => {
                self.sort_by(self.answered.words.after(self.sort, 1));
            }
            KeyCode::Char('S') | KeyCode::Left => {
                self.sort_by(self.answered.words.before(self.sort));
            }
            KeyCode::Char('b') => self.beside = self.beside.wrapping_add(1),
            KeyCode::Char('r') => self.is_descending = !self.is_descending,
            KeyCode::Esc => self.filter_mut().clear(),
            KeyCode::Enter => return self.ask(),
            code => {
                let (at, last) = (self.chosen(self.focus), self.last());
                if let Some(to) = moved(code, at, last, page) {
                    self.choose(to);
                }
            }
        }
        Effect::None
    }

    fn type_in(&mut self, code: KeyCode) -> Effect {
        match code {
            KeyCode::Enter => self.is_typing = false,
            KeyCode::Esc => {
                self.is_typing = false;
                self.filter_mut().clear();
            }
            KeyCode::Backspace => drop(self.filter_mut().pop()),
            KeyCode::Char(c) if self.filter_mut().chars().count() < FILTER_MAX => {
                self.filter_mut().push(c);
            }
            _ => {}
        }
        Effect::None
    }

    fn scroll(&mut self, code: KeyCode, page: usize) -> Effect {
        let Some(why) = &mut self.why else { return Effect::None };
        match code {
            KeyCode::Char('q') | KeyCode::Esc | KeyCode::Backspace | KeyCode::Enter => {
                self.why = None;
                return Effect::Ask(None);
            }
            code => {
                let last = why.lines.as_ref().map_or(0, |lines| lines.len().saturating_sub(1));
                why.scroll = moved(code, why.scroll, last, page).unwrap_or(why.scroll);
            }
        }
        Effect::None
    }

    fn sort_by(&mut self, column: QueueColumn) {
        self.focus = Pane::Queues;
        self.sort = column;
        self.is_descending = !column.is_text();
    }

    /// The place of the last one in the list of the pane.
    fn last(&self) -> usize {
        let count = match self.focus {
            Pane::Queues => self.queues().len(),
            Pane::Events => self.shown_events().len(),
        };
        count.saturating_sub(1)
    }

    fn choose(&mut self, at: usize) {
        match self.focus {
            Pane::Queues => self.chosen_queue = self.queues().get(at).map(|it| it.queue.clone()),
            Pane::Events => {
                // The first is not held on to: the newest is chosen as it comes.
                let chosen = self.shown_events().get(at).map(|it| it.sequence);
                self.chosen_event = chosen.filter(|_| at > 0);
            }
        }
    }

    /// Asks about what is chosen.
    fn ask(&mut self) -> Effect {
        let at = self.chosen(self.focus);
        let subject = match self.focus {
            Pane::Queues => {
                let of = |it: &&Queue| Subject { name: it.queue.clone(), kind: Some("queue") };
                self.queues().get(at).map(of)
            }
            Pane::Events => {
                let kind = |it: &Event| (it.kind == "decision").then_some("task");
                let of = |it: &&Event| Subject { name: it.subject.clone(), kind: kind(it) };
                self.shown_events().get(at).map(of)
            }
        };
        let Some(subject) = subject else { return Effect::None };
        self.why = Some(Why { subject: subject.clone(), lines: None, scroll: 0 });
        Effect::Ask(Some(subject))
    }
}

/// Where a key moves to; `None` for one that does not.
fn moved(code: KeyCode, at: usize, last: usize, page: usize) -> Option<usize> {
    let page = page.max(1);
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => at.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => (at + 1).min(last),
        KeyCode::PageUp => at.saturating_sub(page),
        KeyCode::PageDown | KeyCode::Char(' ') => (at + page).min(last),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
