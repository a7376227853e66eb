//! All hand-offs: what happened at each object is matched, and rows for `handoffs.parquet` and
//! events of waits come out.

use std::path::Path;

use message_trace::PathError;
use out_of_core::{ExternalSorter, Keyed, MemoryBudget, ReadFailure, SortedRuns};
use socket_log::encode::Handoff;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::absent::NIL;
use crate::logs::capture::Capture;
use crate::resources::calls::HappeningRow;
use crate::resources::handoffs::{Amounts, Happening, Outcome, Waiters};
use crate::resources::own_event::{Kind, OwnEvent};
use crate::resources::what;
use crate::tuning::SORTED_AT_ONCE;

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
            Handoff::Mutex | Handoff::ReadWriteLock | Handoff::Thread | Handoff::Barrier => None,
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

/// Matches everything that happened. Waits become events; what is returned are the hand-offs, in
/// the order in which threads went on.
///
/// # Errors
/// When a temporary file in `directory` cannot be written or read.
pub(crate) fn handoffs<'a>(
    happenings: ExternalSorter<HappeningRow>,
    capture: &Capture,
    events: &mut ExternalSorter<OwnEvent>,
    budget: &'a MemoryBudget,
    directory: &Path,
) -> Result<SortedRuns<'a, HandoffRow>, PathError> {
    let mut rows = ExternalSorter::new(budget, directory, SORTED_AT_ONCE);
    let (sorted, failed) = (happenings.finish(), ReadFailure::default());
    let mut current: Option<((u64, u32, u64), Matching)> = None;
    let mut result = Ok(());
    let mut told = |(_, number, object): (u64, u32, u64), outcome: Outcome| {
        if result.is_ok() {
            result =
                Told { capture, number, object: object as i64 }.tell(outcome, events, &mut rows);
        }
    };
    for row in sorted.iter(&failed) {
        let about = row.about();
        if current.as_ref().is_none_or(|(of, _)| *of != about) {
            if let Some((of, matching)) = current.take() {
                matching.finish(&mut |outcome| told(of, outcome));
            }
            current = Matching::of(row.what).map(|matching| (about, matching));
        }
        if let Some((of, matching)) = &mut current {
            let of = *of;
            matching.take(row.happening(), &mut |outcome| told(of, outcome));
        }
    }
    if let Some((of, matching)) = current {
        matching.finish(&mut |outcome| told(of, outcome));
    }
    result?;
    failed.check()?;
    Ok(rows.finish())
}

/// An outcome is told of this object.
struct Told<'a> {
    capture: &'a Capture,
    number: u32,
    object: i64,
}

impl Told<'_> {
    fn tell(
        &self,
        outcome: Outcome,
        events: &mut ExternalSorter<OwnEvent>,
        rows: &mut ExternalSorter<HandoffRow>,
    ) -> Result<(), PathError> {
        let Told { capture, number: what, object } = *self;
        match outcome {
            Outcome::HandOff(signal, wait) => {
                // What a thread leaves for itself is no hand-off, and what goes to another process
                // is not within the node.
                if signal.by.process != wait.of.process || signal.by.thread == wait.of.thread {
                    return Ok(());
                }
                rows.push(HandoffRow {
                    signalled: signal.time,
                    woken: wait.end,
                    object,
                    node: wait.of.process,
                    from: signal.by.thread,
                    to: wait.of.thread,
                    what,
                })
            }
            Outcome::Unheard(signal) if what::is_told_unheard(what) => rows.push(HandoffRow {
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
                let Some(process) = capture.processes.get(wait.of.process as usize) else {
                    return Ok(());
                };
                let (by, signalled) =
                    signal.map_or((NIL, NIL), |signal| (i64::from(signal.by.thread), signal.time));
                let took = wait.end.saturating_sub(wait.begin);
                let of = (process.host, process.pid);
                let woken = OwnEvent::new(Kind::Wake, wait.end, of.0, of.1, wait.of.thread);
                events.push(OwnEvent { word: what, ..woken.with([object, took, by, signalled]) })
            }
        }
    }
}
