//! Zipkin's spans: version 2 of its JSON, as returned by its API and sent by its clients.
//!
//! A file is an array of spans, an array of traces, one array per line, or one span per line. The
//! halves of a call at client and server share an id if the library does so (`shared`), and are one
//! step after the join.

use std::borrow::Cow;
use std::path::Path;

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};
use request_flow::spans::{Span, SpanKind, SpanResource};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::attributes::AttributeFacts;
use super::driver::SpanImporter;
use super::format::SpanFormat;
use super::fuzz::fuzz_format;
use super::head::FileHead;
use super::objects::{self, ObjectConsumer, ObjectOutcome, ObjectRefusal, ObjectSpot};
use super::receiver::SpanReceiver;
use super::scalars::{AnyText, MapEntries, MicrosecondTime};
use super::span_import::SpanImport;
use super::texts::FileText;
use super::{ids, json};
use crate::error::Error;
use crate::flags::NameFlag;
use crate::import_input::ImportInput;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePosition, SkippedItem};

/// Registry entry.
pub(crate) static ZIPKIN: ImporterSpec = Spec {
    about: EntryHelp {
        name: "zipkin",
        summary: "Spans of Zipkin: version 2 of its JSON",
        details: "\
Responses of Zipkin's API and reports of its clients: an array of spans, an array of traces, or \
one array or one span per line; plain or compressed (gzip, zstd, xz). Spans become requests and \
their steps; the client's and the server's half of a call are the two ends of a message, by which \
the hosts' clocks are compared.",
        notes: "\
Ask Zipkin for traces so:
  curl 'http://localhost:9411/api/v2/traces?limit=1000' > traces.json",
        examples: &[
            "sockcap import zipkin traces.json && sockcap report",
            "sockcap import zipkin --name monday spans-*.json.gz",
        ],
    },
    flags: NameFlag::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let NameFlag { name } = NameFlag::from_arg_matches(given)?;
            Ok(Box::new(SpanImporter { name, format: ZipkinFormat }))
        },
        fuzz: |bytes| fuzz_format(&ZipkinFormat, bytes),
        #[cfg(test)]
        samples: || vec![tests::CALL.into(), tests::CALL.replace('\n', "").into()],
    },
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct ZipkinFormat;

impl SpanFormat for ZipkinFormat {
    const NONE: &str = "it has no objects with a 'traceId' and an 'id'";

    fn read_file(
        &self,
        input: ImportInput<'_>,
        reading: &mut SpanImport<'_, '_>,
    ) -> Result<(), Error> {
        let (head, input) = FileHead::read_head(input);
        let file = input.file.clone();
        if !json::is_json(&head.bytes) {
            return Err(Error::malformed_at(&file, FilePosition::File, "it is not Zipkin's JSON"));
        }
        json::for_each_value_or_damage(input, &[], reading, |text, batch| {
            read_text(text, &file, batch)
        })
    }
}

/// Reads the spans in a text of `file`.
fn read_text(text: FileText<'_>, file: &Path, spans: &mut impl SpanReceiver) -> Result<(), Error> {
    objects::read_objects(text, file, &mut ZipkinSpans, spans)
}

/// Span in Zipkin's JSON.
#[derive(Deserialize)]
struct ZipkinSpan<'a> {
    #[serde(borrow, rename = "traceId")]
    trace: AnyText<'a>,
    #[serde(borrow)]
    id: AnyText<'a>,
    #[serde(borrow, rename = "parentId")]
    parent: Option<AnyText<'a>>,
    #[serde(borrow)]
    name: Option<AnyText<'a>>,
    #[serde(borrow)]
    kind: Option<AnyText<'a>>,
    timestamp: Option<MicrosecondTime>,
    duration: Option<MicrosecondTime>,
    #[serde(borrow, rename = "localEndpoint")]
    local: Option<ZipkinEndpoint<'a>>,
    #[serde(borrow, rename = "remoteEndpoint")]
    remote: Option<ZipkinEndpoint<'a>>,
    #[serde(borrow)]
    tags: Option<MapEntries<'a, AnyText<'a>>>,
    /// Field that only version 1 has.
    #[serde(rename = "binaryAnnotations")]
    of_version_1: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct ZipkinEndpoint<'a> {
    #[serde(borrow, rename = "serviceName")]
    service: Option<AnyText<'a>>,
    #[serde(borrow)]
    ipv4: Option<AnyText<'a>>,
    #[serde(borrow)]
    ipv6: Option<AnyText<'a>>,
    #[serde(borrow)]
    port: Option<AnyText<'a>>,
}

impl ZipkinEndpoint<'_> {
    fn service_name(&self) -> &str {
        text_or_empty(&self.service)
    }

    fn ip_address(&self) -> &str {
        [text_or_empty(&self.ipv4), text_or_empty(&self.ipv6)]
            .into_iter()
            .find(|it| !it.is_empty())
            .unwrap_or("")
    }
}

fn text_or_empty<'a>(value: &'a Option<AnyText<'_>>) -> &'a str {
    value.as_ref().map_or("", |value| &value.0)
}

struct ZipkinSpans;

impl<R: SpanReceiver> ObjectConsumer<R> for ZipkinSpans {
    fn take_object(
        &mut self,
        text: &[u8],
        spot: &ObjectSpot<'_>,
        spans: &mut R,
    ) -> Result<ObjectOutcome, ObjectRefusal> {
        let (span, length): (ZipkinSpan, usize) = objects::parse_first(text)?;
        let skip = |why: &str| SkippedItem { place: spot.place(), why: why.to_owned() };
        if span.of_version_1.is_some() {
            spans.count_skip("span of Zipkin's version 1", || {
                skip(
                    "request it from Zipkin through \
                                                                    /api/v2",
                )
            });
        } else if !span.emit_span(spans)? {
            spans.count_skip("span without an id", || skip("neither traceId nor id may be empty"));
        }
        Ok(ObjectOutcome::Whole(length))
    }
}

impl ZipkinSpan<'_> {
    /// Emits the span to `spans`; returns `false` if it has no id.
    fn emit_span(&self, spans: &mut impl SpanReceiver) -> Result<bool, Error> {
        let (Some(trace), Some(id)) =
            (ids::parse_hexadecimal_id(&self.trace.0), ids::parse_hexadecimal_id(&self.id.0))
        else {
            return Ok(false);
        };
        let unnamed = ZipkinEndpoint::default();
        let [local, remote] = [&self.local, &self.remote].map(|it| it.as_ref().unwrap_or(&unnamed));
        let tags = self.tags.as_ref().map_or(&[][..], |tags| &tags.0);
        let mut facts = AttributeFacts::default();
        let mut host = "";
        let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(tags.len() + 4);
        for (name, AnyText(value)) in tags {
            match &**name {
                // A resource's attributes are tags of all its spans.
                "host.name" if !value.is_empty() => host = value,
                "service.name" if *value == local.service_name() => {}
                name if facts.take_attribute(name, value) => {
                    parameters.push((name, Cow::Borrowed(value)))
                }
                _ => {}
            }
        }
        let extra = [
            ("localEndpoint.address", local.ip_address()),
            ("localEndpoint.port", text_or_empty(&local.port)),
            ("remoteEndpoint.serviceName", remote.service_name()),
            ("remoteEndpoint.address", remote.ip_address()),
            ("remoteEndpoint.port", text_or_empty(&remote.port)),
        ];
        let is_used = |name| name == "localEndpoint.address" && host.is_empty();
        let extra = extra.into_iter().filter(|(name, value)| !value.is_empty() && !is_used(*name));
        parameters.extend(extra.map(|(name, value)| (name, Cow::Borrowed(value))));
        let host = if host.is_empty() { local.ip_address() } else { host };
        let resource = SpanResource { node: local.service_name(), host, parameters: Vec::new() };
        let resource = spans.resource_id(&resource);

        let kind = span_kind(text_or_empty(&self.kind));
        let named = |name: &str| Some(Cow::Owned(name.to_owned())).filter(|_| !name.is_empty());
        let peer = match kind {
            // The other end of a server's span is the caller, which has an arbitrary port.
            SpanKind::Server | SpanKind::Consumer => named(remote.service_name()),
            _ => named(remote.service_name())
                .or_else(|| facts.called_node())
                .or_else(|| named(remote.ip_address())),
        };
        let begin = self.timestamp.filter(|time| time.0 != 0).map(|time| time.0);
        let duration = self.duration.map(|time| time.0);
        let end = begin.zip(duration).map(|(begin, time)| begin.saturating_add(time));
        spans.add_span(&Span {
            parent: ids::parse_parent_id(text_or_empty(&self.parent)),
            kind,
            peer: peer.as_deref(),
            begin,
            end,
            // Another report of the span may contain its begin.
            duration: duration.filter(|_| begin.is_none()),
            failed: tags.iter().any(|(name, value)| is_failure_tag(name, &value.0)),
            probability: facts.probability,
            bytes_in: facts.bytes_in,
            bytes_out: facts.bytes_out,
            parameters: &parameters,
            ..Span::new(trace, id, resource, text_or_empty(&self.name))
        })?;
        Ok(true)
    }
}

fn span_kind(text: &str) -> SpanKind {
    let kinds = [
        ("CLIENT", SpanKind::Client),
        ("SERVER", SpanKind::Server),
        ("PRODUCER", SpanKind::Producer),
        ("CONSUMER", SpanKind::Consumer),
    ];
    let kind = kinds.into_iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
    kind.map_or(SpanKind::Unknown, |(_, kind)| kind)
}

/// Whether a tag states that the span failed. Libraries of OpenTracing write the tag for spans that
/// did not fail, too.
fn is_failure_tag(name: &str, value: &str) -> bool {
    match name {
        "error" => !value.eq_ignore_ascii_case("false"),
        "otel.status_code" => value.eq_ignore_ascii_case("error"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
