//! Beside the upper list: use of shares, or of a pool why its jobs are idle and which workflows
//! they are of.

use super::super::columns::span;
use super::super::data::Pool;
use super::super::model::Model;
use super::{FAINT, TerminalStyles, cell, put};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use yardmaster_core::unit::Millis;

/// Most workflows that are shown.
const WORKFLOWS_MAX: usize = 20;

/// How many lines there are below the first two.
pub(in super::super) fn lines(model: &Model) -> usize {
    match &model.answered.pool {
        Some(pool) => pool.idle_by_reason.len() + 3 + pool.workflows.len().min(WORKFLOWS_MAX),
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
        Some(pool) => idle(buffer, inner, pool, model.answered.status.now),
        None => shares(buffer, inner, model, look),
    }
}

/// Reasons first, then workflows.
fn idle(buffer: &mut Buffer, area: Rect, pool: &Pool, now: Millis) {
    let head = FAINT.add_modifier(Modifier::UNDERLINED);
    put(buffer, area, 0, &format!("Why {} jobs are idle", pool.idle), head);
    let row = |buffer: &mut Buffer, line, cells: [&str; 4], style: Style| {
        let widths = [area.width.saturating_sub(22), 6, 6, 4];
        let mut x = area.x;
        for (at, (text, width)) in cells.iter().zip(widths).enumerate() {
            cell(buffer, Rect { x, width, ..area }, line, text, at == 0, style);
            x = (x + width + 2).min(area.x + area.width);
        }
    };
    let mut line = 1;
    for reason in &pool.idle_by_reason {
        let jobs = reason.jobs.to_string();
        let title = Rect { width: area.width.saturating_sub(8), ..area };
        cell(buffer, title, line, &reason.title, true, Style::new());
        cell(buffer, area, line, &jobs, false, Style::new());
        line += 1;
    }
    line += 1;
    put(buffer, area, line, &format!("Workflows {}", pool.workflows_open), head);
    row(buffer, line + 1, ["most idle jobs first", "idle", "given", "last"], FAINT);
    for (line, it) in (line + 2..area.height).zip(pool.workflows.iter().take(WORKFLOWS_MAX)) {
        let last = it.last_match_at.map_or("-".to_owned(), |at| span(now - at));
        let cells = [&it.workflow, &it.idle.to_string(), &it.given.to_string(), &last];
        row(buffer, line, cells.map(String::as_str), Style::new());
    }
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
