//! Where each cell of a row is printed, and how much of it.

use super::Sheet;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;
use yardmaster_core::plain::plain;

/// Between two columns.
const GAP: &str = "  ";
/// At the end of a text that was shortened.
const ELLIPSIS: &str = "…";
/// No text is shortened to less.
const TEXT_LEAST: usize = 12;

/// The columns that are printed.
pub struct Layout {
    places: Vec<Place>,
    /// Names of those for which there was no room.
    pub left_out: Vec<String>,
}

struct Place {
    /// Of the table's columns.
    at: usize,
    /// Of the row's cells.
    cell: usize,
    name: String,
    width: usize,
    /// It can be made so narrow.
    least: usize,
    rank: usize,
    is_figure: bool,
    /// Whether what is longer is shortened.
    is_cut: bool,
}

impl Layout {
    /// By the rows that are known.
    pub(super) fn new(sheet: &Sheet, rows: &[Vec<String>]) -> Layout {
        let mut places: Vec<Place> = Vec::new();
        for (at, (cell, column)) in sheet.columns.iter().enumerate() {
            let cells = rows.iter().filter_map(|row| row.get(*cell));
            let widest = cells.map(|text| shown(text).width()).max().unwrap_or(0);
            let least = sheet.least.get(*cell).copied().unwrap_or(0);
            let width = widest.max(column.name.width()).max(least);
            places.push(Place {
                at,
                cell: *cell,
                name: column.name.clone(),
                width,
                least: if column.is_whole { width } else { width.min(TEXT_LEAST) },
                rank: column.rank,
                is_figure: column.is_figure,
                is_cut: sheet.width.is_some() && !column.is_whole,
            });
        }
        let mut layout = Layout { places, left_out: Vec::new() };
        if let Some(width) = sheet.width {
            layout.fit(width, sheet.is_chosen);
        }
        layout
    }

    /// Makes it as wide as the terminal: columns that matter least are left out until those that
    /// stay have room when shortened; what room is left goes to those that matter most.
    fn fit(&mut self, width: usize, is_chosen: bool) {
        let mut left_out = Vec::new();
        while !is_chosen && self.places.len() > 1 && self.least() > width {
            let last = self.places.iter().enumerate().max_by_key(|(at, it)| (it.rank, *at));
            let Some((at, _)) = last else { break };
            left_out.push(self.places.remove(at));
        }
        left_out.sort_by_key(|place| place.at);
        self.left_out = left_out.into_iter().map(|place| place.name).collect();
        let mut spare = width.saturating_sub(self.least());
        let mut by_rank: Vec<&mut Place> = self.places.iter_mut().collect();
        by_rank.sort_by_key(|place| place.rank);
        for place in by_rank {
            let more = (place.width - place.least).min(spare);
            place.width = place.least + more;
            spare -= more;
        }
    }

    fn least(&self) -> usize {
        let gaps = self.places.len().saturating_sub(1) * GAP.len();
        self.places.iter().map(|place| place.least).sum::<usize>() + gaps
    }

    /// The names of the columns.
    pub fn head(&self) -> String {
        self.joined(|place| &place.name)
    }

    /// A row.
    pub fn line(&self, row: &[String]) -> String {
        self.joined(|place| row.get(place.cell).map_or("", String::as_str))
    }

    fn joined<'a>(&'a self, cell: impl Fn(&'a Place) -> &'a str) -> String {
        let cells = self.places.iter().map(|place| place.fill(&shown(cell(place))));
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    }
}

impl Place {
    fn fill(&self, text: &str) -> String {
        let is_long = self.is_cut && text.width() > self.width;
        let text = if is_long { shortened(text, self.width) } else { Cow::Borrowed(text) };
        let blanks = " ".repeat(self.width.saturating_sub(text.width()));
        if self.is_figure { blanks + &text } else { text.into_owned() + &blanks }
    }
}

/// A cell as it is printed.
fn shown(text: &str) -> Cow<'_, str> {
    if text.is_empty() { Cow::Borrowed("-") } else { plain(text) }
}

/// The beginning of a text, with an ellipsis.
fn shortened(text: &str, width: usize) -> Cow<'_, str> {
    let room = width.saturating_sub(ELLIPSIS.width());
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = ends.take_while(|end| text[..*end].width() <= room).last().unwrap_or(0);
    Cow::Owned(text[..end].trim_end().to_owned() + ELLIPSIS)
}
