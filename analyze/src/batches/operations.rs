//! Operations of the messages of a batch, from `operations.parquet`, which is in the order of the
//! messages; without that table no operations are known. Call ids (a stream of HTTP/2, an id of
//! DNS) pair a request with its response on one connection, as the call ids of imported traces do.

use std::collections::VecDeque;

use message_trace::table::operations::{OperationReader, OperationRole};
use message_trace::{DataDir, MessageId, MessageTrace, OperationFacts, PathError};

use super::operation_names::OperationNames;
use crate::evidence::Evidence;
use crate::options::Options;

/// The operations of a data directory, read batch by batch.
pub(super) struct OperationCursor {
    reader: OperationReader,
    names: OperationNames,
    /// Messages that were read ahead, with their operations and call ids.
    read: VecDeque<(u64, OperationFacts, Option<u64>)>,
    /// Whether the table was read to its end.
    is_exhausted: bool,
    /// Whether operations are evidence; otherwise they only name messages.
    is_evidence: bool,
}

/// Attaches operations to the messages of `trace`, which is all of `data`, as an analysis with
/// `options` did: with call ids, unless operations are excluded as evidence.
///
/// # Errors
/// If the table of operations exists but cannot be read.
pub fn attach_operations(
    trace: &mut MessageTrace,
    data: &DataDir,
    options: &Options,
) -> Result<(), PathError> {
    let is_evidence = !options.without.contains(&Evidence::Operations);
    match OperationCursor::open(data, is_evidence)? {
        Some(mut operations) => operations.attach_to_batch(trace, 0, 0),
        None => Ok(()),
    }
}

impl OperationCursor {
    /// Opens the operations of `data`, if it has any. If they are no evidence, they only name
    /// messages and give neither call ids nor the traces of tracers.
    ///
    /// # Errors
    /// If the table exists but cannot be read.
    pub(super) fn open(
        data: &DataDir,
        is_evidence: bool,
    ) -> Result<Option<OperationCursor>, PathError> {
        let reader = OperationReader::open(data.operations_path())?;
        Ok(reader.map(|reader| OperationCursor {
            reader,
            names: OperationNames::default(),
            read: VecDeque::new(),
            is_exhausted: false,
            is_evidence,
        }))
    }

    /// Returns the names that were read so far.
    pub(super) fn names(&self) -> &[String] {
        self.names.all_names()
    }

    /// Attaches operations to the messages of `trace` from row `from` on; calls must follow the
    /// order of the trace. `first` is the number of the first message of `trace` in the whole
    /// trace. A message that has a call id keeps it.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub(super) fn attach_to_batch(
        &mut self,
        trace: &mut MessageTrace,
        from: usize,
        first: u64,
    ) -> Result<(), PathError> {
        let end = first + trace.len() as u64;
        while !self.is_exhausted && self.read.back().is_none_or(|(message, ..)| *message < end) {
            let OperationCursor { read, names, is_evidence, .. } = self;
            let is_evidence = *is_evidence;
            self.is_exhausted = !self.reader.read_batch(|row| {
                let is_one_way = row.role == OperationRole::OneWay;
                let facts = OperationFacts {
                    role: match is_one_way && !is_evidence {
                        true => OperationRole::Request,
                        false => row.role,
                    },
                    name: names.intern(row.name),
                    is_error: row.is_error,
                    trace: row.trace_id.filter(|_| is_evidence).map(|id| id as u64),
                    span: row.parent_id.filter(|_| is_evidence),
                };
                // A one-way message is paired with no other.
                let call = row.call.filter(|_| is_evidence && !is_one_way);
                read.push_back((row.message, facts, call));
            })?;
        }
        let count = self.read.partition_point(|(message, ..)| *message < end);
        let mut last = None;
        for (message, facts, call) in self.read.drain(..count) {
            let row = message.checked_sub(first).map_or(usize::MAX, |row| row as usize);
            if row < from || row >= trace.len() || last == Some(row) {
                continue;
            }
            last = Some(row);
            let row = MessageId::from_index(row);
            trace.set_operation(row, facts);
            if let Some(call) = call.filter(|_| trace.call_number(row).is_none()) {
                // Call ids are unique within a connection only.
                let id = format!("{}/{call}", trace.flow(row).number());
                trace.set_call_id(row, &id);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use message_trace::table::operations::OperationRow;

    use super::*;
    use crate::fixture::{Fixture, operation, write_operations};

    #[test]
    fn messages_get_their_operations_in_batches_of_any_length() {
        let mut trace = Fixture::new();
        for at in 0..9 {
            trace.send("x", "s", 10 * at, 10 * at + 1).on(at % 2);
        }
        let whole = trace.trace();
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let [request, response, one_way] = OperationRole::ALL;
        let with_call = |message, role, call| OperationRow { call, ..operation(message, role) };
        let named = OperationRow { name: "GET /", ..with_call(1, request, Some(5)) };
        let failed = OperationRow { is_error: true, ..operation(4, response) };
        let with_trace = OperationRow { trace_id: Some(1 << 64 | 7), parent_id: Some(9), ..failed };
        write_operations(
            &data,
            &[
                named,
                OperationRow { name: "tell", ..with_call(2, one_way, Some(5)) },
                with_trace,
                with_call(6, response, Some(7)),
                OperationRow { name: "GET /", ..with_call(8, one_way, Some(7)) },
            ],
        );
        let facts =
            |role, name| OperationFacts { role, name, is_error: false, trace: None, span: None };
        let of_four = OperationFacts {
            is_error: true,
            trace: Some(7),
            span: Some(9),
            ..facts(response, None)
        };
        let expected = [
            (1, facts(request, Some(1)), Some("1/5")),
            (2, facts(one_way, Some(2)), None),
            (4, of_four, None),
            (6, facts(response, None), Some("0/7")),
            (8, facts(one_way, Some(1)), None),
        ];
        for (length, is_evidence) in (1..10).flat_map(|length| [(length, true), (length, false)]) {
            let mut operations = OperationCursor::open(&data, is_evidence).unwrap().unwrap();
            let mut found = Vec::new();
            for first in (0..9).step_by(length) {
                // One message before the batch is included.
                let begin = first.max(1) - 1;
                let mut batch = MessageTrace::new(whole.nodes.clone());
                batch.append_rows(&whole, begin..(first + length).min(9));
                operations.attach_to_batch(&mut batch, first - begin, begin as u64).unwrap();
                for row in MessageId::of_rows(first - begin..batch.len()) {
                    let id = batch.call_id(row).map(str::to_owned);
                    found.extend(
                        batch.operations(row).map(|facts| (begin + row.index(), facts, id.clone())),
                    );
                    assert!(id.is_none() || batch.operations(row).is_some());
                }
            }
            let found: Vec<_> =
                found.iter().map(|(row, facts, id)| (*row, *facts, id.as_deref())).collect();
            if is_evidence {
                assert_eq!(found, expected, "{length}");
            } else {
                // Names and errors stay.
                let names = |all: &[(usize, OperationFacts, Option<&str>)]| -> Vec<_> {
                    all.iter()
                        .map(|(row, facts, _)| (*row, facts.name, facts.response_outcome()))
                        .collect()
                };
                assert_eq!(names(&found), names(&expected), "{length}");
                let is_silent = |(_, facts, id): &(usize, OperationFacts, Option<&str>)| {
                    facts.trace.is_none() && facts.role != one_way && id.is_none()
                };
                assert!(found.iter().all(is_silent));
            }
            assert_eq!(operations.names(), ["(other)", "GET /", "tell"]);
        }
        let nothing = tempfile::tempdir().unwrap();
        assert!(OperationCursor::open(&DataDir::new(nothing.path()), true).unwrap().is_none());
    }
}
