//! OTLP's span: what JSON and protobuf have alike, and the span that it becomes.

use std::borrow::Cow;
use std::path::Path;

use request_flow::spans::{ResourceId, Span, SpanKind};

use super::ids::OtlpId;
use crate::error::Error;
use crate::spans::attributes::{self, Attributes, Told};
use crate::spans::receiver::Receiver;
use crate::summary::{At, Place, Skip};
use crate::tuning::FARTHEST_NS;

/// A span as it was written down.
#[derive(Clone, Debug, Default)]
pub(super) struct OtlpSpan<'t> {
    pub(super) trace: OtlpId<'t>,
    pub(super) id: OtlpId<'t>,
    pub(super) parent: OtlpId<'t>,
    pub(super) name: Cow<'t, str>,
    pub(super) kind: SpanKind,
    pub(super) begin: Time,
    pub(super) end: Time,
    pub(super) failed: bool,
    pub(super) attributes: Attributes<'t>,
}

/// A time as it was written down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Time {
    /// There is none, or 0, which stands for none.
    #[default]
    None,
    /// Nanoseconds since the Unix epoch.
    At(i64),
    /// What is there is no time.
    Wrong,
}

/// Where the spans of one text go.
pub(super) struct Reader<'p, R> {
    pub(super) receiver: &'p mut R,
    pub(super) file: &'p Path,
    /// Where the text begins.
    pub(super) at: At,
}

impl Time {
    /// Nanoseconds since the Unix epoch.
    pub(super) fn of(ns: u64) -> Time {
        match i64::try_from(ns) {
            Ok(0) => Time::None,
            Ok(ns) if ns <= FARTHEST_NS => Time::At(ns),
            _ => Time::Wrong,
        }
    }

    fn get(self) -> Option<i64> {
        match self {
            Time::At(ns) => Some(ns),
            Time::None | Time::Wrong => None,
        }
    }
}

/// A kind by its number.
pub(super) fn kind(number: u64) -> SpanKind {
    match number {
        1 => SpanKind::Internal,
        2 => SpanKind::Server,
        3 => SpanKind::Client,
        4 => SpanKind::Producer,
        5 => SpanKind::Consumer,
        _ => SpanKind::Unknown,
    }
}

/// The number of the status of a span that failed.
pub(super) const FAILED: u64 = 2;

/// The parameter that has the message of a span's status, by OpenTelemetry's name for it where a
/// format has attributes only.
pub(super) const STATUS_MESSAGE: &str = "otel.status_description";

impl<R: Receiver> Reader<'_, R> {
    /// The number of the resource with these attributes.
    pub(super) fn resource(&mut self, attributes: &Attributes<'_>) -> ResourceId {
        self.receiver.resource(&attributes::resource(attributes))
    }

    /// Takes a span, or counts it as skipped.
    pub(super) fn span(&mut self, span: &OtlpSpan<'_>, resource: ResourceId) -> Result<(), Error> {
        let (Some(trace), Some(id)) = (span.trace.get(), span.id.get()) else {
            self.skip("span without an id", "a span has no traceId or no spanId", span);
            return Ok(());
        };
        if span.begin == Time::Wrong || span.end == Time::Wrong {
            let why = "the begin or the end of a span is no number of nanoseconds since 1970";
            self.skip("span with a time that is none", why, span);
            return Ok(());
        }
        let mut told = Told::default();
        let mut parameters = Vec::with_capacity(span.attributes.len());
        for (name, value) in &span.attributes {
            if told.take(name, value) {
                parameters.push((name.as_ref(), Cow::Borrowed(value.as_ref())));
            }
        }
        let peer = match span.kind {
            SpanKind::Client | SpanKind::Producer => told.peer(),
            SpanKind::Server | SpanKind::Consumer => told.caller(),
            SpanKind::Internal | SpanKind::Unknown => None,
        };
        self.receiver.span(&Span {
            parent: span.parent.get(),
            kind: span.kind,
            peer: peer.as_deref(),
            begin: span.begin.get(),
            end: span.end.get(),
            failed: span.failed,
            probability: told.probability,
            bytes_in: told.bytes_in,
            bytes_out: told.bytes_out,
            parameters: &parameters,
            ..Span::of(trace, id, resource, &span.name)
        })
    }

    fn skip(&mut self, cause: &'static str, why: &str, span: &OtlpSpan<'_>) {
        let place = Place::new(self.file, self.at);
        let why = || format!("{why}; its name is '{}'", span.name);
        self.receiver.skip(cause, || Skip { place, why: why() });
    }

    /// A span is no message.
    pub(super) fn span_is_damaged(&mut self) {
        let place = Place::new(self.file, self.at);
        let why = "a span of the message that begins here is damaged".to_owned();
        self.receiver.skip("damaged span", || Skip { place, why });
    }

    /// The rest of the text cannot be read.
    pub(super) fn damage(&mut self, at: At, why: String) {
        let place = Place::new(self.file, at);
        self.receiver.damage("part of a file that is damaged", || Skip { place, why });
    }
}
