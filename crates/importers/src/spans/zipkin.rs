//! Zipkin's spans: version 2 of its JSON, as its API answers and its clients send it.
//!
//! An array of spans, an array of traces, one array a line, or one span a line. The halves of a
//! call at client and server share an id where the library does so (`shared`), and are one step
//! after the join.

use std::borrow::Cow;
use std::path::Path;

use registry::About;
use request_flow::spans::{Resource, Span, SpanKind};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::attributes::Told;
use super::driver::SpanImporter;
use super::format::Format;
use super::fuzz::run;
use super::head::Head;
use super::objects::{self, Objects, Refused, Spot, Taken};
use super::reading::Reading;
use super::receiver::Receiver;
use super::scalars::{Pairs, Time, Value};
use super::texts::Text;
use super::{ids, json};
use crate::error::Error;
use crate::flags::NAME;
use crate::kind::Kind;
use crate::reading::Input;
use crate::summary::{At, Skip};

/// The entry in the registry.
pub(crate) static ZIPKIN: Kind = Kind {
    about: About {
        name: "zipkin",
        summary: "Spans of Zipkin: version 2 of its JSON",
        details: "\
What Zipkin's API answers and its clients send: an array of spans, an array of traces, or one array \
or one span a line; plain or compressed (gzip, zstd, xz). Spans become requests and their steps; the \
client's and the server's half of a call are the two ends of a message, by which the hosts' clocks \
are compared.",
        notes: "\
Ask Zipkin for traces so:
  curl 'http://localhost:9411/api/v2/traces?limit=1000' > traces.json",
        examples: &[
            "sockcap import zipkin traces.json && sockcap report",
            "sockcap import zipkin --name monday spans-*.json.gz",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME],
    make: |given| Box::new(SpanImporter { name: given.get(&NAME), format: Zipkin }),
    fuzz: |bytes| run(&Zipkin, bytes),
    #[cfg(test)]
    samples: || vec![tests::CALL.into(), tests::CALL.replace('\n', "").into()],
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct Zipkin;

impl Format for Zipkin {
    const NONE: &str = "it has no objects with a 'traceId' and an 'id'";

    fn read(&self, input: Input<'_>, reading: &mut Reading<'_, '_>) -> Result<(), Error> {
        let (head, input) = Head::of(input);
        let file = input.file.clone();
        if !json::is_json(&head.bytes) {
            return Err(Error::malformed(&file, At::File, "it is no JSON of Zipkin"));
        }
        json::each_or_damaged(input, &[], reading, |text, piece| read(text, &file, piece))
    }
}

/// Reads the spans in a text of `file`.
fn read(text: Text<'_>, file: &Path, spans: &mut impl Receiver) -> Result<(), Error> {
    objects::read(text, file, &mut Spans, spans)
}

/// A span as Zipkin writes it.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(borrow, rename = "traceId")]
    trace: Value<'a>,
    #[serde(borrow)]
    id: Value<'a>,
    #[serde(borrow, rename = "parentId")]
    parent: Option<Value<'a>>,
    #[serde(borrow)]
    name: Option<Value<'a>>,
    #[serde(borrow)]
    kind: Option<Value<'a>>,
    timestamp: Option<Time>,
    duration: Option<Time>,
    #[serde(borrow, rename = "localEndpoint")]
    local: Option<Endpoint<'a>>,
    #[serde(borrow, rename = "remoteEndpoint")]
    remote: Option<Endpoint<'a>>,
    #[serde(borrow)]
    tags: Option<Pairs<'a, Value<'a>>>,
    /// What only version 1 has.
    #[serde(rename = "binaryAnnotations")]
    of_version_1: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
struct Endpoint<'a> {
    #[serde(borrow, rename = "serviceName")]
    service: Option<Value<'a>>,
    #[serde(borrow)]
    ipv4: Option<Value<'a>>,
    #[serde(borrow)]
    ipv6: Option<Value<'a>>,
    #[serde(borrow)]
    port: Option<Value<'a>>,
}

impl Endpoint<'_> {
    fn service(&self) -> &str {
        text(&self.service)
    }

    fn address(&self) -> &str {
        [text(&self.ipv4), text(&self.ipv6)].into_iter().find(|it| !it.is_empty()).unwrap_or("")
    }
}

fn text<'a>(value: &'a Option<Value<'_>>) -> &'a str {
    value.as_ref().map_or("", |value| &value.0)
}

struct Spans;

impl<R: Receiver> Objects<R> for Spans {
    fn take(&mut self, text: &[u8], spot: &Spot<'_>, spans: &mut R) -> Result<Taken, Refused> {
        let (span, length): (Written, usize) = objects::first(text)?;
        let skip = |why: &str| Skip { place: spot.place(), why: why.to_owned() };
        if span.of_version_1.is_some() {
            spans.skip("span of Zipkin's version 1", || skip("ask Zipkin for it by /api/v2"));
        } else if !span.give(spans)? {
            spans.skip("span without an id", || skip("neither traceId nor id may be empty"));
        }
        Ok(Taken::Whole(length))
    }
}

impl Written<'_> {
    /// Gives the span to `spans`; `false` where it has no id.
    fn give(&self, spans: &mut impl Receiver) -> Result<bool, Error> {
        let (Some(trace), Some(id)) =
            (ids::hexadecimal(&self.trace.0), ids::hexadecimal(&self.id.0))
        else {
            return Ok(false);
        };
        let nobody = Endpoint::default();
        let [local, remote] = [&self.local, &self.remote].map(|it| it.as_ref().unwrap_or(&nobody));
        let tags = self.tags.as_ref().map_or(&[][..], |tags| &tags.0);
        let mut told = Told::default();
        let mut host = "";
        let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(tags.len() + 4);
        for (name, Value(value)) in tags {
            match &**name {
                // A resource's attributes are tags of all its spans.
                "host.name" if !value.is_empty() => host = value,
                "service.name" if *value == local.service() => {}
                name if told.take(name, value) => parameters.push((name, Cow::Borrowed(value))),
                _ => {}
            }
        }
        let beside = [
            ("localEndpoint.address", local.address()),
            ("localEndpoint.port", text(&local.port)),
            ("remoteEndpoint.serviceName", remote.service()),
            ("remoteEndpoint.address", remote.address()),
            ("remoteEndpoint.port", text(&remote.port)),
        ];
        let is_used = |name| name == "localEndpoint.address" && host.is_empty();
        let beside =
            beside.into_iter().filter(|(name, value)| !value.is_empty() && !is_used(*name));
        parameters.extend(beside.map(|(name, value)| (name, Cow::Borrowed(value))));
        let host = if host.is_empty() { local.address() } else { host };
        let resource = Resource { node: local.service(), host, parameters: Vec::new() };
        let resource = spans.resource(&resource);

        let kind = kind(text(&self.kind));
        let named = |name: &str| Some(Cow::Owned(name.to_owned())).filter(|_| !name.is_empty());
        let peer = match kind {
            // Of a server's span the other end is the caller, whose port tells nothing.
            SpanKind::Server | SpanKind::Consumer => named(remote.service()),
            _ => {
                named(remote.service()).or_else(|| told.peer()).or_else(|| named(remote.address()))
            }
        };
        let begin = self.timestamp.filter(|time| time.0 != 0).map(|time| time.0);
        let duration = self.duration.map(|time| time.0);
        let end = begin.zip(duration).map(|(begin, time)| begin.saturating_add(time));
        spans.span(&Span {
            parent: ids::parent(text(&self.parent)),
            kind,
            peer: peer.as_deref(),
            begin,
            end,
            // Another report of the span may say when it began.
            duration: duration.filter(|_| begin.is_none()),
            failed: tags.iter().any(|(name, value)| fails(name, &value.0)),
            probability: told.probability,
            bytes_in: told.bytes_in,
            bytes_out: told.bytes_out,
            parameters: &parameters,
            ..Span::of(trace, id, resource, text(&self.name))
        })?;
        Ok(true)
    }
}

fn kind(text: &str) -> SpanKind {
    let kinds = [
        ("CLIENT", SpanKind::Client),
        ("SERVER", SpanKind::Server),
        ("PRODUCER", SpanKind::Producer),
        ("CONSUMER", SpanKind::Consumer),
    ];
    let kind = kinds.into_iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
    kind.map_or(SpanKind::Unknown, |(_, kind)| kind)
}

/// Whether a tag says that the span failed. Libraries of OpenTracing write that it did not, too.
fn fails(name: &str, value: &str) -> bool {
    match name {
        "error" => !value.eq_ignore_ascii_case("false"),
        "otel.status_code" => value.eq_ignore_ascii_case("error"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
