//! The table of calls, as `sockcap export calls` writes it: caller and callee, endpoints, times at
//! both ends, and the parent call. It is made batch by batch from the trace and its links, and not
//! stored.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use message_trace::table::BATCH_ROWS;
use message_trace::table::columns::{self, dictionary_type, nullable_field, required_field};
use message_trace::{Endpoint, MessageId, MessageTrace, PathError};

use super::{CallId, Calls, CandidateParents, LikelyParents};
use crate::links::Links;
use crate::naming::NodeNames;
use crate::options::Options;
use crate::receipt::MessageReceipt;

/// The table of a trace's calls.
pub struct CallTable<'a> {
    trace: &'a MessageTrace,
    calls: Calls,
    parents: LikelyParents,
    names: NodeNames<'a>,
    options: &'a Options,
    /// Index of the first call of the next batch.
    next: usize,
    /// The file that the trace was read from, for errors.
    path: &'a Path,
}

impl<'a> CallTable<'a> {
    /// Builds the table of the calls of `trace`, which was read from `path`, and their parents by
    /// `links`; nodes and endpoints are named as `options` say.
    pub fn new(
        trace: &'a MessageTrace,
        links: &Links,
        options: &'a Options,
        path: &'a Path,
    ) -> CallTable<'a> {
        let calls = Calls::from_trace(trace);
        let parents =
            LikelyParents::from_links(&calls, links, &CandidateParents::from_links(&calls, links));
        CallTable {
            trace,
            calls,
            parents,
            names: NodeNames::new(trace, options),
            options,
            next: 0,
            path,
        }
    }

    /// Returns the columns. Times are nanoseconds since the Unix epoch on the common clock, null if
    /// unknown. A request was received with its last byte, or with its first if it was answered
    /// before that.
    pub fn schema() -> SchemaRef {
        columns::build_schema([
            required_field("call_id", DataType::Utf8),
            nullable_field("parent_call_id", DataType::Utf8),
            nullable_field("probability", DataType::Float64),
            required_field("caller", dictionary_type()),
            required_field("callee", dictionary_type()),
            nullable_field("src_endpoint", dictionary_type()),
            nullable_field("dst_endpoint", dictionary_type()),
            required_field("protocol", dictionary_type()),
            nullable_field("request_send", DataType::Int64),
            nullable_field("request_recv", DataType::Int64),
            nullable_field("response_send", DataType::Int64),
            nullable_field("response_recv", DataType::Int64),
            nullable_field("request_bytes", DataType::Int64),
            nullable_field("response_bytes", DataType::Int64),
        ])
    }

    fn next_batch(&mut self) -> Result<RecordBatch, PathError> {
        let rows = self.calls.iter().skip(self.next).take(BATCH_ROWS);
        self.next = (self.next + BATCH_ROWS).min(self.calls.len());
        let (trace, calls, parents) = (self.trace, &self.calls, &self.parents);
        let names = &mut self.names;
        let mut name = |end: usize| {
            columns::dictionary_array(rows.clone().map(|call| {
                let (node, tid) = calls.caller_and_callee(trace, call)[end];
                Some(names.name(node, tid).to_owned())
            }))
        };
        let [caller, callee] = [name(0), name(1)];
        let ends = |caller: bool| {
            columns::dictionary_array(rows.clone().map(|call| {
                let message = first_message(trace, calls, call);
                // The caller is the sender of the request, and the receiver of the response.
                let from_caller = calls.request(call).is_some() == caller;
                let id = if from_caller { message.src_endpoint } else { message.dst_endpoint };
                trace.endpoint(id).and_then(|endpoint| self.endpoint_name(endpoint))
            }))
        };
        let of_request = |of: &dyn Fn(MessageId) -> Option<i64>| {
            columns::int64_array(rows.clone().map(|call| calls.request(call).and_then(of)))
        };
        let of_response = |of: &dyn Fn(MessageId) -> Option<i64>| {
            columns::int64_array(rows.clone().map(|call| calls.response(call).and_then(of)))
        };
        let (sent, received) = (|row| trace.send_ts(row), |row| trace.recv_ts(row));
        let request_received = columns::int64_array(rows.clone().map(|call| {
            let mut receipt = MessageReceipt::from_row(trace, calls.request(call)?);
            receipt.note_effect(calls.response(call).and_then(sent));
            receipt.at
        }));
        let bytes = |row| Some(trace.bytes(row));
        let parent = |call| parents.of_call(call).and_then(|parent| parent.call);
        let arrays = vec![
            columns::string_array(rows.clone().map(|call| Some(calls.id(trace, call)))),
            columns::string_array(
                rows.clone().map(|call| parent(call).map(|parent| calls.id(trace, parent))),
            ),
            columns::float64_array(
                rows.clone().map(|call| parents.of_call(call).map(|parent| parent.probability)),
            ),
            caller,
            callee,
            ends(true),
            ends(false),
            columns::dictionary_array(
                rows.clone().map(|call| Some(first_message(trace, calls, call).protocol.name())),
            ),
            of_request(&sent),
            request_received,
            of_response(&sent),
            of_response(&received),
            of_request(&bytes),
            of_response(&bytes),
        ];
        columns::build_batch(self.path, &CallTable::schema(), arrays)
    }

    /// Returns the user's name of `endpoint` or, without one, its address or path; `None` for an
    /// unnamed endpoint.
    fn endpoint_name(&self, endpoint: &Endpoint) -> Option<String> {
        let text = endpoint.to_string();
        let called = self.options.aliases.endpoint_text(&text);
        Some(called.unwrap_or(text)).filter(|text| !text.is_empty())
    }
}

impl Iterator for CallTable<'_> {
    type Item = Result<RecordBatch, PathError>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.next < self.calls.len()).then(|| self.next_batch())
    }
}

/// Returns the call's request or, if that was not seen, its response.
fn first_message(trace: &MessageTrace, calls: &Calls, call: CallId) -> message_trace::Message {
    trace.message(calls.request_or_response(call))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::pairing::tests::calls;
    use message_trace::table::export::{TableFormat, export_batches};

    fn csv(rows: &[crate::calls::pairing::tests::Row<'_>], links: &Links) -> String {
        let (trace, _) = calls(rows);
        let options = Options::default();
        let table = CallTable::new(&trace, links, &options, Path::new("x"));
        let mut output = Vec::new();
        export_batches(CallTable::schema(), table, TableFormat::Csv, &mut output, Path::new("out"))
            .unwrap();
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn a_row_has_both_ends_times_and_the_parent() {
        let mut links = Links::spontaneous_only(4);
        links.set_parent_rows(1, &[(0, 0.75)], 0.25);
        let rows = [
            ("c", "a", "x", 0, 1),
            ("a", "b", "y", 2, 3),
            ("b", "a", "y", 4, 5),
            ("a", "c", "x", 6, 7),
        ];
        assert_eq!(
            csv(&rows, &links),
            "call_id,parent_call_id,probability,caller,callee,src_endpoint,dst_endpoint,protocol,\
             request_send,request_recv,response_send,response_recv,request_bytes,response_bytes\n\
             x,,1.0,c,a,10.0.0.1:40000,10.0.0.2:80,tcp,0,1,6,7,100,100\n\
             y,x,0.75,a,b,10.0.0.2:40000,10.0.0.3:80,tcp,2,3,4,5,100,100\n"
        );
    }

    #[test]
    fn no_request_is_received_after_its_response() {
        let mut trace = crate::fixture::Fixture::new();
        trace.send("c", "a", 0, 50).arrives(10).on(1);
        trace.send("a", "c", 20, 21).ports(80, 40_000).accepting().on(1);
        let (trace, options) = (trace.trace(), Options::default());
        let table = CallTable::new(&trace, &Links::spontaneous_only(2), &options, Path::new("x"));
        let mut output = Vec::new();
        export_batches(CallTable::schema(), table, TableFormat::Csv, &mut output, Path::new("out"))
            .unwrap();
        let csv = String::from_utf8(output).unwrap();
        assert!(csv.ends_with(",tcp,0,10,20,21,100,100\n"), "{csv}");
    }

    #[test]
    fn unknown_cells_are_empty_and_a_lone_response_is_sent_by_the_callee() {
        let rows = csv(&[("a", "c", "y", 4, 5), ("c", "b", "", 6, 7)], &Links::spontaneous_only(2));
        let rows: Vec<&str> = rows.lines().skip(1).collect();
        assert_eq!(rows[0], "y,,,c,a,10.0.0.2:80,10.0.0.1:40000,tcp,,,4,5,,100");
        assert_eq!(rows[1], "#1,,1.0,c,b,10.0.0.2:40000,10.0.0.3:80,tcp,6,7,,,100,");
    }
}
