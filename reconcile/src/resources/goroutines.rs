//! Hand-offs between goroutines: the log records which goroutine unblocked or started another, so
//! that nothing need be matched. If the log does not have the start of a goroutine, the creator in
//! the goroutine's own records counts.

use clocks::ClockModel;
use message_trace::PathError;
use out_of_core::ExternalSorter;
use rustc_hash::FxHashMap;
use socket_log::encode::HandoffObject;
use socket_log::layout::goroutine;
use socket_log::{LogRecord, SocketLog};

use crate::indices::ProcessIndex;
use crate::logs::capture::Capture;
use crate::resources::handoff_matching::HandoffRow;
use crate::tuning::STARTED_GOROUTINES;

/// The object of hand-offs to goroutines that waited, or that were started at an unknown time.
const WAITED: i64 = 0;
/// The object of hand-offs to goroutines with a recorded start.
const STARTED: i64 = 1;

/// Writes the hand-offs of the process to `rows`. A log that cannot be opened any more
/// has no hand-offs.
///
/// # Errors
/// Fails if a temporary file cannot be written.
pub(crate) fn read_goroutine_handoffs(
    capture: &Capture,
    clocks: &ClockModel,
    process: ProcessIndex,
    rows: &mut ExternalSorter<HandoffRow>,
) -> Result<(), PathError> {
    let Some(file) = capture.logs.get(process.index()) else { return Ok(()) };
    let Some(of) = capture.processes.get(process.index()) else { return Ok(()) };
    let Ok(log) = SocketLog::open(&file.path) else { return Ok(()) };
    let row = |time: i64, [from, to]: [u32; 2], object: i64| HandoffRow {
        signalled: time,
        woken: time,
        object,
        node: process.node(),
        from: from as i32,
        to: to as i32,
        what: HandoffObject::Goroutine as u32,
    };
    let mut cursor = file.clock.cursor();
    // The first record of each goroutine and its creator; `None` if the start is a record.
    let mut started: FxHashMap<u32, Option<(i64, u32)>> = FxHashMap::default();
    // The goroutine of the next record, and its creator: that record has a time.
    let mut next: Option<(u32, u32)> = None;
    let mut result = Ok(());
    log.for_each(|entry| {
        if let LogRecord::Goroutine { creator, .. } = entry.record {
            next = Some((entry.tid, creator));
            return;
        }
        let mut time = || clocks.common_time(of.host.index(), cursor.realtime(entry.ticks));
        let begun = next.take().filter(|(thread, by)| *thread == entry.tid && *by != 0);
        if let Some((thread, by)) = begun {
            let time = time();
            // Threads have chunks of their own, so the first record of a goroutine may come later.
            let full = started.len() >= STARTED_GOROUTINES;
            match started.get_mut(&thread) {
                Some(Some((first, _))) => *first = time.min(*first),
                Some(None) => {}
                None if full => {}
                None => drop(started.insert(thread, Some((time, by)))),
            }
        }
        match entry.record {
            LogRecord::Ready { number, started: begins }
                if goroutine::is_goroutine(entry.tid) && result.is_ok() =>
            {
                let thread = goroutine::thread_id(number);
                if begins && (started.len() < STARTED_GOROUTINES || started.contains_key(&thread)) {
                    started.insert(thread, None);
                }
                let object = if begins { STARTED } else { WAITED };
                result = rows.push(row(time(), [entry.tid, thread], object));
            }
            LogRecord::StartedBy { number, starter } if result.is_ok() => {
                result = rows.push(row(time(), [starter, goroutine::thread_id(number)], STARTED));
            }
            _ => {}
        }
    });
    result?;
    let unrecorded = started.into_iter().filter_map(|(thread, first)| Some((thread, first?)));
    unrecorded
        .into_iter()
        .try_for_each(|(thread, (time, by))| rows.push(row(time, [by, thread], WAITED)))
}
