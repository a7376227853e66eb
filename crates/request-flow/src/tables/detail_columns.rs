//! Columns of steps that are read on request: sizes, resources and threads.

use message_trace::PathError;
use message_trace::table::columns::BatchColumns as Table;

use crate::step::Step;
use crate::step_threads::StepThreads;
use crate::waits::WaitTimes;

pub(super) const SIZES: [&str; 10] = [
    "bytes_in",
    "bytes_out",
    "processor_ns",
    "disk_bytes",
    "runnable_ns",
    "disk_ns",
    "lock_ns",
    "peer_ns",
    "asleep_ns",
    "unknown_ns",
];

pub(super) const THREADS: [&str; 6] = [
    "process",
    "begin_thread",
    "end_thread",
    "caller_process",
    "caller_begin_thread",
    "caller_end_thread",
];

/// Sizes, resources and threads of a batch of steps.
pub(super) struct DetailColumns {
    sizes: Option<[Vec<Option<i64>>; SIZES.len()]>,
    threads: Option<[Vec<Option<i32>>; THREADS.len()]>,
}

impl DetailColumns {
    /// Reads the columns of `table`: sizes and resources, and threads, each if requested.
    pub(super) fn from_table(
        table: &Table<'_>,
        [has_sizes, has_threads]: [bool; 2],
    ) -> Result<DetailColumns, PathError> {
        let (mut sizes, mut threads) = (None, None);
        if has_sizes {
            let [a, b, c, d, e, f, g, h, i, j] = SIZES.map(|name| table.int64_column(name));
            sizes = Some([a?, b?, c?, d?, e?, f?, g?, h?, i?, j?]);
        }
        if has_threads {
            let [a, b, c, d, e, f] = THREADS.map(|name| table.int32_column(name));
            threads = Some([a?, b?, c?, d?, e?, f?]);
        }
        Ok(DetailColumns { sizes, threads })
    }

    /// Copies the values of a row into `step`.
    pub(super) fn fill_step(&self, row: usize, step: &mut Step) {
        if let Some(sizes) = &self.sizes {
            let sizes = sizes.each_ref().map(|of| of.get(row).copied().flatten());
            let [bytes_in, bytes_out, processor_ns, disk_bytes, waits @ ..] = sizes;
            (step.bytes_in, step.bytes_out) = (bytes_in, bytes_out);
            (step.processor_ns, step.disk_bytes) = (processor_ns, disk_bytes);
            step.waits = complete_waits(waits);
        }
        if let Some(threads) = &self.threads {
            let threads = threads.each_ref().map(|of| of.get(row).copied().flatten());
            let [process, begin, end, caller_process, caller_begin, caller_end] = threads;
            step.threads =
                StepThreads { process, begin, end, caller_process, caller_begin, caller_end };
        }
    }
}

/// Returns the waits, if all parts are known.
fn complete_waits(parts: [Option<i64>; 6]) -> Option<WaitTimes> {
    let [runnable, disk, lock, peer, asleep, unknown] = parts;
    Some(WaitTimes {
        runnable_ns: runnable?,
        disk_ns: disk?,
        lock_ns: lock?,
        peer_ns: peer?,
        asleep_ns: asleep?,
        unknown_ns: unknown?,
    })
}
