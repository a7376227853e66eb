//! OTLP as JSON. Spans are parsed one by one, so that all complete spans of a truncated text are
//! read. Names are in the lowerCamelCase of the specification, or with underscores as in the
//! schema.

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
use super::span::{
    FAILED_STATUS, OtlpSpan, OtlpSpanReader, OtlpTime, STATUS_MESSAGE, kind_of_number,
};
use crate::error::Error;
use crate::spans::receiver::SpanReceiver;
use crate::spans::texts::FileText;
use object::{JsonObject, JsonObjects};
use recovery::RecoveredObject;
use scalar::JsonScalar;
use value::AttributeList;

/// Keys of a document with elements that are read one by one: requests have the first two keys, and
/// responses of Grafana Tempo the other keys.
pub(super) const KEYS: &[&str] = &["resourceSpans", "resource_spans", "batches", "trace"];

/// Reads a text: a request, or a `ResourceSpans` from one. Intact parts after damage are read, too.
pub(super) fn read_json(
    text: FileText<'_>,
    file: &Path,
    receiver: &mut impl SpanReceiver,
) -> Result<(), Error> {
    let reader = OtlpSpanReader { receiver, file, at: text.at };
    let mut state = OtlpJsonState { reader, resource: None, failed: None };
    // Replacing invalid UTF-8 in the whole text is faster than in each string.
    let whole = String::from_utf8_lossy(text.bytes);
    let (mut rest, mut line, mut recovered) = (whole.as_ref(), 0, None);
    loop {
        let mut json = serde_json::Deserializer::from_str(rest);
        let read = match recovered {
            // The text is one value, but an object found after damage is followed by others.
            None => JsonObjects(&mut state, OtlpJsonRequest::default())
                .deserialize(&mut json)
                .and_then(|()| json.end()),
            Some(RecoveredObject::Request) => {
                JsonObjects(&mut state, OtlpJsonRequest::default()).deserialize(&mut json)
            }
            Some(RecoveredObject::Span) => {
                let resource = state.resource_id();
                JsonObjects(&mut state, OtlpJsonSpan::from_recovery(resource))
                    .deserialize(&mut json)
            }
        };
        if let Some(error) = state.failed {
            return Err(error);
        }
        let passed = match read {
            Ok(()) if recovered.is_none() => return Ok(()),
            Ok(()) => recovery::object_length(rest),
            Err(error) => {
                let at = text.line_at(line + error.line());
                state.reader.count_damage(at, format!("this is not OTLP's JSON: {error}"));
                recovery::error_offset(rest, &error)
            }
        };
        let Some((further, next)) = recovery::next_object(rest, passed) else { return Ok(()) };
        let (before, after) = rest.split_at_checked(further).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', before.as_bytes()).count();
        (rest, recovered) = (after, Some(next));
    }
}

/// State while a text is read.
struct OtlpJsonState<'p, R> {
    reader: OtlpSpanReader<'p, R>,
    /// Number of the latest resource.
    resource: Option<ResourceId>,
    /// Error that prevents spans from being kept.
    failed: Option<Error>,
}

impl<R: SpanReceiver> OtlpJsonState<'_, R> {
    /// Latest resource, or an unknown one if the latest is damaged.
    fn resource_id(&mut self) -> ResourceId {
        *self.resource.get_or_insert_with(|| self.reader.resource_id(&Vec::new()))
    }
}

/// An `ExportTraceServiceRequest`, or a `ResourceSpans`, or an object that contains one of them.
#[derive(Clone, Default)]
struct OtlpJsonRequest<'de> {
    /// Resource of the following spans.
    resource: Option<ResourceId>,
    /// Lists of scopes that come before their resource.
    scopes: Vec<&'de RawValue>,
}

/// A `ScopeSpans` of the resource with this number.
#[derive(Clone)]
struct OtlpJsonScope(ResourceId);

/// A `Span` while its members are read.
#[derive(Clone)]
struct OtlpJsonSpan<'de> {
    resource: ResourceId,
    span: OtlpSpan<'de>,
    /// Whether the span was found after damage, where links look like spans but have no times.
    is_recovered: bool,
}

impl OtlpJsonSpan<'_> {
    fn new(resource: ResourceId) -> Self {
        OtlpJsonSpan { resource, span: OtlpSpan::default(), is_recovered: false }
    }

    fn from_recovery(resource: ResourceId) -> Self {
        OtlpJsonSpan { is_recovered: true, ..OtlpJsonSpan::new(resource) }
    }
}

#[derive(Deserialize)]
struct OtlpJsonResource<'t> {
    #[serde(borrow, default)]
    attributes: AttributeList<'t>,
}

#[derive(Deserialize)]
struct OtlpJsonStatus<'t> {
    #[serde(borrow)]
    code: Option<JsonScalar<'t>>,
    #[serde(borrow)]
    message: Option<JsonScalar<'t>>,
}

impl<'de, R: SpanReceiver> JsonObject<'de, OtlpJsonState<'_, R>> for OtlpJsonRequest<'de> {
    fn read_member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        state: &mut OtlpJsonState<'_, R>,
    ) -> Result<(), A::Error> {
        match key {
            "resourceSpans" | "resource_spans" | "batches" | "trace" => {
                map.next_value_seed(JsonObjects(state, OtlpJsonRequest::default()))
            }
            "resource" => {
                state.resource = None;
                let resource = map.next_value::<Option<OtlpJsonResource<'de>>>()?;
                let attributes = resource.map(|resource| resource.attributes.0).unwrap_or_default();
                state.resource = Some(state.reader.resource_id(&attributes));
                self.resource = state.resource;
                Ok(())
            }
            "scopeSpans"
            | "scope_spans"
            | "instrumentationLibrarySpans"
            | "instrumentation_library_spans" => {
                match self.resource {
                    Some(resource) => {
                        map.next_value_seed(JsonObjects(state, OtlpJsonScope(resource)))?
                    }
                    None => self.scopes.push(map.next_value()?),
                }
                Ok(())
            }
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }

    fn finish_object<E: serde::de::Error>(self, state: &mut OtlpJsonState<'_, R>) -> Result<(), E> {
        if self.scopes.is_empty() {
            return Ok(());
        }
        state.resource = self.resource;
        let resource = state.resource_id();
        for scopes in self.scopes {
            let mut json = serde_json::Deserializer::from_str(scopes.get());
            JsonObjects(state, OtlpJsonScope(resource))
                .deserialize(&mut json)
                .map_err(E::custom)?;
        }
        Ok(())
    }
}

impl<'de, R: SpanReceiver> JsonObject<'de, OtlpJsonState<'_, R>> for OtlpJsonScope {
    fn read_member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        state: &mut OtlpJsonState<'_, R>,
    ) -> Result<(), A::Error> {
        match key {
            "spans" => map.next_value_seed(JsonObjects(state, OtlpJsonSpan::new(self.0))),
            _ => map.next_value::<IgnoredAny>().map(|_| ()),
        }
    }
}

impl<'de, R: SpanReceiver> JsonObject<'de, OtlpJsonState<'_, R>> for OtlpJsonSpan<'de> {
    fn read_member<A: MapAccess<'de>>(
        &mut self,
        key: &str,
        map: &mut A,
        _: &mut OtlpJsonState<'_, R>,
    ) -> Result<(), A::Error> {
        let span = &mut self.span;
        match key {
            "traceId" | "trace_id" => span.trace = id_of_scalar(map.next_value()?),
            "spanId" | "span_id" => span.id = id_of_scalar(map.next_value()?),
            "parentSpanId" | "parent_span_id" => span.parent = id_of_scalar(map.next_value()?),
            "name" => span.name = map.next_value::<JsonScalar<'de>>()?.into_text(),
            "kind" => span.kind = kind_of_scalar(&map.next_value()?),
            "startTimeUnixNano" | "start_time_unix_nano" => {
                span.begin = time_of_scalar(&map.next_value()?)
            }
            "endTimeUnixNano" | "end_time_unix_nano" => {
                span.end = time_of_scalar(&map.next_value()?)
            }
            "attributes" => {
                let AttributeList(attributes) = map.next_value()?;
                if span.attributes.is_empty() {
                    span.attributes = attributes;
                } else {
                    span.attributes.extend(attributes);
                }
            }
            "status" => {
                let status = map.next_value::<Option<OtlpJsonStatus<'de>>>()?;
                let (code, message) = status.map_or((None, None), |of| (of.code, of.message));
                span.failed = code.is_some_and(|code| is_failure(&code));
                if let Some(message) = message.filter(|message| !message.is_empty_or_null()) {
                    span.attributes.push((STATUS_MESSAGE.into(), message.into_text()));
                }
            }
            _ => drop(map.next_value::<IgnoredAny>()?),
        }
        Ok(())
    }

    fn finish_object<E: serde::de::Error>(self, state: &mut OtlpJsonState<'_, R>) -> Result<(), E> {
        if self.is_recovered && self.span.begin == OtlpTime::None && self.span.end == OtlpTime::None
        {
            return Ok(());
        }
        state.reader.add_span(&self.span, self.resource).map_err(|error| {
            state.failed = Some(error);
            E::custom("a span cannot be kept")
        })
    }
}

fn id_of_scalar(value: JsonScalar<'_>) -> OtlpId<'_> {
    match value {
        JsonScalar::Null | JsonScalar::Other => OtlpId::None,
        value => OtlpId::from_text(value.into_text()),
    }
}

fn time_of_scalar(value: &JsonScalar<'_>) -> OtlpTime {
    if value.is_empty_or_null() {
        return OtlpTime::None;
    }
    value.to_unsigned().map_or(OtlpTime::Wrong, OtlpTime::from_nanoseconds)
}

fn kind_of_scalar(value: &JsonScalar<'_>) -> SpanKind {
    let name = match value {
        JsonScalar::Text(text) => text.strip_prefix("SPAN_KIND_").unwrap_or(text),
        _ => "",
    };
    match name {
        "INTERNAL" => SpanKind::Internal,
        "SERVER" => SpanKind::Server,
        "CLIENT" => SpanKind::Client,
        "PRODUCER" => SpanKind::Producer,
        "CONSUMER" => SpanKind::Consumer,
        _ => kind_of_number(value.to_unsigned().unwrap_or(0)),
    }
}

fn is_failure(code: &JsonScalar<'_>) -> bool {
    match code {
        JsonScalar::Text(text) if text == "STATUS_CODE_ERROR" || text == "ERROR" => true,
        code => code.to_unsigned() == Some(FAILED_STATUS),
    }
}
