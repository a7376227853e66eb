//! Processors: the thread that runs on each, and interrupts that suspend it.

use out_of_core::NameId;
use rustc_hash::FxHashMap;

use crate::tuning::{MAX_NESTED_INTERRUPTS, MAX_TABLE_PROCESSORS};

/// State of a processor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessorState {
    /// Number of the thread that runs on the processor.
    pub thread: Option<u32>,
    /// Open interrupts, the outer ones first: the time since which each is accounted for in
    /// nanoseconds since the Unix epoch, and its duration so far in nanoseconds.
    interrupts: [(i64, i64); MAX_NESTED_INTERRUPTS],
    /// Number of open interrupts, including those too deep for `interrupts`.
    depth: u8,
}

/// All processors seen so far.
#[derive(Debug, Default)]
pub(crate) struct ProcessorStates {
    /// Processors of each host, by number.
    hosts: Vec<(NameId, Vec<ProcessorState>)>,
    /// Processors with numbers beyond `hosts`.
    others: FxHashMap<(NameId, i32), ProcessorState>,
}

impl ProcessorStates {
    /// The state of the processor with the number `number`, which is added if it is new.
    pub(crate) fn state_of_processor(&mut self, host: NameId, number: i32) -> &mut ProcessorState {
        let place = usize::try_from(number).unwrap_or(usize::MAX);
        if place >= MAX_TABLE_PROCESSORS {
            return self.others.entry((host, number)).or_default();
        }
        let at = match self.hosts.iter().position(|(of, _)| *of == host) {
            Some(at) => at,
            None => {
                self.hosts.push((host, Vec::new()));
                self.hosts.len() - 1
            }
        };
        let (_, processors) = &mut self.hosts[at];
        if place >= processors.len() {
            processors.resize(place + 1, ProcessorState::default());
        }
        &mut processors[place]
    }
}

impl ProcessorState {
    /// Number of open interrupts.
    pub(crate) fn interrupt_depth(&self) -> u8 {
        self.depth
    }

    /// Begins an interrupt at the time `now`, in nanoseconds since the Unix epoch.
    pub(crate) fn begin_interrupt(&mut self, now: i64) {
        if let Some(outer) = self.innermost_interrupt() {
            outer.1 += (now - outer.0).max(0);
        }
        self.depth = self.depth.saturating_add(1);
        if let Some(inner) = self.innermost_interrupt() {
            *inner = (now, 0);
        }
    }

    /// Ends an interrupt, and returns its own time without nested ones, in nanoseconds.
    pub(crate) fn end_interrupt(&mut self, now: i64) -> i64 {
        let time = self.innermost_interrupt().map_or(0, |open| open.1 + (now - open.0).max(0));
        self.depth = self.depth.saturating_sub(1);
        if let Some(outer) = self.innermost_interrupt() {
            outer.0 = now;
        }
        time
    }

    /// Ends all interrupts, because their end events were lost.
    pub(crate) fn clear_interrupts(&mut self) {
        self.depth = 0;
    }

    fn innermost_interrupt(&mut self) -> Option<&mut (i64, i64)> {
        let place = usize::from(self.depth.checked_sub(1)?);
        self.interrupts.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_an_inner_interrupt_is_not_its_outer_ones() {
        let mut processors = ProcessorStates::default();
        let processor = processors.state_of_processor(NameId::default(), 1);
        processor.begin_interrupt(100);
        processor.begin_interrupt(110);
        assert_eq!(processor.interrupt_depth(), 2);
        assert_eq!(processor.end_interrupt(140), 30);
        assert_eq!(processor.end_interrupt(145), 15);
        assert_eq!((processor.end_interrupt(150), processor.interrupt_depth()), (0, 0));
    }
}
