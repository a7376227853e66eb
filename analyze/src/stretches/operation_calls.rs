//! Call ids that operations tell (a stream of HTTP/2, an id of DNS): on one connection they pair a
//! request with its response, as ids of imports do. They are in `operations.parquet`, in the order
//! of the messages; without that table there are none.

use std::collections::VecDeque;

use message_trace::table::operations::{OperationReader, OperationRole};
use message_trace::{DataDir, MessageTrace, PathError};

/// The call ids of a data directory, read stretch by stretch.
pub(super) struct OperationCalls {
    reader: OperationReader,
    /// Messages with their ids that were read and not asked for yet.
    read: VecDeque<(u64, u64)>,
    is_read: bool,
}

impl OperationCalls {
    /// Those of `data`, if it has operations.
    ///
    /// # Errors
    /// When there is a table that cannot be read.
    pub(super) fn open(data: &DataDir) -> Result<Option<OperationCalls>, PathError> {
        let reader = OperationReader::open(&data.operations())?;
        let of = |reader| OperationCalls { reader, read: VecDeque::new(), is_read: false };
        Ok(reader.map(of))
    }

    /// Gives ids to the messages of `trace` from row `from` on, which are asked for in their order.
    /// `first` is the number of its first message in the whole trace. What has an id keeps it.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub(super) fn give(
        &mut self,
        trace: &mut MessageTrace,
        from: usize,
        first: u64,
    ) -> Result<(), PathError> {
        let end = first + trace.len() as u64;
        while !self.is_read && self.read.back().is_none_or(|(message, _)| *message < end) {
            let read = &mut self.read;
            self.is_read = !self.reader.read(|row| {
                // What nobody answers is paired with nothing.
                let call = row.call.filter(|_| row.role != OperationRole::OneWay);
                read.extend(call.map(|call| (row.message, call)));
            })?;
        }
        let own = self.read.partition_point(|(message, _)| *message < end);
        for (message, call) in self.read.drain(..own) {
            let row = message.checked_sub(first).map_or(usize::MAX, |row| row as usize);
            if row >= from && row < trace.len() && trace.call_number(row).is_none() {
                // Ids are those of a connection.
                let id = format!("{}/{call}", trace.flow(row));
                trace.set_call_id(row, &id);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use message_trace::table::operations::{OperationRow, OperationWriter};

    use super::*;
    use crate::fixture::Fixture;

    /// Writes the operations of messages, each with its role and its call id, to `data`.
    pub(in crate::stretches) fn write(
        data: &DataDir,
        operations: &[(u64, OperationRole, Option<u64>)],
    ) {
        let mut writer = OperationWriter::create(&data.operations()).unwrap();
        for (message, role, call) in operations {
            let row = OperationRow {
                message: *message,
                role: *role,
                protocol: "http2",
                name: "",
                detail: "",
                status: "",
                is_error: false,
                call: *call,
                trace_id: None,
                parent_id: None,
            };
            writer.push(&row).unwrap();
        }
        writer.finish().unwrap();
    }

    #[test]
    fn messages_have_the_ids_of_their_operations_in_any_stretches() {
        let mut trace = Fixture::new();
        for at in 0..9 {
            trace.send("x", "s", 10 * at, 10 * at + 1).on(at % 2);
        }
        let whole = trace.trace();
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let [asks, answers, tells] = OperationRole::ALL;
        write(
            &data,
            &[
                (1, asks, Some(5)),
                (2, tells, Some(5)),
                (4, answers, None),
                (6, answers, Some(7)),
                (8, tells, Some(7)),
            ],
        );
        let expected = [(1, "1/5"), (6, "0/7")];
        for length in 1..10 {
            let mut calls = OperationCalls::open(&data).unwrap().unwrap();
            let mut found = Vec::new();
            for first in (0..9).step_by(length) {
                // One message before the stretch is there as well.
                let begin = first.max(1) - 1;
                let mut stretch = MessageTrace::new(whole.nodes.clone());
                stretch.append_rows(&whole, begin..(first + length).min(9));
                calls.give(&mut stretch, first - begin, begin as u64).unwrap();
                let own = first - begin..stretch.len();
                found.extend(
                    own.filter_map(|row| {
                        stretch.call_id(row).map(|id| (begin + row, id.to_owned()))
                    }),
                );
            }
            let found: Vec<(usize, &str)> =
                found.iter().map(|(row, id)| (*row, id.as_str())).collect();
            assert_eq!(found, expected, "{length}");
        }
        let nothing = tempfile::tempdir().unwrap();
        assert!(OperationCalls::open(&DataDir::new(nothing.path())).unwrap().is_none());
    }
}
