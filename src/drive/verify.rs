//! Verifying: every decision and throttle of a cycle made again, and compared byte for byte.

use crate::Drive;
use crate::port::{Log, Store};
use crate::read_back::ReadOutput;
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Event;
use yardmaster_core::output::Output;
use yardmaster_core::output::progress::{ENGINE_REVISION, Progress, VERIFIABLE_SINCE};
use yardmaster_wire::avro::{number_of, numbered};
use yardmaster_wire::record::write_output;

/// Differences that are shown in full; further ones are counted.
const DIFFERENCES_SHOWN: usize = 20;

impl<L: Log, S: Store> Drive<L, S> {
    /// Makes every decision of a cycle again, in order, each after the recorded ones before it,
    /// then its throttles.
    pub(super) fn verify(&mut self, progress: &Progress, published: Vec<ReadOutput>) {
        let is_unread = self.is_unread || self.is_other_policy || self.is_other_key;
        // A repaired cycle is not counted at the time it was judged at.
        let is_repaired = self.repairs.covers(progress.number);
        let is_known = (VERIFIABLE_SINCE..=ENGINE_REVISION).contains(&progress.engine);
        if !is_known || is_unread || is_repaired {
            let count = published.len() as u64;
            self.report.verified[2] += count;
            self.report.unread += if is_unread { count } else { 0 };
            published.into_iter().for_each(|published| self.take_output(published));
            return self.engine.pass();
        }
        if progress.quiet {
            self.engine.pass();
        } else {
            self.engine.settle();
        }
        let mut made = self.make_output(progress);
        for published in published {
            // Outputs of a topic that were not published come before those of the next topic.
            while let Some(extra) = made.take_if(|made| made.topic() < published.output.topic()) {
                self.would_publish(progress, &extra);
                made = self.make_output(progress);
            }
            let is_same =
                made.as_ref().is_some_and(|made| made.topic() == published.output.topic());
            let again = if is_same { made.take() } else { None };
            self.compare(progress, &published, again.as_ref());
            self.take_output(published);
            if is_same {
                made = self.make_output(progress);
            }
        }
        while let Some(extra) = made {
            self.would_publish(progress, &extra);
            made = self.make_output(progress);
        }
    }

    /// The next output of a cycle, made again; none in one in which nothing was judged.
    fn make_output(&mut self, progress: &Progress) -> Option<Output> {
        if progress.quiet { None } else { self.engine.next_output() }
    }

    fn would_publish(&mut self, progress: &Progress, extra: &Output) {
        if !self.count_difference(progress) {
            return;
        }
        let (number, topic) = (progress.number, extra.topic().name());
        self.note_difference(format!(
            "cycle {number}: a {topic} of {} would be published too",
            extra.subject()
        ));
    }

    fn compare(&mut self, progress: &Progress, published: &ReadOutput, made: Option<&Output>) {
        // Framing is no part of an output: the one it was published in is taken over.
        let bytes = made.map(|made| {
            let mut bytes = Vec::new();
            write_output(&mut bytes, made);
            number_of(&published.bytes).map_or(bytes.clone(), |id| numbered(&bytes, id))
        });
        let is_same = bytes.as_ref() == Some(&published.bytes)
            || made.is_some_and(|made| self.whole(published).as_ref() == Some(made));
        if is_same {
            self.report.verified[0] += 1;
        } else {
            self.differs(progress, published, made);
        }
    }

    /// All of a published output, whatever version of its schema it was written with. Folding
    /// needed only part of it.
    pub(super) fn whole(&mut self, published: &ReadOutput) -> Option<Output> {
        let (topic, all) = (published.output.topic(), Some(published.bytes.as_slice()));
        match self.own.codec.read(topic, None, all, &mut self.arena) {
            Event::Output(output) => Some(output),
            _ => None,
        }
    }

    /// A difference is an error only if all was there to decide by: not where the log does not
    /// reach back, nor where compaction may have taken what was known at the time, nor after cycles
    /// that were counted under another configuration than they were made under, nor in a cycle of
    /// another engine revision. Returns whether it is one.
    fn count_difference(&mut self, progress: &Progress) -> bool {
        let now = progress.now;
        let is_compacted = |topic: &Topic| {
            let safe = self.compact_after[*topic as usize];
            safe.is_some_and(|safe| now + safe <= self.newest_now)
        };
        let is_partial = self.engine.state.known_since > 0 || self.was_unread || self.is_cut_off;
        let is_ours = progress.engine == ENGINE_REVISION;
        let is_error = is_ours && !is_partial && !self.gaps.iter().any(is_compacted);
        self.report.verified[if is_error { 1 } else { 2 }] += 1;
        is_error
    }

    fn differs(&mut self, progress: &Progress, published: &ReadOutput, made: Option<&Output>) {
        if !self.count_difference(progress) {
            return;
        }
        let (cycle, topic) = (progress.number, published.output.topic());
        let whole = self.whole(published);
        let text = format!("{:?}", whole.as_ref().unwrap_or(&published.output));
        let (number, subject) = (published.output.number(), published.output.title());
        let what = format!("{} {number} ({subject})", topic.name());
        let made = made.map_or_else(|| "nothing".to_owned(), |made| format!("{made:?}"));
        let same = text.bytes().zip(made.bytes()).take_while(|(one, other)| one == other).count();
        let around = |text: &str| {
            let start = (0..=same.saturating_sub(40)).rev().find(|at| text.is_char_boundary(*at));
            text[start.unwrap_or(0)..].chars().take(120).collect::<String>()
        };
        let (text, made) = (around(&text), around(&made));
        self.note_difference(format!(
            "cycle {cycle} {what}: recorded ...{text} | made again ...{made}"
        ));
    }

    fn note_difference(&mut self, difference: String) {
        if self.report.differences.len() < DIFFERENCES_SHOWN {
            self.report.differences.push(difference);
        }
    }
}
