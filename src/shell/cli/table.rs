//! Tables: columns as wide as what is in them, and on a terminal no wider in all than it is.

mod layout;

use crate::cli::{Usage, progress};
use clap::Args;
pub use layout::Layout;
use std::io::{self, IsTerminal, Write};
use terminal_size::{Width, terminal_size_of};

/// Rows that are looked at for the widths of columns; those after them are printed as they come.
const SAMPLE: usize = 1_000;
/// Width of a terminal that does not state its own.
const WIDTH_USUAL: usize = 80;
/// Stands for every column there is.
const ALL: &str = "all";

/// Flags of a verb that prints a table.
#[derive(Args, Clone, Debug, Default)]
pub struct TableArgs {
    /// Columns, in this order, separated by commas; `all`: every one there is, in full.
    ///
    /// Without it, on a terminal: as many of the usual columns as it is wide, those that matter
    /// least are left out first, and long texts end in an ellipsis. Where stdout is no terminal:
    /// all usual columns in full. Columns are aligned with blanks, at least two between them; `-`
    /// stands for nothing. Sizes and times have units; --json has the figures.
    #[arg(
        long,
        value_name = "NAME,...",
        value_delimiter = ',',
        help_heading = "Output",
        conflicts_with = "json"
    )]
    columns: Vec<String>,
    /// One JSON object a line instead of a table.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, as its head has it and --columns takes it.
    pub name: String,
    /// A figure is aligned to the right.
    pub is_figure: bool,
    /// Whether it is never shortened: half a figure or half a moment is none.
    pub is_whole: bool,
    /// Rank: the column with the highest is left out first where there is no room for all.
    pub rank: usize,
    /// Whether it is printed without being asked for.
    pub is_usual: bool,
}

impl Column {
    /// A column of texts.
    pub fn text(name: &str, rank: usize) -> Column {
        let name = name.to_owned();
        Column { name, is_figure: false, is_whole: false, rank, is_usual: true }
    }

    /// A column of figures.
    pub fn figure(name: &str, rank: usize) -> Column {
        Column { is_figure: true, ..Column::whole(name, rank) }
    }

    /// A column of texts that are not shortened.
    pub fn whole(name: &str, rank: usize) -> Column {
        Column { is_whole: true, ..Column::text(name, rank) }
    }

    /// The same, printed only when it is asked for.
    #[must_use]
    pub fn unusual(self) -> Column {
        Column { is_usual: false, ..self }
    }
}

/// Width of the terminal that stdout is; `None` if it is none. COLUMNS wins over what the terminal
/// states.
pub fn terminal_width() -> Option<usize> {
    let stdout = io::stdout();
    let wanted = std::env::var("COLUMNS").ok().and_then(|it| it.parse().ok());
    stdout.is_terminal().then(|| {
        let stated = || terminal_size_of(&stdout).map(|(Width(columns), _)| usize::from(columns));
        wanted.filter(|it| *it > 0).or_else(stated).unwrap_or(WIDTH_USUAL)
    })
}

impl TableArgs {
    /// An error that names the columns there are, if one that is asked for is none of them.
    pub fn check<'a>(&self, known: impl IntoIterator<Item = &'a str>) -> Result<(), Usage> {
        let known: Vec<&str> = known.into_iter().collect();
        let is_unknown = |name: &&String| *name != ALL && !known.contains(&name.as_str());
        match self.columns.iter().find(is_unknown) {
            None => Ok(()),
            Some(name) => Err(Usage(format!(
                "--columns {name}: there is no such column; give some of {}, or {ALL}",
                known.join(", ")
            ))),
        }
    }

    /// The same flags, with each name that is asked for replaced.
    #[must_use]
    pub fn renamed(&self, name: impl Fn(&str) -> String) -> TableArgs {
        let columns = self.columns.iter().map(|it| name(it)).collect();
        TableArgs { columns, json: self.json }
    }

    /// Whether columns are asked for.
    pub fn is_chosen(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Whether a column is asked for by its name.
    pub fn names(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }

    /// A table with those of its columns that are asked for; `width` is that of the terminal.
    pub fn sheet(&self, columns: Vec<Column>, width: Option<usize>) -> Sheet {
        let is_all = self.columns.iter().any(|name| name == ALL);
        let mut all: Vec<(usize, Column)> = columns.into_iter().enumerate().collect();
        let is_chosen = !self.columns.is_empty();
        if is_chosen && !is_all {
            let found = |name: &String| all.iter().find(|(_, it)| it.name == *name).cloned();
            all = self.columns.iter().filter_map(found).collect();
        } else if !is_all {
            all.retain(|(_, column)| column.is_usual);
        }
        let width = width.filter(|_| !is_all);
        Sheet { columns: all, is_chosen, width, least: Vec::new() }
    }
}

/// A table without its rows.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Each with the place of its cell in a row.
    columns: Vec<(usize, Column)>,
    /// Whether the columns were asked for: none is left out then.
    is_chosen: bool,
    width: Option<usize>,
    /// By cell, how wide its column is at least.
    least: Vec<usize>,
}

impl Sheet {
    /// Whether no column is left of it.
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The same, with columns that are at least so wide: for rows that are not known yet.
    #[must_use]
    pub fn at_least(self, least: &[usize]) -> Sheet {
        Sheet { least: least.to_vec(), ..self }
    }

    /// Where the cells of its rows are, by the rows that are known.
    pub fn layout(&self, rows: &[Vec<String>]) -> Layout {
        Layout::new(self, rows)
    }

    /// Begins to print rows.
    pub fn printer<W: Write>(self, out: W) -> Printer<W> {
        Printer { sheet: self, out, waiting: Vec::new(), layout: None }
    }
}

/// Prints the rows of a table below their head. A row has a cell for each column that its table
/// could have.
pub struct Printer<W> {
    sheet: Sheet,
    out: W,
    waiting: Vec<Vec<String>>,
    layout: Option<Layout>,
}

impl<W: Write> Printer<W> {
    /// Prints a row; the first ones wait until the widths of the columns are known.
    pub fn push(&mut self, row: Vec<String>) -> io::Result<()> {
        if let Some(layout) = &self.layout {
            return writeln!(self.out, "{}", layout.line(&row));
        }
        self.waiting.push(row);
        if self.waiting.len() < SAMPLE { Ok(()) } else { self.begin() }
    }

    /// Prints a line that is none of the table: a JSON object.
    pub fn line(&mut self, line: &str) -> io::Result<()> {
        progress::give_way();
        writeln!(self.out, "{line}")
    }

    /// Prints the head and the rows that wait. Those that follow are printed as they come.
    pub fn begin(&mut self) -> io::Result<()> {
        if self.layout.is_some() {
            return Ok(());
        }
        progress::give_way();
        let layout = self.sheet.layout(&self.waiting);
        writeln!(self.out, "{}", layout.head())?;
        for row in self.waiting.drain(..) {
            writeln!(self.out, "{}", layout.line(&row))?;
        }
        self.layout = Some(layout);
        Ok(())
    }

    /// Prints what waits, without a head if there was no row; gives the names of the columns for
    /// which there was no room.
    pub fn end(mut self) -> io::Result<Vec<String>> {
        if !self.waiting.is_empty() {
            self.begin()?;
        }
        self.out.flush()?;
        Ok(self.layout.map(|layout| layout.left_out).unwrap_or_default())
    }

    /// Hands over what was printed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// So many columns that were left out are named.
const NAMED: usize = 6;

/// Names on stderr the columns that a terminal had no room for.
pub fn report_left_out(names: &[String]) {
    if names.is_empty() {
        return;
    }
    let named = names[..names.len().min(NAMED)].join(", ");
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    eprintln!("no room for {named}{more}; --columns NAME,... chooses, --columns all prints all");
}

#[cfg(test)]
mod tests;
