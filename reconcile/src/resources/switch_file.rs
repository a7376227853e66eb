//! File of switches: its records sorted by time, with the gaps among them, and what each thread
//! did. Memory is bounded: the records are sorted in temporary files.

use std::path::Path;

use message_trace::PathError;
use out_of_core::{ExternalSorter, KeyedRecord, MemoryBudget, ReadFailure};
use rustc_hash::FxHashMap;
use socket_log::switches::{SwitchEntry, SwitchEvent, SwitchLog, ThreadSwitch};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::resources::threads::{ThreadEvent, ThreadInput, ThreadTracker};
use crate::tuning::SORTED_AT_ONCE;

/// A [`ThreadInput`] in the form in which it is sorted.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct ThreadInputRow {
    time: i64,
    name: [u8; 16],
    thread: u32,
    process: u32,
    creator: u32,
    processor: u16,
    /// A value of the module [`what`].
    what: u16,
}

impl KeyedRecord for ThreadInputRow {
    type Key = i64;

    fn key(&self) -> i64 {
        self.time
    }
}

/// Values of `ThreadInputRow::what`.
mod what {
    pub(super) const IN: u16 = 0;
    pub(super) const OUT: u16 = 1;
    pub(super) const PREEMPTED: u16 = 2;
    pub(super) const START: u16 = 3;
    pub(super) const EXIT: u16 = 4;
    pub(super) const EXEC: u16 = 5;
    pub(super) const NAME: u16 = 6;
    pub(super) const GAP_BEGIN: u16 = 7;
    pub(super) const GAP_END: u16 = 8;
}

impl ThreadInputRow {
    /// The row of an input; `None` for records that are no input.
    fn from_input(time: i64, step: &ThreadInput) -> Option<ThreadInputRow> {
        let mut row = ThreadInputRow {
            time,
            name: [0; 16],
            thread: 0,
            process: 0,
            creator: 0,
            processor: 0,
            what: 0,
        };
        match *step {
            ThreadInput::GapBegin(_, processor) => {
                (row.processor, row.what) = (processor, what::GAP_BEGIN);
            }
            ThreadInput::GapEnd(processor) => {
                (row.processor, row.what) = (processor, what::GAP_END)
            }
            ThreadInput::Switch(ThreadSwitch { processor, thread, process, event, .. }) => {
                (row.processor, row.thread, row.process) = (processor, thread, process);
                row.what = match event {
                    SwitchEvent::In => what::IN,
                    SwitchEvent::Out { preempted: false } => what::OUT,
                    SwitchEvent::Out { preempted: true } => what::PREEMPTED,
                    SwitchEvent::Start { creator } => {
                        row.creator = creator;
                        what::START
                    }
                    SwitchEvent::Exit => what::EXIT,
                    SwitchEvent::Exec => what::EXEC,
                    SwitchEvent::Name(name) => {
                        row.name = name;
                        what::NAME
                    }
                    SwitchEvent::Lost { .. } | SwitchEvent::Mark => return None,
                };
            }
        }
        Some(row)
    }

    fn to_input(&self) -> ThreadInput {
        let event = match self.what {
            what::GAP_BEGIN => return ThreadInput::GapBegin(self.time, self.processor),
            what::GAP_END => return ThreadInput::GapEnd(self.processor),
            what::IN => SwitchEvent::In,
            what::OUT => SwitchEvent::Out { preempted: false },
            what::PREEMPTED => SwitchEvent::Out { preempted: true },
            what::START => SwitchEvent::Start { creator: self.creator },
            what::EXIT => SwitchEvent::Exit,
            what::EXEC => SwitchEvent::Exec,
            _ => SwitchEvent::Name(self.name),
        };
        let ThreadInputRow { time, processor, thread, process, .. } = *self;
        ThreadInput::Switch(ThreadSwitch { time, processor, thread, process, event })
    }
}

/// Gaps in the part of a file that was read.
struct SwitchGaps {
    /// The latest time of each processor, in nanoseconds of the monotonic clock.
    latest: FxHashMap<u16, i64>,
    /// Time up to which the records are complete.
    mark: i64,
    /// Whether unreadable records have occurred since.
    is_damaged: bool,
}

/// Calls `each` with all inputs of the file, each with its time, in the order of the file.
fn for_each_input(log: &SwitchLog, mut each: impl FnMut(i64, ThreadInput)) {
    let begin = log.header().start.monotonic;
    let mut gaps = SwitchGaps { latest: FxHashMap::default(), mark: begin, is_damaged: false };
    let any = ThreadSwitch::ANY_PROCESSOR;
    log.for_each(|found| match found {
        SwitchEntry::Switch(switch) => {
            let ThreadSwitch { time, processor, event, .. } = switch;
            match event {
                SwitchEvent::Lost { .. } => {
                    let latest = gaps.latest.get(&processor).copied().unwrap_or(begin);
                    let since = latest.max(gaps.mark).min(time);
                    each(since, ThreadInput::GapBegin(since, processor));
                    each(time, ThreadInput::GapEnd(processor));
                }
                SwitchEvent::Mark => {
                    gaps.mark = gaps.mark.max(time);
                    if std::mem::take(&mut gaps.is_damaged) {
                        each(time, ThreadInput::GapEnd(any));
                    }
                    return;
                }
                _ => each(time, ThreadInput::Switch(switch)),
            }
            let latest = gaps.latest.entry(processor).or_insert(time);
            *latest = time.max(*latest);
        }
        SwitchEntry::Damaged(_) => {
            if !std::mem::replace(&mut gaps.is_damaged, true) {
                each(gaps.mark, ThreadInput::GapBegin(gaps.mark, any));
            }
        }
    });
    // Nothing was recorded from here on.
    each(gaps.mark, ThreadInput::GapBegin(gaps.mark, any));
}

/// Calls `each` with the events of the threads of a file, by the machine's monotonic clock.
///
/// # Errors
/// Fails if a temporary file in `directory` cannot be written or read, or `each` fails.
pub(crate) fn for_each_thread_event(
    log: &SwitchLog,
    budget: &MemoryBudget,
    directory: &Path,
    mut each: impl FnMut(ThreadEvent) -> Result<(), PathError>,
) -> Result<(), PathError> {
    let mut sorter = ExternalSorter::new(budget, directory, SORTED_AT_ONCE);
    let mut result = Ok(());
    for_each_input(log, |time, step| {
        if let Some(row) = ThreadInputRow::from_input(time, &step).filter(|_| result.is_ok()) {
            result = sorter.push(row);
        }
    });
    result?;
    let (sorted, failed) = (sorter.finish(), ReadFailure::default());
    let mut threads = ThreadTracker::default();
    for row in sorted.iter(&failed) {
        let mut result = Ok(());
        threads.apply_input(row.to_input(), &mut |event| {
            if result.is_ok() {
                result = each(event);
            }
        });
        result?;
    }
    failed.check_failure()
}

#[cfg(test)]
mod tests {
    use socket_log::switches::{SwitchFileHeader, SwitchWriter};

    use super::*;
    use crate::resources::threads::ThreadChange;

    fn switch_record(time: i64, thread: u32, processor: u16, event: SwitchEvent) -> ThreadSwitch {
        ThreadSwitch { time, processor, thread, process: 10, event }
    }

    fn mark(time: i64) -> ThreadSwitch {
        let (processor, event) = (ThreadSwitch::ANY_PROCESSOR, SwitchEvent::Mark);
        ThreadSwitch { time, processor, thread: 0, process: 0, event }
    }

    /// Time, thread and change of the events of a file with these records; `damage` is the index of
    /// a damaged record.
    fn changes_in_file(
        switches: &[ThreadSwitch],
        damage: Option<usize>,
    ) -> Vec<(i64, u32, ThreadChange)> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("1-1.switches");
        let about = SwitchFileHeader { monotonic: 100, ..SwitchFileHeader::default() };
        let mut writer = SwitchWriter::create(&path, &about).unwrap();
        switches.iter().for_each(|switch| writer.push(switch));
        writer.flush(0).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        if let Some(place) = damage {
            bytes[4096 + 24 * place + 8] ^= 1;
        }
        let log = SwitchLog::from_bytes(&path, bytes).unwrap();
        let budget = MemoryBudget::new(1 << 20);
        let mut found = Vec::new();
        for_each_thread_event(&log, &budget, directory.path(), |event| {
            found.push((event.time, event.thread, event.change));
            Ok(())
        })
        .unwrap();
        found
    }

    const OUT: ThreadChange = ThreadChange::Out { preempted: false };

    #[test]
    fn records_of_several_processors_come_in_the_order_of_time() {
        let switches = [
            switch_record(200, 11, 0, SwitchEvent::In),
            switch_record(300, 11, 0, SwitchEvent::Out { preempted: false }),
            switch_record(250, 12, 1, SwitchEvent::In),
            switch_record(400, 11, 1, SwitchEvent::In),
            mark(500),
        ];
        let expected = [
            (200, 11, ThreadChange::In),
            (250, 12, ThreadChange::In),
            (300, 11, OUT),
            (400, 11, ThreadChange::In),
            // Nothing was recorded from here on.
            (500, 11, ThreadChange::Unknown),
            (500, 12, ThreadChange::Unknown),
        ];
        assert_eq!(changes_in_file(&switches, None), expected);
    }

    #[test]
    fn around_lost_records_the_state_is_unknown() {
        let switches = [
            switch_record(200, 11, 0, SwitchEvent::In),
            switch_record(210, 12, 1, SwitchEvent::In),
            switch_record(300, 0, 0, SwitchEvent::Lost { records: 3 }),
            switch_record(350, 11, 0, SwitchEvent::In),
            mark(500),
        ];
        let expected = [
            (200, 11, ThreadChange::In),
            (200, 11, ThreadChange::Unknown),
            (210, 12, ThreadChange::In),
            (350, 11, ThreadChange::In),
            (500, 11, ThreadChange::Unknown),
            (500, 12, ThreadChange::Unknown),
        ];
        assert_eq!(changes_in_file(&switches, None), expected);
        // Up to the mark the activity of the threads is known.
        let marked = [switches[0], switches[1], mark(260), switches[2], switches[3], mark(500)];
        assert!(changes_in_file(&marked, None).contains(&(260, 11, ThreadChange::Unknown)));
    }

    #[test]
    fn a_damaged_record_makes_everything_unknown_between_two_marks() {
        let switches = [
            switch_record(200, 11, 0, SwitchEvent::In),
            mark(220),
            switch_record(240, 11, 0, SwitchEvent::Out { preempted: false }),
            switch_record(260, 11, 0, SwitchEvent::In),
            mark(300),
            switch_record(400, 11, 0, SwitchEvent::Out { preempted: false }),
            mark(500),
        ];
        let expected = [
            (200, 11, ThreadChange::In),
            (220, 11, ThreadChange::Unknown),
            (260, 11, ThreadChange::In),
            (260, 11, ThreadChange::Unknown),
            (400, 11, OUT),
            (500, 11, ThreadChange::Unknown),
        ];
        assert_eq!(changes_in_file(&switches, Some(2)), expected);
    }
}
