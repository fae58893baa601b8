//! From two schemas to a plan, by Avro's rules of schema resolution.
//!
//! A logical type counts as the type below it, but two that measure in different units
//! (milliseconds, microseconds) do not resolve: the numbers would be wrong by a thousand.

use super::default;
use super::plan::{FieldSource, Op, OpId, Plan, Skip, SkipId, Step};
use super::shape::{Base, Names, SchemaNode, base, measure, takes_none};
use apache_avro::Schema;
use apache_avro::schema::{Alias, EnumSchema, RecordField, RecordSchema, ResolvedSchema};
use std::collections::BTreeMap;

/// Why data of one schema cannot be read with another, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct Mismatch {
    /// The place in our schema: record, then fields with dots, `[]` for items.
    pub path: String,
    /// The mistake, and the remedy.
    pub why: String,
}

/// Compiles a plan that turns data of `writer` into data of `reader`.
pub fn compile(writer: &Schema, reader: &Schema) -> Result<Plan, Mismatch> {
    let names = |schema| {
        ResolvedSchema::new(schema).map_err(|error| Mismatch {
            path: "schema".into(),
            why: format!("has a reference that leads nowhere ({error}); define every name in it"),
        })
    };
    let (written, read) = (names(writer)?, names(reader)?);
    let mut compiler = Compiler {
        writer: Names::of(&written),
        reader: Names::of(&read),
        plan: Plan { skips: Vec::new(), ops: Vec::new(), root: 0 },
        skipped: BTreeMap::new(),
        resolved: BTreeMap::new(),
        path: Vec::new(),
    };
    let (from, to) = (SchemaNode::root(writer), SchemaNode::root(reader));
    compiler.plan.root = compiler.resolve(from, to)?;
    Ok(compiler.plan)
}

struct Compiler<'s> {
    writer: Names<'s>,
    reader: Names<'s>,
    plan: Plan,
    /// Skips of the writer's records by name: a record may hold itself.
    skipped: BTreeMap<String, SkipId>,
    /// Plans of pairs of records by name, for the same reason.
    resolved: BTreeMap<(String, String), OpId>,
    path: Vec<String>,
}

impl<'s> Compiler<'s> {
    fn op(&mut self, op: Op) -> OpId {
        self.plan.ops.push(op);
        (self.plan.ops.len() - 1) as OpId
    }

    fn mismatch(&self, why: impl Into<String>) -> Mismatch {
        Mismatch { path: self.path.concat(), why: why.into() }
    }

    fn resolve(&mut self, from: SchemaNode<'s>, to: SchemaNode<'s>) -> Result<OpId, Mismatch> {
        let lost = || Mismatch { path: "schema".into(), why: "a name is not defined".into() };
        let from = self.writer.follow(from).ok_or_else(lost)?;
        let to = self.reader.follow(to).ok_or_else(lost)?;
        if let Schema::Union(union) = from.schema {
            return self.unwrap(union.variants(), from, to);
        }
        if let Schema::Union(union) = to.schema {
            return self.wrap(from, union.variants(), to);
        }
        if let (Some(theirs), Some(ours)) = (measure(from.schema), measure(to.schema))
            && theirs != ours
        {
            return Err(self.mismatch(format!("the writer has {theirs}, ours is {ours}")));
        }
        self.same_name(from, to)?;
        let op = match (base(from.schema), base(to.schema)) {
            (Base::Null, Base::Null) => Op::Copy(0),
            (Base::Boolean, Base::Boolean) => Op::Boolean,
            (Base::Int, Base::Int | Base::Long) => Op::Int,
            (Base::Long, Base::Long) => Op::Long,
            (Base::Int | Base::Long, Base::Float) => Op::LongToFloat,
            (Base::Int | Base::Long, Base::Double) => Op::LongToDouble,
            (Base::Float, Base::Float) => Op::Copy(4),
            (Base::Float, Base::Double) => Op::FloatToDouble,
            (Base::Double, Base::Double) => Op::Copy(8),
            (Base::Bytes | Base::String, Base::Bytes) => Op::Bytes,
            (Base::Bytes | Base::String, Base::String) => Op::Text,
            (Base::Fixed(theirs), Base::Fixed(ours)) if theirs == ours => Op::Copy(ours),
            (theirs, ours) => match (from.schema, to.schema) {
                (Schema::Enum(theirs), Schema::Enum(ours)) => self.symbols(theirs, ours)?,
                (Schema::Array(theirs), Schema::Array(ours)) => {
                    let (item, node) = (from.inner(&theirs.items), to.inner(&ours.items));
                    self.path.push("[]".into());
                    let op = self.resolve(item, node)?;
                    self.path.pop();
                    let empty = takes_none(&self.writer, item, &mut Vec::new());
                    let vain = takes_none(&self.reader, node, &mut Vec::new());
                    Op::Array { item: op, empty, vain }
                }
                (Schema::Map(theirs), Schema::Map(ours)) => {
                    self.path.push("[]".into());
                    let value = self.resolve(from.inner(&theirs.types), to.inner(&ours.types))?;
                    self.path.pop();
                    Op::Map { value }
                }
                (Schema::Record(theirs), Schema::Record(ours)) => {
                    return self.record(from, theirs, to, ours);
                }
                _ => {
                    let why = format!("the writer has {theirs:?}, ours is {ours:?}");
                    return Err(self.mismatch(why));
                }
            },
        };
        Ok(self.op(op))
    }

    /// Named types must have the same name, their namespace left out, or be an alias of ours.
    fn same_name(&self, from: SchemaNode<'s>, to: SchemaNode<'s>) -> Result<(), Mismatch> {
        let (Some(theirs), Some(ours)) = (from.schema.name(), to.schema.name()) else {
            return Ok(());
        };
        let aliases = to.schema.aliases().map_or(&[][..], |aliases| &aliases[..]);
        let alias = |alias: &Alias| alias.name() == theirs.name();
        if theirs.name() == ours.name() || aliases.iter().any(alias) {
            return Ok(());
        }
        let why = format!("the writer has {}, ours is {}", theirs.name(), ours.name());
        Err(self.mismatch(why))
    }

    /// Out of the writer's union: each branch by itself; one at least must have a place.
    fn unwrap(
        &mut self,
        branches: &'s [Schema],
        from: SchemaNode<'s>,
        to: SchemaNode<'s>,
    ) -> Result<OpId, Mismatch> {
        let mut ops = Vec::new();
        let mut first = None;
        for branch in branches {
            let depth = self.path.len();
            match self.resolve(from.inner(branch), to) {
                Ok(op) => ops.push(Some(op)),
                Err(mismatch) => {
                    self.path.truncate(depth);
                    ops.push(None);
                    first.get_or_insert(mismatch);
                }
            }
        }
        match first {
            Some(mismatch) if ops.iter().all(Option::is_none) => Err(mismatch),
            _ => Ok(self.op(Op::Unwrap(ops.into()))),
        }
    }

    /// Into our union: the first branch of the same type, else the first it can be promoted to.
    fn wrap(
        &mut self,
        from: SchemaNode<'s>,
        branches: &'s [Schema],
        to: SchemaNode<'s>,
    ) -> Result<OpId, Mismatch> {
        for promote in [false, true] {
            for (branch, schema) in branches.iter().enumerate() {
                let node = to.inner(schema);
                let followed = self.reader.follow(node).unwrap_or(node);
                if !promote && base(followed.schema) != base(from.schema) {
                    continue;
                }
                let depth = self.path.len();
                match self.resolve(from, node) {
                    Ok(op) => {
                        return Ok(self.op(Op::Wrap { branch: branch as u32, op }));
                    }
                    Err(_) => self.path.truncate(depth),
                }
            }
        }
        let why = format!("the writer has {:?}, which no branch of ours takes", base(from.schema));
        Err(self.mismatch(why))
    }

    fn symbols(&self, theirs: &EnumSchema, ours: &EnumSchema) -> Result<Op, Mismatch> {
        let index = |word: &String| ours.symbols.iter().position(|symbol| symbol == word);
        let other = ours.default.as_ref().and_then(index);
        let table: Box<[Option<u32>]> = theirs
            .symbols
            .iter()
            .map(|symbol| index(symbol).or(other).map(|index| index as u32))
            .collect();
        if table.iter().all(Option::is_none) {
            return Err(self.mismatch("none of the writer's symbols is ours"));
        }
        Ok(Op::Enum(table))
    }

    fn record(
        &mut self,
        from: SchemaNode<'s>,
        theirs: &'s RecordSchema,
        to: SchemaNode<'s>,
        ours: &'s RecordSchema,
    ) -> Result<OpId, Mismatch> {
        let pair = (from.full_name(), to.full_name());
        if let Some(op) = self.resolved.get(&pair) {
            return Ok(*op);
        }
        let root = self.path.is_empty();
        if root {
            self.path.push(ours.name.name().into());
        }
        // Until it is known this stands for a fault, should anything keep hold of it.
        let id = self.op(Op::Unwrap(Box::new([])));
        self.resolved.insert(pair.clone(), id);
        match self.fields(from, theirs, to, ours) {
            Ok(op) => self.plan.ops[id as usize] = op,
            Err(mismatch) => {
                self.resolved.remove(&pair);
                return Err(mismatch);
            }
        }
        if root {
            self.path.pop();
        }
        Ok(id)
    }

    fn fields(
        &mut self,
        from: SchemaNode<'s>,
        theirs: &'s RecordSchema,
        to: SchemaNode<'s>,
        ours: &'s RecordSchema,
    ) -> Result<Op, Mismatch> {
        let mut emit = Vec::new();
        for field in &ours.fields {
            self.path.push(format!(".{}", field.name));
            let node = to.inner(&field.schema);
            emit.push(match find(&theirs.fields, field) {
                Some(index) => {
                    let source = from.inner(&theirs.fields[index].schema);
                    FieldSource::Field(index as u32, self.resolve(source, node)?)
                }
                None => {
                    let json = field.default.as_ref().ok_or_else(|| {
                        self.mismatch("the writer does not have it, and it has no default")
                    })?;
                    let bytes = default::encode(&self.reader, node, json);
                    FieldSource::Default(bytes.ok_or_else(|| {
                        self.mismatch(format!("its default {json} does not fit its type"))
                    })?)
                }
            });
            self.path.pop();
        }
        let walk = theirs.fields.iter().map(|field| self.skip(from.inner(&field.schema)));
        let walk = walk.collect::<Result<Box<[SkipId]>, Mismatch>>()?;
        Ok(straighten(&self.plan.ops, &walk, &emit)
            .unwrap_or(Op::Sorted { walk, emit: emit.into() }))
    }

    fn skip(&mut self, node: SchemaNode<'s>) -> Result<SkipId, Mismatch> {
        let lost = || Mismatch { path: "schema".into(), why: "a name is not defined".into() };
        let node = self.writer.follow(node).ok_or_else(lost)?;
        let skip = match node.schema {
            Schema::Array(array) => {
                let item = node.inner(&array.items);
                let empty = takes_none(&self.writer, item, &mut Vec::new());
                Skip::Array { item: self.skip(item)?, empty }
            }
            Schema::Map(map) => Skip::Map { value: self.skip(node.inner(&map.types))? },
            Schema::Union(union) => {
                let branches = union.variants().iter().map(|branch| self.skip(node.inner(branch)));
                Skip::Union(branches.collect::<Result<_, _>>()?)
            }
            Schema::Record(record) => {
                let name = node.full_name();
                if let Some(skip) = self.skipped.get(&name) {
                    return Ok(*skip);
                }
                let id = self.plan.skips.len() as SkipId;
                self.plan.skips.push(Skip::Union(Box::new([])));
                self.skipped.insert(name, id);
                let fields = record.fields.iter().map(|field| self.skip(node.inner(&field.schema)));
                let fields = fields.collect::<Result<_, _>>()?;
                self.plan.skips[id as usize] = Skip::Record(fields);
                return Ok(id);
            }
            other => match base(other) {
                Base::Boolean => Skip::Boolean,
                Base::Int | Base::Long | Base::Enum => Skip::Number,
                Base::Float => Skip::Fixed(4),
                Base::Double => Skip::Fixed(8),
                Base::Fixed(size) => Skip::Fixed(size),
                Base::Bytes | Base::String => Skip::Bytes,
                // Null; the rest was matched above.
                _ => Skip::Fixed(0),
            },
        };
        self.plan.skips.push(skip);
        Ok((self.plan.skips.len() - 1) as SkipId)
    }
}

/// The writer's field for one of ours: by its name, else by its aliases in order.
fn find(theirs: &[RecordField], ours: &RecordField) -> Option<usize> {
    std::iter::once(&ours.name)
        .chain(&ours.aliases)
        .find_map(|name| theirs.iter().position(|field| field.name == *name))
}

/// One pass, if our fields come in the writer's order.
fn straighten(ops: &[Op], walk: &[SkipId], emit: &[FieldSource]) -> Option<Op> {
    let mut steps = Vec::new();
    let mut same = Vec::new();
    let mut next = 0;
    for source in emit {
        match source {
            FieldSource::Field(index, op) => {
                let index = *index as usize;
                let skipped = walk.get(next..index)?;
                if !skipped.is_empty() {
                    close(&mut same, &mut steps);
                }
                steps.extend(skipped.iter().map(|skip| Step::Skip(*skip)));
                if is_same(&ops[*op as usize]) {
                    same.push(walk[index]);
                } else {
                    close(&mut same, &mut steps);
                    steps.push(Step::Field(*op));
                }
                next = index + 1;
            }
            FieldSource::Default(bytes) => {
                close(&mut same, &mut steps);
                steps.push(Step::Default(bytes.clone()));
            }
        }
    }
    close(&mut same, &mut steps);
    steps.extend(walk.get(next..)?.iter().map(|skip| Step::Skip(*skip)));
    Some(Op::Straight(steps.into()))
}

/// Ends a run of fields that are copied together.
fn close(same: &mut Vec<SkipId>, steps: &mut Vec<Step>) {
    if !same.is_empty() {
        steps.push(Step::Same(std::mem::take(same).into()));
    }
}

/// Whether a simple value is laid out the same in both schemas.
fn is_same(op: &Op) -> bool {
    match op {
        Op::Copy(_) | Op::Boolean | Op::Int | Op::Long | Op::Bytes | Op::Text => true,
        Op::Enum(table) => {
            table.iter().enumerate().all(|(index, symbol)| *symbol == Some(index as u32))
        }
        Op::LongToFloat
        | Op::LongToDouble
        | Op::FloatToDouble
        | Op::Wrap { .. }
        | Op::Unwrap(_)
        | Op::Array { .. }
        | Op::Map { .. }
        | Op::Straight(_)
        | Op::Sorted { .. } => false,
    }
}
