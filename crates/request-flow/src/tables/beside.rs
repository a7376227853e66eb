//! Columns of steps that are read where somebody asks for them: sizes, resources and threads.

use message_trace::PathError;
use message_trace::table::columns::Columns as Table;

use crate::step::Step;
use crate::step_threads::StepThreads;
use crate::waits::Waits;

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
pub(super) struct Beside {
    sizes: Option<[Vec<Option<i64>>; SIZES.len()]>,
    threads: Option<[Vec<Option<i32>>; THREADS.len()]>,
}

impl Beside {
    /// The columns of `table`: sizes and resources, and threads, each if it is asked for.
    pub(super) fn of(
        table: &Table<'_>,
        [has_sizes, has_threads]: [bool; 2],
    ) -> Result<Beside, PathError> {
        let (mut sizes, mut threads) = (None, None);
        if has_sizes {
            let [a, b, c, d, e, f, g, h, i, j] = SIZES.map(|name| table.int64(name));
            sizes = Some([a?, b?, c?, d?, e?, f?, g?, h?, i?, j?]);
        }
        if has_threads {
            let [a, b, c, d, e, f] = THREADS.map(|name| table.int32(name));
            threads = Some([a?, b?, c?, d?, e?, f?]);
        }
        Ok(Beside { sizes, threads })
    }

    /// Puts what a row has of them into `step`.
    pub(super) fn fill(&self, row: usize, step: &mut Step) {
        if let Some(sizes) = &self.sizes {
            let sizes = sizes.each_ref().map(|of| of.get(row).copied().flatten());
            let [bytes_in, bytes_out, processor_ns, disk_bytes, waits @ ..] = sizes;
            (step.bytes_in, step.bytes_out) = (bytes_in, bytes_out);
            (step.processor_ns, step.disk_bytes) = (processor_ns, disk_bytes);
            step.waits = known(waits);
        }
        if let Some(threads) = &self.threads {
            let threads = threads.each_ref().map(|of| of.get(row).copied().flatten());
            let [process, begin, end, caller_process, caller_begin, caller_end] = threads;
            step.threads =
                StepThreads { process, begin, end, caller_process, caller_begin, caller_end };
        }
    }
}

/// Waits, where all parts are known.
fn known(parts: [Option<i64>; 6]) -> Option<Waits> {
    let [runnable, disk, lock, peer, asleep, unknown] = parts;
    Some(Waits {
        runnable_ns: runnable?,
        disk_ns: disk?,
        lock_ns: lock?,
        peer_ns: peer?,
        asleep_ns: asleep?,
        unknown_ns: unknown?,
    })
}
