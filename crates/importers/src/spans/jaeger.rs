//! Jaeger's traces: the JSON of its API and of the download in its UI.
//!
//! A file is a response of the API, with traces in its `data`; a single trace, an array of traces,
//! or one per line; or single spans that contain their process, as in Jaeger's stores. [`model`]
//! describes the JSON.
//!
//! In a damaged trace, the intact spans are used. The spans wait for the processes of their trace,
//! which Jaeger writes after the spans.

use std::borrow::Cow;
use std::path::Path;

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};
use request_flow::spans::{ResourceId, Span, SpanKind, SpanResource, TracingId};
use serde::de::Error as _;

use self::model::{
    JaegerProcess, JaegerProcesses, JaegerShape, JaegerSpan, JaegerTrace, text_or_empty, value_of,
};
use super::attributes::{self, AttributeFacts};
use super::driver::SpanImporter;
use super::format::SpanFormat;
use super::fuzz::fuzz_format;
use super::head::FileHead;
use super::objects::{self, ObjectConsumer, ObjectOutcome, ObjectRefusal, ObjectSpot};
use super::receiver::SpanReceiver;
use super::span_import::SpanImport;
use super::texts::FileText;
use super::{ids, json};
use crate::error::Error;
use crate::flags::NameFlag;
use crate::import_input::ImportInput;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePlace, FilePosition, SkippedItem};

mod model;
#[cfg(test)]
mod tests;

/// Registry entry.
pub(crate) static JAEGER: ImporterSpec = Spec {
    about: EntryHelp {
        name: "jaeger",
        summary: "Traces of Jaeger: the JSON of its API and its UI",
        details: "\
Responses of Jaeger's API and downloads from its UI: an object with traces in 'data'; or one \
trace, an array of traces, or one trace per line; plain or compressed (gzip, zstd, xz). Spans \
become requests and their steps; client and server spans of one call are the two ends of a \
message, by which the hosts' clocks are compared.",
        notes: "\
Ask Jaeger for traces so:
  curl 'http://localhost:16686/api/traces?service=shop&limit=1000' > traces.json",
        examples: &[
            "sockcap import jaeger traces.json && sockcap report",
            "sockcap import jaeger --name monday traces-*.json.gz",
        ],
    },
    flags: NameFlag::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let NameFlag { name } = NameFlag::from_arg_matches(given)?;
            Ok(Box::new(SpanImporter { name, format: JaegerFormat }))
        },
        fuzz: |bytes| fuzz_format(&JaegerFormat, bytes),
        #[cfg(test)]
        samples: || vec![tests::ANSWER.into(), tests::ANSWER.replace('\n', "").into()],
    },
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct JaegerFormat;

impl SpanFormat for JaegerFormat {
    const NONE: &str = "it has no traces, which are objects with 'spans'";

    fn read_file(
        &self,
        input: ImportInput<'_>,
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error> {
        let (head, input) = FileHead::read_head(input);
        let file = input.file.clone();
        if !json::is_json(&head.bytes) {
            return Err(Error::malformed_at(&file, FilePosition::File, "it is not Jaeger's JSON"));
        }
        let first = memchr::memchr2(b'{', b'[', &head.bytes).unwrap_or_default();
        let shape = head.bytes.get(first..).and_then(|text| JaegerShape::from_text(text).ok());
        let keys: &[&str] = if shape == Some(JaegerShape::Answer) { &["data"] } else { &[] };
        json::for_each_value_or_damage(input, keys, reading, |text, batch| {
            read_text(text, &file, batch)
        })
    }
}

/// Reads the spans in a text of `file`.
fn read_text(text: FileText<'_>, file: &Path, spans: &mut impl SpanReceiver) -> Result<(), Error> {
    let mut traces = JaegerTraces::default();
    objects::read_objects(text, file, &mut traces, spans)?;
    traces.emit_waiting(&JaegerProcesses::default(), spans)
}

/// Spans of a damaged trace that wait for its processes, as text.
#[derive(Default)]
struct JaegerTraces {
    /// Texts of the spans, one after the other.
    waiting: Vec<u8>,
    /// For each span: the end of its text in `waiting`, and its place in the file.
    spans: Vec<(usize, FilePlace)>,
}

impl<R: SpanReceiver> ObjectConsumer<R> for JaegerTraces {
    fn take_object(
        &mut self,
        text: &[u8],
        spot: &ObjectSpot<'_>,
        spans: &mut R,
    ) -> Result<ObjectOutcome, ObjectRefusal> {
        match JaegerShape::from_text(text)? {
            JaegerShape::Answer => Ok(ObjectOutcome::Wrapper),
            JaegerShape::Trace => {
                let (trace, length): (JaegerTrace, usize) = objects::parse_first(text)?;
                self.emit_waiting(&JaegerProcesses::default(), spans)?;
                let none = JaegerProcesses::default();
                let processes = trace.processes.as_ref().unwrap_or(&none);
                for span in &trace.spans.0 {
                    span.emit_span(
                        self::text_or_empty(&trace.id),
                        processes,
                        || spot.place(),
                        spans,
                    )?;
                }
                Ok(ObjectOutcome::Whole(length))
            }
            JaegerShape::Span => {
                let (span, length): (JaegerSpan, usize) = objects::parse_first(text)?;
                if !spot.in_damage {
                    span.emit_span("", &JaegerProcesses::default(), || spot.place(), spans)?;
                    return Ok(ObjectOutcome::Whole(length));
                }
                self.waiting.extend_from_slice(text.get(..length).unwrap_or_default());
                self.spans.push((self.waiting.len(), spot.place()));
                Ok(ObjectOutcome::Part(length))
            }
            JaegerShape::Other => {
                // The processes of a damaged trace may be intact.
                let (processes, length): (JaegerProcesses, usize) = objects::parse_first(text)?;
                if !spot.in_damage || processes.0.is_empty() {
                    return Err(
                        serde_json::Error::custom("it is neither a trace nor a span").into()
                    );
                }
                self.emit_waiting(&processes, spans)?;
                Ok(ObjectOutcome::Part(length))
            }
        }
    }
}

impl JaegerTraces {
    /// Emits the waiting spans to `spans`; `processes` are the processes of their trace.
    fn emit_waiting(
        &mut self,
        processes: &JaegerProcesses<'_>,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), Error> {
        let JaegerTraces { waiting, spans: all } = std::mem::take(self);
        let mut begin = 0;
        for (end, place) in all {
            let text = waiting.get(begin..end).unwrap_or_default();
            // A waiting span was parsed once, so it can be parsed again.
            if let Ok((span, _)) = objects::parse_first::<JaegerSpan>(text) {
                span.emit_span("", processes, || place, spans)?;
            }
            begin = end;
        }
        Ok(())
    }
}

impl JaegerSpan<'_> {
    /// Emits the span to `spans`. `trace` is the id of the enclosing trace, and `processes` are the
    /// trace's processes.
    fn emit_span(
        &self,
        trace: &str,
        processes: &JaegerProcesses<'_>,
        place: impl FnOnce() -> FilePlace,
        spans: &mut impl SpanReceiver,
    ) -> Result<(), Error> {
        let trace = ids::parse_hexadecimal_id(text_or_empty(&self.trace))
            .or(ids::parse_hexadecimal_id(trace));
        let (Some(trace), Some(id)) = (trace, ids::parse_hexadecimal_id(&self.id.0)) else {
            let why = "neither traceID nor spanID may be empty".to_owned();
            spans.count_skip("span without an id", || SkippedItem { place: place(), why });
            return Ok(());
        };
        let named = text_or_empty(&self.process_id);
        let of_trace = || processes.0.iter().find(|(name, _)| *name == named).map(|it| &it.1);
        let process = self.process.as_ref().or_else(of_trace);
        let resource = match process {
            Some(process) => process.resource_id(spans),
            None => spans.resource_id(&SpanResource::default()),
        };

        let kind = span_kind(value_of(&self.tags, "span.kind").unwrap_or_default());
        let is_called = !matches!(kind, SpanKind::Server | SpanKind::Consumer);
        let ParentSpan { id: parent, follows, others } = parent_of_span(self, trace);
        let tags = self.tags.as_ref().map_or(&[][..], |tags| &tags.0);
        let mut facts = AttributeFacts::default();
        let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(tags.len());
        for tag in tags {
            if facts.take_attribute(&tag.key.0, text_or_empty(&tag.value)) {
                parameters.push((&tag.key.0, Cow::Borrowed(text_or_empty(&tag.value))));
            }
        }
        parameters.extend(others.into_iter().map(|other| ("references", Cow::Owned(other))));
        let peer = facts.called_node().filter(|_| is_called);
        let begin = self.begin.map(|time| time.0);
        let duration = self.duration.map(|time| time.0);
        let end = begin.zip(duration).map(|(begin, time)| begin.saturating_add(time));
        spans.add_span(&Span {
            parent,
            follows,
            kind,
            peer: peer.as_deref(),
            begin,
            end,
            duration: duration.filter(|_| begin.is_none()),
            failed: self.has_failed(),
            probability: facts.probability,
            bytes_in: facts.bytes_in,
            bytes_out: facts.bytes_out,
            parameters: &parameters,
            ..Span::new(trace, id, resource, text_or_empty(&self.operation))
        })
    }

    fn has_failed(&self) -> bool {
        let is = |name, wanted: &str| {
            value_of(&self.tags, name).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
        };
        is("error", "true") || is("otel.status_code", "ERROR")
    }
}

impl JaegerProcess<'_> {
    /// Number of the span's resource. The host of the resource is the one given by Jaeger's or
    /// OpenTelemetry's libraries, or otherwise its address.
    fn resource_id(&self, spans: &mut impl SpanReceiver) -> ResourceId {
        let tags = self.tags.as_ref().map_or(&[][..], |tags| &tags.0);
        let mut all: attributes::SpanAttributes<'_> = Vec::with_capacity(tags.len() + 1);
        all.push(("service.name".into(), Cow::Borrowed(&*self.service.0)));
        all.extend(
            tags.iter()
                .map(|tag| (Cow::Borrowed(&*tag.key.0), Cow::Borrowed(text_or_empty(&tag.value)))),
        );
        let resource = attributes::resource_of_attributes(&all);
        let own = value_of(&self.tags, "hostname").map(|host| ("hostname", host));
        let address = || value_of(&self.tags, "ip").map(|host| ("ip", host));
        let other = if resource.host.is_empty() { own.or_else(address) } else { own };
        let Some((used, host)) = other else { return spans.resource_id(&resource) };
        let mut parameters = resource.parameters;
        parameters.retain(|(name, _)| *name != used);
        spans.resource_id(&SpanResource { host, parameters, ..resource })
    }
}

/// Parent of a span.
struct ParentSpan<'a> {
    id: Option<TracingId<'a>>,
    /// Whether the span only follows from its parent, which does not wait for the span.
    follows: bool,
    /// Descriptions of the span's other references.
    others: Vec<String>,
}

/// Parent of a span: the first one in the trace that it is the child of or, without such, that it
/// follows from.
fn parent_of_span<'a>(written: &'a JaegerSpan<'_>, trace: TracingId<'_>) -> ParentSpan<'a> {
    let references = written.references.as_ref().map_or(&[][..], |list| &list.0);
    let place = |kind: Option<&str>| {
        references.iter().position(|reference| {
            let of = text_or_empty(&reference.trace);
            let is_here = of.is_empty() || ids::parse_hexadecimal_id(of) == Some(trace);
            is_here && kind.is_none_or(|kind| text_or_empty(&reference.kind) == kind)
        })
    };
    let chosen = place(Some("CHILD_OF")).or_else(|| place(None));
    let parent = chosen.and_then(|place| references.get(place));
    let follows = parent.is_some_and(|reference| text_or_empty(&reference.kind) == "FOLLOWS_FROM");
    let parent = parent.and_then(|reference| ids::parse_parent_id(&reference.span.0));
    let others = references.iter().enumerate().filter(|(place, _)| Some(*place) != chosen);
    let others = others.map(|(_, other)| {
        format!("{} {}:{}", text_or_empty(&other.kind), text_or_empty(&other.trace), other.span.0)
    });
    let id = parent.or_else(|| ids::parse_parent_id(text_or_empty(&written.parent)));
    ParentSpan { id, follows, others: others.collect() }
}

fn span_kind(text: &str) -> SpanKind {
    match text {
        "client" => SpanKind::Client,
        "server" => SpanKind::Server,
        "producer" => SpanKind::Producer,
        "consumer" => SpanKind::Consumer,
        "internal" => SpanKind::Internal,
        _ => SpanKind::Unknown,
    }
}
