//! All hand-offs: what happened at each object is matched, and rows for `handoffs.parquet` and
//! events of waits come out.

use message_trace::PathError;
use out_of_core::{ExternalSorter, Keyed, ReadFailure};
use socket_log::encode::Handoff;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::absent::NIL;
use crate::logs::capture::Capture;
use crate::resources::calls::HappeningRow;
use crate::resources::handoffs::{Amounts, Happening, Outcome, Signal, Waiters, Who};
use crate::resources::only_waiter::OnlyWaiter;
use crate::resources::own_event::{Kind, OwnEvent};
use crate::resources::what;

/// A row of `handoffs.parquet`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct HandoffRow {
    pub(crate) signalled: i64,
    pub(crate) woken: i64,
    pub(crate) object: i64,
    pub(crate) node: u32,
    pub(crate) from: i32,
    /// 0 where the signal woke nobody.
    pub(crate) to: i32,
    /// A [`Handoff`], by its number.
    pub(crate) what: u32,
}

impl Keyed for HandoffRow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.woken
    }
}

/// The matching of one object.
enum Matching {
    Waiters(Waiters),
    Amounts(Amounts),
}

impl Matching {
    /// That of an object of this kind; `None` where nothing is matched.
    fn of(number: u32) -> Option<Matching> {
        match Handoff::from_number(u16::try_from(number).ok()?)? {
            Handoff::Condition | Handoff::Futex => Some(Matching::Waiters(Waiters::new(false))),
            Handoff::Semaphore => Some(Matching::Waiters(Waiters::new(true))),
            Handoff::Pipe => Some(Matching::Amounts(Amounts::new(false))),
            Handoff::Eventfd => Some(Matching::Amounts(Amounts::new(true))),
            Handoff::Mutex
            | Handoff::ReadWriteLock
            | Handoff::Thread
            | Handoff::Barrier
            | Handoff::Goroutine => None,
        }
    }

    fn take(&mut self, happening: Happening, each: &mut impl FnMut(Outcome)) {
        match (self, happening) {
            (Matching::Waiters(waiters), Happening::Signal(signal)) => waiters.signal(signal, each),
            (Matching::Waiters(waiters), Happening::Wait(wait)) => waiters.wait(wait, each),
            (Matching::Amounts(amounts), Happening::Signal(signal)) => amounts.signal(signal, each),
            (Matching::Amounts(amounts), Happening::Wait(wait)) => amounts.wait(wait, each),
        }
    }

    fn finish(self, each: &mut impl FnMut(Outcome)) {
        match self {
            Matching::Waiters(waiters) => waiters.finish(each),
            Matching::Amounts(amounts) => amounts.finish(each),
        }
    }
}

/// Matches everything that happened. Waits become events, and hand-offs go to `rows`.
///
/// # Errors
/// When a temporary file cannot be written or read.
pub(crate) fn handoffs(
    happenings: ExternalSorter<HappeningRow>,
    capture: &Capture,
    events: &mut ExternalSorter<OwnEvent>,
    rows: &mut ExternalSorter<HandoffRow>,
) -> Result<(), PathError> {
    let (sorted, failed) = (happenings.finish(), ReadFailure::default());
    let mut told = Told { capture, events, rows, result: Ok(()) };
    let mut current: Option<Object> = None;
    for row in sorted.iter(&failed) {
        if current.as_ref().is_none_or(|object| object.about != row.about()) {
            if let Some(object) = current.take() {
                object.finish(&mut told);
            }
            current = Object::of(&row);
        }
        if let Some(object) = &mut current {
            object.take(row.happening(), &mut told);
        }
    }
    if let Some(object) = current {
        object.finish(&mut told);
    }
    told.result?;
    failed.check()
}

/// An object whose signals and waits are matched.
struct Object {
    /// As [`HappeningRow::about`] says.
    about: (u64, u32, u64),
    matching: Matching,
    only: OnlyWaiter,
}

impl Object {
    /// The object of a row; `None` where nothing is matched.
    fn of(row: &HappeningRow) -> Option<Object> {
        let matching = Matching::of(row.what)?;
        Some(Object { about: row.about(), matching, only: OnlyWaiter::default() })
    }

    fn take(&mut self, happening: Happening, told: &mut Told) {
        let Object { about, matching, only } = self;
        only.take(happening);
        matching.take(happening, &mut |outcome| told.outcome(*about, only, outcome));
    }

    fn finish(self, told: &mut Told) {
        let Object { about, matching, mut only } = self;
        matching.finish(&mut |outcome| told.outcome(about, &mut only, outcome));
        for (signal, who) in only.finish() {
            told.unheard(about, signal, who);
        }
    }
}

/// Where outcomes are told.
struct Told<'t, 'a, 'b> {
    capture: &'t Capture,
    events: &'t mut ExternalSorter<'a, OwnEvent>,
    rows: &'t mut ExternalSorter<'b, HandoffRow>,
    result: Result<(), PathError>,
}

impl Told<'_, '_, '_> {
    /// Tells an outcome of an object. What a condition says and nobody hears goes to `only`, too.
    fn outcome(&mut self, about: (u64, u32, u64), only: &mut OnlyWaiter, outcome: Outcome) {
        let (_, what, object) = about;
        if let Outcome::Unheard(signal) = outcome
            && what == Handoff::Condition as u32
        {
            only.unheard(signal);
        }
        if self.result.is_ok() {
            self.result = self.tell(what, object as i64, outcome);
        }
    }

    /// Tells for whom a signal was that woke nobody.
    fn unheard(&mut self, (_, what, object): (u64, u32, u64), signal: Signal, who: Who) {
        // A nanosecond behind the signal itself, so that it comes after it.
        let time = signal.end.saturating_add(1);
        let values = [object as i64, i64::from(who.thread)];
        let event = self.event(Kind::Unheard, what, time, signal.by, values);
        if self.result.is_ok()
            && let Some(event) = event
        {
            self.result = self.events.push(event);
        }
    }

    fn tell(&mut self, what: u32, object: i64, outcome: Outcome) -> Result<(), PathError> {
        match outcome {
            Outcome::HandOff(signal, wait) => {
                // What a thread leaves for itself is no hand-off, and what goes to another process
                // is not within the node.
                if signal.by.process != wait.of.process || signal.by.thread == wait.of.thread {
                    return Ok(());
                }
                self.rows.push(HandoffRow {
                    signalled: signal.time,
                    woken: wait.end,
                    object,
                    node: wait.of.process,
                    from: signal.by.thread,
                    to: wait.of.thread,
                    what,
                })
            }
            Outcome::Unheard(signal) if what::is_told_unheard(what) => self.rows.push(HandoffRow {
                signalled: signal.time,
                woken: signal.time,
                object,
                node: signal.by.process,
                from: signal.by.thread,
                to: 0,
                what,
            }),
            Outcome::Unheard(_) => Ok(()),
            Outcome::Woken(wait, signal) => {
                let (by, signalled) =
                    signal.map_or((NIL, NIL), |signal| (i64::from(signal.by.thread), signal.time));
                let took = wait.end.saturating_sub(wait.begin);
                let values = [object, took, by, signalled];
                match self.event(Kind::Wake, what, wait.end, wait.of, values) {
                    Some(event) => self.events.push(event),
                    None => Ok(()),
                }
            }
        }
    }

    /// An event of a thread at an object of this kind.
    fn event<const COUNT: usize>(
        &self,
        kind: Kind,
        what: u32,
        time: i64,
        of: Who,
        values: [i64; COUNT],
    ) -> Option<OwnEvent> {
        let process = self.capture.processes.get(of.process as usize)?;
        let event = OwnEvent::new(kind, time, process.host, process.pid, of.thread);
        Some(OwnEvent { word: what, ..event.with(values) })
    }
}
