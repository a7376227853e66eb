//! Thread tracker: what each thread of a file of switches did, sorted by time, and from when on
//! that is unknown. A pure function: it never treats a thread as running or waiting if a record in
//! between could be missing.

use rustc_hash::FxHashMap;
use socket_log::switches::{SwitchEvent, ThreadSwitch};

/// Inputs, sorted by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadInput {
    /// A record of the file.
    Switch(ThreadSwitch),
    /// From this time on records of the processor are missing ([`ThreadSwitch::ANY_PROCESSOR`] for
    /// any).
    GapBegin(i64, u16),
    /// From this time on records of the processor are no longer missing.
    GapEnd(u16),
}

/// A change of a thread's state at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadEvent {
    pub(crate) time: i64,
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pub(crate) processor: u16,
    pub(crate) change: ThreadChange,
}

/// New state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadChange {
    /// The thread runs.
    In,
    /// The thread no longer runs; `preempted` if it could still run.
    Out { preempted: bool },
    /// The thread was started and can run.
    Start { creator: u32 },
    /// The thread ended.
    Exit,
    /// The thread got this name.
    Name([u8; 16]),
    /// The thread's state is unknown.
    Unknown,
}

/// The threads that are alive.
#[derive(Debug, Default)]
pub(crate) struct ThreadTracker {
    all: FxHashMap<u32, TrackedThread>,
    /// Processors with missing records, each as often as its gaps began.
    gaps: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
struct TrackedThread {
    process: u32,
    state: TrackedThreadState,
    /// Time and processor of the last change.
    since: i64,
    processor: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrackedThreadState {
    Running,
    Waiting,
    Unknown,
}

impl ThreadTracker {
    /// Applies the next input, and calls `each` with the resulting events. Only
    /// [`ThreadChange::Unknown`] can have a time before the input's.
    pub(crate) fn apply_input(&mut self, step: ThreadInput, each: &mut impl FnMut(ThreadEvent)) {
        match step {
            ThreadInput::GapBegin(time, processor) => {
                self.gaps.push(processor);
                self.forget_processor(time, processor, each);
            }
            ThreadInput::GapEnd(processor) => {
                if let Some(place) = self.gaps.iter().position(|gap| *gap == processor) {
                    self.gaps.swap_remove(place);
                }
            }
            ThreadInput::Switch(switch) => self.apply_switch(&switch, each),
        }
    }

    /// Marks the threads that could be on `processor` from `time` on as unknown.
    fn forget_processor(&mut self, time: i64, processor: u16, each: &mut impl FnMut(ThreadEvent)) {
        let mut found: Vec<(u32, &mut TrackedThread)> =
            self.all.iter_mut().map(|(id, thread)| (*id, thread)).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        for (id, thread) in found {
            let is_elsewhere = thread.state == TrackedThreadState::Running
                && processor != ThreadSwitch::ANY_PROCESSOR
                && thread.processor != processor;
            if !is_elsewhere {
                thread.emit_unknown(id, time, each);
            }
        }
    }

    /// Applies a record of the file, and calls `each` with the resulting events.
    fn apply_switch(&mut self, switch: &ThreadSwitch, each: &mut impl FnMut(ThreadEvent)) {
        let ThreadSwitch { time, processor, thread: id, process, event } = *switch;
        let mut emit = |process: u32, change: ThreadChange| {
            each(ThreadEvent { time, thread: id, process, processor, change });
        };
        let (process, state) = match event {
            SwitchEvent::Lost { .. } | SwitchEvent::Mark => return,
            SwitchEvent::Name(name) => {
                let process = self.all.get(&id).map_or(0, |thread| thread.process);
                return emit(process, ThreadChange::Name(name));
            }
            SwitchEvent::Exit => {
                let process = self.all.remove(&id).map_or(process, |thread| thread.process);
                return emit(process, ThreadChange::Exit);
            }
            SwitchEvent::Start { creator } => {
                emit(process, ThreadChange::Start { creator });
                (process, TrackedThreadState::Waiting)
            }
            SwitchEvent::Exec => {
                self.apply_exec(switch, each);
                (process, TrackedThreadState::Running)
            }
            SwitchEvent::In => {
                self.check_state(id, TrackedThreadState::Running, each);
                each(ThreadEvent {
                    time,
                    thread: id,
                    process,
                    processor,
                    change: ThreadChange::In,
                });
                (process, TrackedThreadState::Running)
            }
            SwitchEvent::Out { preempted } => {
                self.check_state(id, TrackedThreadState::Waiting, each);
                let change = ThreadChange::Out { preempted };
                each(ThreadEvent { time, thread: id, process, processor, change });
                (process, TrackedThreadState::Waiting)
            }
        };
        let mut thread = TrackedThread { process, state, since: time, processor };
        let is_in_a_gap = match state {
            TrackedThreadState::Running => {
                self.gaps.iter().any(|gap| *gap == processor || *gap == ThreadSwitch::ANY_PROCESSOR)
            }
            _ => !self.gaps.is_empty(),
        };
        if is_in_a_gap {
            thread.emit_unknown(id, time, each);
        }
        self.all.insert(id, thread);
    }

    /// Reports a thread that is about to enter `state` as unknown since its last change if it is in
    /// this state already: the record of its leaving the state is missing.
    fn check_state(
        &mut self,
        id: u32,
        state: TrackedThreadState,
        each: &mut impl FnMut(ThreadEvent),
    ) {
        if let Some(thread) = self.all.get_mut(&id).filter(|thread| thread.state == state) {
            let since = thread.since;
            thread.emit_unknown(id, since, each);
        }
    }

    /// A process executes another program: it has one thread, which runs.
    fn apply_exec(&mut self, switch: &ThreadSwitch, each: &mut impl FnMut(ThreadEvent)) {
        let ThreadSwitch { time, processor, thread: id, process, .. } = *switch;
        let mut ended: Vec<u32> = Vec::new();
        self.all.retain(|other, thread| {
            let remains = *other == id || thread.process != process;
            if !remains {
                ended.push(*other);
            }
            remains
        });
        ended.sort_unstable();
        for thread in ended {
            each(ThreadEvent { time, thread, process, processor, change: ThreadChange::Exit });
        }
        let runs = self.all.get(&id).is_some_and(|thread| {
            thread.state == TrackedThreadState::Running && thread.processor == processor
        });
        if !runs {
            each(ThreadEvent { time, thread: id, process, processor, change: ThreadChange::In });
        }
    }
}

impl TrackedThread {
    /// Marks the thread as unknown from `time` on, unless it is already.
    fn emit_unknown(&mut self, id: u32, time: i64, each: &mut impl FnMut(ThreadEvent)) {
        if self.state == TrackedThreadState::Unknown {
            return;
        }
        self.state = TrackedThreadState::Unknown;
        let (process, processor, change) = (self.process, self.processor, ThreadChange::Unknown);
        each(ThreadEvent { time, thread: id, process, processor, change });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: SwitchEvent = SwitchEvent::Out { preempted: false };
    const PREEMPTED: SwitchEvent = SwitchEvent::Out { preempted: true };

    /// A record of thread `thread` of process 10.
    fn switch_input(time: i64, thread: u32, processor: u16, event: SwitchEvent) -> ThreadInput {
        ThreadInput::Switch(ThreadSwitch { time, processor, thread, process: 10, event })
    }

    /// Time, thread and change of the resulting events.
    fn changes_after(steps: &[ThreadInput]) -> Vec<(i64, u32, ThreadChange)> {
        let (mut threads, mut found) = (ThreadTracker::default(), Vec::new());
        for step in steps {
            threads.apply_input(*step, &mut |event| {
                found.push((event.time, event.thread, event.change));
            });
        }
        found
    }

    #[test]
    fn a_thread_begins_runs_waits_and_ends() {
        let steps = [
            switch_input(1, 11, 0, SwitchEvent::Start { creator: 10 }),
            switch_input(2, 11, 1, SwitchEvent::In),
            switch_input(3, 11, 1, PREEMPTED),
            switch_input(4, 11, 0, SwitchEvent::In),
            switch_input(5, 11, 0, OUT),
            switch_input(6, 11, 0, SwitchEvent::In),
            switch_input(7, 11, 0, SwitchEvent::Exit),
        ];
        let expected = [
            (1, 11, ThreadChange::Start { creator: 10 }),
            (2, 11, ThreadChange::In),
            (3, 11, ThreadChange::Out { preempted: true }),
            (4, 11, ThreadChange::In),
            (5, 11, ThreadChange::Out { preempted: false }),
            (6, 11, ThreadChange::In),
            (7, 11, ThreadChange::Exit),
        ];
        assert_eq!(changes_after(&steps), expected);
    }

    #[test]
    fn a_gap_of_a_processor_does_not_affect_threads_on_another() {
        let steps = [
            switch_input(1, 11, 0, SwitchEvent::In),
            switch_input(1, 12, 1, SwitchEvent::In),
            switch_input(2, 13, 1, OUT),
            ThreadInput::GapBegin(3, 0),
            // The thread may have run on processor 0 from here on.
            switch_input(4, 12, 1, OUT),
            ThreadInput::GapEnd(0),
            switch_input(5, 13, 0, SwitchEvent::In),
            switch_input(6, 11, 0, OUT),
            switch_input(7, 13, 0, OUT),
        ];
        let out = ThreadChange::Out { preempted: false };
        let expected = [
            (1, 11, ThreadChange::In),
            (1, 12, ThreadChange::In),
            (2, 13, out),
            (3, 11, ThreadChange::Unknown),
            (3, 13, ThreadChange::Unknown),
            (4, 12, out),
            (4, 12, ThreadChange::Unknown),
            (5, 13, ThreadChange::In),
            (6, 11, out),
            (7, 13, out),
        ];
        assert_eq!(changes_after(&steps), expected);
    }

    #[test]
    fn after_the_recording_the_state_is_unknown() {
        let steps = [
            switch_input(1, 11, 0, SwitchEvent::In),
            ThreadInput::GapBegin(2, ThreadSwitch::ANY_PROCESSOR),
            switch_input(3, 12, 1, SwitchEvent::In),
            switch_input(4, 12, 1, SwitchEvent::Exit),
        ];
        let expected = [
            (1, 11, ThreadChange::In),
            (2, 11, ThreadChange::Unknown),
            (3, 12, ThreadChange::In),
            (3, 12, ThreadChange::Unknown),
            (4, 12, ThreadChange::Exit),
        ];
        assert_eq!(changes_after(&steps), expected);
    }

    #[test]
    fn a_silently_missing_record_is_noticed() {
        let steps = [
            switch_input(1, 11, 0, SwitchEvent::In),
            switch_input(5, 11, 1, SwitchEvent::In),
            switch_input(6, 11, 1, OUT),
            switch_input(9, 11, 1, OUT),
        ];
        let out = ThreadChange::Out { preempted: false };
        let expected = [
            (1, 11, ThreadChange::In),
            (1, 11, ThreadChange::Unknown),
            (5, 11, ThreadChange::In),
            (6, 11, out),
            (6, 11, ThreadChange::Unknown),
            (9, 11, out),
        ];
        assert_eq!(changes_after(&steps), expected);
    }

    #[test]
    fn a_new_program_ends_the_other_threads_and_continues_running() {
        let steps = [
            switch_input(1, 10, 0, SwitchEvent::In),
            switch_input(2, 11, 1, SwitchEvent::Start { creator: 10 }),
            switch_input(3, 11, 1, SwitchEvent::In),
            switch_input(4, 10, 0, SwitchEvent::Exec),
            switch_input(5, 10, 0, OUT),
            ThreadInput::Switch(ThreadSwitch {
                time: 6,
                processor: 1,
                thread: 20,
                process: 20,
                event: SwitchEvent::Exec,
            }),
        ];
        let expected = [
            (1, 10, ThreadChange::In),
            (2, 11, ThreadChange::Start { creator: 10 }),
            (3, 11, ThreadChange::In),
            (4, 11, ThreadChange::Exit),
            (5, 10, ThreadChange::Out { preempted: false }),
            (6, 20, ThreadChange::In),
        ];
        assert_eq!(changes_after(&steps), expected);
    }
}
