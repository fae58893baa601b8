//! Looking at a schema: what lies behind a name, and what lies behind a logical type.

use apache_avro::Schema;
use apache_avro::schema::{
    DecimalSchema, InnerDecimalSchema, Name, NamespaceRef, ResolvedSchema, UuidSchema,
};
use std::collections::BTreeMap;

/// A schema within another, and the namespace that holds there.
#[derive(Clone, Copy)]
pub(super) struct SchemaNode<'s> {
    pub(super) schema: &'s Schema,
    space: NamespaceRef<'s>,
}

impl<'s> SchemaNode<'s> {
    pub(super) fn root(schema: &'s Schema) -> SchemaNode<'s> {
        SchemaNode { schema, space: None }
    }

    /// A schema within this one.
    pub(super) fn inner(self, schema: &'s Schema) -> SchemaNode<'s> {
        let space = self.schema.name().and_then(Name::namespace).or(self.space);
        SchemaNode { schema, space }
    }

    pub(super) fn full_name(self) -> String {
        self.schema.name().map_or_else(String::new, |name| name.fullname(self.space))
    }
}

/// The named types of a schema.
pub(super) struct Names<'s>(BTreeMap<String, &'s Schema>);

impl<'s> Names<'s> {
    pub(super) fn of(resolved: &ResolvedSchema<'s>) -> Names<'s> {
        let named = resolved.get_names().iter();
        Names(named.map(|(name, schema)| (name.fullname(None), *schema)).collect())
    }

    /// The schema that a reference refers to; a node that is no reference is returned.
    pub(super) fn follow(&self, node: SchemaNode<'s>) -> Option<SchemaNode<'s>> {
        let Schema::Ref { name } = node.schema else {
            return Some(node);
        };
        let schema = *self.0.get(&name.fullname(node.space))?;
        Some(SchemaNode { schema, space: name.namespace().or(node.space) })
    }
}

/// A type without its logical type and without what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    Enum,
    Array,
    Map,
    Union,
    Record,
    Ref,
}

pub(super) fn base(schema: &Schema) -> Base {
    match schema {
        Schema::Null => Base::Null,
        Schema::Boolean => Base::Boolean,
        Schema::Int | Schema::Date | Schema::TimeMillis => Base::Int,
        Schema::Long
        | Schema::TimeMicros
        | Schema::TimestampMillis
        | Schema::TimestampMicros
        | Schema::TimestampNanos
        | Schema::LocalTimestampMillis
        | Schema::LocalTimestampMicros
        | Schema::LocalTimestampNanos => Base::Long,
        Schema::Float => Base::Float,
        Schema::Double => Base::Double,
        Schema::Bytes
        | Schema::BigDecimal
        | Schema::Uuid(UuidSchema::Bytes)
        | Schema::Decimal(DecimalSchema { inner: InnerDecimalSchema::Bytes, .. }) => Base::Bytes,
        Schema::String | Schema::Uuid(UuidSchema::String) => Base::String,
        Schema::Fixed(fixed)
        | Schema::Duration(fixed)
        | Schema::Uuid(UuidSchema::Fixed(fixed))
        | Schema::Decimal(DecimalSchema { inner: InnerDecimalSchema::Fixed(fixed), .. }) => {
            Base::Fixed(fixed.size)
        }
        Schema::Enum(_) => Base::Enum,
        Schema::Array(_) => Base::Array,
        Schema::Map(_) => Base::Map,
        Schema::Union(_) => Base::Union,
        Schema::Record(_) => Base::Record,
        Schema::Ref { .. } => Base::Ref,
    }
}

/// Unit of the numbers of a logical type; `None` for a plain type.
pub(super) fn measure(schema: &Schema) -> Option<String> {
    Some(match schema {
        Schema::Date => "date".into(),
        Schema::TimeMillis => "time-millis".into(),
        Schema::TimeMicros => "time-micros".into(),
        Schema::TimestampMillis => "timestamp-millis".into(),
        Schema::TimestampMicros => "timestamp-micros".into(),
        Schema::TimestampNanos => "timestamp-nanos".into(),
        Schema::LocalTimestampMillis => "local-timestamp-millis".into(),
        Schema::LocalTimestampMicros => "local-timestamp-micros".into(),
        Schema::LocalTimestampNanos => "local-timestamp-nanos".into(),
        Schema::Decimal(decimal) => format!("decimal({}, {})", decimal.precision, decimal.scale),
        Schema::BigDecimal => "big-decimal".into(),
        Schema::Duration(_) => "duration".into(),
        Schema::Uuid(_) => "uuid".into(),
        _ => return None,
    })
}

/// Whether values of a schema take no bytes at all, so that any number of them costs nothing.
pub(super) fn takes_none<'s>(
    names: &Names<'s>,
    node: SchemaNode<'s>,
    within: &mut Vec<String>,
) -> bool {
    let Some(node) = names.follow(node) else {
        return false;
    };
    match node.schema {
        Schema::Record(record) => {
            let name = node.full_name();
            if within.contains(&name) {
                return false;
            }
            within.push(name);
            let none =
                record.fields.iter().all(|it| takes_none(names, node.inner(&it.schema), within));
            within.pop();
            none
        }
        other => matches!(base(other), Base::Null | Base::Fixed(0)),
    }
}
