//! What each thread of a file of switches did, in the order of time, and from where on that is not
//! known. A pure function: it never takes a thread for running or for waiting where a record
//! between could be missing.

use rustc_hash::FxHashMap;
use socket_log::switches::{Switch, SwitchEvent};

/// What comes in, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A record of the file.
    Switch(Switch),
    /// From this time on records of the processor are missing ([`Switch::ANY_PROCESSOR`]: of any).
    GapBegin(i64, u16),
    /// From this time on they are no longer missing.
    GapEnd(u16),
}

/// What is known of a thread from a time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadEvent {
    pub(crate) time: i64,
    pub(crate) thread: u32,
    pub(crate) process: u32,
    pub(crate) processor: u16,
    pub(crate) change: Change,
}

/// How a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// It runs.
    In,
    /// It does not run any more; whether it still could.
    Out { preempted: bool },
    /// It was started and can run.
    Start { creator: u32 },
    /// It ended.
    Exit,
    /// It has this name.
    Name([u8; 16]),
    /// Nobody can tell.
    Unknown,
}

/// The threads that are alive.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    all: FxHashMap<u32, Thread>,
    /// Processors whose records are missing now, each as often as it began to be so.
    gaps: Vec<u16>,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    process: u32,
    state: State,
    /// Time and processor of the last change.
    since: i64,
    processor: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Waiting,
    Unknown,
}

impl Threads {
    /// Takes the next step, and calls `each` with what follows from it. Only
    /// [`Change::Unknown`] can be of a time before that of the step.
    pub(crate) fn step(&mut self, step: Step, each: &mut impl FnMut(ThreadEvent)) {
        match step {
            Step::GapBegin(time, processor) => {
                self.gaps.push(processor);
                self.forget(time, processor, each);
            }
            Step::GapEnd(processor) => {
                if let Some(place) = self.gaps.iter().position(|gap| *gap == processor) {
                    self.gaps.swap_remove(place);
                }
            }
            Step::Switch(switch) => self.switch(&switch, each),
        }
    }

    /// From `time` on nothing is known of those that could be on `processor` then.
    fn forget(&mut self, time: i64, processor: u16, each: &mut impl FnMut(ThreadEvent)) {
        let mut found: Vec<(u32, &mut Thread)> =
            self.all.iter_mut().map(|(id, thread)| (*id, thread)).collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        for (id, thread) in found {
            let is_elsewhere = thread.state == State::Running
                && processor != Switch::ANY_PROCESSOR
                && thread.processor != processor;
            if !is_elsewhere {
                thread.unknown(id, time, each);
            }
        }
    }

    fn switch(&mut self, switch: &Switch, each: &mut impl FnMut(ThreadEvent)) {
        let Switch { time, processor, thread: id, process, event } = *switch;
        let mut tell = |process: u32, change: Change| {
            each(ThreadEvent { time, thread: id, process, processor, change });
        };
        let (process, state) = match event {
            SwitchEvent::Lost { .. } | SwitchEvent::Mark => return,
            SwitchEvent::Name(name) => {
                let process = self.all.get(&id).map_or(0, |thread| thread.process);
                return tell(process, Change::Name(name));
            }
            SwitchEvent::Exit => {
                let process = self.all.remove(&id).map_or(process, |thread| thread.process);
                return tell(process, Change::Exit);
            }
            SwitchEvent::Start { creator } => {
                tell(process, Change::Start { creator });
                (process, State::Waiting)
            }
            SwitchEvent::Exec => {
                self.exec(switch, each);
                (process, State::Running)
            }
            SwitchEvent::In => {
                self.check(id, State::Running, each);
                each(ThreadEvent { time, thread: id, process, processor, change: Change::In });
                (process, State::Running)
            }
            SwitchEvent::Out { preempted } => {
                self.check(id, State::Waiting, each);
                let change = Change::Out { preempted };
                each(ThreadEvent { time, thread: id, process, processor, change });
                (process, State::Waiting)
            }
        };
        let mut thread = Thread { process, state, since: time, processor };
        let is_in_a_gap = match state {
            State::Running => {
                self.gaps.iter().any(|gap| *gap == processor || *gap == Switch::ANY_PROCESSOR)
            }
            _ => !self.gaps.is_empty(),
        };
        if is_in_a_gap {
            thread.unknown(id, time, each);
        }
        self.all.insert(id, thread);
    }

    /// A thread that comes into the state that it is in already has left it meanwhile.
    fn check(&mut self, id: u32, state: State, each: &mut impl FnMut(ThreadEvent)) {
        if let Some(thread) = self.all.get_mut(&id).filter(|thread| thread.state == state) {
            let since = thread.since;
            thread.unknown(id, since, each);
        }
    }

    /// A process becomes another program: it has one thread, which runs.
    fn exec(&mut self, switch: &Switch, each: &mut impl FnMut(ThreadEvent)) {
        let Switch { time, processor, thread: id, process, .. } = *switch;
        let mut ended: Vec<u32> = Vec::new();
        self.all.retain(|other, thread| {
            let is_left = *other == id || thread.process != process;
            if !is_left {
                ended.push(*other);
            }
            is_left
        });
        ended.sort_unstable();
        for thread in ended {
            each(ThreadEvent { time, thread, process, processor, change: Change::Exit });
        }
        let runs = self
            .all
            .get(&id)
            .is_some_and(|thread| thread.state == State::Running && thread.processor == processor);
        if !runs {
            each(ThreadEvent { time, thread: id, process, processor, change: Change::In });
        }
    }
}

impl Thread {
    fn unknown(&mut self, id: u32, time: i64, each: &mut impl FnMut(ThreadEvent)) {
        if self.state == State::Unknown {
            return;
        }
        self.state = State::Unknown;
        let (process, processor, change) = (self.process, self.processor, Change::Unknown);
        each(ThreadEvent { time, thread: id, process, processor, change });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: SwitchEvent = SwitchEvent::Out { preempted: false };
    const PREEMPTED: SwitchEvent = SwitchEvent::Out { preempted: true };

    /// A record of thread `thread` of process 10.
    fn of(time: i64, thread: u32, processor: u16, event: SwitchEvent) -> Step {
        Step::Switch(Switch { time, processor, thread, process: 10, event })
    }

    /// Time, thread and change of what follows.
    fn told(steps: &[Step]) -> Vec<(i64, u32, Change)> {
        let (mut threads, mut found) = (Threads::default(), Vec::new());
        for step in steps {
            threads.step(*step, &mut |event| {
                found.push((event.time, event.thread, event.change));
            });
        }
        found
    }

    #[test]
    fn a_thread_begins_runs_waits_and_ends() {
        let steps = [
            of(1, 11, 0, SwitchEvent::Start { creator: 10 }),
            of(2, 11, 1, SwitchEvent::In),
            of(3, 11, 1, PREEMPTED),
            of(4, 11, 0, SwitchEvent::In),
            of(5, 11, 0, OUT),
            of(6, 11, 0, SwitchEvent::In),
            of(7, 11, 0, SwitchEvent::Exit),
        ];
        let expected = [
            (1, 11, Change::Start { creator: 10 }),
            (2, 11, Change::In),
            (3, 11, Change::Out { preempted: true }),
            (4, 11, Change::In),
            (5, 11, Change::Out { preempted: false }),
            (6, 11, Change::In),
            (7, 11, Change::Exit),
        ];
        assert_eq!(told(&steps), expected);
    }

    #[test]
    fn a_gap_of_a_processor_leaves_known_what_runs_on_another() {
        let steps = [
            of(1, 11, 0, SwitchEvent::In),
            of(1, 12, 1, SwitchEvent::In),
            of(2, 13, 1, OUT),
            Step::GapBegin(3, 0),
            // It may have run on processor 0 from here on.
            of(4, 12, 1, OUT),
            Step::GapEnd(0),
            of(5, 13, 0, SwitchEvent::In),
            of(6, 11, 0, OUT),
            of(7, 13, 0, OUT),
        ];
        let out = Change::Out { preempted: false };
        let expected = [
            (1, 11, Change::In),
            (1, 12, Change::In),
            (2, 13, out),
            (3, 11, Change::Unknown),
            (3, 13, Change::Unknown),
            (4, 12, out),
            (4, 12, Change::Unknown),
            (5, 13, Change::In),
            (6, 11, out),
            (7, 13, out),
        ];
        assert_eq!(told(&steps), expected);
    }

    #[test]
    fn where_the_recording_ends_nothing_is_known_any_more() {
        let steps = [
            of(1, 11, 0, SwitchEvent::In),
            Step::GapBegin(2, Switch::ANY_PROCESSOR),
            of(3, 12, 1, SwitchEvent::In),
            of(4, 12, 1, SwitchEvent::Exit),
        ];
        let expected = [
            (1, 11, Change::In),
            (2, 11, Change::Unknown),
            (3, 12, Change::In),
            (3, 12, Change::Unknown),
            (4, 12, Change::Exit),
        ];
        assert_eq!(told(&steps), expected);
    }

    #[test]
    fn a_record_that_is_missing_without_a_word_is_noticed() {
        let steps = [
            of(1, 11, 0, SwitchEvent::In),
            of(5, 11, 1, SwitchEvent::In),
            of(6, 11, 1, OUT),
            of(9, 11, 1, OUT),
        ];
        let out = Change::Out { preempted: false };
        let expected = [
            (1, 11, Change::In),
            (1, 11, Change::Unknown),
            (5, 11, Change::In),
            (6, 11, out),
            (6, 11, Change::Unknown),
            (9, 11, out),
        ];
        assert_eq!(told(&steps), expected);
    }

    #[test]
    fn a_new_program_ends_the_other_threads_and_goes_on_running() {
        let steps = [
            of(1, 10, 0, SwitchEvent::In),
            of(2, 11, 1, SwitchEvent::Start { creator: 10 }),
            of(3, 11, 1, SwitchEvent::In),
            of(4, 10, 0, SwitchEvent::Exec),
            of(5, 10, 0, OUT),
            Step::Switch(Switch {
                time: 6,
                processor: 1,
                thread: 20,
                process: 20,
                event: SwitchEvent::Exec,
            }),
        ];
        let expected = [
            (1, 10, Change::In),
            (2, 11, Change::Start { creator: 10 }),
            (3, 11, Change::In),
            (4, 11, Change::Exit),
            (5, 10, Change::Out { preempted: false }),
            (6, 20, Change::In),
        ];
        assert_eq!(told(&steps), expected);
    }
}
