//! Work on all processors with results that are consumed in order, so that equal input gives equal
//! output however many threads there are.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Condvar, Mutex, PoisonError};

use super::threads::lock_mutex;

/// State that the workers share.
struct OrderedState<M, T, E> {
    /// The next piece that no worker has begun.
    next: usize,
    /// The next piece to be consumed.
    taken: usize,
    /// Results that wait for earlier ones.
    waiting: BTreeMap<usize, T>,
    take: M,
    error: Option<E>,
}

/// Ends all workers when one panics: they would wait for its piece forever.
struct OrderedStopGuard<'a, M, T, E> {
    shared: &'a Mutex<OrderedState<M, T, E>>,
    progressed: &'a Condvar,
    count: usize,
}

impl<M, T, E> Drop for OrderedStopGuard<'_, M, T, E> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock_mutex(self.shared).next = self.count;
            self.progressed.notify_all();
        }
    }
}

/// Calls `work` for each of `count` pieces on `threads` threads, and `take` with each result in the
/// order of the pieces, one at a time. No worker runs far ahead of the consumed results, so few
/// results wait. The first error ends it.
///
/// # Errors
/// The first error of `work` or `take`.
pub fn run_in_order<T: Send, E: Send>(
    threads: usize,
    count: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
    take: impl FnMut(usize, T) -> Result<(), E> + Send,
) -> Result<(), E> {
    let threads = threads.clamp(1, count.max(1));
    let ahead = 2 * threads;
    let shared =
        Mutex::new(OrderedState { next: 0, taken: 0, waiting: BTreeMap::new(), take, error: None });
    let progressed = Condvar::new();
    let worker = || {
        let _ends_all = OrderedStopGuard { shared: &shared, progressed: &progressed, count };
        loop {
            let mut state = lock_mutex(&shared);
            while state.error.is_none() && state.next < count && state.next >= state.taken + ahead {
                state = progressed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.error.is_some() || state.next >= count {
                return;
            }
            let piece = state.next;
            state.next += 1;
            drop(state);
            let result = work(piece);
            let mut state = lock_mutex(&shared);
            match result {
                Ok(result) => {
                    state.waiting.insert(piece, result);
                }
                Err(error) => state.error = state.error.take().or(Some(error)),
            }
            while state.error.is_none() {
                let piece = state.taken;
                let Some(result) = state.waiting.remove(&piece) else { break };
                state.error = (state.take)(piece, result).err();
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
    let shared = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    shared.error.map_or(Ok(()), Err)
}

/// Calls `take` with each value of `make`, until that returns `None`. With more than one thread the
/// next value is made while one is consumed. The first error ends it.
///
/// # Errors
/// The first error of `make` or `take`.
pub fn run_ahead<T: Send, E: Send>(
    threads: usize,
    mut make: impl FnMut() -> Result<Option<T>, E> + Send,
    mut take: impl FnMut(T) -> Result<(), E>,
) -> Result<(), E> {
    if threads < 2 {
        while let Some(made) = make()? {
            take(made)?;
        }
        return Ok(());
    }
    std::thread::scope(|scope| {
        // The channel holds nothing, so at most two values exist at a time.
        let (sender, receiver) = sync_channel(0);
        scope.spawn(move || {
            while let Some(made) = make().transpose() {
                let is_last = made.is_err();
                if sender.send(made).is_err() || is_last {
                    return;
                }
            }
        });
        receiver.into_iter().try_for_each(|made| take(made?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_with_any_number_of_threads() {
        for threads in [1, 2, 7, 100] {
            let mut taken = Vec::new();
            let done: Result<(), ()> = run_in_order(
                threads,
                50,
                |piece| Ok(piece * piece),
                |piece, result| {
                    taken.push((piece, result));
                    Ok(())
                },
            );
            assert_eq!(done, Ok(()));
            assert_eq!(taken, (0..50).map(|piece| (piece, piece * piece)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_panic_of_one_worker_ends_all() {
        let panicked = std::panic::catch_unwind(|| {
            let work = |piece: usize| if piece == 3 { panic!("piece 3") } else { Ok::<_, ()>(()) };
            run_in_order(2, 100, work, |_, ()| Ok(()))
        });
        assert!(panicked.is_err());
    }

    #[test]
    fn values_made_ahead_arrive_in_order_and_any_error_ends_it() {
        for threads in [1, 2, 3] {
            let run = |wrong_to_make: usize, wrong_to_take: usize| {
                let (mut next, mut taken) = (0, Vec::new());
                let make = || {
                    next += 1;
                    if next == wrong_to_make {
                        Err("make")
                    } else {
                        Ok((next <= 20).then_some(next))
                    }
                };
                let done = run_ahead(threads, make, |made| {
                    taken.push(made);
                    if made == wrong_to_take { Err("take") } else { Ok(()) }
                });
                (done, taken.len())
            };
            assert_eq!(run(0, 0), (Ok(()), 20));
            assert_eq!(run(7, 0), (Err("make"), 6));
            assert_eq!(run(0, 7), (Err("take"), 7));
        }
    }

    #[test]
    fn an_error_of_either_ends_it() {
        let work = run_in_order(
            4,
            1000,
            |piece| if piece == 3 { Err(piece) } else { Ok(()) },
            |_, ()| Ok(()),
        );
        assert_eq!(work, Err(3));
        let take =
            run_in_order(4, 1000, Ok, |piece, _| if piece == 5 { Err(piece) } else { Ok(()) });
        assert_eq!(take, Err(5));
    }
}
