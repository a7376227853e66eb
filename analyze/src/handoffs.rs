//! Recorded hand-offs between the threads of a process: which thread signalled which object, and
//! which thread woke by it. They are stored in the table `handoffs.parquet` next to the messages,
//! one row each, ordered by wake-up. Without the table no hand-offs are known.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `signalled`, `woken` | Int64 | times of the signal and of the wake-up, ns, common clock |
//! | `node` | Int64 | the process, a row of `nodes.parquet` |
//! | `from_tid`, `to_tid` | Int32 | the threads; `to_tid` 0: no thread waited |
//! | `object` | Int64 | the signalled object: a condition, a semaphore, a pipe |

use std::collections::VecDeque;

use message_trace::table::columns::BatchColumns;
use message_trace::table::{self, TableBatches};
use message_trace::{DataDir, DataPath, MessageTrace, NodeId, PathError};

use crate::tuning::handoffs::MAX_PER_MESSAGE;

/// A signal from one thread, and the thread that it woke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// Time of the signal, in nanoseconds on the common clock.
    pub signalled: i64,
    /// Time at which the other thread woke, in nanoseconds on the common clock.
    pub woken: i64,
    /// The process of both threads.
    pub node: NodeId,
    /// The thread that signalled.
    pub from: i32,
    /// The thread that woke; `None` if no thread waited.
    pub to: Option<i32>,
    /// The signalled object, by a number that identifies it within the process.
    pub object: i64,
}

/// Reads the hand-offs of a data directory batch by batch.
pub(crate) struct HandoffReader {
    path: DataPath,
    batches: TableBatches,
    /// Rows that were read and may be requested again, since batches overlap.
    read: VecDeque<Handoff>,
}

impl HandoffReader {
    /// Opens the hand-offs of `data`, if it has any.
    ///
    /// # Errors
    /// If the table exists but cannot be read.
    pub(crate) fn open(data: &DataDir) -> Result<Option<HandoffReader>, PathError> {
        let path = data.handoffs_path();
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(HandoffReader {
            batches: table::read_batches(&path)?,
            path,
            read: VecDeque::new(),
        }))
    }

    /// Reads the hand-offs within the time of the messages of a batch. Batches must come in order.
    /// If there are very many hand-offs, as for a lock that all threads contend for, the last ones
    /// are left out.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(crate) fn read_for_batch(
        &mut self,
        batch: &MessageTrace,
    ) -> Result<Vec<Handoff>, PathError> {
        let times = batch.ids().flat_map(|id| [batch.send_ts(id), batch.recv_ts(id)]).flatten();
        let (first, last) = times
            .fold((i64::MAX, i64::MIN), |(first, last), time| (time.min(first), time.max(last)));
        while self.read.front().is_some_and(|handoff| handoff.woken < first) {
            self.read.pop_front();
        }
        let most = MAX_PER_MESSAGE.saturating_mul(batch.len());
        while self.read.len() < most && self.read.back().is_none_or(|row| row.woken <= last) {
            let Some(batch) = self.batches.next() else { break };
            self.append_rows(&BatchColumns::new(&self.path, &batch?), first)?;
        }
        let until = self.read.partition_point(|handoff| handoff.woken <= last);
        Ok(self.read.range(..until.min(most)).copied().collect())
    }

    /// Appends the rows of a table batch that are hand-offs from one thread to another.
    fn append_rows(&mut self, table: &BatchColumns<'_>, first: i64) -> Result<(), PathError> {
        let [signalled, woken, node, object] =
            ["signalled", "woken", "node", "object"].map(|name| table.int64_column(name));
        let (signalled, woken, node, object) = (signalled?, woken?, node?, object?);
        let [from, to] = ["from_tid", "to_tid"].map(|name| table.int32_column(name));
        let (from, to) = (from?, to?);
        let times = signalled.into_iter().zip(woken).zip(object);
        for (((times, node), from), to) in times.zip(node).zip(from).zip(to) {
            let ((signalled, woken), object) = times;
            let row = (|| {
                let node = NodeId::from_index(u32::try_from(node?).ok()? as usize);
                let (from, to) = (from?, to?);
                let [signalled, woken, object] = [signalled?, woken?, object?];
                let to = Some(to).filter(|to| *to > 0);
                Some(Handoff { signalled, woken, node, from, to, object })
            })();
            self.read.extend(
                row.filter(|row| row.to != Some(row.from) && row.from > 0 && row.woken >= first),
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;
    use message_trace::table::BatchWriter;
    use message_trace::table::columns::{self, required_field};

    use super::*;
    use crate::fixture::Fixture;

    /// A data directory with a hand-off every 10 ns between the given pairs of threads.
    fn directory(threads: &[[i32; 2]]) -> (tempfile::TempDir, DataDir) {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let schema = columns::build_schema([
            required_field("signalled", DataType::Int64),
            required_field("woken", DataType::Int64),
            required_field("node", DataType::Int64),
            required_field("from_tid", DataType::Int32),
            required_field("to_tid", DataType::Int32),
            required_field("object", DataType::Int64),
        ]);
        let int64 = |of: &dyn Fn(i64) -> i64| {
            columns::int64_array((0..threads.len() as i64).map(|at| Some(of(at))))
        };
        let int32 = |side: usize| columns::int32_array(threads.iter().map(|pair| Some(pair[side])));
        let arrays = vec![
            int64(&|at| 10 * at),
            int64(&|at| 10 * at + 3),
            int64(&|_| 7),
            int32(0),
            int32(1),
            int64(&|at| 100 + at % 2),
        ];
        let path = data.handoffs_path();
        let mut writer = BatchWriter::create(&path, schema.clone()).unwrap();
        writer.write_batch(&columns::build_batch(&path, &schema, arrays).unwrap()).unwrap();
        writer.finish().unwrap();
        (directory, data)
    }

    /// A batch of messages from one time to another.
    fn batch(first: i64, last: i64) -> MessageTrace {
        let mut fixture = Fixture::new();
        fixture.send("x", "s", first, first + 1);
        fixture.send("x", "s", last - 1, last);
        fixture.trace()
    }

    #[test]
    fn each_batch_has_the_hand_offs_of_its_time() {
        let mut threads = vec![[1, 2]; 40];
        // A hand-off that woke no thread, one from a thread to itself, and one from no thread.
        (threads[20], threads[21], threads[22]) = ([1, 0], [3, 3], [0, 2]);
        let (_directory, data) = directory(&threads);
        let mut all = HandoffReader::open(&data).unwrap().unwrap();
        let woken = |rows: &[Handoff]| rows.iter().map(|row| row.woken).collect::<Vec<i64>>();
        assert_eq!(woken(&all.read_for_batch(&batch(50, 83)).unwrap()), [53, 63, 73, 83]);
        // Batches overlap.
        let rows = all.read_for_batch(&batch(70, 240)).unwrap();
        assert_eq!(woken(&rows)[..2], [73, 83]);
        assert_eq!(woken(&rows)[13..], [203, 233]);
        let to_no_thread = Handoff {
            signalled: 200,
            woken: 203,
            node: NodeId::from_index(7),
            from: 1,
            to: None,
            object: 100,
        };
        assert_eq!((rows[13], rows[14].to), (to_no_thread, Some(2)));
        assert_eq!(all.read_for_batch(&batch(9000, 9001)).unwrap(), []);
    }

    #[test]
    fn without_the_table_there_are_no_hand_offs() {
        let directory = tempfile::tempdir().unwrap();
        assert!(HandoffReader::open(&DataDir::new(directory.path())).unwrap().is_none());
    }
}
