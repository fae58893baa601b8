//! A pattern's tree becomes a program.

use super::parse::{PatternNode, Repeat};
use super::{Look, Step};

/// Most steps of a pattern in all; what repeats by count is written out.
pub(super) const STEPS_MAX: usize = 1_000;

/// The steps of a tree, and of all it looks ahead for. `None`: they are too many.
pub(super) fn program(tree: &PatternNode) -> Option<(Vec<Step>, Vec<Look>)> {
    let mut writer = Writer::default();
    writer.node(tree)?;
    writer.step(Step::Found)?;
    Some((writer.steps, writer.looks))
}

#[derive(Default)]
struct Writer {
    steps: Vec<Step>,
    looks: Vec<Look>,
    written: usize,
}

impl Writer {
    fn step(&mut self, step: Step) -> Option<usize> {
        self.written += 1;
        self.steps.push(step);
        (self.written <= STEPS_MAX).then(|| self.steps.len() - 1)
    }

    /// A step that goes to where the next one will be.
    fn pass(&mut self) -> Option<usize> {
        self.step(Step::Jump(self.steps.len() + 1))
    }

    /// Appends a node's steps, one at least, so that the bound on steps bounds the work of writing
    /// them.
    fn node(&mut self, node: &PatternNode) -> Option<()> {
        match node {
            PatternNode::One(one) => self.step(Step::One(one.clone())).map(drop),
            PatternNode::Start => self.step(Step::Start).map(drop),
            PatternNode::End => self.step(Step::End).map(drop),
            PatternNode::Row(nodes) if nodes.is_empty() => self.pass().map(drop),
            PatternNode::Row(nodes) => nodes.iter().try_for_each(|node| self.node(node)),
            PatternNode::Either(nodes) => self.either(nodes),
            PatternNode::Repeat(repeat) => self.repeat(repeat),
            PatternNode::Look(node, wanted) => self.look(node, *wanted),
        }
    }

    fn look(&mut self, node: &PatternNode, wanted: bool) -> Option<()> {
        let steps = std::mem::take(&mut self.steps);
        self.node(node)?;
        self.step(Step::Found)?;
        let program = std::mem::replace(&mut self.steps, steps);
        self.looks.push(Look { program, wanted });
        self.step(Step::Look(self.looks.len() - 1)).map(drop)
    }

    fn either(&mut self, nodes: &[PatternNode]) -> Option<()> {
        let mut ends = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            if index + 1 == nodes.len() {
                self.node(node)?;
                break;
            }
            let split = self.pass()?;
            self.node(node)?;
            ends.push(self.pass()?);
            self.steps[split] = Step::Split(split + 1, self.steps.len());
        }
        let end = self.steps.len();
        for index in ends {
            self.steps[index] = Step::Jump(end);
        }
        Some(())
    }

    fn repeat(&mut self, repeat: &Repeat) -> Option<()> {
        for _ in 0..repeat.least {
            self.node(&repeat.node)?;
        }
        let Some(most) = repeat.most else {
            let split = self.pass()?;
            self.node(&repeat.node)?;
            self.step(Step::Jump(split))?;
            self.steps[split] = Step::Split(split + 1, self.steps.len());
            return Some(());
        };
        let mut splits = Vec::new();
        for _ in repeat.least..most {
            splits.push(self.pass()?);
            self.node(&repeat.node)?;
        }
        if most == 0 {
            self.pass()?;
        }
        let end = self.steps.len();
        for split in splits {
            self.steps[split] = Step::Split(split + 1, end);
        }
        Some(())
    }
}
