//! Record of a file of switches: an event of one thread, in 24 bytes (`docs/log-format.md`).
//!
//! Records need not be in order of time: the kernel has a queue for each processor, and the queues
//! are emptied one after the other. The records of one processor are in order.

/// Size of a record, in bytes.
pub const RECORD_BYTES: usize = 24;

/// A record as it is in the file.
pub(super) type RawSwitch = [u8; RECORD_BYTES];

/// Event of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSwitch {
    /// Time, in nanoseconds of `CLOCK_MONOTONIC`.
    pub time: i64,
    /// Number of the processor; [`ThreadSwitch::ANY_PROCESSOR`] if the event concerns all
    /// processors.
    pub processor: u16,
    /// Id of the thread; 0 if there is none.
    pub thread: u32,
    /// Id of the thread's process; 0 if unknown.
    pub process: u32,
    /// Kind of event.
    pub event: SwitchEvent,
}

/// Event of a thread, or of the recording of all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchEvent {
    /// The thread was given the processor.
    In,
    /// The thread released the processor.
    Out {
        /// Whether the thread could have continued: another thread was given the processor instead.
        preempted: bool,
    },
    /// The thread was started.
    Start {
        /// Id of the thread that started it.
        creator: u32,
    },
    /// The thread ended.
    Exit,
    /// The thread's process became another program: from here on the thread has the processor, and
    /// its process has no other thread.
    Exec,
    /// The thread has this name, up to the first zero byte.
    Name([u8; 16]),
    /// Records of the processor are missing, between the previous one of the same processor (or the
    /// latest earlier [`SwitchEvent::Mark`], if that is later) and this time.
    Lost {
        /// Number of missing records; `u32::MAX` if there are more.
        records: u32,
    },
    /// Everything that happened before this time on any processor is in the file, before this
    /// record or soon after it.
    Mark,
}

/// Kinds of records in the file.
mod kind {
    pub(super) const IN: u8 = 1;
    pub(super) const OUT: u8 = 2;
    pub(super) const PREEMPTED: u8 = 3;
    pub(super) const START: u8 = 4;
    pub(super) const EXIT: u8 = 5;
    pub(super) const EXEC: u8 = 6;
    /// The first 8 bytes of a name, in place of process and value.
    pub(super) const NAME: u8 = 7;
    /// The other 8 bytes of a name, in place of process and value.
    pub(super) const NAME_REST: u8 = 8;
    pub(super) const LOST: u8 = 9;
    pub(super) const MARK: u8 = 10;
}

/// Check value of a record with zeros in all other bytes.
const CHECK: u8 = 0x5a;

/// Times that a record may have, in nanoseconds: up to 146 years after the machine started.
const TIMES: std::ops::RangeInclusive<i64> = 0..=1 << 62;

/// A record that was read: a whole one, or half of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SwitchRecord {
    Whole(ThreadSwitch),
    /// The first half of a name; the second is in the next record.
    First(ThreadSwitch, [u8; 8]),
    /// The rest of a name.
    Rest(ThreadSwitch, [u8; 8]),
}

impl ThreadSwitch {
    /// Processor number of events that concern all processors.
    pub const ANY_PROCESSOR: u16 = u16::MAX;

    /// Appends the record to `bytes`. A name takes two records.
    pub(super) fn encode(&self, bytes: &mut Vec<u8>) {
        let value = |kind: u8, value: u32| self.encode_record(kind, self.process, value);
        let raw = match self.event {
            SwitchEvent::In => value(kind::IN, 0),
            SwitchEvent::Out { preempted: false } => value(kind::OUT, 0),
            SwitchEvent::Out { preempted: true } => value(kind::PREEMPTED, 0),
            SwitchEvent::Start { creator } => value(kind::START, creator),
            SwitchEvent::Exit => value(kind::EXIT, 0),
            SwitchEvent::Exec => value(kind::EXEC, 0),
            SwitchEvent::Lost { records } => value(kind::LOST, records),
            SwitchEvent::Mark => value(kind::MARK, 0),
            SwitchEvent::Name(text) => {
                let word = |at: usize| {
                    let part = text.get(at..at + 4).and_then(|part| part.try_into().ok());
                    part.map_or(0, u32::from_le_bytes)
                };
                bytes.extend_from_slice(&self.encode_record(kind::NAME, word(0), word(4)));
                self.encode_record(kind::NAME_REST, word(8), word(12))
            }
        };
        bytes.extend_from_slice(&raw);
    }

    /// The record's bytes with these three fields, its other fields, and the check byte.
    fn encode_record(&self, kind: u8, process: u32, value: u32) -> RawSwitch {
        let mut raw = [0; RECORD_BYTES];
        let fields = self
            .time
            .to_le_bytes()
            .into_iter()
            .chain(self.thread.to_le_bytes())
            .chain(process.to_le_bytes())
            .chain(value.to_le_bytes())
            .chain(self.processor.to_le_bytes())
            .chain([kind]);
        raw.iter_mut().zip(fields).for_each(|(byte, field)| *byte = field);
        raw[RECORD_BYTES - 1] = check_byte(&raw);
        raw
    }
}

impl SwitchRecord {
    /// Reads a record; `None` if it is invalid.
    pub(super) fn decode(raw: &RawSwitch) -> Option<SwitchRecord> {
        let [t0, t1, t2, t3, t4, t5, t6, t7, rest @ ..] = *raw;
        let [h0, h1, h2, h3, p0, p1, p2, p3, v0, v1, v2, v3, c0, c1, kind, sum] = rest;
        if sum != check_byte(raw) {
            return None;
        }
        let text = [p0, p1, p2, p3, v0, v1, v2, v3];
        let value = u32::from_le_bytes([v0, v1, v2, v3]);
        let switch = |event: SwitchEvent| ThreadSwitch {
            time: i64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
            processor: u16::from_le_bytes([c0, c1]),
            thread: u32::from_le_bytes([h0, h1, h2, h3]),
            process: match event {
                SwitchEvent::Name(_) => 0,
                _ => u32::from_le_bytes([p0, p1, p2, p3]),
            },
            event,
        };
        let named = || switch(SwitchEvent::Name([0; 16]));
        let half = match kind {
            kind::NAME => SwitchRecord::First(named(), text),
            kind::NAME_REST => SwitchRecord::Rest(named(), text),
            kind::IN => SwitchRecord::Whole(switch(SwitchEvent::In)),
            kind::OUT => SwitchRecord::Whole(switch(SwitchEvent::Out { preempted: false })),
            kind::PREEMPTED => SwitchRecord::Whole(switch(SwitchEvent::Out { preempted: true })),
            kind::START => SwitchRecord::Whole(switch(SwitchEvent::Start { creator: value })),
            kind::EXIT => SwitchRecord::Whole(switch(SwitchEvent::Exit)),
            kind::EXEC => SwitchRecord::Whole(switch(SwitchEvent::Exec)),
            kind::LOST => SwitchRecord::Whole(switch(SwitchEvent::Lost { records: value })),
            kind::MARK => SwitchRecord::Whole(switch(SwitchEvent::Mark)),
            _ => return None,
        };
        let (SwitchRecord::Whole(switch)
        | SwitchRecord::First(switch, _)
        | SwitchRecord::Rest(switch, _)) = half;
        let has_no_thread = matches!(switch.event, SwitchEvent::Lost { .. } | SwitchEvent::Mark);
        let is_possible = has_no_thread || (1..=i32::MAX as u32).contains(&switch.thread);
        (is_possible && TIMES.contains(&switch.time)).then_some(half)
    }
}

/// The last byte of a record, computed from its others: it detects every single-bit error, and all
/// but one in 256 of other damage.
fn check_byte(raw: &RawSwitch) -> u8 {
    raw.iter().take(RECORD_BYTES - 1).fold(CHECK, |sum, byte| sum.rotate_left(1) ^ byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> [u8; 16] {
        let mut name = [0; 16];
        name[..text.len()].copy_from_slice(text.as_bytes());
        name
    }

    #[test]
    fn every_record_is_read_back_as_written() {
        let events = [
            SwitchEvent::In,
            SwitchEvent::Out { preempted: false },
            SwitchEvent::Out { preempted: true },
            SwitchEvent::Start { creator: 7 },
            SwitchEvent::Exit,
            SwitchEvent::Exec,
            SwitchEvent::Lost { records: u32::MAX },
            SwitchEvent::Mark,
        ];
        for event in events {
            let switch = ThreadSwitch { time: 1 << 40, processor: 3, thread: 9, process: 8, event };
            let mut bytes = Vec::new();
            switch.encode(&mut bytes);
            let raw: RawSwitch = bytes.try_into().unwrap();
            assert_eq!(SwitchRecord::decode(&raw), Some(SwitchRecord::Whole(switch)));
        }
        let event = SwitchEvent::Name(name("a long name 123"));
        let switch = ThreadSwitch { time: 5, processor: 3, thread: 9, process: 0, event };
        let mut bytes = Vec::new();
        switch.encode(&mut bytes);
        let (first, rest) = bytes.split_at(RECORD_BYTES);
        let of = |bytes: &[u8]| SwitchRecord::decode(bytes.try_into().unwrap());
        let empty = ThreadSwitch { event: SwitchEvent::Name([0; 16]), ..switch };
        assert_eq!(of(first), Some(SwitchRecord::First(empty, *b"a long n")));
        assert_eq!(of(rest), Some(SwitchRecord::Rest(empty, *b"ame 123\0")));
    }

    #[test]
    fn a_single_wrong_bit_invalidates_a_record() {
        let event = SwitchEvent::Start { creator: 7 };
        let mut bytes = Vec::new();
        ThreadSwitch { time: 123_456_789, processor: 1, thread: 9, process: 8, event }
            .encode(&mut bytes);
        for bit in 0..8 * RECORD_BYTES {
            let mut raw: RawSwitch = bytes.clone().try_into().unwrap();
            raw[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SwitchRecord::decode(&raw), None, "bit {bit}");
        }
        assert_eq!(SwitchRecord::decode(&[0; RECORD_BYTES]), None, "zeros");
    }
}
