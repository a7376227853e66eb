//! Batches of a trace, so that memory does not grow with the trace. A batch is a number of messages
//! in the order of the trace, with some context before and after them. Results of a batch are kept
//! for its own messages only; the context has the messages that overlap with them (Project 5,
//! section 8, does this for the nesting algorithm).

mod operation_names;
mod operations;
mod surplus;
mod words;

use std::ops::Range;
use std::sync::Arc;

use message_trace::table::{EndsReader, MessageReader};
use message_trace::{
    DataDir, FROM_CONNECTING, FlowId, MessageId, MessageTrace, NodeList, PathError,
};
use out_of_core::workers::run_in_order;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::evidence::Evidence;
use crate::naming::{OutlineBuilder, TraceOutline};
use crate::tuning::paths::batches::AROUND_DIVISOR;
use operations::OperationCursor;
pub use operations::attach_operations;
use surplus::FlowSurplus;
use words::WordCursor;

/// Iterator over the batches of the trace of a data directory.
pub(crate) struct TraceBatches {
    reader: MessageReader,
    /// Number of own messages of a batch.
    length: usize,
    /// Number of messages of the trace.
    rows: u64,
    previous: Option<Arc<TraceBatch>>,
    /// Flows of the whole trace on which the two sides sent different numbers of messages
    /// ([`FlowSurplus`]); `None` if no calls are inferred.
    uneven: Option<Arc<FxHashSet<FlowId>>>,
    /// Operations of the messages, if known.
    operations: Option<OperationCursor>,
    /// Rare words of the messages, if known.
    words: Option<WordCursor>,
}

/// A batch of a trace with the messages around it.
#[derive(Debug)]
pub(crate) struct TraceBatch {
    /// Messages of the batch and around it.
    pub(crate) trace: MessageTrace,
    /// Number of the first message of `trace` within the whole trace.
    pub(crate) first: u64,
    /// Rows of the batch's own messages in `trace`.
    pub(crate) own: Range<usize>,
}

impl TraceBatches {
    /// Opens a trace in batches of `length` messages each. The last batch may be longer by the size
    /// of one context.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(crate) fn open(
        data: &DataDir,
        length: usize,
        overview: &TraceOverview,
    ) -> Result<TraceBatches, PathError> {
        let nodes = overview.outline.trace().nodes.clone();
        let reader =
            MessageReader::open_with_nodes(data.messages_path(), nodes, overview.uneven.is_some())?;
        let rows = reader.row_count();
        Ok(TraceBatches {
            reader,
            length: length.max(1),
            rows,
            previous: None,
            uneven: overview.uneven.clone(),
            operations: OperationCursor::open(data, overview.operations)?,
            words: if overview.words { WordCursor::open(data)? } else { None },
        })
    }

    /// Returns the operation names of all batches read so far, by number; `None` if no operations
    /// are known.
    pub(crate) fn operation_names(&self) -> Option<&[String]> {
        self.operations.as_ref().map(OperationCursor::names)
    }

    /// Returns whether one batch contains all messages.
    pub(crate) fn is_single_batch(&self) -> bool {
        self.rows <= (self.length + self.length / AROUND_DIVISOR) as u64
    }

    /// Returns the next batch, or `None` after the last one. An empty trace has one empty batch.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Arc<TraceBatch>>, PathError> {
        let previous = self.previous.take();
        let begin = previous.as_ref().map_or(0, |batch| batch.first + batch.own.end as u64);
        if previous.is_some() && begin >= self.rows {
            return Ok(None);
        }
        let around = self.length / AROUND_DIVISOR;
        let left = (self.rows - begin) as usize;
        let length = if left <= self.length + around { left } else { self.length };
        let before = around.min(begin as usize);
        let own = before..before + length;
        let mut trace = MessageTrace::new(self.reader.nodes().clone());
        // A batch with the whole trace shows its uneven flows by itself.
        trace.beyond.uneven = self.uneven.clone().filter(|_| (length as u64) < self.rows);
        trace.reserve_rows((own.end + around).min((self.rows - begin) as usize + before));
        // The end of the previous batch and its context are the beginning of this batch.
        if let Some(previous) = previous {
            let shared = previous.own.end - before;
            trace.append_rows(&previous.trace, shared..previous.trace.len());
            if self.uneven.is_some() {
                trace.beyond.open = previous.trace.beyond.open.clone();
                count_open_requests(&mut trace.beyond.open, &previous.trace, 0..shared);
            }
        }
        let shared_rows = trace.len();
        let wanted = (own.end + around).saturating_sub(shared_rows);
        self.reader.read_rows(&mut trace, wanted)?;
        let first = begin - before as u64;
        if let Some(operations) = &mut self.operations {
            operations.attach_to_batch(&mut trace, shared_rows, first)?;
        }
        if let Some(words) = &mut self.words {
            words.attach_to_batch(&mut trace, shared_rows, first)?;
        }
        let batch = Arc::new(TraceBatch { trace, first, own });
        self.previous = Some(batch.clone());
        Ok(Some(batch))
    }
}

/// Overview of the whole trace, from a first pass.
pub(crate) struct TraceOverview {
    /// Outline of the whole trace: its nodes, and each pair of endpoints once.
    pub(crate) outline: TraceOutline,
    /// Flows with unequal numbers of messages without call ids on their two sides. A first message
    /// from the accepting side is not counted, since it answers no message that was seen. `None` if
    /// no calls are inferred.
    uneven: Option<Arc<FxHashSet<FlowId>>>,
    /// Whether operations are evidence of calls and of the traces of tracers.
    operations: bool,
    /// Whether rare words are evidence.
    words: bool,
}

impl TraceOverview {
    /// Returns this overview, without operations and words as evidence if the excluded `evidence`
    /// contains them.
    pub(crate) fn without_evidence(self, evidence: &[Evidence]) -> TraceOverview {
        let operations = self.operations && !evidence.contains(&Evidence::Operations);
        let words = self.words && !evidence.contains(&Evidence::Words);
        TraceOverview { operations, words, ..self }
    }

    /// Reads the overview of the trace of `data` with this number of `threads`. Uneven flows are
    /// counted only if `calls` are inferred.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub(crate) fn read(
        data: &DataDir,
        threads: usize,
        calls: bool,
    ) -> Result<TraceOverview, PathError> {
        let reader = EndsReader::open(data.messages_path(), data.nodes_path(), calls)?;
        let mut outline = OutlineBuilder::new(reader.nodes().clone());
        let mut surplus = FlowSurplus::default();
        // The outlines of all row groups have the same outline as the trace, so row groups are read
        // separately.
        let read_group = |group: usize| {
            let mut outline = OutlineBuilder::new(NodeList::default());
            let mut surplus = FlowSurplus::default();
            reader.read_group(group, |part| {
                for row in part.ids().filter(|row| calls && part.call_number(*row).is_none()) {
                    surplus.add_messages(
                        part.flow(row),
                        if part.direction(row) == FROM_CONNECTING { 1 } else { -1 },
                    );
                }
                outline.add_messages(part);
            })?;
            Ok((outline.into_trace(), surplus))
        };
        run_in_order(threads, reader.group_count(), read_group, |_, (part, later)| {
            outline.add_messages(&part);
            surplus.append_later(later);
            Ok(())
        })?;
        let uneven = calls.then(|| Arc::new(surplus.into_uneven_flows()));
        let outline = TraceOutline::new(outline.into_trace(), |add_part| {
            let reader = EndsReader::open_timed(data.messages_path(), data.nodes_path())?;
            (0..reader.group_count()).try_for_each(|group| reader.read_group(group, &mut *add_part))
        })?;
        Ok(TraceOverview { outline, uneven, operations: calls, words: true })
    }
}

/// Updates the number of `open` requests of each flow by the messages of these rows; a response
/// closes the earliest open request.
fn count_open_requests(
    open: &mut FxHashMap<FlowId, u32>,
    trace: &MessageTrace,
    rows: Range<usize>,
) {
    for row in MessageId::of_rows(rows).filter(|row| trace.call_number(*row).is_none()) {
        let is_request = trace.direction(row) == FROM_CONNECTING;
        change_count(open, trace.flow(row), |open| {
            if is_request { open + 1 } else { open.saturating_sub(1) }
        });
    }
}

/// Changes the count of `flow`. A count of 0 is removed, so that the map holds flows with open
/// requests only.
fn change_count(counts: &mut FxHashMap<FlowId, u32>, flow: FlowId, change: impl Fn(u32) -> u32) {
    let count = counts.entry(flow).or_default();
    *count = change(*count);
    if *count == 0 {
        counts.remove(&flow);
    }
}

#[cfg(test)]
mod tests {
    use message_trace::OperationRole;
    use message_trace::table::operations::OperationRow;

    use super::*;
    use crate::calls::Calls;
    use crate::fixture::{Fixture, operation, write_operations};
    use crate::naming::{Namer, Naming};
    use crate::options::Options;

    /// A data directory with a trace of `calls` sequential calls from clients on two hosts to a
    /// server.
    fn directory(calls: i64) -> (tempfile::TempDir, DataDir, MessageTrace) {
        let mut trace = Fixture::new();
        for call in 0..calls {
            let (client, port) = (["x", "y"][call as usize % 2], trace.ephemeral());
            trace.send(client, "s", 10 * call, 10 * call + 1).ports(port, 80);
            trace.send("s", client, 10 * call + 4, 10 * call + 5).ports(80, port).accepting();
        }
        let trace = trace.trace();
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        trace.write(data.messages_path(), data.nodes_path()).unwrap();
        (directory, data, trace)
    }

    #[test]
    fn every_message_is_in_one_batch_with_its_context() {
        for (calls, length) in
            [(0, 4), (1, 1), (1, 100), (10, 4), (10, 7), (10, 8), (11, 16), (50, 8), (50, 99)]
        {
            let (_directory, data, whole) = directory(calls);
            let mut batches =
                TraceBatches::open(&data, length, &TraceOverview::read(&data, 2, true).unwrap())
                    .unwrap();
            let (mut next, mut count) = (0, 0);
            while let Some(batch) = batches.next_batch().unwrap() {
                let TraceBatch { trace, first, own } = &*batch;
                let first = *first as usize;
                assert_eq!(first + own.start, next);
                assert_eq!(own.start, (length / AROUND_DIVISOR).min(next));
                next = first + own.end;
                assert_eq!(
                    trace.len() - own.end,
                    (length / AROUND_DIVISOR).min(whole.len() - next),
                    "{calls} {length}"
                );
                for row in trace.ids() {
                    let (found, wanted) = (trace.message(row), whole.message(row.add_rows(first)));
                    assert_eq!((found.send_ts, found.src), (wanted.send_ts, wanted.src));
                    assert_eq!(trace.nodes.get(found.src), whole.nodes.get(wanted.src));
                    assert_eq!(
                        trace.endpoint(found.src_endpoint),
                        whole.endpoint(wanted.src_endpoint)
                    );
                    assert_eq!(
                        trace.endpoint(found.dst_endpoint),
                        whole.endpoint(wanted.dst_endpoint)
                    );
                }
                count += 1;
            }
            let is_one = whole.len() <= length + length / AROUND_DIVISOR;
            assert_eq!((next, is_one), (whole.len(), count == 1), "{calls} {length}");
        }
    }

    #[test]
    fn ids_of_operations_pair_calls_unless_excluded_as_evidence() {
        // Two concurrent requests on one connection, answered in the opposite order.
        let mut trace = Fixture::new();
        for (time, is_request) in [(0, true), (2, true), (4, false), (6, false)] {
            if is_request {
                trace.send("x", "s", time, time + 1).ports(4000, 80).on(1);
            } else {
                trace.send("s", "x", time, time + 1).ports(80, 4000).accepting().on(1);
            }
        }
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        trace.trace().write(data.messages_path(), data.nodes_path()).unwrap();
        let [request, response, _] = OperationRole::ALL;
        let operations = [(0, request, 1), (1, request, 3), (2, response, 3), (3, response, 1)];
        write_operations(
            &data,
            &operations.map(|(message, role, call)| OperationRow {
                call: Some(call),
                ..operation(message, role)
            }),
        );
        let pairs = |without: &[Evidence]| -> Vec<_> {
            let whole = TraceOverview::read(&data, 1, true).unwrap().without_evidence(without);
            let batch =
                TraceBatches::open(&data, 9, &whole).unwrap().next_batch().unwrap().unwrap();
            let calls = Calls::from_trace(&batch.trace);
            calls.pair_rows()
        };
        assert_eq!(pairs(&[]), [(Some(0), Some(3)), (Some(1), Some(2))]);
        let in_order = [(Some(0), Some(2)), (Some(1), Some(3))];
        assert_eq!(pairs(&[Evidence::Operations]), in_order);
    }

    #[test]
    fn uneven_flows_of_row_groups_are_merged() {
        // More rows than a group has; the first request is answered in the second group, another
        // one never.
        let calls = message_trace::table::GROUP_ROWS as i64 / 2 + 50;
        let mut trace = Fixture::new();
        for call in 0..calls {
            trace.send("x", "s", 10 * call, 10 * call + 1).ports(4000, 80).on(call);
            let late = if call == 0 { 10 * calls } else { 10 * call };
            if call != 5 {
                trace.send("s", "x", late + 4, late + 5).ports(80, 4000).accepting().on(call);
            }
        }
        let whole = trace.trace();
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        whole.write(data.messages_path(), data.nodes_path()).unwrap();
        assert_eq!(
            EndsReader::open(data.messages_path(), data.nodes_path(), true).unwrap().group_count(),
            2
        );
        for threads in [1, 3] {
            let known = TraceOverview::read(&data, threads, true).unwrap();
            assert_eq!((known.outline.trace().len(), known.outline.trace().nodes.len()), (2, 2));
            let uneven = known.uneven.as_ref().unwrap().iter().map(|flow| flow.number());
            assert_eq!(uneven.collect::<Vec<_>>(), [5]);
        }
    }

    #[test]
    fn names_by_the_outline_equal_names_by_the_whole_trace() {
        let (_directory, data, whole) = directory(40);
        let outline = TraceOverview::read(&data, 2, true).unwrap().outline;
        assert_eq!(outline.trace().len(), 4, "two clients, both ways");
        assert_equal_names(&data, &whole);
    }

    /// Asserts that names by the outline of the trace `whole` in `data` equal names by the trace.
    fn assert_equal_names(data: &DataDir, whole: &MessageTrace) {
        let known = TraceOverview::read(data, 2, true).unwrap();
        let options = Options::default();
        let all = Naming::new(whole, &options);
        let mut namer = Namer::new(&known.outline, &options);
        let mut batches = TraceBatches::open(data, 8, &known).unwrap();
        while let Some(batch) = batches.next_batch().unwrap() {
            let TraceBatch { trace, first, .. } = &*batch;
            let naming = namer.name_batch(trace);
            for row in trace.ids() {
                let text = |naming: &Naming, hop: u32| {
                    let hop = naming.hop_name(hop);
                    [hop.src, hop.dst, hop.src_port, hop.dst_port]
                        .map(|text| naming.label_text(text).to_owned())
                };
                let whole = row.add_rows(*first as usize);
                assert_eq!(text(&naming, naming.hop(row)), text(&all, all.hop(whole)));
                assert_eq!(naming.src(row), all.src(whole), "numbers are the same in all batches");
                assert_eq!(naming.hop(row), all.hop(whole));
            }
        }
    }

    #[test]
    fn services_of_one_program_keep_their_ports_in_the_outline_and_transient_ports_have_none() {
        // One connection each: of a service all the time, of a transient port for a moment.
        for (duration, port) in [(900, "8000"), (1, "*")] {
            let mut trace = Fixture::new();
            for service in 0..20 {
                for at in [10 * service, 10 * service + duration] {
                    let port = 8000 + service as u16;
                    trace.send("x", "two/java", at, at + 1).ports(4000, port).on(service);
                }
            }
            trace.send("x", "s", 2000, 2001).ports(4000, 80).on(99);
            let whole = trace.trace();
            let directory = tempfile::tempdir().unwrap();
            let data = DataDir::new(directory.path());
            whole.write(data.messages_path(), data.nodes_path()).unwrap();
            assert_equal_names(&data, &whole);
            let naming = Naming::new(&whole, &Options::default());
            let hop = naming.hop_name(naming.hop(MessageId::from_index(0)));
            assert_eq!(naming.label_text(hop.dst_port), port);
        }
    }

    #[test]
    fn responses_to_requests_before_a_batch_do_not_answer_requests_in_it() {
        // Four requests are open on one flow at any time; a flow with an unanswered last request is
        // uneven.
        for unanswered in [0, 1] {
            let mut trace = Fixture::new();
            for call in 0..60 {
                trace.send("x", "s", 10 * call, 10 * call + 1).ports(4000, 80).on(1);
                if call < 60 - unanswered {
                    trace
                        .send("s", "x", 10 * call + 34, 10 * call + 35)
                        .ports(80, 4000)
                        .accepting()
                        .on(1);
                }
            }
            let whole = trace.trace();
            let directory = tempfile::tempdir().unwrap();
            let data = DataDir::new(directory.path());
            whole.write(data.messages_path(), data.nodes_path()).unwrap();
            let all = Calls::from_trace(&whole);
            let known = TraceOverview::read(&data, 2, true).unwrap();
            assert_eq!(known.uneven.as_ref().unwrap().len() as i64, unanswered);
            if unanswered > 0 {
                continue;
            }
            for length in [16, 20, 33] {
                let mut batches = TraceBatches::open(&data, length, &known).unwrap();
                while let Some(batch) = batches.next_batch().unwrap() {
                    let TraceBatch { trace, first, .. } = &*batch;
                    let calls = Calls::from_trace(trace);
                    let first = *first as usize;
                    for call in calls.iter() {
                        let (request, response) = (calls.request(call), calls.response(call));
                        let row = request.or(response).unwrap();
                        let of_all = all.call_of_message(row.add_rows(first));
                        let here = |row: Option<MessageId>| {
                            row.and_then(|row| row.subtract_rows(first))
                                .filter(|row| row.index() < trace.len())
                        };
                        assert_eq!(request, here(all.request(of_all)), "{length}");
                        assert_eq!(response, here(all.response(of_all)), "{length}");
                    }
                }
            }
        }
    }
}
