//! Events: operations begin and end in traces, and each trace is a stack of open operations.
//!
//! A broken or unfinished trace is kept as far as it goes: an operation without an end event has no
//! end time, and one without a begin event has no begin time.

use std::borrow::Cow;
use std::collections::VecDeque;

use request_flow::spans::{Span, SpanKind, SpanResource, TracingId};
use rustc_hash::FxHashMap;

use super::super::receiver::SpanReceiver;
use super::super::unused_record::UnusedRecord;
use super::fields::KiekerFields;
use super::signature::class_of;
use super::types::RecordMeaning;
use crate::error::Error;
use crate::tabular::WrongValue;
use crate::tuning::{MAX_IDLE_TRACES, MAX_OPEN_TRACES};

/// All traces of a log that may continue.
#[derive(Debug, Default)]
pub(super) struct OperationStacks {
    traces: FxHashMap<i64, OperationStack>,
    /// Traces that had no open operation at some time, the oldest first.
    idle: VecDeque<i64>,
    pub(super) counts: EventCounts,
}

/// Counts of events for the final notes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EventCounts {
    /// Number of operations that began and did not end.
    pub(super) without_end: u64,
    /// Number of operations that ended and had not begun.
    pub(super) without_begin: u64,
    /// Number of traces with missing event numbers.
    pub(super) with_gaps: u64,
    /// Number of calls to unrecorded operations.
    pub(super) calls: u64,
}

#[derive(Debug, Default)]
struct OperationStack {
    number: i64,
    open: Vec<StackedOperation>,
    /// Expected number of the trace's next event.
    next: i64,
    has_gap: bool,
    /// Operation that the trace's last event was about to call.
    called: Option<String>,
    host: String,
    /// Names and values from the record of the trace.
    parameters: Vec<(&'static str, String)>,
    /// Parent of the trace, for its outermost operations.
    parent: Vec<(&'static str, String)>,
}

/// Operation that has begun.
#[derive(Debug)]
struct StackedOperation {
    order: i64,
    begin: i64,
    signature: String,
    class: String,
}

impl StackedOperation {
    fn to_finished(&self) -> FinishedOperation<'_> {
        let StackedOperation { order, begin, signature, class } = self;
        FinishedOperation {
            order: *order,
            begin: Some(*begin),
            end: None,
            cause: None,
            signature,
            class,
        }
    }
}

/// An operation that has ended.
struct FinishedOperation<'a> {
    /// Number of the operation's begin event, or otherwise of its end event.
    order: i64,
    begin: Option<i64>,
    end: Option<i64>,
    /// Exception by which the operation ended.
    cause: Option<&'a str>,
    signature: &'a str,
    class: &'a str,
}

impl OperationStacks {
    /// Adds a record of a trace: `TraceMetadata`.
    pub(super) fn add_trace(&mut self, fields: &KiekerFields<'_>) -> Result<(), WrongValue> {
        let number = fields.number(0)?;
        let named = |name, place| {
            Some((name, fields.text_if_any(place).to_owned()))
                .filter(|(_, value)| !value.is_empty())
        };
        // A trace without a parent has its own number as the parent's.
        let has_parent = fields.number(4).is_ok_and(|parent| parent != number && parent != -1);
        let parent = [named("parent.trace", 4), named("parent.order", 5)];
        self.idle.push_back(number);
        let trace = self.traces.entry(number).or_default();
        trace.number = number;
        trace.host = fields.text_if_any(3).to_owned();
        trace.parameters =
            [named("thread", 1), named("session", 2)].into_iter().flatten().collect();
        trace.parent = parent.into_iter().flatten().filter(|_| has_parent).collect();
        Ok(())
    }

    /// Adds an event, and emits the operations that end with it to `spans`. `host` is the host of
    /// the log.
    pub(super) fn add_event(
        &mut self,
        meaning: RecordMeaning,
        fields: &KiekerFields<'_>,
        unit_ns: i64,
        host: &str,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), UnusedRecord> {
        let (time, number, order) =
            (fields.time(0, unit_ns)?, fields.number(1)?, fields.number(2)?);
        let (signature, class) = match meaning {
            RecordMeaning::OtherEvent => ("", ""),
            // Until the summer of 2014 the class preceded the signature.
            _ => match (fields.text(3)?, fields.text(4)?) {
                (class, signature) if !class.contains('(') && signature.contains('(') => {
                    (signature, class)
                }
                (signature, class) => (signature, class),
            },
        };
        if self.traces.len() > MAX_OPEN_TRACES + MAX_IDLE_TRACES {
            self.emit_open(spans)?;
        }
        let unknown =
            || OperationStack { number, host: host.to_owned(), ..OperationStack::default() };
        let trace = self.traces.entry(number).or_insert_with(unknown);
        let counts = &mut self.counts;
        if order != std::mem::replace(&mut trace.next, order.saturating_add(1)) && !trace.has_gap {
            trace.has_gap = true;
            counts.with_gaps += 1;
        }
        let called = trace.called.take();
        counts.calls += u64::from(
            called.is_some_and(|called| meaning != RecordMeaning::Before || called != signature),
        );
        match meaning {
            RecordMeaning::Before => {
                let (signature, class) = (signature.to_owned(), class.to_owned());
                trace.open.push(StackedOperation { order, begin: time, signature, class });
            }
            RecordMeaning::Call => trace.called = Some(fields.text(5)?.to_owned()),
            RecordMeaning::After | RecordMeaning::Failed => {
                let cause = || fields.text_if_any(fields.len().saturating_sub(1));
                let cause = (meaning == RecordMeaning::Failed).then(cause);
                let end = Some(time);
                let ended = FinishedOperation { order, begin: None, end, cause, signature, class };
                trace.end_operation(ended, counts, spans)?;
            }
            _ => {}
        }
        if trace.open.is_empty() {
            self.mark_idle(number);
        }
        Ok(())
    }

    /// Marks a trace that has no open operation: it is evicted if it stays so for long.
    fn mark_idle(&mut self, number: i64) {
        self.idle.push_back(number);
        if self.idle.len() > MAX_IDLE_TRACES
            && let Some(oldest) = self.idle.pop_front()
            && self.traces.get(&oldest).is_some_and(|trace| trace.open.is_empty())
        {
            self.forget_trace(oldest);
        }
    }

    fn forget_trace(&mut self, number: i64) {
        if let Some(trace) = self.traces.remove(&number) {
            self.counts.calls += u64::from(trace.called.is_some());
        }
    }

    /// Emits the open operations to `spans` at the end of the log.
    pub(super) fn emit_open(&mut self, spans: &mut impl SpanReceiver) -> Result<(), Error> {
        let mut numbers: Vec<i64> = self.traces.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let Some(trace) = self.traces.get_mut(&number) {
                trace.close_deeper(0, &mut self.counts, spans)?;
            }
            self.forget_trace(number);
        }
        self.idle.clear();
        Ok(())
    }
}

impl OperationStack {
    /// Ends an operation. Operations that began within it will not end.
    fn end_operation(
        &mut self,
        ended: FinishedOperation<'_>,
        counts: &mut EventCounts,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), Error> {
        let begun = self.open.iter().rposition(|open| open.signature == ended.signature);
        let Some(depth) = begun else {
            counts.without_begin += 1;
            return self.emit_operation(&ended, self.open.len(), spans);
        };
        self.close_deeper(depth + 1, counts, spans)?;
        match self.open.pop() {
            Some(open) => {
                let FinishedOperation { end, cause, .. } = ended;
                self.emit_operation(
                    &FinishedOperation { end, cause, ..open.to_finished() },
                    depth,
                    spans,
                )
            }
            None => Ok(()),
        }
    }

    /// Emits operations to `spans` that began and will not end: all that are deeper than `depth`.
    fn close_deeper(
        &mut self,
        depth: usize,
        counts: &mut EventCounts,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), Error> {
        while self.open.len() > depth
            && let Some(open) = self.open.pop()
        {
            counts.without_end += 1;
            self.emit_operation(&open.to_finished(), self.open.len(), spans)?;
        }
        Ok(())
    }

    /// Emits an operation to `spans` that is enclosed by `depth` others.
    fn emit_operation(
        &self,
        operation: &FinishedOperation<'_>,
        depth: usize,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), Error> {
        let FinishedOperation { order, begin, end, cause, signature, class } = *operation;
        let own = class_of(signature);
        let node = if own.is_empty() { class } else { own };
        let resource =
            spans.resource_id(&SpanResource { node, host: &self.host, parameters: Vec::new() });
        let parent = self.parent.iter().filter(|_| depth == 0);
        let of_trace = self.parameters.iter().chain(parent);
        let mut parameters: Vec<(&str, Cow<'_, str>)> =
            of_trace.map(|(name, value)| (*name, Cow::Borrowed(value.as_str()))).collect();
        let class = Some(class).filter(|class| *class != node);
        let extra = [("class", class), ("cause", cause.filter(|cause| !cause.is_empty()))];
        parameters.extend(extra.into_iter().filter_map(|(name, text)| Some((name, text?.into()))));
        let trace = self.number.to_string();
        let id = TracingId::Number(u128::from(order as u64));
        spans.add_span(&Span {
            depth: u32::try_from(depth).ok(),
            order: Some(order),
            kind: SpanKind::Internal,
            begin,
            end,
            failed: cause.is_some(),
            parameters: &parameters,
            ..Span::new(TracingId::Text(&trace), id, resource, signature)
        })
    }
}
