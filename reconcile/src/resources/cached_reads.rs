//! Cached reads: a read of a file was answered from memory if its thread never waited meanwhile, as
//! recorded by the kernel.

use rustc_hash::FxHashMap;

use crate::indices::HostIndex;
use crate::resources::own_event::{OwnEvent, OwnEventKind};
use crate::sentinels::NIL;

/// Facts about the threads that read files. Events come sorted by time; times are in nanoseconds on
/// the common clock.
#[derive(Debug, Default)]
pub(crate) struct CachedReads {
    threads: FxHashMap<(HostIndex, i32), ReadingThread>,
}

#[derive(Clone, Copy, Debug)]
struct ReadingThread {
    /// Time from which everything is known of the thread.
    known: i64,
    /// Time when the thread last gave up a processor voluntarily.
    waited: i64,
}

impl CachedReads {
    /// Processes the next event, and returns for a read whether it was cached: 1, 0, or [`NIL`] if
    /// unknown.
    pub(crate) fn classify_event(&mut self, event: &OwnEvent) -> i64 {
        let key = (event.host, event.thread);
        let time = event.time;
        match OwnEventKind::ALL.get(event.kind as usize) {
            Some(OwnEventKind::In | OwnEventKind::Start) => {
                self.threads.entry(key).or_insert(ReadingThread { known: time, waited: i64::MIN });
            }
            Some(OwnEventKind::Out) if event.values[0] == 0 => {
                let thread = self.threads.entry(key);
                thread.or_insert(ReadingThread { known: time, waited: time }).waited = time;
            }
            Some(OwnEventKind::Unknown | OwnEventKind::Exit) => drop(self.threads.remove(&key)),
            Some(OwnEventKind::FileRead) => {
                let begin = time.saturating_sub(event.values[1].max(0));
                let known = self.threads.get(&key).filter(|thread| thread.known <= begin);
                return known.map_or(NIL, |thread| i64::from(thread.waited < begin));
            }
            _ => {}
        }
        NIL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_cached_if_its_thread_never_waited_meanwhile() {
        let mut cached = CachedReads::default();
        let mut next = |kind, time, values: [i64; 2]| {
            let event = OwnEvent::new(kind, time, HostIndex::default(), 1, 7);
            cached.classify_event(&event.with_values(values))
        };
        // Bytes, duration.
        assert_eq!(next(OwnEventKind::FileRead, 5, [1, 2]), NIL, "nothing is known of the thread");
        next(OwnEventKind::In, 10, [NIL, NIL]);
        assert_eq!(next(OwnEventKind::FileRead, 20, [1, 12]), NIL, "it began before");
        assert_eq!(next(OwnEventKind::FileRead, 20, [1, 5]), 1);
        next(OwnEventKind::Out, 30, [1, NIL]);
        next(OwnEventKind::In, 40, [NIL, NIL]);
        assert_eq!(next(OwnEventKind::FileRead, 45, [1, 20]), 1, "it was only put aside");
        next(OwnEventKind::Out, 50, [0, NIL]);
        next(OwnEventKind::In, 60, [NIL, NIL]);
        assert_eq!(next(OwnEventKind::FileRead, 65, [1, 20]), 0);
        assert_eq!(next(OwnEventKind::FileRead, 75, [1, 5]), 1);
        next(OwnEventKind::Unknown, 80, [NIL, NIL]);
        next(OwnEventKind::In, 90, [NIL, NIL]);
        assert_eq!(next(OwnEventKind::FileRead, 95, [1, 20]), NIL);
    }
}
