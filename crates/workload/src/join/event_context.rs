//! Context of an event: its values, thread and processor.

use events::Event;

use crate::accounting::ThreadAccounts;
use crate::join::arena::NONE;
use crate::join::extracted_event::ExtractedEvent;
use crate::join::key::mix_keys;
use crate::join::marked_values::MarkedValues;
use crate::join::program::{CompiledCondition, CompiledValues, ValueSource};
use crate::join::set_store::ValueHandle;
use crate::schema::ValueComparison;

/// An event with its thread and processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventContext {
    /// The event with its values. Its thread is the one that the schema determines.
    pub item: ExtractedEvent,
    /// Number of that thread in [`ThreadAccounts`]; [`NONE`] if it is not known.
    pub thread: u32,
    /// Id of the thread that posts the event, which may do so for another thread.
    pub poster: i32,
    /// Process of the poster, 0 if it is not known.
    pub poster_process: i32,
    /// Number of open interrupts on the event's processor, including one that the event begins.
    pub depth: u8,
}

/// Bit that distinguishes marks from join attributes in keys.
const MARK_BIT: u64 = 1 << 32;

impl EventContext {
    /// A value of the event; `None` if the event does not have it.
    pub(crate) fn value_from(&self, source: ValueSource) -> Option<u64> {
        let event = &self.item.event;
        let known = |number: i32| (number != 0).then(|| u64::from(number.cast_unsigned()));
        match source {
            ValueSource::Slot(slot) => self.item.slot_value(slot),
            ValueSource::Thread => known(event.thread),
            ValueSource::Poster => known(self.poster),
            ValueSource::Process => known(event.process),
            ValueSource::Processor => self.processor_key(),
            ValueSource::Interrupt if self.depth == 0 => None,
            ValueSource::Interrupt => {
                self.processor_key().map(|of| of << 8 | u64::from(self.depth))
            }
            ValueSource::Host => Some(event.host.index() as u64),
        }
    }

    fn processor_key(&self) -> Option<u64> {
        let processor = self.item.event.processor;
        (processor != Event::NO_PROCESSOR).then(|| u64::from(processor.cast_unsigned()))
    }

    /// A join attribute's value as the store identifies it; `None` if the event lacks a part of it.
    /// `thread` is the number of the join attribute `thread`.
    pub(crate) fn value_handle(
        &self,
        values: &CompiledValues,
        thread: u16,
        threads: &mut ThreadAccounts,
    ) -> Option<ValueHandle> {
        let attribute = values.of;
        if attribute != thread {
            let key = self.values_key(u64::from(attribute), values)?;
            return Some(ValueHandle { attribute, key, thread: NONE });
        }
        let id = self.value_from(*values.sources.first()?)? as i32;
        let event = &self.item.event;
        let number = match id {
            0 => return None,
            _ if id == event.thread && self.thread != NONE => self.thread,
            _ => threads.intern_thread(event.host, id, event.time),
        };
        let key = mix_keys(event.host.index() as u64, u64::from(id.cast_unsigned()));
        Some(ValueHandle { attribute, key, thread: number })
    }

    /// A mark's value as a key; `None` if the event lacks a part of it.
    pub(crate) fn mark_key(&self, values: &CompiledValues) -> Option<u64> {
        self.values_key(u64::from(values.of) | MARK_BIT, values)
    }

    fn values_key(&self, of: u64, values: &CompiledValues) -> Option<u64> {
        let begin = mix_keys(of, self.item.event.host.index() as u64);
        values
            .sources
            .iter()
            .try_fold(begin, |key, source| Some(mix_keys(key, self.value_from(*source)?)))
    }

    /// Whether a condition holds.
    pub(crate) fn satisfies(
        &self,
        condition: &CompiledCondition,
        marks: &MarkedValues,
        threads: &ThreadAccounts,
    ) -> bool {
        match condition {
            CompiledCondition::Compare(source, by, with) => {
                self.value_from(*source).is_some_and(|value| compare_value(value, *by, with))
            }
            CompiledCondition::Marked(values, not) => {
                self.mark_key(values).is_some_and(|key| marks.is_marked(key) != *not)
            }
            CompiledCondition::Interrupted(not) => (self.depth > 0) != *not,
            CompiledCondition::Sibling(source, not) => {
                let event = &self.item.event;
                let id = self.value_from(*source).unwrap_or(0) as i32;
                let process =
                    threads.find_thread(event.host, id).map_or(0, |thread| thread.process);
                (process != 0 && process == self.poster_process) != *not
            }
        }
    }
}

fn compare_value(value: u64, by: ValueComparison, with: &[u64]) -> bool {
    let number = value.cast_signed();
    let any = |holds: &dyn Fn(i64) -> bool| with.iter().any(|of| holds(of.cast_signed()));
    match by {
        ValueComparison::Equal => with.contains(&value),
        ValueComparison::NotEqual => !with.contains(&value),
        ValueComparison::Less => any(&|of| number < of),
        ValueComparison::AtMost => any(&|of| number <= of),
        ValueComparison::Greater => any(&|of| number > of),
        ValueComparison::AtLeast => any(&|of| number >= of),
        ValueComparison::HasBits => any(&|of| number & of != 0),
    }
}
