//! Work on contiguous parts of a range or on single items, on all processors. Whatever their
//! number, equal input gives equal results.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::threads::thread_count;
use crate::tuning::MIN_ITEMS_PER_THREAD;

/// Splits `0..items` into one part for each processor, and returns the results of `work`, in order.
pub fn map_ranges<T: Send>(items: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    let cores = thread_count();
    let parts = cores.min(items / MIN_ITEMS_PER_THREAD).max(1);
    if parts == 1 {
        return vec![work(0..items)];
    }
    let bound = |part: usize| items / parts * part + (items % parts).min(part);
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..parts)
            .map(|part| scope.spawn(move || work(bound(part)..bound(part + 1))))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause)))
            .collect()
    })
}

/// Returns the results of `work` for each of `0..items`, in order. Each processor takes the next
/// item when it has finished one: for few items, each worth a thread.
pub fn map_items<T: Send>(items: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let cores = thread_count().min(items);
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

/// Calls `work` on each of `items`, the largest by `size` first, on all processors. Each thread
/// accumulates the results of its items in its own value. The assignment of items to threads is
/// random, so the values must not depend on the order in which they are merged.
pub fn for_each_item<T: Send, R: Send + Default>(
    items: &mut [T],
    size: impl Fn(&T) -> usize,
    work: impl Fn(&mut T, &mut R) + Sync,
) -> Vec<R> {
    let total: usize = items.iter().map(&size).sum();
    let cores = thread_count();
    let threads = cores.min(items.len()).min(total / MIN_ITEMS_PER_THREAD).max(1);
    let mut order: Vec<&mut T> = items.iter_mut().collect();
    order.sort_by_key(|item| std::cmp::Reverse(size(item)));
    let rest = Mutex::new(order.into_iter());
    let next = || rest.lock().unwrap_or_else(PoisonError::into_inner).next();
    let part = || {
        let mut result = R::default();
        while let Some(item) = next() {
            work(item, &mut result);
        }
        result
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(part)).collect();
        let mut results = vec![part()];
        let others = others.into_iter().map(|thread| thread.join());
        results.extend(
            others.map(|result| result.unwrap_or_else(|cause| std::panic::resume_unwind(cause))),
        );
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_item_is_worked_on_once_and_results_are_in_order() {
        for items in [0, 1, 2, 100] {
            assert!(
                map_items(items, |item| item * 2).into_iter().eq((0..items).map(|item| item * 2))
            );
        }
    }

    #[test]
    fn the_parts_cover_the_range_once_and_in_order() {
        for items in [
            0,
            1,
            MIN_ITEMS_PER_THREAD * 2 - 1,
            MIN_ITEMS_PER_THREAD * 2 + 1,
            MIN_ITEMS_PER_THREAD * 5,
        ] {
            let seen: Vec<usize> = map_ranges(items, |part| part.collect::<Vec<_>>()).concat();
            assert!(seen.into_iter().eq(0..items));
        }
    }

    #[test]
    fn each_item_is_worked_on_once() {
        for items in [0, 1, 100] {
            let mut counts = vec![0; items];
            let sums = for_each_item(
                &mut counts,
                |_| MIN_ITEMS_PER_THREAD,
                |count, sum: &mut usize| {
                    *count += 1;
                    *sum += 1;
                },
            );
            assert!(counts.iter().all(|count| *count == 1));
            assert_eq!(sums.into_iter().sum::<usize>(), items);
        }
    }
}
