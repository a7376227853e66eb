//! Work on all processors with results that are consumed in order, so that equal input gives equal
//! output however many threads there are.

use std::sync::mpsc::sync_channel;

use super::stream::run_stream;

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
    let mut pieces = 0..count;
    run_stream(threads.clamp(1, count.max(1)), || Ok(pieces.next()), |_, piece| work(piece), take)
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
