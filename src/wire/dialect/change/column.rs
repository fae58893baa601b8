//! The columns that are read, found by their names in either case, and one row's values of them.

use super::cell::Cell;
use crate::dialect::scalar::Scalar;
use crate::{loose, stamp};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use std::fmt;
use yardmaster_core::unit::Millis;

macro_rules! columns {
    ($($column:ident $name:literal,)*) => {
        /// A column of PanDA's tables.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Column { $($column,)* }

        /// Their names, in lower case.
        const NAMES: [&str; COUNT] = [$($name,)*];
        const ALL: [Column; COUNT] = [$(Column::$column,)*];
        const COUNT: usize = [$($name,)*].len();
    };
}

// Those of a job come first: `rows::wanted` takes them by their place.
columns! {
    PandaId "pandaid",
    JobStatus "jobstatus",
    StateChangeTime "statechangetime",
    ModificationTime "modificationtime",
    ModificationHost "modificationhost",
    AttemptNr "attemptnr",
    JediTaskId "jeditaskid",
    ComputingSite "computingsite",
    ProdUserName "produsername",
    WorkingGroup "workinggroup",
    Gshare "gshare",
    ResourceType "resource_type",
    Nucleus "nucleus",
    ProdSourceLabel "prodsourcelabel",
    ProcessingType "processingtype",
    JobSubStatus "jobsubstatus",
    CoreCount "corecount",
    ActualCoreCount "actualcorecount",
    CurrentPriority "currentpriority",
    CreationTime "creationtime",
    StartTime "starttime",
    EndTime "endtime",
    InputFileBytes "inputfilebytes",
    OutputFileBytes "outputfilebytes",
    CpuConsumptionTime "cpuconsumptiontime",
    MaxPss "maxpss",
    MaxRss "maxrss",
    DiskIo "diskio",
    NEvents "nevents",
    Status "status",
    HarvesterId "harvester_id",
    WorkerResourceType "resourcetype",
    JobType "jobtype",
    NWorkers "n_workers",
    LastUpdate "lastupdate",
    Site "site",
    Flag "flag",
    Hours "hours",
    GetJob "getjob",
    UpdateJob "updatejob",
    LastMod "lastmod",
}

/// Slots of the table by which a name is found; above four times [`COUNT`].
const SLOTS: usize = 256;
const EMPTY: u8 = u8::MAX;
/// No name is longer; bytes.
const NAME_MAX: usize = 24;

/// Index of each name by the hash of it, with linear probing. A row has some thirty columns, and
/// comparing each with all names in turn would cost as much as the rest of the reading.
static BY_HASH: [u8; SLOTS] = {
    let mut table = [EMPTY; SLOTS];
    let mut index = 0;
    while index < COUNT {
        let name = NAMES[index].as_bytes();
        assert!(name.len() <= NAME_MAX && COUNT < SLOTS / 4);
        let mut slot = hash(name);
        while table[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = index as u8;
        index += 1;
    }
    table
};

/// Of the length and three letters; same value for a letter in either case.
const fn hash(name: &[u8]) -> usize {
    if name.is_empty() {
        return 0;
    }
    let last = name.len() - 1;
    let (first, middle, end) = (name[0] | 0x20, name[last / 2] | 0x20, name[last] | 0x20);
    (name.len() + 7 * first as usize + 31 * middle as usize + 101 * end as usize) % SLOTS
}

impl Column {
    /// The column of a name, in either case.
    fn from_name(name: &[u8]) -> Option<Column> {
        if name.len() > NAME_MAX {
            return None;
        }
        let mut slot = hash(name);
        loop {
            let index = usize::from(*BY_HASH.get(slot)?);
            let known = NAMES.get(index)?.as_bytes();
            if known == name || known.eq_ignore_ascii_case(name) {
                return ALL.get(index).copied();
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// The bit that stands for it in a set of columns.
    pub const fn bit(self) -> u64 {
        1 << self as u32
    }

    fn name(self) -> &'static str {
        NAMES.get(self as usize).copied().unwrap_or_default()
    }
}

/// The values of one row.
#[derive(Debug)]
pub(super) struct Columns<'a> {
    cells: [Scalar<'a>; COUNT],
    /// One bit for each column that the message has, null or not.
    captured: u64,
}

impl Default for Columns<'_> {
    fn default() -> Self {
        Columns { cells: std::array::from_fn(|_| Scalar::Absent), captured: 0 }
    }
}

impl<'a> Columns<'a> {
    /// Takes what another has and this has not.
    pub fn complete(&mut self, other: Columns<'a>) {
        for (cell, other) in self.cells.iter_mut().zip(other.cells) {
            if *cell == Scalar::Absent {
                *cell = other;
            }
        }
        self.captured |= other.captured;
    }

    /// Whether the message has the column, null or not.
    pub fn has(&self, column: Column) -> bool {
        self.captured & column.bit() != 0
    }

    /// Names of the columns of a set that the message does not have.
    pub fn missing(&self, wanted: u64) -> impl Iterator<Item = &'static str> {
        let missing = wanted & !self.captured;
        // Mostly there are none, and no name is looked at.
        let count = if missing == 0 { 0 } else { COUNT };
        ALL.into_iter().take(count).filter(move |it| missing & it.bit() != 0).map(Column::name)
    }

    /// The value, which is absent afterwards.
    pub fn take(&mut self, column: Column) -> Scalar<'a> {
        self.cells.get_mut(column as usize).map_or(Scalar::Absent, std::mem::take)
    }

    fn get(&self, column: Column) -> &Scalar<'a> {
        self.cells.get(column as usize).unwrap_or(&Scalar::Absent)
    }

    /// A number that names something: above 0.
    pub fn id(&self, column: Column) -> Result<u64, String> {
        self.get(column).id(column.name())
    }

    /// The same; 0 when there is none.
    pub fn id_if_stated(&self, column: Column) -> Result<u64, String> {
        match self.get(column) {
            Scalar::Float(0.0) => Ok(0),
            cell => cell.id_if_stated(column.name()),
        }
    }

    /// Text; empty when there is none.
    pub fn text(&mut self, column: Column) -> Result<std::borrow::Cow<'a, str>, String> {
        self.take(column).text(column.name())
    }

    /// Text that must be there.
    pub fn needed(&mut self, column: Column) -> Result<std::borrow::Cow<'a, str>, String> {
        self.take(column).needed(column.name())
    }

    /// A figure: whole part of a number, as a number or as its text. 0 when there is none or it is
    /// negative.
    pub fn figure(&self, column: Column) -> Result<u64, String> {
        Ok(self.number(column)?.max(0.0) as u64)
    }

    /// The same, at most 2^32 - 1.
    pub fn small(&self, column: Column) -> Result<u32, String> {
        Ok(self.number(column)?.max(0.0) as u32)
    }

    /// A whole number of either sign, cut to 32 bits.
    pub fn signed(&self, column: Column) -> Result<i32, String> {
        Ok(self.number(column)? as i32)
    }

    fn number(&self, column: Column) -> Result<f64, String> {
        let wants = "a number (base64 has no scale: set decimal.handling.mode=double or string)";
        let found = match self.get(column) {
            cell if cell.is_unset() => Some(0.0),
            Scalar::Int(number) => Some(*number as f64),
            Scalar::Float(number) => Some(*number),
            Scalar::Text(text) => loose::number(text),
            _ => None,
        };
        found.ok_or_else(|| self.get(column).wrong(column.name(), wants))
    }

    /// A time; 0 when it is null or 0, which the tables have for "not set".
    pub fn time(&self, column: Column) -> Result<Millis, String> {
        let wants = "ms, us or ns since 1970, or a time as 2025-03-20T20:15:43Z";
        let found = match self.get(column) {
            cell if cell.is_unset() => Some(0),
            Scalar::Int(number) => millis(*number),
            Scalar::Text(text) => stamp::parse(text),
            _ => None,
        };
        found.ok_or_else(|| self.get(column).wrong(column.name(), wants))
    }
}

/// Milliseconds of a number of milli-, micro- or nanoseconds. Which it is, its size shows: each has
/// the years from 1973 to 5138 to itself.
pub(super) fn millis(number: i64) -> Option<Millis> {
    const FIRST: i64 = 100_000_000_000;
    match number {
        0 => Some(0),
        ..FIRST => None,
        _ if number < FIRST * 1_000 => Some(number),
        _ if number < FIRST * 1_000_000 => Some(number / 1_000),
        _ => Some(number / 1_000_000),
    }
}

/// Reads the columns of a row (a record's key, `before` or `after`) into the values given. Null is
/// no row. `false` for a JSON value that is no object.
pub(super) struct RowInto<'b, 'a>(pub &'b mut Columns<'a>);

impl<'de: 'a, 'a> DeserializeSeed<'de> for RowInto<'_, 'a> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de: 'a, 'a> Visitor<'de> for RowInto<'_, 'a> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of columns, or null")
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<bool, A::Error> {
        let columns = self.0;
        while let Some(column) = entries.next_key_seed(ColumnName)? {
            let Some(column) = column else {
                entries.next_value::<IgnoredAny>()?;
                continue;
            };
            let cell = entries.next_value_seed(Cell)?;
            if let Some(place) = columns.cells.get_mut(column as usize) {
                *place = cell;
            }
            columns.captured |= column.bit();
        }
        Ok(true)
    }
}

struct ColumnName;

impl<'de> DeserializeSeed<'de> for ColumnName {
    type Value = Option<Column>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<Column>, D::Error> {
        from.deserialize_bytes(self)
    }
}

impl Visitor<'_> for ColumnName {
    type Value = Option<Column>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a column")
    }

    // Bytes: no need to check that a name is UTF-8 before it is compared.
    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Option<Column>, E> {
        Ok(Column::from_name(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_is_found_by_its_name_in_either_case() {
        for (column, name) in ALL.into_iter().zip(NAMES) {
            assert_eq!(Column::from_name(name.as_bytes()), Some(column));
            assert_eq!(Column::from_name(name.to_uppercase().as_bytes()), Some(column));
            assert_eq!(Column::from_name(format!("{name}x").as_bytes()), None);
            assert_eq!(column.name(), name);
        }
        for name in ["", "x", "DATA", &"a".repeat(300)] {
            assert_eq!(Column::from_name(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn the_unit_of_a_time_is_seen_from_its_size() {
        let second = 1_795_368_940;
        for (number, wants) in [
            (0, Some(0)),
            (second * 1_000, Some(second * 1_000)),
            (second * 1_000_000 + 435_879, Some(second * 1_000 + 435)),
            (second * 1_000_000_000 + 435_879_000, Some(second * 1_000 + 435)),
            (second, None),
            (-1, None),
            (i64::MIN, None),
            (i64::MAX, Some(i64::MAX / 1_000_000)),
        ] {
            assert_eq!(millis(number), wants, "{number}");
        }
    }
}
