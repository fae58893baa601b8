//! The fields of a record, listed once: `record!` gives how it is written and read.
//!
//! A floor above brings the form: Avro's bytes on the wire and in the store. The content that
//! breaks ties and that digests are taken of is such a form too:
//! [`Content`](crate::content::Content).

mod coded;
mod values;

pub(crate) use coded::{Attempt, Derived, Quantity, Word};

use crate::cut::Topic;

/// Writes values in turn, in some form.
pub trait Encoder {
    /// Whether this is what a record is compared by, which has what is derived too.
    const IS_CONTENT: bool = false;

    /// A text.
    fn text(&mut self, text: &str);
    /// A number.
    fn long(&mut self, number: i64);
    /// A number without a sign; forms may cut it at `i64::MAX`.
    fn amount(&mut self, amount: u64);
    /// 64 bits that are no amount.
    fn word(&mut self, word: u64);
    /// A number that may have a fraction.
    fn number(&mut self, number: f64);
    /// A yes or no.
    fn boolean(&mut self, value: bool);
    /// The place of one of an enum's values.
    fn symbol(&mut self, place: usize);
    /// Whether an optional value follows.
    fn present(&mut self, is_present: bool);
    /// So many items follow, each behind [`item`](Encoder::item), and then
    /// [`end`](Encoder::end).
    fn items(&mut self, count: usize);
    /// The next item of a list follows.
    fn item(&mut self);
    /// The list ends.
    fn end(&mut self);
    /// Bytes whose number is known.
    fn raw(&mut self, bytes: &[u8]);
}

/// Reads values in turn, as an [`Encoder`] of the same form wrote them. It trusts nothing: each
/// value is checked.
pub trait Decoder<'a> {
    /// Why something cannot be read.
    type Fault;
    /// Texts in turn.
    type Run;
    /// A text, where it lies.
    fn text(&mut self) -> Result<&'a str, Self::Fault>;
    /// So many texts in turn, which are cheaper together.
    fn run(&mut self, count: usize) -> Result<Self::Run, Self::Fault>;
    /// The next text of a run, where it lies. There are as many as were asked for.
    fn next(run: &mut Self::Run) -> Result<&'a str, Self::Fault>;
    /// A number.
    fn long(&mut self) -> Result<i64, Self::Fault>;
    /// A number of 32 bits; refused where it is larger.
    fn int(&mut self) -> Result<i32, Self::Fault>;
    /// A number without a sign; below 0 is 0.
    fn amount(&mut self) -> Result<u64, Self::Fault>;
    /// The same of 32 bits; too large is the largest.
    fn count(&mut self) -> Result<u32, Self::Fault>;
    /// The same of 32 bits; refused where it is larger.
    fn attempt(&mut self) -> Result<u32, Self::Fault>;
    /// 64 bits that are no amount.
    fn word(&mut self) -> Result<u64, Self::Fault>;
    /// A number that may have a fraction; 0 where it is not finite.
    fn number(&mut self) -> Result<f64, Self::Fault>;
    /// A number that cannot be below 0; `None` where it is, or is not finite.
    fn quantity(&mut self) -> Result<Option<f64>, Self::Fault>;
    /// A yes or no.
    fn boolean(&mut self) -> Result<bool, Self::Fault>;
    /// The place of one of so many values.
    fn symbol(&mut self, count: usize) -> Result<usize, Self::Fault>;
    /// Whether an optional value follows.
    fn present(&mut self) -> Result<bool, Self::Fault>;
    /// So many items follow, then this again; 0: the list ends.
    fn items(&mut self) -> Result<usize, Self::Fault>;
    /// No more items than this can follow; what is stated of their number is not believed.
    fn items_max(&self) -> usize;
    /// Bytes whose number is known.
    fn raw<const N: usize>(&mut self) -> Result<[u8; N], Self::Fault>;
    /// Whether only what later judgements need is wanted: the rest is read over.
    fn is_brief(&self) -> bool {
        false
    }
    /// All that follows is wanted.
    fn read_whole(&mut self) {}
    /// Something that was read cannot be.
    fn refuse(&self) -> Self::Fault;
}

/// A value that can be written.
pub trait Encode {
    /// Writes it.
    fn encode<E: Encoder>(&self, to: &mut E);
}

/// A record of a topic.
pub trait Published: Encode {
    /// Its topic.
    const TOPIC: Topic;
}

impl<T: Published> Published for Box<T> {
    const TOPIC: Topic = T::TOPIC;
}

/// A value that can be read.
pub trait Decode<'a>: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// The form's own, for bytes that are none of it.
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Self, D::Fault>;

    /// Reads on to a field of a record; to the end where it has none of this name.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn skip_to<D: Decoder<'a>>(_field: &str, from: &mut D) -> Result<(), D::Fault> {
        Self::decode(from).map(drop)
    }
}

/// Another way to write and read a value than that of its type, named in `record!` behind `as`.
pub trait Coded<'a, V> {
    /// Writes it.
    fn encode<E: Encoder>(value: &V, to: &mut E);
    /// Reads it.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    fn decode<D: Decoder<'a>>(from: &mut D) -> Result<V, D::Fault>;
}

/// An enum whose values have places, which are persisted.
pub trait Symbol: Copy + 'static {
    /// Its values, in the order of their places.
    const ALL: &'static [Self];
}

/// Lists the fields of a struct in the order in which they are written and read. All fields must
/// be listed: one that is new and not listed does not compile.
///
/// `record!(Pair { a, b as Attempt });` stands for
///
/// ```text
/// impl Encode for Pair {
///     fn encode<E: Encoder>(&self, to: &mut E) {
///         let Pair { a, b } = self;
///         a.encode(to);
///         <Attempt as Coded<_>>::encode(b, to);
///     }
/// }
///
/// impl<'a> Decode<'a> for Pair {
///     fn decode<D: Decoder<'a>>(from: &mut D) -> Result<Pair, D::Fault> {
///         Ok(Pair { a: Decode::decode(from)?, b: <Attempt as Coded<_>>::decode(from)? })
///     }
/// }
/// ```
///
/// Texts between two semicolons are read at once, which is faster than one after the other.
macro_rules! record {
    ($kind:ident($field:ident)) => {
        impl $crate::record::Encode for $kind {
            fn encode<E: $crate::record::Encoder>(&self, to: &mut E) {
                let $kind($field) = self;
                $field.encode(to);
            }
        }

        impl<'a> $crate::record::Decode<'a> for $kind {
            fn decode<D: $crate::record::Decoder<'a>>(from: &mut D) -> Result<Self, D::Fault> {
                $crate::record::Decode::decode(from).map($kind)
            }
        }
    };
    ($kind:ident $(<$life:lifetime>)? $(<$text:ident>)? { $($fields:tt)* }) => {
        $crate::record::encode!($kind $(<$life>)? $(<$text>)? { $($fields)* });
        $crate::record::decode!($kind $(<$life>)? $(<$text>)? { $($fields)* });
    };
}

/// Lists the fields of a struct that is only written: it has a content, and no form on the wire.
/// All fields must be listed.
macro_rules! encode {
    ($kind:ident $(<$life:lifetime>)? $(<$text:ident>)? {
        $($field:ident $(as $how:ty)?),*
        $(; $($run:ident),*; $($more:ident $(as $other:ty)?),*)? $(,)?
    }) => {
        impl<$($life)? $($text: $crate::record::Encode)?> $crate::record::Encode
            for $kind<$($life)? $($text)?>
        {
            fn encode<E: $crate::record::Encoder>(&self, to: &mut E) {
                let $kind { $($field,)* $($($run,)* $($more,)*)? } = self;
                $($crate::record::field!(write $field, to $(, $how)?);)*
                $(
                    $($crate::record::field!(write $run, to);)*
                    $($crate::record::field!(write $more, to $(, $other)?);)*
                )?
            }
        }
    };
}

/// The reading half of [`record!`].
macro_rules! decode {
    ($kind:ident<$life:lifetime> $fields:tt) => {
        $crate::record::decode!([$life] [] $kind [<$life>] $fields);
    };
    ($kind:ident<$text:ident> $fields:tt) => {
        $crate::record::decode!(['a] [$text: $crate::record::Decode<'a>] $kind [<$text>] $fields);
    };
    ($kind:ident $fields:tt) => {
        $crate::record::decode!(['a] [] $kind [] $fields);
    };
    ([$life:lifetime] [$($bound:tt)*] $kind:ident [$($of:tt)*] {
        $($field:ident $(as $how:ty)?),*
        $(; $($run:ident),*; $($more:ident $(as $other:ty)?),*)? $(,)?
    }) => {
        impl<$life, $($bound)*> $crate::record::Decode<$life> for $kind $($of)* {
            #[inline(always)]
            fn decode<D: $crate::record::Decoder<$life>>(from: &mut D) -> Result<Self, D::Fault> {
                $(let $field = $crate::record::field!(read from $(, $how)?);)*
                $(
                    let mut run = from.run([$(stringify!($run)),*].len())?;
                    $(let $run = D::next(&mut run)?;)*
                    $(let $more = $crate::record::field!(read from $(, $other)?);)*
                )?
                Ok($kind { $($field,)* $($($run,)* $($more,)*)? })
            }

            fn skip_to<D: $crate::record::Decoder<$life>>(
                name: &str,
                from: &mut D,
            ) -> Result<(), D::Fault> {
                $($crate::record::field!(skip name from $field);)*
                $(
                    $($crate::record::field!(skip name from $run);)*
                    $($crate::record::field!(skip name from $more);)*
                )?
                Ok(())
            }
        }
    };
}

/// One field of [`record!`].
macro_rules! field {
    (write $field:ident, $to:ident) => {
        $crate::record::Encode::encode($field, $to)
    };
    (write $field:ident, $to:ident, $how:ty) => {
        <$how as $crate::record::Coded<'_, _>>::encode($field, $to)
    };
    (read $from:ident) => {
        $crate::record::Decode::decode($from)?
    };
    (read $from:ident, $how:ty) => {
        <$how as $crate::record::Coded<'_, _>>::decode($from)?
    };
    (skip $name:ident $from:ident $field:ident) => {
        if $name == stringify!($field) {
            return Ok(());
        }
        $crate::record::skip($from, |it: &Self| &it.$field)?;
    };
}

/// Gives enums of which `ALL` lists the values in the order of their numbers as symbols; behind a
/// colon those of one that has no such list.
macro_rules! symbols {
    ($($kind:ident),* $(,)?) => {
        $($crate::record::symbols!($kind: $kind::ALL);)*
    };
    ($kind:ident: [$($value:ident),*]) => {
        $crate::record::symbols!($kind: [$($kind::$value),*]);
    };
    ($kind:ident: $all:expr) => {
        impl $crate::record::Symbol for $kind {
            const ALL: &'static [$kind] = &$all;
        }

        // It is written as its number, and read as its place.
        const _: () = {
            let mut place = 0;
            while place < <$kind as $crate::record::Symbol>::ALL.len() {
                assert!(<$kind as $crate::record::Symbol>::ALL[place] as usize == place);
                place += 1;
            }
        };

        impl $crate::record::Encode for $kind {
            fn encode<E: $crate::record::Encoder>(&self, to: &mut E) {
                to.symbol(*self as usize);
            }
        }

        impl<'a> $crate::record::Decode<'a> for $kind {
            #[inline(always)]
            fn decode<D: $crate::record::Decoder<'a>>(from: &mut D) -> Result<Self, D::Fault> {
                $crate::record::symbol(from)
            }
        }
    };
}

pub(crate) use {decode, encode, field, record, symbols};

/// Reads one of an enum's values.
#[inline(always)]
pub(crate) fn symbol<'a, T: Symbol, D: Decoder<'a>>(from: &mut D) -> Result<T, D::Fault> {
    let place = from.symbol(T::ALL.len())?;
    T::ALL.get(place).copied().ok_or_else(|| from.refuse())
}

/// Reads over a field, which is named by where it lies in its struct.
pub(crate) fn skip<'a, T, V: Decode<'a>, D: Decoder<'a>>(
    from: &mut D,
    _: impl Fn(&T) -> &V,
) -> Result<(), D::Fault> {
    V::decode(from).map(drop)
}
