//! OTLP as JSON. Spans are read one by one as they come, so that of a text that ends too early all
//! are there that are whole. Names are those of the specification, in lowerCamelCase, or those of
//! the schema, with underscores.

mod object;
mod recovery;
mod scalar;
mod value;

use std::path::Path;

use request_flow::spans::{ResourceId, SpanKind};
use serde::Deserialize;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess};
use serde_json::value::RawValue;

use super::ids::OtlpId;
use super::span::{FAILED, OtlpSpan, Reader, STATUS_MESSAGE, Time, kind};
use crate::error::Error;
use crate::spans::receiver::Receiver;
use crate::spans::texts::Text;
use object::{Object, Objects};
use recovery::Begun;
use scalar::Scalar;
use value::AttributeList;

/// Below which keys of a document the elements are that are read each by itself: requests have the
/// first two, and answers of Grafana Tempo the others.
pub(super) const KEYS: &[&str] = &["resourceSpans", "resource_spans", "batches", "trace"];

/// Reads a text: a request, or a `ResourceSpans` out of one. Where it is damaged, what is whole
/// behind the damage is read, too.
pub(super) fn read(text: Text<'_>, file: &Path, receiver: &mut impl Receiver) -> Result<(), Error> {
    let reader = Reader { receiver, file, at: text.at };
    let mut state = State { reader, resource: None, failed: None };
    // All at once, what is no UTF-8 is found faster than text by text.
    let whole = String::from_utf8_lossy(text.bytes);
    let (mut rest, mut line, mut begun) = (whole.as_ref(), 0, None);
    loop {
        let mut json = serde_json::Deserializer::from_str(rest);
        let read = match begun {
            // The text is one value, but what is found behind damage is followed by others.
            None => Objects(&mut state, Request::default())
                .deserialize(&mut json)
                .and_then(|()| json.end()),
            Some(Begun::Request) => Objects(&mut state, Request::default()).deserialize(&mut json),
            Some(Begun::Span) => {
                let resource = state.resource();
                Objects(&mut state, Span::recovered(resource)).deserialize(&mut json)
            }
        };
        if let Some(error) = state.failed {
            return Err(error);
        }
        let passed = match read {
            Ok(()) if begun.is_none() => return Ok(()),
            Ok(()) => recovery::length(rest),
            Err(error) => {
                let at = text.line(line + error.line());
                state.reader.damage(at, format!("this is no JSON of OTLP: {error}"));
                recovery::offset(rest, &error)
            }
        };
        let Some((further, next)) = recovery::next(rest, passed) else { return Ok(()) };
        let (before, behind) = rest.split_at_checked(further).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', before.as_bytes()).count();
        (rest, begun) = (behind, Some(next));
    }
}

/// What is known while a text is read.
struct State<'p, R> {
    reader: Reader<'p, R>,
    /// The resource that was read last.
    resource: Option<ResourceId>,
    /// Why spans cannot be kept.
    failed: Option<Error>,
}

impl<R: Receiver> State<'_, R> {
    /// The resource that was read last; an unknown one where that is damaged.
    fn resource(&mut self) -> ResourceId {
        *self.resource.get_or_insert_with(|| self.reader.resource(&Vec::new()))
    }
}

/// An `ExportTraceServiceRequest`, or a `ResourceSpans`, or what has one of them in it.
#[derive(Clone, Default)]
struct Request<'de> {
    /// The resource of the spans that come.
    resource: Option<ResourceId>,
    /// Lists of scopes that come before the resource that they are of.
    scopes: Vec<&'de RawValue>,
}

/// A `ScopeSpans`.
#[derive(Clone)]
struct Scope(ResourceId);

/// A `Span`.
#[derive(Clone)]
struct Span<'de> {
    resource: ResourceId,
    span: OtlpSpan<'de>,
    /// Whether it was found behind damage, where links look like spans but have no times.
    is_recovered: bool,
}

impl Span<'_> {
    fn of(resource: ResourceId) -> Self {
        Span { resource, span: OtlpSpan::default(), is_recovered: false }
    }

    fn recovered(resource: ResourceId) -> Self {
        Span { is_recovered: true, ..Span::of(resource) }
    }
}

#[derive(Deserialize)]
struct Resource<'t> {
    #[serde(borrow, default)]
    attributes: AttributeList<'t>,
}

#[derive(Deserialize)]
struct Status<'t> {
    #[serde(borrow)]
    code: Option<Scalar<'t>>,
    #[serde(borrow)]
    message: Option<Scalar<'t>>,
}

impl<'de, R: Receiver> Object<'de, State<'_, R>> for Request<'de> {
    fn member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        state: &mut State<'_, R>,
    ) -> Result<(), A::Error> {
        match key {
            "resourceSpans" | "resource_spans" | "batches" | "trace" => {
                map.next_value_seed(Objects(state, Request::default()))
            }
            "resource" => {
                state.resource = None;
                let resource = map.next_value::<Option<Resource<'de>>>()?;
                let attributes = resource.map(|resource| resource.attributes.0).unwrap_or_default();
                state.resource = Some(state.reader.resource(&attributes));
                self.resource = state.resource;
                Ok(())
            }
            "scopeSpans"
            | "scope_spans"
            | "instrumentationLibrarySpans"
            | "instrumentation_library_spans" => {
                match self.resource {
                    Some(resource) => map.next_value_seed(Objects(state, Scope(resource)))?,
                    None => self.scopes.push(map.next_value()?),
                }
                Ok(())
            }
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }

    fn end<E: serde::de::Error>(self, state: &mut State<'_, R>) -> Result<(), E> {
        if self.scopes.is_empty() {
            return Ok(());
        }
        state.resource = self.resource;
        let resource = state.resource();
        for scopes in self.scopes {
            let mut json = serde_json::Deserializer::from_str(scopes.get());
            Objects(state, Scope(resource)).deserialize(&mut json).map_err(E::custom)?;
        }
        Ok(())
    }
}

impl<'de, R: Receiver> Object<'de, State<'_, R>> for Scope {
    fn member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        state: &mut State<'_, R>,
    ) -> Result<(), A::Error> {
        match key {
            "spans" => map.next_value_seed(Objects(state, Span::of(self.0))),
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }
}

impl<'de, R: Receiver> Object<'de, State<'_, R>> for Span<'de> {
    fn member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        _: &mut State<'_, R>,
    ) -> Result<(), A::Error> {
        let span = &mut self.span;
        match key {
            "traceId" | "trace_id" => span.trace = id(map.next_value()?),
            "spanId" | "span_id" => span.id = id(map.next_value()?),
            "parentSpanId" | "parent_span_id" => span.parent = id(map.next_value()?),
            "name" => span.name = map.next_value::<Scalar<'de>>()?.into_text(),
            "kind" => span.kind = kind_of(&map.next_value()?),
            "startTimeUnixNano" | "start_time_unix_nano" => span.begin = time(&map.next_value()?),
            "endTimeUnixNano" | "end_time_unix_nano" => span.end = time(&map.next_value()?),
            "attributes" => {
                let AttributeList(attributes) = map.next_value()?;
                if span.attributes.is_empty() {
                    span.attributes = attributes;
                } else {
                    span.attributes.extend(attributes);
                }
            }
            "status" => {
                let status = map.next_value::<Option<Status<'de>>>()?;
                let (code, message) = status.map_or((None, None), |of| (of.code, of.message));
                span.failed = code.is_some_and(|code| is_failure(&code));
                if let Some(message) = message.filter(|message| !message.is_nothing()) {
                    span.attributes.push((STATUS_MESSAGE.into(), message.into_text()));
                }
            }
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn end<E: serde::de::Error>(self, state: &mut State<'_, R>) -> Result<(), E> {
        if self.is_recovered && self.span.begin == Time::None && self.span.end == Time::None {
            return Ok(());
        }
        state.reader.span(&self.span, self.resource).map_err(|error| {
            state.failed = Some(error);
            E::custom("a span cannot be kept")
        })
    }
}

fn id(value: Scalar<'_>) -> OtlpId<'_> {
    match value {
        Scalar::Null | Scalar::Other => OtlpId::None,
        value => OtlpId::of_text(value.into_text()),
    }
}

fn time(value: &Scalar<'_>) -> Time {
    if value.is_nothing() {
        return Time::None;
    }
    value.unsigned().map_or(Time::Wrong, Time::of)
}

fn kind_of(value: &Scalar<'_>) -> SpanKind {
    let name = match value {
        Scalar::Text(text) => text.strip_prefix("SPAN_KIND_").unwrap_or(text),
        _ => "",
    };
    match name {
        "INTERNAL" => SpanKind::Internal,
        "SERVER" => SpanKind::Server,
        "CLIENT" => SpanKind::Client,
        "PRODUCER" => SpanKind::Producer,
        "CONSUMER" => SpanKind::Consumer,
        _ => kind(value.unsigned().unwrap_or(0)),
    }
}

fn is_failure(code: &Scalar<'_>) -> bool {
    match code {
        Scalar::Text(text) if text == "STATUS_CODE_ERROR" || text == "ERROR" => true,
        code => code.unsigned() == Some(FAILED),
    }
}
