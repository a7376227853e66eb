//! The kernel's queues of switches: one for each processor, as an inherited event cannot have one
//! queue for all of them.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use socket_log::switches::{SwitchEvent, ThreadSwitch};

use super::kernel_record::KernelRecord;
use crate::tuning::{ALL_QUEUES_BYTES, MAX_QUEUE_BYTES, MIN_QUEUE_BYTES, QUEUE_BYTES};

/// The queues of all processors.
pub(super) struct PerfRings(Vec<PerfRing>);

struct PerfRing {
    processor: u16,
    queue: Sampler,
}

impl PerfRings {
    /// Opens a queue for each processor, for the children that this thread starts from now on, each
    /// from its first `exec`.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn open_rings() -> io::Result<PerfRings> {
        let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
        let processors = parse_processors(&text);
        let mut size = size_for(processors.len());
        loop {
            let opened = processors.iter().map(|processor| PerfRing::open_ring(*processor, size));
            let rings: io::Result<Vec<PerfRing>> = opened.collect();
            match rings {
                Ok(rings) => return Ok(PerfRings(rings)),
                // The amount that a user may lock in memory is shared by all recordings of the
                // user.
                Err(error)
                    if size > MIN_QUEUE_BYTES
                        && error.kind() == io::ErrorKind::PermissionDenied
                        && PerfRing::may_open() =>
                {
                    size /= 2;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The descriptors to wait for.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(|ring| {
            // SAFETY: the queue owns the descriptor and is borrowed for as long as the descriptor.
            unsafe { BorrowedFd::borrow_raw(ring.queue.as_raw_fd()) }
        })
    }

    /// Passes each available record of the kernel's queues to `each`, in the order of the queues.
    pub(super) fn drain_rings(&mut self, mut each: impl FnMut(ThreadSwitch)) {
        for ring in &mut self.0 {
            // A bound, as a queue may be filled as fast as it is emptied.
            for _ in 0..MAX_QUEUE_BYTES / 32 {
                let Some(record) = ring.queue.next_record() else { break };
                let parts = record.data();
                let known = KernelRecord::new(record.ty(), record.misc(), parts);
                known.for_each_switch(ring.processor, &mut each);
            }
        }
    }
}

impl PerfRing {
    fn open_ring(processor: u16, size: usize) -> io::Result<PerfRing> {
        let mut event = Builder::new(Software::DUMMY);
        event
            .one_cpu(usize::from(processor))
            .inherit(true)
            .enabled(false)
            .enable_on_exec(true)
            .context_switch(true)
            .task(true)
            .comm(true)
            .comm_exec(true)
            .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU)
            .sample_id_all(true)
            .clockid(Clock::MONOTONIC)
            .wakeup_watermark(size / 2);
        let queue = event.build()?.sampled(size)?;
        Ok(PerfRing { processor, queue })
    }

    /// Whether the kernel permits this process to open an event of thread switches at all.
    fn may_open() -> bool {
        Builder::new(Software::DUMMY).build().is_ok()
    }
}

/// Initial size of each queue, by the number of queues, in bytes: a power of two.
fn size_for(queues: usize) -> usize {
    let share = (ALL_QUEUES_BYTES / queues.max(1)).clamp(QUEUE_BYTES, MAX_QUEUE_BYTES);
    1 << share.ilog2()
}

/// The record that states up to when the file is complete.
pub(super) fn completion_record(time: i64) -> ThreadSwitch {
    let (processor, event) = (ThreadSwitch::ANY_PROCESSOR, SwitchEvent::Mark);
    ThreadSwitch { time, processor, thread: 0, process: 0, event }
}

/// The processors of a list in the kernel's format, such as `0-3,8`; the first processor if it is
/// empty.
fn parse_processors(list: &str) -> Vec<u16> {
    let mut all = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u16>(), last.parse::<u16>()) {
            all.extend(first..=last);
        }
    }
    if all.is_empty() { vec![0] } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_queues_are_smaller() {
        assert_eq!(
            [1, 2, 16, 24, 1_000].map(size_for),
            [4 << 20, 4 << 20, 4 << 20, 2 << 20, 512 << 10]
        );
    }

    #[test]
    fn lists_of_processors() {
        assert_eq!(parse_processors("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(parse_processors("0\n"), [0]);
        assert_eq!(parse_processors(""), [0]);
        assert_eq!(parse_processors("nonsense,2"), [2]);
    }
}
