//! Where on a terminal everything is.

use super::super::model::{Model, Pane};
use ratatui::layout::Rect;

/// A terminal of fewer columns shows no shares beside the queues.
pub(super) const WIDE: u16 = 100;
/// Columns of the shares.
const SHARES_WIDTH: u16 = 44;
/// On a terminal of so many columns the lists of a pool are wider, as names of workflows are long.
const WIDE_FOR_POOL: u16 = 150;
/// Columns of these lists there.
const POOL_WIDTH: u16 = 62;
/// Fewer lines than that show one list alone.
pub(in super::super) const LINES_OF_TWO: u16 = 12;

/// Where everything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Plan {
    pub(super) header: Rect,
    pub(super) queues: Rect,
    pub(super) shares: Rect,
    pub(super) events: Rect,
    /// Lists together: where the answer to a question is shown.
    pub(super) body: Rect,
    pub(super) footer: Rect,
}

impl Plan {
    /// Of an area. Outputs have so many lines, or a part of what there is.
    pub fn new(area: Rect, model: &Model, events: Option<u16>) -> Plan {
        let header_lines = if area.height >= LINES_OF_TWO { 3 } else { 2 }.min(area.height);
        let footer_lines = u16::from(area.height > header_lines + 2);
        let rows = |from: u16, lines: u16| Rect { y: area.y + from, height: lines, ..area };
        let body_lines = area.height - header_lines - footer_lines;
        let body = rows(header_lines, body_lines);
        let both = body_lines >= LINES_OF_TWO || events.is_some();
        let event_lines = match (both, model.focus) {
            (true, _) => events.unwrap_or(body_lines * 2 / 5).min(body_lines),
            (false, Pane::Events) => body_lines,
            (false, Pane::Queues) => 0,
        };
        let upper = rows(header_lines, body_lines - event_lines);
        let shares_width = match model.answered.pool {
            _ if area.width < WIDE => 0,
            Some(_) if area.width >= WIDE_FOR_POOL => POOL_WIDTH,
            _ => SHARES_WIDTH,
        };
        let queues = Rect { width: upper.width - shares_width, ..upper };
        Plan {
            header: rows(0, header_lines),
            queues,
            shares: Rect { x: area.x + queues.width, width: shares_width, ..upper },
            events: rows(header_lines + upper.height, event_lines),
            body,
            footer: rows(header_lines + body_lines, footer_lines),
        }
    }

    /// Lines of the list that has the focus, and of an answer.
    pub fn page(&self, model: &Model) -> usize {
        let list = match (&model.why, model.focus) {
            (Some(_), _) => self.body,
            (None, Pane::Queues) => self.queues,
            (None, Pane::Events) => self.events,
        };
        usize::from(list.height.saturating_sub(2))
    }
}
