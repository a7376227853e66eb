//! Context of an event: its values, and what is known of its thread and processor.

use events::Event;

use crate::accounting::Threads;
use crate::join::arena::NONE;
use crate::join::item::Item;
use crate::join::key::mixed;
use crate::join::marks::Marks;
use crate::join::program::{Condition, Source, Values};
use crate::join::store::Handle;
use crate::schema::Comparison;

/// An event with what is known of its thread and processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    /// The event with its values. Its thread is the one that the schema says.
    pub item: Item,
    /// Number of the thread; [`NONE`] where it is not known.
    pub thread: u32,
    /// Id of the thread that posts the event.
    pub poster: i32,
    /// Its process, 0 where it is not known.
    pub poster_process: i32,
    /// Number of interrupts that are open on its processor, the one that it begins included.
    pub depth: u8,
}

/// Marks are told from join attributes by this in their keys.
const MARK: u64 = 1 << 32;

impl Context {
    /// A value of the event.
    pub(crate) fn value(&self, source: Source) -> Option<u64> {
        let event = &self.item.event;
        let known = |number: i32| (number != 0).then(|| u64::from(number.cast_unsigned()));
        match source {
            Source::Slot(slot) => self.item.value(slot),
            Source::Thread => known(event.thread),
            Source::Poster => known(self.poster),
            Source::Process => known(event.process),
            Source::Processor => self.processor(),
            Source::Interrupt if self.depth == 0 => None,
            Source::Interrupt => self.processor().map(|of| of << 8 | u64::from(self.depth)),
            Source::Host => Some(u64::from(event.host)),
        }
    }

    fn processor(&self) -> Option<u64> {
        let processor = self.item.event.processor;
        (processor != Event::NO_PROCESSOR).then(|| u64::from(processor.cast_unsigned()))
    }

    /// A join attribute's value as the store knows it; none where the event lacks a part of it.
    pub(crate) fn handle(
        &self,
        values: &Values,
        thread: u16,
        threads: &mut Threads,
    ) -> Option<Handle> {
        let attribute = values.of;
        if attribute != thread {
            let key = self.key(u64::from(attribute), values)?;
            return Some(Handle { attribute, key, thread: NONE });
        }
        let id = self.value(*values.sources.first()?)? as i32;
        let event = &self.item.event;
        let number = match id {
            0 => return None,
            _ if id == event.thread && self.thread != NONE => self.thread,
            _ => threads.number(event.host, id, event.time),
        };
        let key = mixed(u64::from(event.host), u64::from(id.cast_unsigned()));
        Some(Handle { attribute, key, thread: number })
    }

    /// A mark's value as a key; none where the event lacks a part of it.
    pub(crate) fn mark(&self, values: &Values) -> Option<u64> {
        self.key(u64::from(values.of) | MARK, values)
    }

    fn key(&self, of: u64, values: &Values) -> Option<u64> {
        let begin = mixed(of, u64::from(self.item.event.host));
        values.sources.iter().try_fold(begin, |key, source| Some(mixed(key, self.value(*source)?)))
    }

    /// Whether a condition holds.
    pub(crate) fn holds(&self, condition: &Condition, marks: &Marks, threads: &Threads) -> bool {
        match condition {
            Condition::Compare(source, by, with) => {
                self.value(*source).is_some_and(|value| compares(value, *by, with))
            }
            Condition::Marked(values, not) => {
                self.mark(values).is_some_and(|key| marks.has(key) != *not)
            }
            Condition::Interrupted(not) => (self.depth > 0) != *not,
            Condition::Sibling(source, not) => {
                let event = &self.item.event;
                let id = self.value(*source).unwrap_or(0) as i32;
                let process = threads.find(event.host, id).map_or(0, |thread| thread.process);
                (process != 0 && process == self.poster_process) != *not
            }
        }
    }
}

fn compares(value: u64, by: Comparison, with: &[u64]) -> bool {
    let number = value.cast_signed();
    let any = |holds: &dyn Fn(i64) -> bool| with.iter().any(|of| holds(of.cast_signed()));
    match by {
        Comparison::Equal => with.contains(&value),
        Comparison::NotEqual => !with.contains(&value),
        Comparison::Less => any(&|of| number < of),
        Comparison::AtMost => any(&|of| number <= of),
        Comparison::Greater => any(&|of| number > of),
        Comparison::AtLeast => any(&|of| number >= of),
        Comparison::HasBits => any(&|of| number & of != 0),
    }
}
