//! Typed parameters. A filter, a weight or a kind of policy declares a struct of named parameters;
//! the struct is made of the values in force wherever it judges.
//!
//! `params!` spells out a struct, its declarations and how it is read. A field with a declaration
//! is a parameter: `f64`, `bool`, or words of [`words!`]. A field without one is a group: a struct
//! of parameters that several share, whose declarations stand in its place. So
//!
//! ```text
//! params! {
//!     /// Parameters of `overload`.
//!     Overload {
//!         least: f64 = Param::int("LEAST", 20, 20).unit(Unit::Jobs).help("least length"),
//!         boundary: Boundary = Boundary::param("boundary", Boundary::Above, Boundary::AtLeast)
//!             .help("whether as many as the limit are too many"),
//!         stabilizer: Stabilizing,
//!     }
//! }
//! ```
//!
//! becomes
//!
//! ```text
//! /// Parameters of `overload`.
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! struct Overload { least: f64, boundary: Boundary, stabilizer: Stabilizing }
//!
//! impl Overload {
//!     const COUNT: usize = 0 + 1 + 1 + Stabilizing::COUNT;
//!     const DECLARED: &'static [Param] =
//!         &[Param::int(..) .., Boundary::param(..) .., /* all of Stabilizing::DECLARED */];
//!     fn read(values: &mut Reader<'_>) -> Overload {
//!         Overload {
//!             least: values.next(),
//!             boundary: Boundary::of(values.next()),
//!             stabilizer: Stabilizing::read(values),
//!         }
//!     }
//! }
//! ```
//!
//! `words!` spells out the words of a parameter:
//!
//! ```text
//! words! {
//!     /// How a figure that equals its limit is read.
//!     Boundary { Above = "above", AtLeast = "at_least" }
//! }
//! ```
//!
//! becomes an `enum Boundary { Above, AtLeast }` with `WORDS`, `param` (a declaration with its two
//! defaults) and `of` (the word of a value: its place among `WORDS`).
//!
//! `read!(Overload, values)` makes the struct:
//! `Overload::read(&mut values.reader(Overload::COUNT))`.
//!
//! Values are read in a straight line from places known when the program is compiled, so that
//! what a judgement does not look at costs it nothing.

/// Declares a struct of named parameters, with their declarations and a function that reads them.
macro_rules! params {
    (@count $type:ident = $declared:expr) => { 1 };
    (@count $group:ident) => { $group::COUNT };
    (@declare $all:ident $at:ident f64 = $declared:expr) => {{
        $all[$at] = $declared.number();
        $at + 1
    }};
    (@declare $all:ident $at:ident bool = $declared:expr) => {{
        $all[$at] = $declared.truth();
        $at + 1
    }};
    (@declare $all:ident $at:ident $words:ident = $declared:expr) => {{
        $all[$at] = $declared.one_of($words::WORDS);
        $at + 1
    }};
    (@declare $all:ident $at:ident $group:ident) => {{
        let mut within = 0;
        while within < $group::COUNT {
            $all[$at + within] = $group::DECLARED[within];
            within += 1;
        }
        $at + $group::COUNT
    }};
    (@read $values:ident f64 = $declared:expr) => { $values.next() };
    (@read $values:ident bool = $declared:expr) => { $values.next() != 0.0 };
    (@read $values:ident $words:ident = $declared:expr) => { $words::of($values.next()) };
    (@read $values:ident $group:ident) => { $group::read($values) };
    ($(#[$meta:meta])* $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ident $(= $declared:expr)?,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(crate) struct $name {
            $($(#[$field_meta])* pub(crate) $field: $type,)+
        }

        impl $name {
            /// How many values it is made of.
            pub(crate) const COUNT: usize =
                0 $(+ params!(@count $type $(= $declared)?))+;

            /// Its declarations, in order.
            pub(crate) const DECLARED: &'static [$crate::policy::Param] = &{
                let mut all = [$crate::policy::Param::NONE; $name::COUNT];
                let mut at = 0;
                $(at = params!(@declare all at $type $(= $declared)?);)+
                assert!(at == $name::COUNT);
                all
            };

            /// Made of the values of its declarations, which come next.
            #[inline(always)]
            pub(crate) fn read(
                values: &mut $crate::policy::values::Reader<'_>,
            ) -> $name {
                $name { $($field: params!(@read values $type $(= $declared)?),)+ }
            }
        }
    };
}

/// Declares an enum of words that a parameter takes.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($word:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($word,)+ }

        impl $name {
            /// The words as a topology file has them.
            pub(crate) const WORDS: &'static [&'static str] = &[$($text,)+];

            /// A parameter that takes one of the words, with its default under each reading.
            pub(crate) const fn param(
                name: &'static str,
                documented: $name,
                panda: $name,
            ) -> $crate::policy::Param {
                let words = $name::WORDS;
                let (documented, panda) = (words[documented as usize], words[panda as usize]);
                $crate::policy::Param::word(name, words, documented, panda)
            }

            /// The word of a value; the first one for a value that stands for none.
            #[inline(always)]
            pub(crate) fn of(value: f64) -> $name {
                $(if value == $name::$word as u8 as f64 {
                    return $name::$word;
                })+
                [$($name::$word,)+][0]
            }
        }
    };
}

/// Reads a struct of parameters from the values in force.
macro_rules! read {
    ($params:ident, $values:expr) => {
        $params::read(&mut $values.reader($params::COUNT))
    };
}

pub(crate) use {params, read, words};
