//! A record of the kernel's queue, as `perf_event_open(2)` describes it, with the sample's fields
//! TID, TIME and CPU after each.

use socket_log::switches::{SwitchEvent, ThreadSwitch};

/// Largest record that is parsed, in bytes. The largest record of the parsed kinds has a name, and
/// 48 bytes.
const MAX_RECORD_BYTES: usize = 64;

/// Bytes of the sample's fields after a record.
const SAMPLE_BYTES: usize = 24;

/// Kinds of records (`PERF_RECORD_...`).
mod kind {
    pub(super) const LOST: u32 = 2;
    pub(super) const COMM: u32 = 3;
    pub(super) const EXIT: u32 = 4;
    pub(super) const FORK: u32 = 7;
    pub(super) const SWITCH: u32 = 14;
}

/// Bits of a record's `misc` (`PERF_RECORD_MISC_...`).
mod misc {
    pub(super) const COMM_EXEC: u16 = 1 << 13;
    pub(super) const SWITCH_OUT: u16 = 1 << 13;
    pub(super) const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
}

/// A record of the kernel's queue, without its header.
pub(super) struct KernelRecord {
    kind: u32,
    misc: u16,
    body: [u8; MAX_RECORD_BYTES],
    length: usize,
}

impl KernelRecord {
    /// The record of the kind `kind` with the body in `parts`.
    pub(super) fn new(kind: u32, misc: u16, parts: &[&[u8]]) -> KernelRecord {
        let mut body = [0; MAX_RECORD_BYTES];
        let bytes = parts.iter().flat_map(|part| part.iter());
        body.iter_mut().zip(bytes).for_each(|(to, byte)| *to = *byte);
        let length = parts.iter().map(|part| part.len()).sum();
        KernelRecord { kind, misc, body, length }
    }

    fn read_u32(&self, at: usize) -> Option<u32> {
        let bytes = self.body.get(..self.length)?.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }

    fn read_u64(&self, at: usize) -> Option<u64> {
        let bytes = self.body.get(..self.length)?.get(at..at + 8)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }

    /// Calls `each` with every thread switch in the record; `processor` is the processor of the
    /// queue. Kinds without switches are skipped.
    pub(super) fn for_each_switch(&self, processor: u16, each: &mut impl FnMut(ThreadSwitch)) {
        let _ = self.read_switches(processor, each);
    }

    /// Does what [`Self::for_each_switch`] does; `None` if the record is malformed.
    fn read_switches(&self, processor: u16, each: &mut impl FnMut(ThreadSwitch)) -> Option<()> {
        let sample = self.length.checked_sub(SAMPLE_BYTES)?;
        let (by_process, by_thread) = (self.read_u32(sample)?, self.read_u32(sample + 4)?);
        let time = i64::try_from(self.read_u64(sample + 8)?).ok()?;
        let mut emit = |process: u32, thread: u32, event: SwitchEvent| {
            // Without a number it is of a thread that has ended and cannot be named.
            if i32::try_from(thread).is_ok_and(|thread| thread > 0) {
                each(ThreadSwitch { time, processor, thread, process, event });
            }
        };
        match self.kind {
            kind::SWITCH => {
                let event = match self.misc & misc::SWITCH_OUT {
                    0 => SwitchEvent::In,
                    _ => SwitchEvent::Out { preempted: self.misc & misc::SWITCH_OUT_PREEMPT != 0 },
                };
                emit(by_process, by_thread, event);
            }
            // Process, its parent, thread, and the thread that started it.
            kind::FORK => {
                let (process, thread, creator) =
                    (self.read_u32(0)?, self.read_u32(8)?, self.read_u32(12)?);
                emit(process, thread, SwitchEvent::Start { creator });
            }
            kind::EXIT => emit(self.read_u32(0)?, self.read_u32(8)?, SwitchEvent::Exit),
            kind::COMM => {
                let (process, thread) = (self.read_u32(0)?, self.read_u32(4)?);
                if self.misc & misc::COMM_EXEC != 0 {
                    emit(process, thread, SwitchEvent::Exec);
                }
                let mut name = [0; 16];
                let text = self.body.get(8..sample).unwrap_or_default();
                name.iter_mut().zip(text).for_each(|(to, byte)| *to = *byte);
                emit(0, thread, SwitchEvent::Name(name));
            }
            kind::LOST => {
                let records = u32::try_from(self.read_u64(8)?).unwrap_or(u32::MAX);
                let event = SwitchEvent::Lost { records };
                each(ThreadSwitch { time, processor, thread: 0, process: 0, event });
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_record(kind: u32, misc: u16, words: &[u32]) -> Vec<ThreadSwitch> {
        let body: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        // A record may wrap around the end of the queue.
        let (first, rest) = body.split_at(body.len().min(7));
        let mut found = Vec::new();
        KernelRecord::new(kind, misc, &[first, rest])
            .for_each_switch(2, &mut |switch| found.push(switch));
        found
    }

    const SAMPLE: [u32; 6] = [10, 11, 5_000, 0, 2, 0];

    fn make_switch(process: u32, thread: u32, event: SwitchEvent) -> ThreadSwitch {
        ThreadSwitch { time: 5_000, processor: 2, thread, process, event }
    }

    #[test]
    fn switches_have_the_thread_on_the_processor() {
        let found = |misc: u16| read_record(14, misc, &SAMPLE);
        assert_eq!(found(0), [make_switch(10, 11, SwitchEvent::In)]);
        assert_eq!(found(1 << 13), [make_switch(10, 11, SwitchEvent::Out { preempted: false })]);
        assert_eq!(found(3 << 13), [make_switch(10, 11, SwitchEvent::Out { preempted: true })]);
        assert_eq!(
            read_record(14, 0, &[10, u32::MAX, 5_000, 0, 2, 0]),
            [],
            "a thread that has ended"
        );
        assert_eq!(read_record(14, 0, &SAMPLE[..5]), [], "cut");
    }

    #[test]
    fn threads_begin_end_and_have_names() {
        let with = |words: &[u32]| [words, &SAMPLE].concat();
        let ends = [20, 10, 21, 11, 4_000, 0];
        let start = make_switch(20, 21, SwitchEvent::Start { creator: 11 });
        assert_eq!(read_record(7, 0, &with(&ends)), [start]);
        assert_eq!(read_record(4, 0, &with(&ends)), [make_switch(20, 21, SwitchEvent::Exit)]);
        let name = [10, 11, u32::from_ne_bytes(*b"abc\0"), 0];
        let mut text = [0; 16];
        text[..3].copy_from_slice(b"abc");
        let named = make_switch(0, 11, SwitchEvent::Name(text));
        assert_eq!(read_record(3, 0, &with(&name)), [named]);
        assert_eq!(
            read_record(3, 1 << 13, &with(&name)),
            [make_switch(10, 11, SwitchEvent::Exec), named]
        );
    }

    #[test]
    fn records_lost_by_the_kernel_are_reported() {
        let lost = [1, 0, 9, 0];
        let found = read_record(2, 0, &[lost.as_slice(), &SAMPLE].concat());
        assert_eq!(found, [make_switch(0, 0, SwitchEvent::Lost { records: 9 })]);
        assert_eq!(read_record(9, 0, &SAMPLE), [], "another kind");
    }
}
