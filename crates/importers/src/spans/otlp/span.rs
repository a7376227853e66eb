//! OTLP span: the common part of JSON and protobuf, and its conversion.

use std::borrow::Cow;
use std::path::Path;

use request_flow::spans::{ResourceId, Span, SpanKind};

use super::ids::OtlpId;
use crate::error::Error;
use crate::spans::attributes::{self, AttributeFacts, SpanAttributes};
use crate::spans::receiver::SpanReceiver;
use crate::summary::{FilePlace, FilePosition, SkippedItem};
use crate::tuning::MAX_EPOCH_DISTANCE_NS;

/// Span of OTLP, as recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct OtlpSpan<'t> {
    pub(super) trace: OtlpId<'t>,
    pub(super) id: OtlpId<'t>,
    pub(super) parent: OtlpId<'t>,
    pub(super) name: Cow<'t, str>,
    pub(super) kind: SpanKind,
    pub(super) begin: OtlpTime,
    pub(super) end: OtlpTime,
    pub(super) failed: bool,
    pub(super) attributes: SpanAttributes<'t>,
}

/// Time of a span, as recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OtlpTime {
    /// No time, or 0, which means the same.
    #[default]
    None,
    /// Nanoseconds since the Unix epoch.
    At(i64),
    /// A value that is not a time.
    Wrong,
}

/// Converter of the spans of one text, which passes them to a receiver.
pub(super) struct OtlpSpanReader<'p, R> {
    pub(super) receiver: &'p mut R,
    pub(super) file: &'p Path,
    /// Position where the text begins.
    pub(super) at: FilePosition,
}

impl OtlpTime {
    /// Nanoseconds since the Unix epoch.
    pub(super) fn from_nanoseconds(ns: u64) -> OtlpTime {
        match i64::try_from(ns) {
            Ok(0) => OtlpTime::None,
            Ok(ns) if ns <= MAX_EPOCH_DISTANCE_NS => OtlpTime::At(ns),
            _ => OtlpTime::Wrong,
        }
    }

    fn get(self) -> Option<i64> {
        match self {
            OtlpTime::At(ns) => Some(ns),
            OtlpTime::None | OtlpTime::Wrong => None,
        }
    }
}

/// Kind of a span by its number in OTLP.
pub(super) fn kind_of_number(number: u64) -> SpanKind {
    match number {
        1 => SpanKind::Internal,
        2 => SpanKind::Server,
        3 => SpanKind::Client,
        4 => SpanKind::Producer,
        5 => SpanKind::Consumer,
        _ => SpanKind::Unknown,
    }
}

/// Number of the status of a failed span.
pub(super) const FAILED_STATUS: u64 = 2;

/// Parameter with the message of a span's status; this is OpenTelemetry's name for it in formats
/// that have only attributes.
pub(super) const STATUS_MESSAGE: &str = "otel.status_description";

impl<R: SpanReceiver> OtlpSpanReader<'_, R> {
    /// Number of the resource with these attributes.
    pub(super) fn resource_id(&mut self, attributes: &SpanAttributes<'_>) -> ResourceId {
        self.receiver.resource_id(&attributes::resource_of_attributes(attributes))
    }

    /// Adds a span, or counts it as skipped.
    pub(super) fn add_span(
        &mut self,
        span: &OtlpSpan<'_>,
        resource: ResourceId,
    ) -> Result<(), Error> {
        let (Some(trace), Some(id)) = (span.trace.get(), span.id.get()) else {
            self.skip_span("span without an id", "a span has no traceId or no spanId", span);
            return Ok(());
        };
        if span.begin == OtlpTime::Wrong || span.end == OtlpTime::Wrong {
            let why = "the begin or the end of a span is not a number of nanoseconds since 1970";
            self.skip_span("span with an invalid time", why, span);
            return Ok(());
        }
        let mut facts = AttributeFacts::default();
        let mut parameters = Vec::with_capacity(span.attributes.len());
        for (name, value) in &span.attributes {
            if facts.take_attribute(name, value) {
                parameters.push((name.as_ref(), Cow::Borrowed(value.as_ref())));
            }
        }
        let peer = match span.kind {
            SpanKind::Client | SpanKind::Producer => facts.called_node(),
            SpanKind::Server | SpanKind::Consumer => facts.calling_node(),
            SpanKind::Internal | SpanKind::Unknown => None,
        };
        self.receiver.add_span(&Span {
            parent: span.parent.get(),
            kind: span.kind,
            peer: peer.as_deref(),
            begin: span.begin.get(),
            end: span.end.get(),
            failed: span.failed,
            probability: facts.probability,
            bytes_in: facts.bytes_in,
            bytes_out: facts.bytes_out,
            parameters: &parameters,
            ..Span::new(trace, id, resource, &span.name)
        })
    }

    fn skip_span(&mut self, cause: &'static str, why: &str, span: &OtlpSpan<'_>) {
        let place = FilePlace::new(self.file, self.at);
        let why = || format!("{why}; its name is '{}'", span.name);
        self.receiver.count_skip(cause, || SkippedItem { place, why: why() });
    }

    /// Counts a span that cannot be parsed.
    pub(super) fn count_damaged_span(&mut self) {
        let place = FilePlace::new(self.file, self.at);
        let why = "a span of the message that begins here is damaged".to_owned();
        self.receiver.count_skip("damaged span", || SkippedItem { place, why });
    }

    /// Counts the rest of the text as unreadable.
    pub(super) fn count_damage(&mut self, at: FilePosition, why: String) {
        let place = FilePlace::new(self.file, at);
        self.receiver.count_damage("damaged part of a file", || SkippedItem { place, why });
    }
}
