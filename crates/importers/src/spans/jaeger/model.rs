//! Traces, spans and processes as Jaeger's API and UI write them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::super::scalars::{List, Pairs, Time, Value};
use crate::tuning::MAX_HELD_SPANS;

/// Spans of one trace, and what wrote them.
#[derive(Deserialize)]
pub(super) struct Trace<'a> {
    #[serde(borrow, rename = "traceID", alias = "traceId")]
    pub(super) id: Option<Value<'a>>,
    #[serde(borrow)]
    pub(super) spans: List<Written<'a>, MAX_HELD_SPANS>,
    #[serde(borrow)]
    pub(super) processes: Option<Processes<'a>>,
}

/// Processes by the names that spans have for them.
pub(super) type Processes<'a> = Pairs<'a, Process<'a>>;

/// A span as Jaeger writes it.
#[derive(Deserialize)]
pub(super) struct Written<'a> {
    #[serde(borrow, rename = "traceID", alias = "traceId")]
    pub(super) trace: Option<Value<'a>>,
    #[serde(borrow, rename = "spanID", alias = "spanId")]
    pub(super) id: Value<'a>,
    #[serde(borrow, rename = "parentSpanID", alias = "parentSpanId")]
    pub(super) parent: Option<Value<'a>>,
    #[serde(borrow)]
    pub(super) references: Option<List<Reference<'a>>>,
    #[serde(borrow, rename = "operationName")]
    pub(super) operation: Option<Value<'a>>,
    #[serde(rename = "startTime")]
    pub(super) begin: Option<Time>,
    pub(super) duration: Option<Time>,
    #[serde(borrow)]
    pub(super) tags: Option<List<Tag<'a>>>,
    #[serde(borrow, rename = "processID", alias = "processId")]
    pub(super) process_id: Option<Value<'a>>,
    /// The process itself, as in Jaeger's stores.
    #[serde(borrow)]
    pub(super) process: Option<Process<'a>>,
}

/// Another span that a span refers to.
#[derive(Deserialize)]
pub(super) struct Reference<'a> {
    #[serde(borrow, rename = "refType")]
    pub(super) kind: Option<Value<'a>>,
    #[serde(borrow, rename = "traceID", alias = "traceId")]
    pub(super) trace: Option<Value<'a>>,
    #[serde(borrow, rename = "spanID", alias = "spanId")]
    pub(super) span: Value<'a>,
}

/// What wrote a span.
#[derive(Deserialize)]
pub(super) struct Process<'a> {
    #[serde(borrow, rename = "serviceName")]
    pub(super) service: Value<'a>,
    #[serde(borrow)]
    pub(super) tags: Option<List<Tag<'a>>>,
}

/// A name and its value.
#[derive(Deserialize)]
pub(super) struct Tag<'a> {
    #[serde(borrow)]
    pub(super) key: Value<'a>,
    #[serde(borrow)]
    pub(super) value: Option<Value<'a>>,
}

/// The text of a value that may be missing.
pub(super) fn text<'a>(value: &'a Option<Value<'_>>) -> &'a str {
    value.as_ref().map_or("", |value| &value.0)
}

/// The value of the tag `name`, if it is not empty.
pub(super) fn value_of<'a>(tags: &'a Option<List<Tag<'_>>>, name: &str) -> Option<&'a str> {
    let tag = tags.as_ref()?.0.iter().find(|tag| tag.key.0 == name)?;
    Some(text(&tag.value)).filter(|value| !value.is_empty())
}

/// What an object is, by its first key that tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// An answer of the API: traces are in its `data`.
    Answer,
    Trace,
    Span,
    /// None of these.
    Other,
}

impl Shape {
    /// The shape of the object that `text` begins with.
    ///
    /// # Errors
    /// When the text ends or is damaged before that is told.
    pub(super) fn of(text: &[u8]) -> serde_json::Result<Shape> {
        let mut told = None;
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let read = deserializer.deserialize_map(Keys(&mut told));
        // An object is left as soon as it tells, which looks like damage.
        told.map_or_else(|| read.map(|()| Shape::Other), Ok)
    }
}

struct Keys<'t>(&'t mut Option<Shape>);

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut has_id = false;
        while let Some(Value(key)) = map.next_key()? {
            let told = match &*key {
                "data" => Shape::Answer,
                "spans" | "processes" => Shape::Trace,
                "operationName" | "startTime" | "references" | "processID" | "processId" => {
                    Shape::Span
                }
                // A reference has the ids of a span, too.
                "refType" | "serviceName" => Shape::Other,
                key => {
                    has_id |= key == "spanID" || key == "spanId";
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            *self.0 = Some(told);
            return Ok(());
        }
        *self.0 = Some(if has_id { Shape::Span } else { Shape::Other });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_tells_what_it_is_before_it_ends() {
        let shape = |text: &str| Shape::of(text.as_bytes()).map_err(|error| error.is_eof());
        assert_eq!(shape(r#"{"total":0,"data":[{"#), Ok(Shape::Answer));
        assert_eq!(shape(r#"{"traceID":"1","spans":["#), Ok(Shape::Trace));
        assert_eq!(shape(r#"{"traceID":"1","tags":[{"key":"a"}],"startTime":"#), Ok(Shape::Span));
        assert_eq!(shape(r#"{"spanID":"1","refType":"#), Ok(Shape::Other));
        assert_eq!(shape(r#"{"traceID":"1","spanID":"2"}"#), Ok(Shape::Span));
        assert_eq!(shape(r#"{"code":404}"#), Ok(Shape::Other));
        assert_eq!(shape(r#"{"traceID":"1","spa"#), Err(true));
        assert_eq!(shape(r#"{"traceID" "1""#), Err(false));
    }
}
