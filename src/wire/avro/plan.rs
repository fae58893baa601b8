//! A plan: what to do with a writer's datum, decided once for a pair of schemas.

/// Turns data of one writer's schema into ours. Made by [`super::compile()`], carried out by
/// [`super::transcode`].
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) skips: Vec<Skip>,
    pub(super) ops: Vec<Op>,
    pub(super) root: OpId,
}

/// Index into [`Plan::skips`].
pub(super) type SkipId = u32;
/// Index into [`Plan::ops`].
pub(super) type OpId = u32;

/// How to walk over a value of the writer's that is not wanted, or not yet.
#[derive(Clone, Debug)]
pub(super) enum Skip {
    /// So many bytes; none for null.
    Fixed(usize),
    /// A boolean.
    Boolean,
    /// Int, long, enum.
    Number,
    /// Bytes, string.
    Bytes,
    /// Items of one kind; `empty` if an item takes no bytes at all.
    Array { item: SkipId, empty: bool },
    /// Names and values of one kind.
    Map { value: SkipId },
    /// One of these.
    Union(Box<[SkipId]>),
    /// These, one after the other.
    Record(Box<[SkipId]>),
}

/// How to turn a value of the writer's into one of ours.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// So many bytes as they are: null (none), float, double, fixed.
    Copy(usize),
    /// A boolean.
    Boolean,
    /// Int to int or long: the bytes are the same.
    Int,
    /// Long to long.
    Long,
    /// Int or long to float.
    LongToFloat,
    /// Int or long to double.
    LongToDouble,
    /// Float to double.
    FloatToDouble,
    /// Bytes or string to bytes.
    Bytes,
    /// Bytes or string to string.
    Text,
    /// Writer's symbol to ours; `None` where we have neither it nor a default.
    Enum(Box<[Option<u32>]>),
    /// Into a branch of our union.
    Wrap { branch: u32, op: OpId },
    /// Out of the writer's union, by its branch; `None` where ours has no place for it.
    Unwrap(Box<[Option<OpId>]>),
    /// Item by item. `empty`: the writer's items take no bytes; `vain`: ours take none either.
    Array { item: OpId, empty: bool, vain: bool },
    /// Value by value, under the same names.
    Map { value: OpId },
    /// The writer's fields come in our order: one pass.
    Straight(Box<[Step]>),
    /// They do not: find where each begins, then take them in our order.
    Sorted {
        /// The writer's fields, in the writer's order ...
        walk: Box<[SkipId]>,
        /// ... and our fields, in our order.
        emit: Box<[FieldSource]>,
    },
}

/// One step through a record whose fields come in our order.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A field we have.
    Field(OpId),
    /// Fields we have that are laid out the same: walked over, then copied together.
    Same(Box<[SkipId]>),
    /// A field we do not have.
    Skip(SkipId),
    /// A field the writer does not have: our default, encoded.
    Default(Box<[u8]>),
}

/// Where one of our fields comes from.
#[derive(Clone, Debug)]
pub(super) enum FieldSource {
    /// The writer's field of that number.
    Field(u32, OpId),
    /// Our default, encoded.
    Default(Box<[u8]>),
}
