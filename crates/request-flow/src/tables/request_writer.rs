//! Writing of requests. At most two row groups of steps are pending per processor, whatever the
//! number of requests.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, StringArray};
use message_trace::table::columns::{
    boolean_array, float64_array, int32_array, int64_array, keyed_array, named_texts_array,
    string_array,
};
use message_trace::table::{RowGroup, RowGroupEncoder, RowGroupWriter};
use message_trace::{DataPath, PathError};
use out_of_core::workers;
use rustc_hash::FxHashMap;

use super::schema;
use crate::request::Request;
use crate::tuning::GROUP_STEPS;
use crate::waits::WaitTimes;
use out_of_core::{NameId, NameInterner};

/// Writer of both tables. The files get their names when they are finished.
pub struct RequestWriter {
    requests: RowGroupWriter,
    steps: RowGroupWriter,
    steps_path: DataPath,
    /// The requests that are not encoded yet.
    pending: Vec<PendingGroup>,
    /// Numbers of requests and steps so far.
    written: (u64, u64),
}

/// Pending requests of one row group of each table.
#[derive(Default)]
struct PendingGroup {
    /// Number of the first request.
    first: u64,
    requests: Vec<Request>,
    /// Number of their steps.
    steps: usize,
}

/// Both row groups of a group.
struct EncodedGroup {
    requests: RowGroup,
    steps: RowGroup,
}

impl RequestWriter {
    /// Creates both tables.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(
        requests: impl Into<DataPath>,
        steps: impl Into<DataPath>,
    ) -> Result<RequestWriter, PathError> {
        let requests = &requests.into();
        let steps = &steps.into();
        Ok(RequestWriter {
            requests: RowGroupWriter::create(
                requests,
                schema::request_columns(),
                schema::column_storage,
            )?,
            steps: RowGroupWriter::create(steps, schema::step_columns(), schema::column_storage)?,
            steps_path: steps.to_owned(),
            pending: vec![PendingGroup::default()],
            written: (0, 0),
        })
    }

    /// Appends a request with names in `names`. Requests come in the order of their begins.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn push_request(
        &mut self,
        request: Request,
        names: &NameInterner,
    ) -> Result<(), PathError> {
        let (requests, steps) = (1, request.steps.len());
        let is_full = |group: &PendingGroup| group.steps > 0 && group.steps + steps > GROUP_STEPS;
        if self.pending.last().is_none_or(is_full) {
            if self.pending.len() >= workers::thread_count() {
                self.flush(names)?;
            }
            self.pending.push(PendingGroup { first: self.written.0, ..PendingGroup::default() });
        }
        if let Some(group) = self.pending.last_mut() {
            group.requests.push(request);
            group.steps += steps;
        }
        self.written = (self.written.0 + requests, self.written.1 + steps as u64);
        Ok(())
    }

    /// Returns the number of requests and of steps that were appended.
    pub fn written_counts(&self) -> (u64, u64) {
        self.written
    }

    /// Finishes both tables and gives them their names.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(mut self, names: &NameInterner) -> Result<(), PathError> {
        self.flush(names)?;
        self.steps.finish()?;
        self.requests.finish()
    }

    fn flush(&mut self, names: &NameInterner) -> Result<(), PathError> {
        let groups = std::mem::take(&mut self.pending);
        let (of_requests, of_steps) = (self.requests.encoder(), self.steps.encoder());
        let path = &self.steps_path;
        let work = |group: usize| {
            let group = &groups[group];
            Ok(EncodedGroup {
                requests: encode_rows(&of_requests, &group.request_arrays(names))?,
                steps: encode_rows(&of_steps, &group.step_arrays(names, path)?)?,
            })
        };
        let (requests, steps) = (&mut self.requests, &mut self.steps);
        workers::run_in_order(
            workers::thread_count(),
            groups.len(),
            work,
            |group, encoded: EncodedGroup| {
                if groups[group].requests.is_empty() {
                    return Ok(());
                }
                steps.append_group(encoded.steps)?;
                requests.append_group(encoded.requests)
            },
        )
    }
}

fn encode_rows(encoder: &Arc<RowGroupEncoder>, arrays: &[ArrayRef]) -> Result<RowGroup, PathError> {
    let mut builder = encoder.begin_group()?;
    builder.write_rows(arrays)?;
    builder.finish_group()
}

impl PendingGroup {
    fn request_arrays(&self, names: &NameInterner) -> Vec<ArrayRef> {
        let all = || self.requests.iter();
        let root = |of: fn(&crate::Step) -> NameId| {
            all().map(move |request| request.steps.first().map_or(NameInterner::UNKNOWN, of))
        };
        let known = |trace: &str| !trace.is_empty();
        vec![
            int64_array((self.first as i64..).zip(all()).map(|(number, _)| Some(number))),
            string_array(all().map(|request| Some(&request.trace).filter(|trace| known(trace)))),
            text_array(all().map(|request| request.caller), names),
            text_array(all().map(|request| request.caller_host), names),
            text_array(root(|step| step.node), names),
            text_array(root(|step| step.operation), names),
            int64_array(all().map(Request::begin)),
            int64_array(all().map(Request::end)),
            int32_array(all().map(|request| Some(request.steps.len() as i32))),
            boolean_array(all().map(Request::has_failed)),
            float64_array(all().map(|request| Some(request.probability))),
            boolean_array(all().map(|request| request.torn)),
            int64_array(all().map(|request| request.pattern)),
            int64_array(all().map(|request| request.path)),
        ]
    }

    fn step_arrays(
        &self,
        names: &NameInterner,
        path: &DataPath,
    ) -> Result<Vec<ArrayRef>, PathError> {
        let mut request = Vec::with_capacity(self.steps);
        let (mut step, mut depth, mut sibling) = (Vec::new(), Vec::new(), Vec::new());
        for (number, of) in (self.first as i64..).zip(&self.requests) {
            request.resize(request.len() + of.steps.len(), Some(number));
            step.extend((0..of.steps.len() as i32).map(Some));
            depth.extend(of.step_depths().into_iter().map(|depth| Some(depth as i32)));
            let mut next = vec![0; of.steps.len()];
            sibling.extend(of.steps.iter().map(|step| {
                let next = step.parent.and_then(|parent| next.get_mut(parent as usize));
                Some(next.map_or(0, |next| {
                    *next += 1;
                    *next - 1
                }))
            }));
        }
        let all = || self.requests.iter().flat_map(|request| &request.steps);
        let waits =
            |of: fn(&WaitTimes) -> i64| int64_array(all().map(|step| step.waits.as_ref().map(of)));
        let parameters = self.requests.iter().flat_map(|request| {
            (0..request.steps.len()).map(move |step| {
                request.parameters.of_step(step).map(|(name, value)| (names.name_of(name), value))
            })
        });
        Ok(vec![
            int64_array(request),
            int32_array(step),
            int32_array(all().map(|step| step.parent.map(|parent| parent as i32))),
            int32_array(depth),
            int32_array(sibling),
            text_array(all().map(|step| step.node), names),
            text_array(all().map(|step| step.host), names),
            text_array(all().map(|step| step.operation), names),
            int64_array(all().map(|step| step.begin)),
            int64_array(all().map(|step| step.end)),
            int64_array(all().map(|step| step.caller_begin)),
            int64_array(all().map(|step| step.caller_end)),
            boolean_array(all().map(|step| step.failed)),
            float64_array(all().map(|step| Some(step.probability))),
            int64_array(all().map(|step| step.bytes_in)),
            int64_array(all().map(|step| step.bytes_out)),
            int64_array(all().map(|step| step.processor_ns)),
            int64_array(all().map(|step| step.disk_bytes)),
            waits(|waits| waits.runnable_ns),
            waits(|waits| waits.disk_ns),
            waits(|waits| waits.lock_ns),
            waits(|waits| waits.peer_ns),
            waits(|waits| waits.asleep_ns),
            waits(|waits| waits.unknown_ns),
            int32_array(all().map(|step| step.threads.process)),
            int32_array(all().map(|step| step.threads.begin)),
            int32_array(all().map(|step| step.threads.end)),
            int32_array(all().map(|step| step.threads.caller_process)),
            int32_array(all().map(|step| step.threads.caller_begin)),
            int32_array(all().map(|step| step.threads.caller_end)),
            named_texts_array(path, parameters)?,
        ])
    }
}

/// Builds a dictionary column of names; an unknown one is null.
fn text_array(numbers: impl Iterator<Item = NameId>, names: &NameInterner) -> ArrayRef {
    let mut places: FxHashMap<NameId, i32> = FxHashMap::default();
    let mut distinct: Vec<&str> = Vec::new();
    let keys = numbers.map(|number| {
        (number != NameInterner::UNKNOWN).then(|| {
            *places.entry(number).or_insert_with(|| {
                distinct.push(names.name_of(number));
                distinct.len() as i32 - 1
            })
        })
    });
    let keys: Int32Array = keys.collect();
    keyed_array(keys, StringArray::from(distinct))
}
