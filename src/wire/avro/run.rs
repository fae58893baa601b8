//! Carrying out a plan: bytes of the writer's datum in, bytes of ours out, nothing in between.

use super::plan::{FieldSource, Op, OpId, Plan, Skip, SkipId, Step};
use super::{Cursor, Fault, Sink};

/// Bounds on the cost of a single record.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Longest datum that comes out; bytes. Also the most items an array may claim whose items
    /// take no bytes.
    pub output_bytes: usize,
    /// Deepest nesting of the writer's values.
    pub depth: u32,
}

/// Memory that is kept from record to record.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    /// Where each field begins, of the records being sorted.
    starts: Vec<usize>,
}

/// Turns the writer's datum into ours, appended to `out`. After a fault `out` holds what was there
/// before.
pub fn transcode(
    plan: &Plan,
    datum: &[u8],
    bounds: Bounds,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let before = out.len();
    scratch.starts.clear();
    let mut run = Run {
        plan,
        starts: &mut scratch.starts,
        sink: Sink { out },
        datum,
        bounds,
        end: before.saturating_add(bounds.output_bytes),
    };
    let mut cursor = Cursor::new(datum);
    let done = run.op(plan.root, &mut cursor, bounds.depth).and_then(|()| cursor.end());
    let done = done.and_then(|()| run.within());
    if done.is_err() {
        out.truncate(before);
    }
    done
}

struct Run<'a, 'o> {
    plan: &'a Plan,
    starts: &'o mut Vec<usize>,
    sink: Sink<'o>,
    datum: &'a [u8],
    bounds: Bounds,
    end: usize,
}

impl<'a> Run<'a, '_> {
    fn op(&mut self, id: OpId, at: &mut Cursor<'a>, depth: u32) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Malformed)?;
        let plan = self.plan;
        match &plan.ops[id as usize] {
            Op::Copy(count) => self.sink.raw(at.take(*count)?),
            Op::Boolean => {
                let value = at.boolean()?;
                self.sink.boolean(value);
            }
            Op::Int => {
                let value = at.int()?;
                self.sink.int(value);
            }
            Op::Long => {
                let value = at.long()?;
                self.sink.long(value);
            }
            Op::LongToFloat => {
                let value = at.long()?;
                self.sink.float(value as f32);
            }
            Op::LongToDouble => {
                let value = at.long()?;
                self.sink.double(value as f64);
            }
            Op::FloatToDouble => {
                let value = at.float()?;
                self.sink.double(f64::from(value));
            }
            Op::Bytes => self.sink.bytes(at.bytes()?),
            Op::Text => self.sink.string(at.string()?),
            Op::Enum(symbols) => {
                let symbol = symbols.get(at.index()?).copied().flatten();
                self.sink.index(symbol.ok_or(Fault::Malformed)? as usize);
            }
            Op::Wrap { branch, op } => {
                self.sink.index(*branch as usize);
                self.op(*op, at, depth)?;
            }
            Op::Unwrap(branches) => {
                let op = branches.get(at.index()?).ok_or(Fault::Malformed)?;
                self.op(op.ok_or(Fault::WrongSchema)?, at, depth)?;
            }
            Op::Array { item, empty, vain } => {
                self.blocks(at, *empty, *vain, |run, at| run.op(*item, at, depth))?;
            }
            Op::Map { value } => self.blocks(at, false, false, |run, at| {
                run.sink.string(at.string()?);
                run.op(*value, at, depth)
            })?,
            Op::Straight(steps) => {
                for step in steps {
                    match step {
                        Step::Field(op) => self.op(*op, at, depth)?,
                        Step::Same(skips) => self.copy(skips, at, depth)?,
                        Step::Skip(skip) => self.skip(*skip, at, depth)?,
                        Step::Default(bytes) => self.sink.raw(bytes),
                    }
                }
            }
            Op::Sorted { walk, emit } => self.sorted(walk, emit, at, depth)?,
        }
        Ok(())
    }

    /// Fields that are the same in both schemas. Whether text is text and a symbol one of ours is
    /// seen when the record is read.
    fn copy(&mut self, skips: &'a [SkipId], at: &mut Cursor<'a>, depth: u32) -> Result<(), Fault> {
        let before = at.rest();
        for skip in skips {
            self.skip(*skip, at, depth)?;
        }
        self.sink.raw(&before[..before.len() - at.rest().len()]);
        Ok(())
    }

    /// Finds where each of the writer's fields begins, then takes them in our order.
    fn sorted(
        &mut self,
        walk: &'a [SkipId],
        emit: &'a [FieldSource],
        at: &mut Cursor<'a>,
        depth: u32,
    ) -> Result<(), Fault> {
        let base = self.starts.len();
        for skip in walk {
            self.starts.push(self.datum.len() - at.rest().len());
            self.skip(*skip, at, depth)?;
        }
        for source in emit {
            match source {
                FieldSource::Field(field, op) => {
                    let start = self.starts[base + *field as usize];
                    self.op(*op, &mut Cursor::new(&self.datum[start..]), depth)?;
                }
                FieldSource::Default(bytes) => self.sink.raw(bytes),
            }
        }
        self.starts.truncate(base);
        Ok(())
    }

    /// Items in the writer's blocks become items in one block of ours.
    fn blocks(
        &mut self,
        at: &mut Cursor<'a>,
        empty: bool,
        vain: bool,
        mut each: impl FnMut(&mut Self, &mut Cursor<'a>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let head = self.sink.out.len();
        let mut total = 0u64;
        let mut guess = 0u64;
        loop {
            let count = at.block()?;
            if count == 0 {
                break;
            }
            total = total.saturating_add(count);
            let most = if empty { self.bounds.output_bytes } else { at.rest().len() };
            if count > most as u64 || total > self.bounds.output_bytes as u64 {
                return Err(Fault::Malformed);
            }
            if guess == 0 {
                guess = count;
                self.sink.amount(count);
            }
            if empty && vain {
                continue;
            }
            for _ in 0..count {
                each(self, at)?;
                self.within()?;
            }
        }
        if total != guess {
            self.recount(head, guess, total);
        }
        self.sink.index(0);
        Ok(())
    }

    /// Puts the sum of several blocks where the count of the first was written.
    fn recount(&mut self, head: usize, guess: u64, total: u64) {
        let mut old = Vec::with_capacity(10);
        Sink { out: &mut old }.amount(guess);
        let mut new = Vec::with_capacity(10);
        Sink { out: &mut new }.amount(total);
        self.sink.out.splice(head..head + old.len(), new);
    }

    fn within(&self) -> Result<(), Fault> {
        if self.sink.out.len() <= self.end { Ok(()) } else { Err(Fault::Oversized) }
    }

    /// Walks over a value.
    fn skip(&self, id: SkipId, at: &mut Cursor<'a>, depth: u32) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Malformed)?;
        match &self.plan.skips[id as usize] {
            Skip::Fixed(count) => at.take(*count).map(drop),
            Skip::Boolean => at.boolean().map(drop),
            Skip::Number => at.long().map(drop),
            Skip::Bytes => at.bytes().map(drop),
            Skip::Array { item, empty } => loop {
                let count = at.block()?;
                if count == 0 {
                    return Ok(());
                }
                if *empty {
                    continue;
                }
                for _ in 0..count {
                    self.skip(*item, at, depth)?;
                }
            },
            Skip::Map { value } => loop {
                let count = at.block()?;
                if count == 0 {
                    return Ok(());
                }
                for _ in 0..count {
                    at.bytes()?;
                    self.skip(*value, at, depth)?;
                }
            },
            Skip::Union(branches) => {
                let branch = branches.get(at.index()?).ok_or(Fault::Malformed)?;
                self.skip(*branch, at, depth)
            }
            Skip::Record(fields) => {
                fields.iter().try_for_each(|field| self.skip(*field, at, depth))
            }
        }
    }
}
