//! From text to tree (B.9, grammar). The first error in the text is the one reported.

use super::cursor::Cursor;
use super::error::{ErrorCode, Fault};
use super::tree::{Condition, Expression, Item, Operator};
use super::{DEPTH_MAX, Relation, TEXT_BYTES_MAX};

/// Reads a text as a tree.
pub(super) fn parse(text: &str) -> Result<Item, Fault> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Fault::new(ErrorCode::TooLong, 0));
    }
    let mut parser = Parser { cursor: Cursor::new(text), depth: 0 };
    let item = parser.item(false)?;
    parser.cursor.skip_blanks()?;
    match parser.cursor.peek() {
        Some(_) => Err(Fault::new(ErrorCode::TextAfterEnd, parser.cursor.at)),
        None => Ok(item),
    }
}

/// Relations, with those that begin as another does first.
const RELATIONS: [Relation; 6] = [
    Relation::NotEqual,
    Relation::LessOrEqual,
    Relation::GreaterOrEqual,
    Relation::Equal,
    Relation::Less,
    Relation::Greater,
];

struct Parser<'t> {
    cursor: Cursor<'t>,
    /// Parentheses that are open.
    depth: usize,
}

impl Parser<'_> {
    /// Reads an item; `is_inside`: below an `&` or `|`.
    fn item(&mut self, is_inside: bool) -> Result<Item, Fault> {
        self.cursor.skip_blanks()?;
        let at = self.cursor.at;
        match self.cursor.peek().and_then(Operator::of) {
            None => self.condition().map(Item::Condition),
            Some(Operator::Jobs) if is_inside => Err(Fault::new(ErrorCode::PlusInside, at)),
            Some(operator) => {
                self.cursor.accept(operator.name());
                let items = self.items(is_inside || operator != Operator::Jobs)?;
                Ok(Item::Joined { operator, items, at })
            }
        }
    }

    /// Reads one or more items in parentheses.
    fn items(&mut self, is_inside: bool) -> Result<Vec<Item>, Fault> {
        let mut items = Vec::new();
        self.cursor.parenthesis("(")?;
        loop {
            self.descend()?;
            items.push(self.item(is_inside)?);
            self.ascend()?;
            self.cursor.skip_blanks()?;
            if !self.cursor.accept("(") {
                return Ok(items);
            }
        }
    }

    fn condition(&mut self) -> Result<Condition, Fault> {
        let at = self.cursor.at;
        let written = self.cursor.name()?.ok_or(Fault::new(ErrorCode::NoAttribute, at))?;
        self.cursor.skip_blanks()?;
        let relation = RELATIONS.into_iter().find(|it| self.cursor.accept(it.name()));
        let relation = relation.ok_or(Fault::new(ErrorCode::NoOperator, self.cursor.at))?;
        let attribute = written.to_lowercase().replace('_', "");
        Ok(Condition { attribute, written, relation, values: self.values()?, at })
    }

    /// Reads values up to something that is none. A value that touches the one before it without a
    /// blank between them is joined to it, unless one of them is a list.
    fn values(&mut self) -> Result<Vec<Expression>, Fault> {
        let mut values: Vec<Expression> = Vec::new();
        let mut touching = None;
        loop {
            self.cursor.skip_blanks()?;
            let at = self.cursor.at;
            let (left, right) = if self.cursor.accept("#") {
                let left = values.pop().ok_or(Fault::new(ErrorCode::NoValue, at))?;
                self.cursor.skip_blanks()?;
                let right_at = self.cursor.at;
                (Some(left), self.value()?.ok_or(Fault::new(ErrorCode::NoValue, right_at))?)
            } else {
                let Some(value) = self.value()? else { return Ok(values) };
                let is_touching = touching == Some(at) && !is_list(&value);
                (if is_touching { values.pop() } else { None }, value)
            };
            touching = Some(self.cursor.at).filter(|_| !is_list(&right));
            values.push(match left {
                Some(left) => joined(left, right),
                None => right,
            });
        }
    }

    /// Reads a value. `None`: none comes next.
    fn value(&mut self) -> Result<Option<Expression>, Fault> {
        if self.cursor.accept("(") {
            self.descend()?;
            let values = self.values()?;
            self.ascend()?;
            return Ok(Some(Expression::List(values)));
        }
        if let Some(name) = self.cursor.variable()? {
            return Ok(Some(Expression::Variable(name)));
        }
        Ok(self.cursor.literal()?.map(Expression::Text))
    }

    /// Enters a parenthesis that was just read.
    fn descend(&mut self) -> Result<(), Fault> {
        self.depth += 1;
        let is_read = self.depth <= DEPTH_MAX;
        is_read
            .then_some(())
            .ok_or(Fault::new(ErrorCode::TooDeep, self.cursor.at.saturating_sub(1)))
    }

    fn ascend(&mut self) -> Result<(), Fault> {
        self.depth -= 1;
        self.cursor.parenthesis(")")
    }
}

fn is_list(value: &Expression) -> bool {
    matches!(value, Expression::List(_))
}

/// Joins two values; joins are flat.
fn joined(left: Expression, right: Expression) -> Expression {
    let mut parts = match left {
        Expression::Join(parts) => parts,
        one => vec![one],
    };
    parts.push(right);
    Expression::Join(parts)
}
