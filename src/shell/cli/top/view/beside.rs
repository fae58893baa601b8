//! Beside the upper list: use of shares, or of a pool why its jobs are idle, its workflows, users
//! and drained nodes.

use super::super::columns::span;
use super::super::data::Pool;
use super::super::model::Model;
use super::{FAINT, TerminalStyles, cell, put};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use yardmaster_core::unit::Millis;

/// Most workflows, users and drained nodes that are shown.
const LISTED_MAX: usize = 20;
/// A name has at least so many columns; figures for which there is no room then are left out, the
/// last first.
const NAME_MIN: u16 = 15;
/// Columns between two figures.
const GAP: u16 = 1;

/// A line: a name, and figures to the right of it, each with its width.
struct Line {
    name: String,
    figures: Vec<(String, u16)>,
    style: Style,
}

impl Line {
    fn title(name: String) -> Line {
        let style = FAINT.add_modifier(Modifier::UNDERLINED);
        Line { name, figures: Vec::new(), style }
    }

    fn head<const COUNT: usize>(name: &str, heads: [&str; COUNT], widths: [u16; COUNT]) -> Line {
        let line = Line::row(name.to_owned(), heads.map(str::to_owned), widths);
        Line { style: FAINT, ..line }
    }

    fn row<const COUNT: usize>(
        name: String,
        figures: [String; COUNT],
        widths: [u16; COUNT],
    ) -> Line {
        Line { name, figures: figures.into_iter().zip(widths).collect(), style: Style::new() }
    }

    /// Without a figure, unless it is shown.
    fn with(mut self, figure: usize, is_shown: bool) -> Line {
        if !is_shown {
            self.figures.remove(figure);
        }
        self
    }

    fn draw(&self, buffer: &mut Buffer, area: Rect, line: u16) {
        let mut room = area.width.saturating_sub(NAME_MIN);
        let fits = |(_, width): &&(String, u16)| {
            let is_so = room >= width + GAP;
            room = room.saturating_sub(width + GAP);
            is_so
        };
        let figures: Vec<&(String, u16)> = self.figures.iter().take_while(fits).collect();
        let taken: u16 = figures.iter().map(|(_, width)| width + GAP).sum();
        let name = Rect { width: area.width.saturating_sub(taken), ..area };
        put(buffer, name, line, &self.name, self.style);
        let mut x = name.x + name.width;
        for (text, width) in figures {
            cell(buffer, Rect { x: x + GAP, width: *width, ..area }, line, text, false, self.style);
            x += width + GAP;
        }
    }
}

/// How many lines there are below the first two.
pub(in super::super) fn lines(model: &Model) -> usize {
    match &model.answered.pool {
        Some(pool) => of_pool(pool, model).len().saturating_sub(2),
        None => model.answered.shares.len(),
    }
}

/// Draws it where there is room.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, model: &Model, look: TerminalStyles) {
    if area.width < 2 || area.height == 0 {
        return;
    }
    let inner = Rect { x: area.x + 2, width: area.width - 2, ..area };
    match &model.answered.pool {
        Some(pool) => {
            for (at, line) in (0..area.height).zip(of_pool(pool, model)) {
                line.draw(buffer, inner, at);
            }
        }
        None => shares(buffer, inner, model, look),
    }
}

/// The lists of a pool, a blank line between two; the chosen one first.
fn of_pool(pool: &Pool, model: &Model) -> Vec<Line> {
    let now = model.answered.status.now;
    let mut lists = [reasons(pool), workflows(pool, now), users(pool), drains(pool, now)];
    let first = model.beside % lists.len();
    lists.rotate_left(first);
    let blank = || Line::row(String::new(), [], []);
    let lists = lists.into_iter().enumerate();
    lists.flat_map(|(at, list)| (at > 0).then(blank).into_iter().chain(list)).collect()
}

fn reasons(pool: &Pool) -> Vec<Line> {
    let title = Line::title(format!("Why {} jobs are idle", pool.idle));
    let reasons = pool.idle_by_reason.iter();
    let rows = reasons.map(|it| Line::row(it.title.clone(), [it.jobs.to_string()], [6]));
    std::iter::once(title).chain(rows).collect()
}

fn workflows(pool: &Pool, now: Millis) -> Vec<Line> {
    const HOLD: usize = 1;
    const WIDTHS: [u16; 6] = [5, 5, 5, 5, 7, 4];
    let shown = || pool.workflows.iter().take(LISTED_MAX);
    let has_hold = shown().any(|it| it.on_hold > 0);
    let heads = ["idle", "hold", "run", "fin", "fail/rm", "last"];
    let head = Line::head("most idle first", heads, WIDTHS).with(HOLD, has_hold);
    let rows = shown().map(|it| {
        let last = it.last_match_at.map_or("-".to_owned(), |at| span(now - at));
        let jobs = [it.idle, it.on_hold, it.running, it.finished, it.failed];
        let [idle, on_hold, running, finished, failed] = jobs.map(|jobs| jobs.to_string());
        let figures = [idle, on_hold, running, finished, failed, last];
        Line::row(it.workflow.clone(), figures, WIDTHS).with(HOLD, has_hold)
    });
    let title = Line::title(format!("Workflows {}", pool.workflows_open));
    [title, head].into_iter().chain(rows).collect()
}

fn users(pool: &Pool) -> Vec<Line> {
    const HOLD: usize = 3;
    const WIDTHS: [u16; 4] = [8, 5, 5, 5];
    let shown = || pool.users.iter().take(LISTED_MAX);
    let has_hold = shown().any(|it| it.on_hold > 0);
    let heads = ["share", "run", "idle", "hold"];
    let head = Line::head("largest first", heads, WIDTHS).with(HOLD, has_hold);
    let rows = shown().map(|it| {
        let [running, idle, on_hold] = [it.running, it.idle, it.on_hold].map(|it| it.to_string());
        let figures = [format!("{:.1}", it.share), running, idle, on_hold];
        Line::row(it.user.clone(), figures, WIDTHS).with(HOLD, has_hold)
    });
    let title = Line::title("Users".to_owned());
    [title, head].into_iter().chain(rows).collect()
}

/// Each with the job that it is for on a line below.
fn drains(pool: &Pool, now: Millis) -> Vec<Line> {
    const WIDTHS: [u16; 3] = [5, 5, 7];
    let head = Line::head("and what for", ["cores", "since", "free in"], WIDTHS);
    let rows = pool.drains.iter().take(LISTED_MAX).flat_map(|it| {
        let figures = [it.cores.to_string(), span(now - it.since), span(it.until - now)];
        let job = Line::row(format!("  for {}, {}", it.job, it.site), [], []);
        [Line::row(it.node.clone(), figures, WIDTHS), job]
    });
    let title = Line::title(format!("Drained nodes {}", pool.drains_open));
    [title, head].into_iter().chain(rows).collect()
}

fn shares(buffer: &mut Buffer, inner: Rect, model: &Model, look: TerminalStyles) {
    let shares = &model.answered.shares;
    let text = format!("Shares {}", shares.len());
    put(buffer, inner, 0, &text, FAINT.add_modifier(Modifier::UNDERLINED));
    let row = |buffer: &mut Buffer, line, cells: [&str; 4], style: Style| {
        let widths = [inner.width.saturating_sub(24), 6, 6, 6];
        let mut x = inner.x;
        for (at, (text, width)) in cells.iter().zip(widths).enumerate() {
            cell(buffer, Rect { x, width, ..inner }, line, text, at == 0, style);
            x = (x + width + 2).min(inner.x + inner.width);
        }
    };
    row(buffer, 1, ["share", "use %", "target", "of it"], FAINT);
    let percent = |it: Option<f64>| it.map_or("-".to_owned(), |it| format!("{:.1}", it * 100.0));
    for (line, share) in (2..inner.height).zip(shares) {
        let part = match (share.used, share.target) {
            (Some(used), Some(target)) if target > 0.0 => Some(used / target),
            _ => None,
        };
        let style = match part {
            Some(part) if part > 1.2 => look.colour(Color::Yellow),
            Some(part) if part < 0.5 => look.colour(Color::Cyan),
            _ => Style::new(),
        };
        let of_it = part.map_or("-".to_owned(), |part| format!("{:.0} %", part * 100.0));
        let cells = [&share.gshare, &percent(share.used), &percent(share.target), &of_it];
        row(buffer, line, cells.map(String::as_str), style);
    }
}
