//! Jaeger's traces: the JSON of its API and of the download in its UI.
//!
//! An answer of the API, whose `data` are traces; a trace alone, an array of them, or one a line;
//! and spans alone with their process in them, as Jaeger's stores have them. [`model`] is what the
//! JSON says.
//!
//! Of a trace that is damaged, the spans that are whole are used. They wait for its processes,
//! which Jaeger writes behind the spans.

use std::borrow::Cow;
use std::path::Path;

use registry::About;
use request_flow::spans::{Id, Resource, ResourceId, Span, SpanKind};
use serde::de::Error as _;

use self::model::{Process, Processes, Shape, Trace, Written, text, value_of};
use super::attributes::{self, Told};
use super::driver::SpanImporter;
use super::format::Format;
use super::fuzz::run;
use super::head::Head;
use super::objects::{self, Objects, Refused, Spot, Taken};
use super::reading::Reading;
use super::receiver::Receiver;
use super::texts::Text;
use super::{ids, json};
use crate::error::Error;
use crate::flags::NAME;
use crate::kind::Kind;
use crate::reading::Input;
use crate::summary::{At, Place, Skip};

mod model;
#[cfg(test)]
mod tests;

/// The entry in the registry.
pub(crate) static JAEGER: Kind = Kind {
    about: About {
        name: "jaeger",
        summary: "Traces of Jaeger: the JSON of its API and its UI",
        details: "\
What Jaeger's API answers and its UI saves: an object with traces in 'data'; or one trace, an array \
of traces, or a trace a line; plain or compressed (gzip, zstd, xz). Spans become requests and their \
steps; client and server spans of one call are the two ends of a message, by which the hosts' \
clocks are compared.",
        notes: "\
Ask Jaeger for traces so:
  curl 'http://localhost:16686/api/traces?service=shop&limit=1000' > traces.json",
        examples: &[
            "sockcap import jaeger traces.json && sockcap report",
            "sockcap import jaeger --name monday traces-*.json.gz",
        ],
    },
    files: "The files, which become one import",
    files_by: None,
    flags: &[&NAME],
    make: |given| Box::new(SpanImporter { name: given.get(&NAME), format: Jaeger }),
    fuzz: |bytes| run(&Jaeger, bytes),
    #[cfg(test)]
    samples: || vec![tests::ANSWER.into(), tests::ANSWER.replace('\n', "").into()],
};

/// The format.
#[derive(Clone, Copy, Debug)]
struct Jaeger;

impl Format for Jaeger {
    const NONE: &str = "it has no traces, which have 'spans'";

    fn read(&self, input: Input<'_>, reading: &mut Reading<'_, '_>) -> Result<(), Error> {
        let (head, input) = Head::of(input);
        let file = input.file.clone();
        if !json::is_json(&head.bytes) {
            return Err(Error::malformed(&file, At::File, "it is no JSON of Jaeger"));
        }
        let first = memchr::memchr2(b'{', b'[', &head.bytes).unwrap_or_default();
        let is_answer = head.bytes.get(first..).and_then(|text| Shape::of(text).ok());
        let keys: &[&str] = if is_answer == Some(Shape::Answer) { &["data"] } else { &[] };
        json::each_or_damaged(input, keys, reading, |text, piece| read(text, &file, piece))
    }
}

/// Reads the spans in a text of `file`.
fn read(text: Text<'_>, file: &Path, spans: &mut impl Receiver) -> Result<(), Error> {
    let mut traces = Traces::default();
    objects::read(text, file, &mut traces, spans)?;
    traces.end_waiting(&Processes::default(), spans)
}

/// What was read and not given yet: spans of a damaged trace that wait for its processes, as they
/// were written.
#[derive(Default)]
struct Traces {
    waiting: Vec<u8>,
    /// Where each ends, and where it was.
    spans: Vec<(usize, Place)>,
}

impl<R: Receiver> Objects<R> for Traces {
    fn take(&mut self, text: &[u8], spot: &Spot<'_>, spans: &mut R) -> Result<Taken, Refused> {
        match Shape::of(text)? {
            Shape::Answer => Ok(Taken::Wrapper),
            Shape::Trace => {
                let (trace, length): (Trace, usize) = objects::first(text)?;
                self.end_waiting(&Processes::default(), spans)?;
                let none = Processes::default();
                let processes = trace.processes.as_ref().unwrap_or(&none);
                for span in &trace.spans.0 {
                    span.give(self::text(&trace.id), processes, || spot.place(), spans)?;
                }
                Ok(Taken::Whole(length))
            }
            Shape::Span => {
                let (span, length): (Written, usize) = objects::first(text)?;
                if !spot.is_lost {
                    span.give("", &Processes::default(), || spot.place(), spans)?;
                    return Ok(Taken::Whole(length));
                }
                self.waiting.extend_from_slice(text.get(..length).unwrap_or_default());
                self.spans.push((self.waiting.len(), spot.place()));
                Ok(Taken::Part(length))
            }
            Shape::Other => {
                // Of a damaged trace the processes may be whole.
                let (processes, length): (Processes, usize) = objects::first(text)?;
                if !spot.is_lost || processes.0.is_empty() {
                    return Err(serde_json::Error::custom("it is no trace and no span").into());
                }
                self.end_waiting(&processes, spans)?;
                Ok(Taken::Part(length))
            }
        }
    }
}

impl Traces {
    /// Gives the spans that wait to `spans`: `processes` wrote them.
    fn end_waiting(
        &mut self,
        processes: &Processes<'_>,
        spans: &mut impl Receiver,
    ) -> Result<(), Error> {
        let Traces { waiting, spans: all } = std::mem::take(self);
        let mut begin = 0;
        for (end, place) in all {
            let text = waiting.get(begin..end).unwrap_or_default();
            // What waits was read once, so it can be read again.
            if let Ok((span, _)) = objects::first::<Written>(text) {
                span.give("", processes, || place, spans)?;
            }
            begin = end;
        }
        Ok(())
    }
}

impl Written<'_> {
    /// Gives the span to `spans`. `trace` is the id of the trace that it is in, and `processes` are
    /// those of that trace.
    fn give(
        &self,
        trace: &str,
        processes: &Processes<'_>,
        place: impl FnOnce() -> Place,
        spans: &mut impl Receiver,
    ) -> Result<(), Error> {
        let trace = ids::hexadecimal(text(&self.trace)).or(ids::hexadecimal(trace));
        let (Some(trace), Some(id)) = (trace, ids::hexadecimal(&self.id.0)) else {
            let why = "neither traceID nor spanID may be empty".to_owned();
            spans.skip("span without an id", || Skip { place: place(), why });
            return Ok(());
        };
        let named = text(&self.process_id);
        let of_trace = || processes.0.iter().find(|(name, _)| *name == named).map(|it| &it.1);
        let process = self.process.as_ref().or_else(of_trace);
        let resource = match process {
            Some(process) => process.number(spans),
            None => spans.resource(&Resource::default()),
        };

        let kind = kind(value_of(&self.tags, "span.kind").unwrap_or_default());
        let is_called = !matches!(kind, SpanKind::Server | SpanKind::Consumer);
        let Parent { id: parent, follows, others } = parent(self, trace);
        let tags = self.tags.as_ref().map_or(&[][..], |tags| &tags.0);
        let mut told = Told::default();
        let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::with_capacity(tags.len());
        for tag in tags {
            if told.take(&tag.key.0, text(&tag.value)) {
                parameters.push((&tag.key.0, Cow::Borrowed(text(&tag.value))));
            }
        }
        parameters.extend(others.into_iter().map(|other| ("references", Cow::Owned(other))));
        let peer = told.peer().filter(|_| is_called);
        let begin = self.begin.map(|time| time.0);
        let duration = self.duration.map(|time| time.0);
        let end = begin.zip(duration).map(|(begin, time)| begin.saturating_add(time));
        spans.span(&Span {
            parent,
            follows,
            kind,
            peer: peer.as_deref(),
            begin,
            end,
            duration: duration.filter(|_| begin.is_none()),
            failed: self.has_failed(),
            probability: told.probability,
            bytes_in: told.bytes_in,
            bytes_out: told.bytes_out,
            parameters: &parameters,
            ..Span::of(trace, id, resource, text(&self.operation))
        })
    }

    fn has_failed(&self) -> bool {
        let is = |name, wanted: &str| {
            value_of(&self.tags, name).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
        };
        is("error", "true") || is("otel.status_code", "ERROR")
    }
}

impl Process<'_> {
    /// Its number as a resource. Its host is what Jaeger's or OpenTelemetry's libraries say, or
    /// else its address.
    fn number(&self, spans: &mut impl Receiver) -> ResourceId {
        let tags = self.tags.as_ref().map_or(&[][..], |tags| &tags.0);
        let mut all: attributes::Attributes<'_> = Vec::with_capacity(tags.len() + 1);
        all.push(("service.name".into(), Cow::Borrowed(&*self.service.0)));
        all.extend(
            tags.iter().map(|tag| (Cow::Borrowed(&*tag.key.0), Cow::Borrowed(text(&tag.value)))),
        );
        let resource = attributes::resource(&all);
        let own = value_of(&self.tags, "hostname").map(|host| ("hostname", host));
        let address = || value_of(&self.tags, "ip").map(|host| ("ip", host));
        let other = if resource.host.is_empty() { own.or_else(address) } else { own };
        let Some((used, host)) = other else { return spans.resource(&resource) };
        let mut parameters = resource.parameters;
        parameters.retain(|(name, _)| *name != used);
        spans.resource(&Resource { host, parameters, ..resource })
    }
}

/// The parent of a span.
struct Parent<'a> {
    id: Option<Id<'a>>,
    /// Whether the span follows from it: the parent does not wait for it.
    follows: bool,
    /// In words what else the span refers to.
    others: Vec<String>,
}

/// The parent of a span: the first of the trace that it is the child of or, without such, that it
/// follows from.
fn parent<'a>(written: &'a Written<'_>, trace: Id<'_>) -> Parent<'a> {
    let references = written.references.as_ref().map_or(&[][..], |list| &list.0);
    let place = |kind: Option<&str>| {
        references.iter().position(|reference| {
            let of = text(&reference.trace);
            let is_here = of.is_empty() || ids::hexadecimal(of) == Some(trace);
            is_here && kind.is_none_or(|kind| text(&reference.kind) == kind)
        })
    };
    let chosen = place(Some("CHILD_OF")).or_else(|| place(None));
    let parent = chosen.and_then(|place| references.get(place));
    let follows = parent.is_some_and(|reference| text(&reference.kind) == "FOLLOWS_FROM");
    let parent = parent.and_then(|reference| ids::parent(&reference.span.0));
    let others = references.iter().enumerate().filter(|(place, _)| Some(*place) != chosen);
    let others = others
        .map(|(_, other)| format!("{} {}:{}", text(&other.kind), text(&other.trace), other.span.0));
    let id = parent.or_else(|| ids::parent(text(&written.parent)));
    Parent { id, follows, others: others.collect() }
}

fn kind(text: &str) -> SpanKind {
    match text {
        "client" => SpanKind::Client,
        "server" => SpanKind::Server,
        "producer" => SpanKind::Producer,
        "consumer" => SpanKind::Consumer,
        "internal" => SpanKind::Internal,
        _ => SpanKind::Unknown,
    }
}
