//! Matching of all hand-offs: the signals and waits at each object are matched, which yields rows
//! for `handoffs.parquet` and events of waits.

use message_trace::{NodeId, PathError};
use out_of_core::{ExternalSorter, KeyedRecord, ReadFailure};
use socket_log::encode::HandoffObject;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::logs::capture::Capture;
use crate::resources::calls::HandoffEventRow;
use crate::resources::handoff_kinds;
use crate::resources::handoffs::{
    AmountMatcher, HandoffEvent, HandoffOutcome, HandoffSignal, RecordedThread, WaiterMatcher,
};
use crate::resources::only_waiter::OnlyWaiter;
use crate::resources::own_event::{OwnEvent, OwnEventKind};
use crate::sentinels::NIL;

/// A row of `handoffs.parquet`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct HandoffRow {
    /// Time of the signal, in nanoseconds on the common clock.
    pub(crate) signalled: i64,
    /// Time when the wait ended, on the same clock.
    pub(crate) woken: i64,
    pub(crate) object: i64,
    pub(crate) node: NodeId,
    /// The thread that signalled.
    pub(crate) from: i32,
    /// The thread that was woken; 0 if the signal woke none.
    pub(crate) to: i32,
    /// Kind of the object: a [`HandoffObject`], by its number.
    pub(crate) what: u32,
}

impl KeyedRecord for HandoffRow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.woken
    }
}

/// Matcher of the signals and the waits at one synchronization object.
enum ObjectMatcher {
    Waiters(WaiterMatcher),
    Amounts(AmountMatcher),
}

impl ObjectMatcher {
    /// The matcher of an object of this kind; `None` if it is not matched.
    fn from_object_kind(number: u32) -> Option<ObjectMatcher> {
        match HandoffObject::from_number(u16::try_from(number).ok()?)? {
            HandoffObject::Condition | HandoffObject::Futex => {
                Some(ObjectMatcher::Waiters(WaiterMatcher::new(false)))
            }
            HandoffObject::Semaphore => Some(ObjectMatcher::Waiters(WaiterMatcher::new(true))),
            HandoffObject::Pipe => Some(ObjectMatcher::Amounts(AmountMatcher::new(false))),
            HandoffObject::Eventfd => Some(ObjectMatcher::Amounts(AmountMatcher::new(true))),
            HandoffObject::Mutex
            | HandoffObject::ReadWriteLock
            | HandoffObject::Thread
            | HandoffObject::Barrier
            | HandoffObject::Goroutine => None,
        }
    }

    fn add_event(&mut self, handoff_event: HandoffEvent, each: &mut impl FnMut(HandoffOutcome)) {
        match (self, handoff_event) {
            (ObjectMatcher::Waiters(waiters), HandoffEvent::Signal(signal)) => {
                waiters.add_signal(signal, each)
            }
            (ObjectMatcher::Waiters(waiters), HandoffEvent::Wait(wait)) => {
                waiters.add_wait(wait, each)
            }
            (ObjectMatcher::Amounts(amounts), HandoffEvent::Signal(signal)) => {
                amounts.add_signal(signal, each)
            }
            (ObjectMatcher::Amounts(amounts), HandoffEvent::Wait(wait)) => {
                amounts.add_wait(wait, each)
            }
        }
    }

    fn finish_matching(self, each: &mut impl FnMut(HandoffOutcome)) {
        match self {
            ObjectMatcher::Waiters(waiters) => waiters.finish_matching(each),
            ObjectMatcher::Amounts(amounts) => amounts.finish_matching(each),
        }
    }
}

/// Matches all signals and waits. Waits become events, and hand-offs go to `rows`.
///
/// # Errors
/// Fails if a temporary file cannot be written or read.
pub(crate) fn match_handoffs(
    handoff_events: ExternalSorter<HandoffEventRow>,
    capture: &Capture,
    events: &mut ExternalSorter<OwnEvent>,
    rows: &mut ExternalSorter<HandoffRow>,
) -> Result<(), PathError> {
    let (sorted, failed) = (handoff_events.finish(), ReadFailure::default());
    let mut writer = OutcomeWriter { capture, events, rows, result: Ok(()) };
    let mut current: Option<SynchronizationObject> = None;
    for row in sorted.iter(&failed) {
        if current.as_ref().is_none_or(|object| object.about != row.match_key()) {
            if let Some(object) = current.take() {
                object.finish_matching(&mut writer);
            }
            current = SynchronizationObject::from_row(&row);
        }
        if let Some(object) = &mut current {
            object.add_event(row.to_handoff_event(), &mut writer);
        }
    }
    if let Some(object) = current {
        object.finish_matching(&mut writer);
    }
    writer.result?;
    failed.check_failure()
}

/// An object with signals and waits that are matched.
struct SynchronizationObject {
    /// See [`HandoffEventRow::match_key`].
    about: (u64, u32, u64),
    matching: ObjectMatcher,
    only: OnlyWaiter,
}

impl SynchronizationObject {
    /// The object of a row; `None` if it is not matched.
    fn from_row(row: &HandoffEventRow) -> Option<SynchronizationObject> {
        let matching = ObjectMatcher::from_object_kind(row.what)?;
        Some(SynchronizationObject {
            about: row.match_key(),
            matching,
            only: OnlyWaiter::default(),
        })
    }

    fn add_event(&mut self, handoff_event: HandoffEvent, writer: &mut OutcomeWriter) {
        let SynchronizationObject { about, matching, only } = self;
        only.add_event(handoff_event);
        matching
            .add_event(handoff_event, &mut |outcome| writer.write_outcome(*about, only, outcome));
    }

    fn finish_matching(self, writer: &mut OutcomeWriter) {
        let SynchronizationObject { about, matching, mut only } = self;
        matching.finish_matching(&mut |outcome| writer.write_outcome(about, &mut only, outcome));
        for (signal, receiver) in only.assign_unreceived() {
            writer.write_unreceived(about, signal, receiver);
        }
    }
}

/// Destinations of outcomes.
struct OutcomeWriter<'t, 'a, 'b> {
    capture: &'t Capture,
    events: &'t mut ExternalSorter<'a, OwnEvent>,
    rows: &'t mut ExternalSorter<'b, HandoffRow>,
    result: Result<(), PathError>,
}

impl OutcomeWriter<'_, '_, '_> {
    /// Writes an outcome of an object. An unreceived signal of a condition also goes to `only`.
    fn write_outcome(
        &mut self,
        about: (u64, u32, u64),
        only: &mut OnlyWaiter,
        outcome: HandoffOutcome,
    ) {
        let (_, what, object) = about;
        if let HandoffOutcome::Unreceived(signal) = outcome
            && what == HandoffObject::Condition as u32
        {
            only.add_unreceived(signal);
        }
        if self.result.is_ok() {
            self.result = self.write_rows(what, object as i64, outcome);
        }
    }

    /// Writes the intended receiver of a signal that woke no thread.
    fn write_unreceived(
        &mut self,
        (_, what, object): (u64, u32, u64),
        signal: HandoffSignal,
        receiver: RecordedThread,
    ) {
        // A nanosecond after the signal itself, so that it is sorted after it.
        let time = signal.end.saturating_add(1);
        let values = [object as i64, i64::from(receiver.thread)];
        let event = self.write_event(OwnEventKind::Unreceived, what, time, signal.by, values);
        if self.result.is_ok()
            && let Some(event) = event
        {
            self.result = self.events.push(event);
        }
    }

    /// Writes the rows and events of an outcome at an object of the kind `what`.
    fn write_rows(
        &mut self,
        what: u32,
        object: i64,
        outcome: HandoffOutcome,
    ) -> Result<(), PathError> {
        match outcome {
            HandoffOutcome::HandOff(signal, wait) => {
                // A signal to the thread itself is not a hand-off, and one to another process is
                // not within the node.
                if signal.by.process != wait.of.process || signal.by.thread == wait.of.thread {
                    return Ok(());
                }
                self.rows.push(HandoffRow {
                    signalled: signal.time,
                    woken: wait.end,
                    object,
                    node: wait.of.process.node(),
                    from: signal.by.thread,
                    to: wait.of.thread,
                    what,
                })
            }
            HandoffOutcome::Unreceived(signal) if handoff_kinds::reports_unreceived(what) => {
                self.rows.push(HandoffRow {
                    signalled: signal.time,
                    woken: signal.time,
                    object,
                    node: signal.by.process.node(),
                    from: signal.by.thread,
                    to: 0,
                    what,
                })
            }
            HandoffOutcome::Unreceived(_) => Ok(()),
            HandoffOutcome::Woken(wait, signal) => {
                let (by, signalled) =
                    signal.map_or((NIL, NIL), |signal| (i64::from(signal.by.thread), signal.time));
                let took = wait.end.saturating_sub(wait.begin);
                let values = [object, took, by, signalled];
                match self.write_event(OwnEventKind::Wake, what, wait.end, wait.of, values) {
                    Some(event) => self.events.push(event),
                    None => Ok(()),
                }
            }
        }
    }

    /// An event of a thread at an object of this kind.
    fn write_event<const COUNT: usize>(
        &self,
        kind: OwnEventKind,
        what: u32,
        time: i64,
        of: RecordedThread,
        values: [i64; COUNT],
    ) -> Option<OwnEvent> {
        let process = self.capture.processes.get(of.process.index())?;
        let event = OwnEvent::new(kind, time, process.host, process.pid, of.thread);
        Some(OwnEvent { word: what, ..event.with_values(values) })
    }
}
