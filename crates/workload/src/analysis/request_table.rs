//! Row of the table of requests: a request, with its cluster.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use out_of_core::{NameInterner, PathError};
use request_flow::Request;

use crate::analysis::request_source::{RequestRecord, SourceRequest};
use crate::clusters::RequestFacts;
use crate::joined_request::JoinedRequest;
use crate::model::ClusterMember;

/// A request in a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestTableRow {
    /// Facts of the request for the model.
    pub facts: RequestFacts,
    /// Name of the request.
    pub name: String,
    /// Index of the request's cluster in the model, if the cluster was kept.
    pub cluster: Option<u32>,
    /// Distance of the request from the centre of its cluster.
    pub distance: Option<f32>,
    /// Number of events or steps of the request.
    pub parts: i64,
    /// Number of seed events; 1 for a tree of steps.
    pub seeds: i32,
    /// Whether the request is known from begin to end.
    pub whole: bool,
    /// Time of the seed event, in nanoseconds since the Unix epoch; for a tree of steps, the begin
    /// at the root's node.
    pub seed_time: i64,
    /// Process of the seed event or of the root's begin; 0 if it is not known.
    pub process: i32,
    /// Thread of the seed event or of the root's begin; 0 if it is not known.
    pub thread: i32,
}

impl RequestTableRow {
    /// The row of a request with its membership in a cluster, if the cluster was kept.
    pub fn from_source(
        found: &SourceRequest<'_>,
        names: &NameInterner,
        member: Option<ClusterMember>,
    ) -> RequestTableRow {
        let row = RequestTableRow {
            facts: found.facts,
            name: names.name_of(found.facts.name).to_owned(),
            cluster: member.map(|member| member.cluster),
            distance: member.map(|member| member.distance),
            ..RequestTableRow::default()
        };
        match found.record {
            RequestRecord::Joined(request) => add_joined_figures(row, request),
            RequestRecord::Steps(request) => add_step_figures(row, request),
        }
    }
}

fn add_joined_figures(row: RequestTableRow, request: &JoinedRequest) -> RequestTableRow {
    let seed = request.events.iter().find(|event| event.kind == request.seed);
    let seed = seed.or(request.events.first()).copied().unwrap_or_default();
    RequestTableRow {
        parts: request.events.len() as i64,
        seeds: request.seeds as i32,
        whole: request.whole,
        seed_time: seed.time,
        process: seed.process,
        thread: seed.thread,
        ..row
    }
}

fn add_step_figures(row: RequestTableRow, request: &Request) -> RequestTableRow {
    let root = request.steps.first().copied().unwrap_or_default();
    RequestTableRow {
        parts: request.steps.len() as i64,
        seeds: 1,
        whole: !request.torn,
        seed_time: root.first_time().unwrap_or(0),
        process: root.threads.process.unwrap_or(0),
        thread: root.threads.begin.unwrap_or(0),
        ..row
    }
}

/// Rows as a table. Errors refer to the output as `name`.
///
/// # Errors
/// If the columns do not fit together, which would be a bug in this function.
pub fn rows_table(rows: &[RequestTableRow], name: &Path) -> Result<RecordBatch, PathError> {
    let longs = |of: fn(&RequestTableRow) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(of)))
    };
    let ints = |of: fn(&RequestTableRow) -> i32| -> ArrayRef {
        Arc::new(Int32Array::from_iter_values(rows.iter().map(of)))
    };
    let clusters = rows.iter().map(|row| row.cluster.map(|cluster| cluster as i32));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("request", longs(|row| row.facts.number as i64)),
        ("name", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.name)))),
        ("cluster", Arc::new(clusters.collect::<Int32Array>())),
        ("distance", Arc::new(rows.iter().map(|row| row.distance).collect::<Float32Array>())),
        ("begin", longs(|row| row.facts.begin)),
        ("end", longs(|row| row.facts.end)),
        ("seed_time", longs(|row| row.seed_time)),
        ("process", ints(|row| row.process)),
        ("thread", ints(|row| row.thread)),
        ("seeds", ints(|row| row.seeds)),
        ("whole", Arc::new(rows.iter().map(|row| Some(row.whole)).collect::<BooleanArray>())),
        ("parts", longs(|row| row.parts)),
        ("processor_ns", longs(|row| row.facts.demands.processor_ns)),
        ("disk_calls", longs(|row| row.facts.demands.disk_calls)),
        ("disk_read_bytes", longs(|row| row.facts.demands.disk_read_bytes)),
        ("disk_written_bytes", longs(|row| row.facts.demands.disk_written_bytes)),
        ("sent_bytes", longs(|row| row.facts.demands.sent_bytes)),
        ("received_bytes", longs(|row| row.facts.demands.received_bytes)),
        ("runnable_ns", longs(|row| row.facts.waits.runnable_ns)),
        ("disk_ns", longs(|row| row.facts.waits.disk_ns)),
        ("lock_ns", longs(|row| row.facts.waits.lock_ns)),
        ("peer_ns", longs(|row| row.facts.waits.peer_ns)),
        ("asleep_ns", longs(|row| row.facts.waits.asleep_ns)),
        ("unknown_ns", longs(|row| row.facts.waits.unknown_ns)),
    ];
    RecordBatch::try_from_iter(columns)
        .map_err(|error| PathError::malformed(name, error.to_string()))
}
