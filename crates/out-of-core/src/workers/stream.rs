//! Work on all processors on the pieces of one sequential source, such as a file that is read. The
//! results are consumed in the order of the pieces.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

use super::threads::lock_mutex;

/// The source, which one worker at a time uses.
struct StreamSource<M> {
    make: M,
    /// Number of the next piece.
    next: usize,
}

/// Results of the pieces.
struct StreamResults<K, T, E> {
    /// The next piece to be consumed.
    taken: usize,
    /// Results that wait for earlier ones.
    waiting: BTreeMap<usize, T>,
    take: K,
    error: Option<E>,
    /// Whether no more pieces are to be made.
    ended: bool,
}

/// Ends all workers when one panics: they would wait for its piece forever.
struct StreamStopGuard<'a, K, T, E> {
    results: &'a Mutex<StreamResults<K, T, E>>,
    progressed: &'a Condvar,
}

impl<K, T, E> Drop for StreamStopGuard<'_, K, T, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock_mutex(self.results).ended = true;
            self.progressed.notify_all();
        }
    }
}

/// Calls `make` for one piece after the other, until it returns `None`; `work` with each piece and
/// its number on `threads` threads; and `take` with each result in the order of the pieces, one at
/// a time. There are never more pieces than threads, and few results wait. The first error ends it.
///
/// # Errors
/// The first error of `make`, `work` or `take`.
pub fn run_stream<P, T: Send, E: Send>(
    threads: usize,
    make: impl FnMut() -> Result<Option<P>, E> + Send,
    work: impl Fn(usize, P) -> Result<T, E> + Sync,
    take: impl FnMut(usize, T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let threads = threads.max(1);
    let ahead = 2 * threads;
    let source = Mutex::new(StreamSource { make, next: 0 });
    let waiting = BTreeMap::new();
    let results = Mutex::new(StreamResults { taken: 0, waiting, take, error: None, ended: false });
    let progressed = Condvar::new();
    // The worker that holds the source waits until the results have caught up. The others wait for
    // the source; a worker with a piece waits for neither.
    let next = || {
        let mut source = lock_mutex(&source);
        let mut state = lock_mutex(&results);
        while state.error.is_none() && !state.ended && source.next >= state.taken + ahead {
            state = progressed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.error.is_some() || state.ended {
            return None;
        }
        drop(state);
        let made = (source.make)();
        if let Ok(Some(piece)) = made {
            source.next += 1;
            return Some((source.next - 1, piece));
        }
        let mut state = lock_mutex(&results);
        state.ended = true;
        state.error = state.error.take().or(made.err());
        None
    };
    let worker = || {
        let _ends_all = StreamStopGuard { results: &results, progressed: &progressed };
        while let Some((number, piece)) = next() {
            let result = work(number, piece);
            let mut state = lock_mutex(&results);
            match result {
                Ok(result) => {
                    state.waiting.insert(number, result);
                }
                Err(error) => state.error = state.error.take().or(Some(error)),
            }
            while state.error.is_none() {
                let number = state.taken;
                let Some(result) = state.waiting.remove(&number) else { break };
                state.error = (state.take)(number, result).err();
                state.taken += 1;
            }
            drop(state);
            progressed.notify_all();
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(worker);
        }
        worker();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.error.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn results_come_in_order_with_any_number_of_threads() {
        for threads in [1, 2, 7] {
            let (mut left, mut taken) = (50, Vec::new());
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let make = || {
                let left_now: usize = left;
                left = left_now.saturating_sub(1);
                let made = (left_now > 0).then_some(left_now);
                made.iter().for_each(|_| {
                    most.fetch_max(1 + now.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
                });
                Ok::<_, ()>(made)
            };
            let work = |number, piece: usize| {
                // The first pieces take longest.
                if number < 3 {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(piece * piece)
            };
            let take = |number, result| {
                taken.push((number, result));
                Ok(())
            };
            assert_eq!(run_stream(threads, make, work, take), Ok(()));
            let expected: Vec<_> =
                (0..50usize).map(|number| (number, (50 - number).pow(2))).collect();
            assert_eq!(taken, expected);
            assert!(most.into_inner() <= threads, "no more pieces than threads");
        }
    }

    #[test]
    fn a_panic_of_any_ends_it() {
        for wrong in ["make", "work", "take"] {
            let run = || {
                let mut made = 0;
                let make = || {
                    made += 1;
                    assert!((made, wrong) != (10, "make"));
                    Ok(Some(made))
                };
                let work = |number, _| {
                    assert!((number, wrong) != (10, "work"));
                    Ok::<_, ()>(())
                };
                let take = |number, ()| {
                    assert!((number, wrong) != (10, "take"));
                    Ok(())
                };
                run_stream(3, make, work, take)
            };
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            assert!(done.is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_error_of_any_ends_it() {
        for threads in [1, 2, 3] {
            let run = |wrong: &str| {
                let (mut made, mut taken) = (0, 0);
                let make = || {
                    made += 1;
                    if (made, wrong) == (10, "make") { Err("make") } else { Ok(Some(made)) }
                };
                let work = |number, _| match (number, wrong) {
                    (10, "work") => Err("work"),
                    _ => Ok(()),
                };
                let take = |number, ()| {
                    taken += 1;
                    if number == 10 { Err("take") } else { Ok(()) }
                };
                let done = run_stream(threads, make, work, take);
                (done, taken)
            };
            let (done, taken) = run("make");
            assert!(done == Err("make") && taken <= 9, "{done:?} {taken}");
            let (done, taken) = run("work");
            assert!(done == Err("work") && taken <= 10, "{done:?} {taken}");
            let (done, taken) = run("take");
            assert!(done == Err("take") && taken == 11, "{done:?} {taken}");
        }
    }
}
