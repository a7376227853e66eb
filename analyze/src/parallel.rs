//! The same work on contiguous parts of a range, on all cores, with the results in order: whatever the number of
//! cores, an analysis gives the same result.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Below this many items the threads would cost more than they bring.
const WORTH_A_THREAD: usize = 16 * 1024;

/// Splits `0..items` into one part per core, and returns what `work` makes of each part, in order.
pub(crate) fn in_parts<T: Send>(items: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let parts = cores.min(items / WORTH_A_THREAD).max(1);
    if parts == 1 {
        return vec![work(0..items)];
    }
    let bound = |part: usize| items / parts * part + (items % parts).min(part);
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            (0..parts).map(|part| scope.spawn(move || work(bound(part)..bound(part + 1)))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
            .collect()
    })
}

/// Returns what `work` makes of each of `0..items`, in order. Each processor takes the next item when it is done with one:
/// for few items, each of which is worth a thread.
pub(crate) fn one_by_one<T: Send>(items: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let cores = thread::available_parallelism().map_or(1, usize::from).min(items);
    if cores <= 1 {
        return (0..items).map(work).collect();
    }
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let item = next.fetch_add(1, Ordering::Relaxed);
            if item >= items {
                break done;
            }
            done.push((item, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let threads: Vec<_> = (1..cores).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for thread in threads {
            done.extend(thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)));
        }
        done
    });
    done.sort_unstable_by_key(|(item, _)| *item);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_results_are_in_order() {
        for items in [0, 1, 2, 100] {
            assert!(one_by_one(items, |item| item * 2).into_iter().eq((0..items).map(|item| item * 2)));
        }
    }

    #[test]
    fn the_parts_cover_the_range_once_and_in_order() {
        for items in [0, 1, WORTH_A_THREAD * 2 - 1, WORTH_A_THREAD * 2 + 1, WORTH_A_THREAD * 5] {
            let seen: Vec<usize> = in_parts(items, |part| part.collect::<Vec<_>>()).concat();
            assert!(seen.into_iter().eq(0..items));
        }
    }
}
