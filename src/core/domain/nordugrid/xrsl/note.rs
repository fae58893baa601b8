//! What is read in a way that its writer may not mean: as ARC reads it, and with a note.

macro_rules! notes {
    ($($code:ident $name:literal $meaning:literal;)*) => {
        /// Code of a note.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum NoteCode { $(#[doc = $meaning] $code,)* }

        impl NoteCode {
            /// Every code.
            pub const ALL: &'static [NoteCode] = &[$(NoteCode::$code,)*];

            /// Its name in records and answers.
            pub fn name(self) -> &'static str {
                match self { $(NoteCode::$code => $name,)* }
            }

            /// How the attribute is read, for people.
            pub fn meaning(self) -> &'static str {
                match self { $(NoteCode::$code => $meaning,)* }
            }
        }
    };
}

notes! {
    ReadAsEqual "read_as_equal"
        "the relation is read as `=`, as ARC does";
    LastHolds "last_holds"
        "it is given more than once; the last one holds, as for ARC";
    UnknownWord "unknown_word"
        "a word in it is not known and counts as not written";
    FractionCut "fraction_cut"
        "a whole number is read, so that the fraction is cut off";
    MonthIsMinute "month_is_minute"
        "the first letter of a unit counts, so that a month is a minute; write days, or P1M";
    Milliseconds "milliseconds"
        "a figure without a unit behind seconds counts milliseconds";
    ZeroTime "zero_time"
        "it asks for no time at all";
}

/// A note on an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadingNote {
    /// Code of the note.
    pub code: NoteCode,
    /// Name of the attribute, in lower case without underscores.
    pub attribute: String,
}
