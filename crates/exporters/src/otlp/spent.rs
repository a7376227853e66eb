//! Resources of steps, such as processor time, as attributes of the spans of the same calls. They
//! are read from the table of steps of a recording with resources.

use message_trace::DataDir;
use out_of_core::{MemoryPool, SpillableVec};
use request_flow::tables::{ColumnSelection, RequestTables};
use request_flow::{NameInterner, Step, StepResource};

use super::attributes::named_attribute;
use super::messages::{KeyValue, Value};
use crate::error::Error;
use crate::traces::{ExportedSpan, SpanSide};
use crate::tuning::STEPS_IN_MEMORY_BYTES;

/// Steps with resources, in the order of their keys.
pub(super) struct SpentTimes(SpillableVec<StepSpending>);

/// The resources of a step.
#[derive(Clone, Copy, Debug)]
struct StepSpending {
    key: SpendingKey,
    /// Times in nanoseconds, in the order of [`StepResource::ALL`].
    times: [i64; StepResource::ALL.len()],
    disk_bytes: i64,
}

/// The key that distinguishes the steps of a recording: begin, end, process, and the thread of the
/// call.
type SpendingKey = (i64, i64, i32, i32);

impl SpentTimes {
    /// Reads the resources of the requests in `data`; the result is empty if there are none.
    ///
    /// # Errors
    /// When the tables cannot be read, or a temporary file cannot be written.
    pub(super) fn read_spent(data: &DataDir) -> Result<SpentTimes, Error> {
        let pool = MemoryPool::new(STEPS_IN_MEMORY_BYTES, data.path());
        let mut spent = SpillableVec::new(&pool);
        if data.own_events_path().is_file() && data.steps_path().is_file() {
            let columns =
                ColumnSelection { sizes: true, threads: true, ..ColumnSelection::default() };
            let tables = RequestTables::open(data.requests_path(), data.steps_path(), columns)?;
            tables.for_each(&mut NameInterner::default(), |_, request, _| {
                let steps = request.steps.iter();
                spent.extend(steps.filter_map(StepSpending::from_step))?;
                Ok::<(), Error>(())
            })?;
            spent.sort_by_key(|of| of.key)?;
        }
        Ok(SpentTimes(spent))
    }

    /// The attributes of a span of the process `pid`. A call is a step at the node that serves it.
    pub(super) fn attributes_of_span(
        &self,
        span: &ExportedSpan<'_>,
        pid: Option<i32>,
    ) -> Vec<KeyValue> {
        let key = (span.side == SpanSide::Callee)
            .then(|| Some((span.start, span.end, pid?, span.thread()?)))
            .flatten();
        // For a step that is in several requests, one of them is used.
        let found = key.and_then(|key| {
            let place = self.0.partition_point(0..self.0.len(), |of| of.key < key);
            self.0.get(place).filter(|of| of.key == key)
        });
        found.map(StepSpending::to_attributes).unwrap_or_default()
    }
}

impl StepSpending {
    /// The resources of `step`; `None` if they were not recorded.
    fn from_step(step: &Step) -> Option<StepSpending> {
        let mut times = [0; StepResource::ALL.len()];
        for (time, resource) in times.iter_mut().zip(StepResource::ALL) {
            *time = resource.time_in_step(step)?;
        }
        let key = (step.begin?, step.end?, step.threads.process?, step.threads.begin?);
        Some(StepSpending { key, times, disk_bytes: step.disk_bytes.unwrap_or(0) })
    }

    /// The resources as attributes. Times are in seconds, as in OpenTelemetry's conventions.
    fn to_attributes(&self) -> Vec<KeyValue> {
        let times = StepResource::ALL.into_iter().zip(self.times).map(|(resource, time)| {
            named_attribute(
                &format!("sockcap.{resource}.time"),
                Value::DoubleValue(time as f64 / 1e9),
            )
        });
        let bytes = named_attribute("sockcap.disk.bytes", Value::IntValue(self.disk_bytes));
        times.chain([bytes]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{spans, testing};
    use request_flow::tables::RequestWriter;
    use request_flow::{Request, StepThreads, WaitTimes};

    #[test]
    fn the_span_of_a_step_has_the_resources_of_the_step() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        assert!(SpentTimes::read_spent(&data).unwrap().0.is_empty());
        std::fs::create_dir_all(data.events_dir()).unwrap();
        std::fs::write(data.own_events_path(), "").unwrap();
        let mut names = NameInterner::default();
        let mut writer = RequestWriter::create(data.requests_path(), data.steps_path()).unwrap();
        // The call to the database, and one with the same times in another thread.
        for (thread, lock_ns) in [(22, 1_500), (23, 7)] {
            let name = names.intern("db:5432");
            let mut request = Request { probability: 1.0, ..Request::default() };
            let threads =
                StepThreads { process: Some(12), begin: Some(thread), ..Default::default() };
            let waits = Some(WaitTimes { lock_ns, ..WaitTimes::default() });
            let times = (Some(3_000), Some(6_000));
            let step =
                Step { begin: times.0, end: times.1, threads, waits, ..Step::new(name, name) };
            request.push_step(Step { processor_ns: Some(500), disk_bytes: Some(9), ..step }, []);
            request.push_step(Step { parent: Some(0), waits: None, ..step }, []);
            writer.push_request(request, &names).unwrap();
        }
        writer.finish(&names).unwrap();

        let spent = SpentTimes::read_spent(&data).unwrap();
        assert_eq!(spent.0.len(), 2);
        let calls = testing::calls();
        let spans = spans::spans_of_calls(&calls);
        let of = |call: u64, side: SpanSide, pid| {
            let span = spans.iter().find(|span| span.call.number == call && span.side == side);
            spent.attributes_of_span(span.unwrap(), pid)
        };
        let found = of(1, SpanSide::Callee, Some(12));
        let value = |key: &str| {
            let found = found.iter().find(|attribute| attribute.key == key);
            found.unwrap().value.clone().unwrap().value.unwrap()
        };
        assert_eq!(found.len(), 8);
        assert_eq!(value("sockcap.processor.time"), Value::DoubleValue(5e-7));
        assert_eq!(value("sockcap.lock.time"), Value::DoubleValue(1.5e-6));
        assert_eq!(value("sockcap.disk.bytes"), Value::IntValue(9));
        for (call, side, pid) in [
            (1, SpanSide::Caller, 12),
            (1, SpanSide::Callee, 13),
            (2, SpanSide::Callee, 12),
            (0, SpanSide::Callee, 11),
        ] {
            assert_eq!(of(call, side, Some(pid)), [], "{call} {side:?} {pid}");
        }
    }
}
