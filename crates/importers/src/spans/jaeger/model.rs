//! Traces, spans and processes in the JSON of Jaeger's API and UI.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::super::scalars::{AnyText, BoundedList, MapEntries, MicrosecondTime};
use crate::tuning::MAX_HELD_SPANS;

/// Spans of one trace, and the processes that wrote them.
#[derive(Deserialize)]
pub(super) struct JaegerTrace<'a> {
    #[serde(borrow, rename = "traceID", alias = "traceId")]
    pub(super) id: Option<AnyText<'a>>,
    #[serde(borrow)]
    pub(super) spans: BoundedList<JaegerSpan<'a>, MAX_HELD_SPANS>,
    #[serde(borrow)]
    pub(super) processes: Option<JaegerProcesses<'a>>,
}

/// Processes by the keys with which spans refer to them.
pub(super) type JaegerProcesses<'a> = MapEntries<'a, JaegerProcess<'a>>;

/// Span in Jaeger's JSON.
#[derive(Deserialize)]
pub(super) struct JaegerSpan<'a> {
    #[serde(borrow, rename = "traceID", alias = "traceId")]
    pub(super) trace: Option<AnyText<'a>>,
    #[serde(borrow, rename = "spanID", alias = "spanId")]
    pub(super) id: AnyText<'a>,
    #[serde(borrow, rename = "parentSpanID", alias = "parentSpanId")]
    pub(super) parent: Option<AnyText<'a>>,
    #[serde(borrow)]
    pub(super) references: Option<BoundedList<SpanReference<'a>>>,
    #[serde(borrow, rename = "operationName")]
    pub(super) operation: Option<AnyText<'a>>,
    #[serde(rename = "startTime")]
    pub(super) begin: Option<MicrosecondTime>,
    pub(super) duration: Option<MicrosecondTime>,
    #[serde(borrow)]
    pub(super) tags: Option<BoundedList<JaegerTag<'a>>>,
    #[serde(borrow, rename = "processID", alias = "processId")]
    pub(super) process_id: Option<AnyText<'a>>,
    /// The process itself, as in Jaeger's stores.
    #[serde(borrow)]
    pub(super) process: Option<JaegerProcess<'a>>,
}

/// Reference of a span to another span.
#[derive(Deserialize)]
pub(super) struct SpanReference<'a> {
    #[serde(borrow, rename = "refType")]
    pub(super) kind: Option<AnyText<'a>>,
    #[serde(borrow, rename = "traceID", alias = "traceId")]
    pub(super) trace: Option<AnyText<'a>>,
    #[serde(borrow, rename = "spanID", alias = "spanId")]
    pub(super) span: AnyText<'a>,
}

/// Process that wrote a span.
#[derive(Deserialize)]
pub(super) struct JaegerProcess<'a> {
    #[serde(borrow, rename = "serviceName")]
    pub(super) service: AnyText<'a>,
    #[serde(borrow)]
    pub(super) tags: Option<BoundedList<JaegerTag<'a>>>,
}

/// A name and its value.
#[derive(Deserialize)]
pub(super) struct JaegerTag<'a> {
    #[serde(borrow)]
    pub(super) key: AnyText<'a>,
    #[serde(borrow)]
    pub(super) value: Option<AnyText<'a>>,
}

/// The text of a value that may be missing.
pub(super) fn text_or_empty<'a>(value: &'a Option<AnyText<'_>>) -> &'a str {
    value.as_ref().map_or("", |value| &value.0)
}

/// Value of the tag `name`, if it is not empty.
pub(super) fn value_of<'a>(
    tags: &'a Option<BoundedList<JaegerTag<'_>>>,
    name: &str,
) -> Option<&'a str> {
    let tag = tags.as_ref()?.0.iter().find(|tag| tag.key.0 == name)?;
    Some(text_or_empty(&tag.value)).filter(|value| !value.is_empty())
}

/// Kind of an object, by its first distinctive key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JaegerShape {
    /// A response of the API: traces are in its `data`.
    Answer,
    Trace,
    Span,
    /// An object of another kind.
    Other,
}

impl JaegerShape {
    /// Determines the shape of the object at the beginning of `text`.
    ///
    /// # Errors
    /// When the text ends or is damaged before a distinctive key.
    pub(super) fn from_text(text: &[u8]) -> serde_json::Result<JaegerShape> {
        let mut found = None;
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let read = deserializer.deserialize_map(ShapeKeys(&mut found));
        // Parsing stops at a distinctive key, which looks like damage.
        found.map_or_else(|| read.map(|()| JaegerShape::Other), Ok)
    }
}

struct ShapeKeys<'t>(&'t mut Option<JaegerShape>);

impl<'de> Visitor<'de> for ShapeKeys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_id = false;
        while let Some(AnyText(key)) = map.next_key()? {
            let found = match &*key {
                "data" => JaegerShape::Answer,
                "spans" | "processes" => JaegerShape::Trace,
                "operationName" | "startTime" | "references" | "processID" | "processId" => {
                    JaegerShape::Span
                }
                // A reference has the ids of a span, too.
                "refType" | "serviceName" => JaegerShape::Other,
                key => {
                    has_id |= key == "spanID" || key == "spanId";
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *self.0 = Some(found);
            return Ok(());
        }
        *self.0 = Some(if has_id { JaegerShape::Span } else { JaegerShape::Other });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_recognised_before_their_end() {
        let shape =
            |text: &str| JaegerShape::from_text(text.as_bytes()).map_err(|error| error.is_eof());
        assert_eq!(shape(r#"{"total":0,"data":[{"#), Ok(JaegerShape::Answer));
        assert_eq!(shape(r#"{"traceID":"1","spans":["#), Ok(JaegerShape::Trace));
        assert_eq!(
            shape(r#"{"traceID":"1","tags":[{"key":"a"}],"startTime":"#),
            Ok(JaegerShape::Span)
        );
        assert_eq!(shape(r#"{"spanID":"1","refType":"#), Ok(JaegerShape::Other));
        assert_eq!(shape(r#"{"traceID":"1","spanID":"2"}"#), Ok(JaegerShape::Span));
        assert_eq!(shape(r#"{"code":404}"#), Ok(JaegerShape::Other));
        assert_eq!(shape(r#"{"traceID":"1","spa"#), Err(true));
        assert_eq!(shape(r#"{"traceID" "1""#), Err(false));
    }
}
