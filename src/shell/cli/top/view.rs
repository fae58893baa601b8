//! Draws the model on a terminal of any size: nothing here is chosen or asked.

mod beside;
mod plan;

pub(super) use beside::lines as beside;
pub(super) use plan::{LINES_OF_TWO, Plan};

use super::columns::{QueueColumn, cells_of, span};
use super::data::{Offers, Pool, Queue};
use super::model::{Answered, Model, Pane};
use super::words::Words;
use crate::trouble::ACT;
use plan::WIDE;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use yardmaster_core::explain::iso;
use yardmaster_core::plain::plain;
use yardmaster_core::unit::{DAY, Millis};

/// The styles of a terminal.
#[derive(Clone, Copy)]
pub(super) struct TerminalStyles {
    /// Whether it shows colours.
    pub has_colours: bool,
}

impl TerminalStyles {
    fn colour(self, colour: Color) -> Style {
        if self.has_colours { Style::new().fg(colour) } else { Style::new() }
    }

    fn bad(self) -> Style {
        self.colour(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Of what a queue's status is, or an output's kind.
    fn of(self, word: &str) -> Style {
        match word {
            "online" | "active" | "assign" | "lift" => self.colour(Color::Green),
            "brokeroff" | "test" | "drain" | "defer" | "set" => self.colour(Color::Yellow),
            "offline" | "inactive" | "silent" | "reject" | "kill" | "fail" | "kill_workflow" => {
                self.colour(Color::Red)
            }
            _ => Style::new(),
        }
    }
}

/// Draws everything as of this host's now.
pub(super) fn draw(
    frame: &mut Frame<'_>,
    model: &Model,
    plan: &Plan,
    look: TerminalStyles,
    now: Millis,
) {
    let buffer = frame.buffer_mut();
    header(buffer, plan.header, model, look, now);
    if model.is_helping {
        help(buffer, plan.body, model.answered.words);
    } else if model.why.is_some() {
        why(buffer, plan.body, model);
    } else {
        queues(buffer, plan.queues, model, look);
        beside::draw(buffer, plan.shares, model, look);
        events(buffer, plan.events, model, look);
    }
    footer(buffer, plan.footer, model);
}

/// Writes a text where there is room; what there is none for is cut off.
fn put(buffer: &mut Buffer, area: Rect, line: u16, text: &str, style: Style) {
    if line < area.height && area.width > 0 {
        buffer.set_stringn(area.x, area.y + line, plain(text), usize::from(area.width), style);
    }
}

/// Writes a cell of a table; figures stand to the right.
fn cell(buffer: &mut Buffer, area: Rect, line: u16, text: &str, is_text: bool, style: Style) {
    let width = u16::try_from(Line::raw(text).width()).unwrap_or(u16::MAX);
    let shift = if is_text { 0 } else { area.width.saturating_sub(width) };
    let area = Rect { x: area.x + shift, width: area.width - shift, ..area };
    put(buffer, area, line, text, style);
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const FAINT: Style = Style::new().add_modifier(Modifier::DIM);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

fn header(buffer: &mut Buffer, area: Rect, model: &Model, look: TerminalStyles, now: Millis) {
    let answered = &model.answered;
    let status = &answered.status;
    if !model.is_known {
        put(buffer, area, 0, "yardmaster top", BOLD);
    } else {
        let lead = if status.leading { "leading" } else { "standby" };
        let ready = if status.ready { "ready" } else { "not ready" };
        let open = status.requests_open.map_or("-".to_owned(), |open| open.to_string());
        let (domain, cycle, epoch) = (&status.domain, status.cycle, status.epoch);
        let text = format!(
            "{domain}  {lead}, {ready}  {} {open}  cycle {cycle}, epoch {epoch}  {}",
            answered.words.open(),
            age(status.now, now)
        );
        put(buffer, area, 0, &text, BOLD);
    }
    let (text, style) = match &model.trouble {
        Some((since, why)) => {
            let time = iso(*since);
            let time = time.get(11..19).unwrap_or(&time);
            let ago = span(now - since);
            (format!("no answer since {time} UTC ({ago}), asked again: {why}"), look.bad())
        }
        None if !model.is_known => ("waiting for an answer".to_owned(), FAINT),
        None => match trouble(model) {
            Some(text) => {
                put(buffer, area, 2, &sums(model), Style::new());
                (text, look.bad())
            }
            None => {
                put(buffer, area, 2, &attention(model), Style::new());
                (sums(model), Style::new())
            }
        },
    };
    put(buffer, area, 1, &text, style);
}

/// How old the time of a cycle is; of a simulated one only the time.
fn age(cycle: Millis, now: Millis) -> String {
    match now - cycle {
        age if age.abs() < DAY => format!("now {} ({} old)", iso(cycle), span(age)),
        _ => format!("now {}", iso(cycle)),
    }
}

/// Why it is not ready; else the worst that is wrong, and how much more there is.
fn trouble(model: &Model) -> Option<String> {
    let status = &model.answered.status;
    let more = |shown: usize| match status.troubles.len().saturating_sub(shown) {
        0 => String::new(),
        more => format!("  (and {more} more: /api/v1/status)"),
    };
    if let Some(why) = &status.reason {
        return Some(format!("not ready: {why}{}", more(1)));
    }
    let worst = status.troubles.iter().find(|it| it.severity == ACT)?;
    Some(format!("{}{}", worst.text, more(1)))
}

/// Things that need a person: how many, and the most urgent ones as far as there is room. Troubles
/// of the process have a line of their own.
fn attention(model: &Model) -> String {
    let items = &model.answered.attention.items;
    let count = |severity: &str| items.iter().filter(|it| it.severity == severity).count();
    let counts = ["act", "watch", "note"].map(|severity| (severity, count(severity)));
    let counts = counts.iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts.map(|(severity, it)| format!("{it} {severity}")).collect();
    if counts.is_empty() {
        return String::new();
    }
    let titles: Vec<&str> = items.iter().map(|it| it.title.as_str()).collect();
    format!("needs a person: {}: {}", counts.join(", "), titles.join("; "))
}

/// Where it is asked, and sums over what is known.
fn sums(model: &Model) -> String {
    let answered = &model.answered;
    let status = &answered.status;
    format!("{}  version {}  {}", answered.address, status.version, row_sums(answered))
}

/// Sums over all rows, in the words of the domain.
fn row_sums(answered: &Answered) -> String {
    // Tiles of a domain that a program brings are that program's figures.
    let sum = |of: fn(&Queue) -> u64| answered.queues.iter().map(of).fold(0, u64::saturating_add);
    let (rows, count) = (answered.words.rows(), answered.queues.len());
    let (running, cores) = (sum(|it| it.running), sum(|it| it.running_cores));
    let head = format!("{rows} {count}  running {running} ({cores} cores");
    match (answered.words, &answered.pool) {
        (Words::Sites, pool) => {
            let pledge = sum(|it| it.pledged_cores.unwrap_or(0));
            let none = Pool::default();
            let pool = pool.as_ref().unwrap_or(&none);
            let offers = offers(&pool.offers, answered.status.now);
            let Pool { idle, on_hold, workflows_open: workflows, drains_open: drains, .. } = pool;
            let hold = if *on_hold > 0 { format!("  on hold {on_hold}") } else { String::new() };
            format!(
                "{head} of {pledge} pledged)  idle {idle}{hold}  {offers}  workflows {workflows}  \
                 drains {drains}"
            )
        }
        (Words::Clusters, _) => {
            let of = |word| answered.queues.iter().filter(|it| it.status.starts_with(word)).count();
            let (silent, down) = (of("silent"), of("inactive"));
            let queued = sum(|it| it.queued);
            format!("{head})  queued {queued}  inactive {down}  silent {silent}")
        }
        (Words::Queues, _) => {
            let (queued, cores) = (sum(|it| it.queued), sum(|it| it.queued_cores));
            format!("{head})  queued {queued} ({cores} cores)")
        }
    }
}

/// Live offers, what is left of them, and how old they are.
fn offers(it: &Offers, now: Millis) -> String {
    let ages = match (it.newest_at, it.oldest_at) {
        (Some(newest), Some(oldest)) => {
            format!(", {} to {} old", span(now - newest), span(now - oldest))
        }
        _ => String::new(),
    };
    format!("offers {} ({} cores){ages}", it.live, it.cores_free)
}

/// The title of a list: its name, what is shown of how many, its filter.
fn title(buffer: &mut Buffer, area: Rect, model: &Model, pane: Pane, text: &str) {
    let filter = model.filter(pane);
    let filter = if filter.is_empty() { String::new() } else { format!("  /{filter}") };
    let style = if model.focus == pane { BOLD } else { FAINT };
    put(buffer, area, 0, &format!("{text}{filter}"), style.add_modifier(Modifier::UNDERLINED));
}

/// The first line that is shown, so that the chosen one is among them.
fn first(chosen: usize, lines: usize) -> usize {
    if lines == 0 { 0 } else { chosen.saturating_sub(lines - 1) }
}

fn queues(buffer: &mut Buffer, area: Rect, model: &Model, look: TerminalStyles) {
    if area.height == 0 {
        return;
    }
    let queues = model.queues();
    let (shown, all) = (queues.len(), model.answered.queues.len());
    let direction = if model.is_descending { "down" } else { "up" };
    let words = model.answered.words;
    let sort = words.head(model.sort);
    let text = format!("{} {shown} of {all}, by {sort} {direction}", words.title());
    title(buffer, area, model, Pane::Queues, &text);
    let longest = queues.iter().map(|it| Line::raw(it.queue.as_str()).width()).max();
    let name = u16::try_from(longest.unwrap_or(0)).unwrap_or(u16::MAX);
    let places = places(area, name, words);
    for (column, place) in &places {
        let is_sorted = *column == model.sort;
        cell(
            buffer,
            *place,
            1,
            words.head(*column),
            column.is_text(),
            if is_sorted { BOLD } else { FAINT },
        );
    }
    let (lines, chosen) = (usize::from(area.height.saturating_sub(2)), model.chosen(Pane::Queues));
    let from = first(chosen, lines);
    for (line, (at, queue)) in (2..).zip(queues.iter().enumerate().skip(from).take(lines)) {
        let is_chosen = at == chosen && model.focus == Pane::Queues;
        for (column, place) in &places {
            let text = column.cell(queue, model.answered.status.now);
            let style = match column {
                QueueColumn::Status => look.of(&text),
                _ => Style::new(),
            };
            cell(buffer, *place, line, &text, column.is_text(), style);
        }
        if is_chosen {
            let row = Rect { y: area.y + line, height: 1, ..area };
            buffer.set_style(row, CHOSEN);
        }
    }
    if queues.is_empty() {
        let why = if all == 0 { "none is known" } else { "none has that in it" };
        put(buffer, area, 2, why, FAINT);
    }
}

/// Where the columns of the queues are.
fn places(area: Rect, name: u16, words: Words) -> Vec<(QueueColumn, Rect)> {
    let mut x = area.x;
    let place = |column: QueueColumn| {
        let width = column.width(name).min((area.x + area.width).saturating_sub(x));
        let place = Rect { x, width, ..area };
        x = (x + width + 2).min(area.x + area.width);
        (column, place)
    };
    words.fitting(area.width, name).into_iter().map(place).collect()
}

fn events(buffer: &mut Buffer, area: Rect, model: &Model, look: TerminalStyles) {
    if area.height == 0 {
        return;
    }
    let shown = model.shown_events();
    let text = format!("Decisions, throttles, commands {} of {}", shown.len(), model.events.len());
    title(buffer, area, model, Pane::Events, &text);
    // Share and user go where there is no room.
    let widths: [u16; 5] = match area.width {
        0..80 => [8, 8, 14, 0, 0],
        80..WIDE => [8, 8, 16, 0, 12],
        _ => [8, 13, 20, 16, 16],
    };
    let head = ["time", "what", "subject", "share", "user", "why"];
    let row = |buffer: &mut Buffer, line, cells: [&str; 6], style: Style| {
        let mut x = area.x;
        for (at, text) in cells.iter().enumerate() {
            let rest = (area.x + area.width).saturating_sub(x);
            let width = widths.get(at).map_or(rest, |width| (*width).min(rest));
            if width > 0 {
                let style = if at == 1 { style } else { Style::new() };
                cell(buffer, Rect { x, width, ..area }, line, text, true, style);
                x = (x + width + 2).min(area.x + area.width);
            }
        }
    };
    row(buffer, 1, head, FAINT);
    let (lines, chosen) = (usize::from(area.height.saturating_sub(2)), model.chosen(Pane::Events));
    let from = first(chosen, lines);
    for (line, (at, event)) in (2..).zip(shown.iter().enumerate().skip(from).take(lines)) {
        let cells = cells_of(event);
        row(
            buffer,
            line,
            [0, 1, 2, 3, 4, 5].map(|at: usize| cells[at].as_str()),
            look.of(&event.what),
        );
        if at == chosen && model.focus == Pane::Events {
            buffer.set_style(Rect { y: area.y + line, height: 1, ..area }, CHOSEN);
        }
    }
}

fn why(buffer: &mut Buffer, area: Rect, model: &Model) {
    let Some(why) = &model.why else { return };
    let title = format!("Why: {}", why.subject.name);
    put(buffer, area, 0, &title, BOLD.add_modifier(Modifier::UNDERLINED));
    let Some(lines) = &why.lines else {
        return put(buffer, area, 2, "asking the process", FAINT);
    };
    let width = usize::from(area.width).max(1);
    let folded = lines.iter().skip(why.scroll).flat_map(|line| fold(line, width));
    for (line, text) in (2..area.height).zip(folded) {
        put(buffer, area, line, &text, Style::new());
    }
}

/// A line in pieces that fit.
fn fold(line: &str, width: usize) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    match chars.len() {
        0 => vec![String::new()],
        _ => chars.chunks(width).map(|piece| piece.iter().collect()).collect(),
    }
}

fn help(buffer: &mut Buffer, area: Rect, words: Words) {
    const KEYS: [(&str, &str); 10] = [
        ("Up, Down, PgUp, PgDn, Home, End", "choose, or scroll an answer; also k, j, g, G"),
        ("Tab", "the upper list or decisions"),
        ("Enter", "why: what is known of the chosen one; again to go back"),
        ("/", "show only what has a text in it; Enter keeps it, Esc clears it"),
        ("s, Right", "sort by the next column"),
        ("S, Left", "sort by the column before"),
        ("r", "the other way round"),
        ("Esc", "clear the filter; go back"),
        ("?", "this"),
        ("q, Ctrl-C", "end"),
    ];
    put(buffer, area, 0, "Keys", BOLD.add_modifier(Modifier::UNDERLINED));
    let columns = words.columns().iter().map(|column| (words.head(*column), column.help()));
    let keys = KEYS.iter().map(|(key, what)| format!("{key:<33}{what}"));
    let beside = (words == Words::Sites)
        .then(|| format!("{:<33}{}", "b", "the next list beside the sites first"));
    let keys = keys.chain(beside);
    let columns = columns.map(|(head, what)| format!("{head:<33}{what}"));
    for (line, text) in (1..).zip(keys.chain([String::new()]).chain(columns)) {
        put(buffer, area, line, &text, Style::new());
    }
}

fn footer(buffer: &mut Buffer, area: Rect, model: &Model) {
    let text = if model.is_typing {
        format!("/{}_   Enter keep  Esc clear", model.filter(model.focus))
    } else if model.is_helping {
        "any key: back".to_owned()
    } else if model.why.is_some() {
        "Esc back  Up/Down scroll  PgUp/PgDn page".to_owned()
    } else {
        "q quit  ? help  Tab pane  Up/Down choose  Enter why  / filter  s/S sort  r reverse"
            .to_owned()
    };
    put(buffer, area, 0, &text, FAINT);
}

#[cfg(test)]
mod tests;
