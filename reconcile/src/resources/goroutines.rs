//! Hand-offs between goroutines: which one let which other go on, as the log says of each, and
//! which one started it. Nothing need be matched.

use clocks::Clocks;
use message_trace::PathError;
use out_of_core::ExternalSorter;
use rustc_hash::FxHashMap;
use socket_log::encode::Handoff;
use socket_log::layout::goroutine;
use socket_log::{Log, Record};

use crate::logs::capture::Capture;
use crate::resources::matched::HandoffRow;
use crate::tuning::STARTED_GOROUTINES;

/// Puts the hand-offs of process number `process` into `rows`. A log that cannot be opened any more
/// has none.
///
/// # Errors
/// When a temporary file cannot be written.
pub(crate) fn goroutines(
    capture: &Capture,
    clocks: &Clocks,
    process: u32,
    rows: &mut ExternalSorter<HandoffRow>,
) -> Result<(), PathError> {
    let Some(file) = capture.logs.get(process as usize) else { return Ok(()) };
    let Some(of) = capture.processes.get(process as usize) else { return Ok(()) };
    let Ok(log) = Log::open(&file.path) else { return Ok(()) };
    let row = |time: i64, from: u32, to: u32| HandoffRow {
        signalled: time,
        woken: time,
        object: 0,
        node: process,
        from: from as i32,
        to: to as i32,
        what: Handoff::Goroutine as u32,
    };
    let mut cursor = file.clock.cursor();
    let mut started: FxHashMap<u32, (i64, u32)> = FxHashMap::default();
    // The goroutine that the next record is of, and who started it: that record has a time.
    let mut next: Option<(u32, u32)> = None;
    let mut result = Ok(());
    log.for_each(|entry| {
        if let Record::Goroutine { creator, .. } = entry.record {
            next = Some((entry.tid, creator));
            return;
        }
        let mut time = || clocks.common(of.host as usize, cursor.realtime(entry.ticks));
        let begun = next.take().filter(|(thread, by)| *thread == entry.tid && *by != 0);
        if let Some((thread, by)) = begun {
            let time = time();
            // Threads have chunks of their own, so the first record of a goroutine may come later.
            let full = started.len() >= STARTED_GOROUTINES;
            match started.get_mut(&thread) {
                Some((first, _)) => *first = time.min(*first),
                None if full => {}
                None => drop(started.insert(thread, (time, by))),
            }
        }
        match entry.record {
            Record::Ready { number } if goroutine::is(entry.tid) && result.is_ok() => {
                result = rows.push(row(time(), entry.tid, goroutine::thread(number)));
            }
            _ => {}
        }
    });
    result?;
    started.into_iter().try_for_each(|(thread, (time, by))| rows.push(row(time, by, thread)))
}
