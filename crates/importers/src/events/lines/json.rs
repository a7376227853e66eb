//! JSON, an object a line.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::row::{Row, Rows};
use crate::events::sink::EventSink;
use crate::events::value::Read;
use crate::tabular::Wrong;

/// Attributes as `sockcap export events` writes them.
const ATTRIBUTES: &str = "attributes";

/// Adds the event of a line to the sink.
///
/// # Errors
/// When it is no object, or lacks what an event has; attributes may have been added then.
pub(super) fn event(rows: &Rows, line: &[u8], sink: &mut EventSink) -> Result<(), Wrong> {
    let object = object(line)?;
    let mut row = rows.begin();
    for (name, value) in &object {
        match (value, name.as_str()) {
            (Value::Object(inner), ATTRIBUTES) => add(inner, sink),
            (Value::Object(inner), _) => {
                for (below, value) in inner {
                    take(rows, &mut row, &format!("{name}.{below}"), value, sink)?;
                }
            }
            _ => take(rows, &mut row, name, value, sink)?,
        }
    }
    let said = ["message", "error_severity"].map(|name| object.get(name).and_then(Value::as_str));
    rows.end(row, said, sink)
}

/// Adds the attributes that an object of JSON has.
///
/// # Errors
/// When it is no such object.
pub(super) fn attributes(text: &[u8], sink: &mut EventSink) -> Result<(), Wrong> {
    add(&object(text)?, sink);
    Ok(())
}

fn add(object: &Map<String, Value>, sink: &mut EventSink) {
    for (name, value) in object {
        if let Some(read) = read(value) {
            let name = sink.names.number(name);
            sink.piece.attribute(name, read.as_value());
        }
    }
}

fn object(text: &[u8]) -> Result<Map<String, Value>, Wrong> {
    serde_json::from_slice(text).map_err(|error| {
        let why = format!("is no object of JSON: {error}");
        Wrong::new("line that is no object of JSON", text, &why)
    })
}

fn take(
    rows: &Rows,
    row: &mut Row,
    name: &str,
    value: &Value,
    sink: &mut EventSink,
) -> Result<(), Wrong> {
    read(value).map_or(Ok(()), |value| rows.take(row, name, &value, sink))
}

/// The value; `None` of null.
fn read(value: &Value) -> Option<Read<'_>> {
    match value {
        Value::Null => None,
        Value::Bool(is) => Some(Read::Int(i64::from(*is))),
        Value::String(text) => Some(Read::Text(Cow::Borrowed(text))),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Some(Read::Int(number)),
            (None, Some(number)) => Some(Read::Int(number as i64)),
            (None, None) => number.as_f64().map(Read::Real),
        },
        Value::Array(_) | Value::Object(_) => Some(Read::Text(Cow::Owned(value.to_string()))),
    }
}
