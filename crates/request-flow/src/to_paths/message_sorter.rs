//! Sorts messages by time, and writes their tables. Until messages are sorted they are numbered in
//! the order in which they were made; then each message and its cause are identified by their rows.

use std::fmt::{self, Write};
use std::path::Path;

use analyze::infer::CauseWriter;
use message_trace::table::{GROUP_ROWS, GroupEncoder, GroupWriter, MessageTexts, RowGroup};
use message_trace::{DataDir, DataPath, EndpointId, PathError};
use out_of_core::{ExternalSorter, MemoryBudget, MemoryPool, ReadFailure, SpillableVec, workers};

use super::message_record::{MessageRecord, NO_CAUSE};
use crate::tuning::MESSAGES_AT_ONCE;

/// Sorter of all messages by time.
pub(super) struct MessageSorter<'a> {
    sorter: ExternalSorter<'a, MessageRecord>,
    /// Number of messages so far.
    made: u64,
    /// Number of steps so far.
    steps: u64,
}

impl<'a> MessageSorter<'a> {
    /// Creates a sorter without messages. Data beyond `budget` is moved to a temporary file in
    /// `directory`.
    pub(super) fn new(budget: &'a MemoryBudget, directory: &Path) -> MessageSorter<'a> {
        let sorter = ExternalSorter::new(budget, directory, MESSAGES_AT_ONCE);
        MessageSorter { sorter, made: 0, steps: 0 }
    }

    /// Returns the number of messages.
    pub(super) fn len(&self) -> u64 {
        self.made
    }

    /// Adds the messages of the next group of requests, which has `steps` steps.
    pub(super) fn push_group(
        &mut self,
        records: Vec<MessageRecord>,
        steps: u64,
    ) -> Result<(), PathError> {
        let count = records.len() as u64;
        for mut record in records {
            record.made += self.made;
            record.step += self.steps;
            if record.cause != NO_CAUSE {
                record.cause += self.made;
            }
            self.sorter.push(record)?;
        }
        self.made += count;
        self.steps += steps;
        Ok(())
    }

    /// Writes messages and causes to `data`. `endpoints` are the texts of endpoints.
    pub(super) fn write_tables(
        self,
        data: &DataDir,
        endpoints: &[String],
        pool: &MemoryPool,
    ) -> Result<(), PathError> {
        let sorted = self.sorter.finish();
        let failed = ReadFailure::default();
        let mut table = GroupWriter::create(data.messages_path())?;
        let mut causes = MessageCauses::new(pool, self.made)?;
        let (mut written, mut waiting): (u64, Vec<MessageRecord>) = (0, Vec::new());
        let most = GROUP_ROWS * workers::thread_count();
        let mut records = sorted.iter(&failed);
        loop {
            waiting.clear();
            waiting.extend(records.by_ref().take(most));
            if waiting.is_empty() {
                break;
            }
            for record in &waiting {
                causes.push_cause(record)?;
            }
            let groups: Vec<&[MessageRecord]> = waiting.chunks(GROUP_ROWS).collect();
            let (encoder, first) = (table.encoder(), written as i64);
            let work = |group: usize| {
                encode_messages(
                    &encoder,
                    first + (group * GROUP_ROWS) as i64,
                    groups[group],
                    endpoints,
                )
            };
            let append = |_, group: RowGroup| table.append_group(group);
            workers::run_in_order(workers::thread_count(), groups.len(), work, append)?;
            written += waiting.len() as u64;
        }
        failed.check_failure()?;
        table.finish()?;
        causes.write_table(&data.causes_path())
    }
}

/// The causes of all messages.
struct MessageCauses {
    /// The cause of each message, by row.
    of_row: SpillableVec<MessageCause>,
    /// The row of each message, by its number in the order in which messages were made.
    rows: SpillableVec<u64>,
}

/// The cause of a message.
#[derive(Clone, Copy)]
struct MessageCause {
    /// Number of the cause in the order in which messages were made, or [`NO_CAUSE`].
    made: u64,
    probability: f64,
}

impl MessageCauses {
    fn new(pool: &MemoryPool, messages: u64) -> Result<MessageCauses, PathError> {
        let rows = SpillableVec::filled(pool, messages as usize, 0)?;
        Ok(MessageCauses { of_row: SpillableVec::new(pool), rows })
    }

    fn push_cause(&mut self, record: &MessageRecord) -> Result<(), PathError> {
        if let Some(row) = self.rows.get_mut(record.made as usize) {
            *row = self.of_row.len() as u64;
        }
        self.of_row.push(MessageCause { made: record.cause, probability: record.probability })
    }

    fn write_table(&self, path: &DataPath) -> Result<(), PathError> {
        let mut writer = CauseWriter::create(path)?;
        for cause in self.of_row.iter() {
            let row = match cause.made {
                NO_CAUSE => None,
                made => self.rows.get(made as usize).copied(),
            };
            writer.push(row, cause.probability)?;
        }
        writer.finish()
    }
}

/// The texts of a group of messages.
struct GroupTexts<'a> {
    endpoints: &'a [String],
    /// The concatenated call ids, and where the id of each row ends.
    calls: String,
    ends: Vec<u32>,
}

impl MessageTexts for GroupTexts<'_> {
    fn write_endpoint(&self, id: EndpointId, text: &mut impl fmt::Write) {
        // Writing into memory does not fail.
        let _ = text.write_str(self.endpoints.get(id.index()).map_or("", String::as_str));
    }

    fn call_id(&self, row: usize) -> Option<&str> {
        let begin = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.calls.get(begin as usize..*self.ends.get(row)? as usize)
    }
}

/// Encodes messages as a row group; the first is message `first`. The call id of a message is the
/// number of its step.
fn encode_messages(
    encoder: &GroupEncoder,
    first: i64,
    records: &[MessageRecord],
    endpoints: &[String],
) -> Result<RowGroup, PathError> {
    let mut texts = GroupTexts { endpoints, calls: String::new(), ends: Vec::new() };
    for record in records {
        let _ = write!(texts.calls, "{}", record.step);
        texts.ends.push(texts.calls.len() as u32);
    }
    encoder.encode_group(first, records.len(), |row| records[row].to_message(), &texts)
}

#[cfg(test)]
mod tests {
    use message_trace::table::{columns::BatchColumns, read_batches};
    use message_trace::{FlowId, MessageTrace, Node, NodeList};

    use super::super::message_record::{NIL, NO_THREAD};
    use super::*;

    /// A message at the time `time`, with its number and the number of its cause within the group.
    fn record(time: i64, made: u64, cause: u64) -> MessageRecord {
        MessageRecord {
            sent: time,
            received: NIL,
            made,
            cause,
            probability: 1.0,
            step: made / 2,
            flow: FlowId::default(),
            bytes: time,
            src: 0,
            dst: 0,
            src_endpoint: 0,
            dst_endpoint: 1,
            src_tid: NO_THREAD,
            dst_tid: 7,
            direction: 0,
            protocol: 0,
            unused: [0; 6],
        }
    }

    #[test]
    fn overlapping_groups_are_sorted_and_causes_are_the_same_messages() {
        for memory in [0, u64::MAX] {
            let directory = tempfile::tempdir().unwrap();
            let data = DataDir::new(directory.path());
            let budget = MemoryBudget::new(memory);
            let mut messages = MessageSorter::new(&budget, data.path());
            let first = vec![record(10, 0, NO_CAUSE), record(30, 1, 0), record(50, 2, 1)];
            let second = vec![record(20, 0, NO_CAUSE), record(30, 1, 0), record(30, 2, 1)];
            messages.push_group(first, 2).unwrap();
            messages.push_group(second, 2).unwrap();
            let endpoints = [String::new(), "Get".to_owned()];
            let pool = MemoryPool::new(memory, data.path());
            messages.write_tables(&data, &endpoints, &pool).unwrap();
            NodeList(vec![Node::default()]).write(data.nodes_path()).unwrap();
            let trace = MessageTrace::read(data.messages_path(), data.nodes_path()).unwrap();
            let seen: Vec<_> = trace
                .ids()
                .map(|row| (trace.send_ts(row).unwrap(), trace.call_id(row).unwrap()))
                .collect();
            assert_eq!(seen, [(10, "0"), (20, "2"), (30, "0"), (30, "2"), (30, "3"), (50, "1")]);
            let message = trace.messages().next().unwrap();
            assert_eq!(trace.endpoint(message.dst_endpoint).unwrap().to_string(), "Get");
            assert_eq!((message.dst_tid, message.recv_ts, message.bytes), (Some(7), None, 10));
            let mut parents = Vec::new();
            for batch in read_batches(data.causes_path()).unwrap() {
                let batch = batch.unwrap();
                parents.extend(
                    BatchColumns::new(data.causes_path(), &batch).int64_column("parent").unwrap(),
                );
            }
            assert_eq!(parents, [None, None, Some(0), Some(1), Some(3), Some(2)]);
        }
    }
}
