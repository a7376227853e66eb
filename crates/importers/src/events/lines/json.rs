//! JSON with one object per line.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::row::{EventRow, EventRowReader};
use crate::events::sink::EventSink;
use crate::events::value::ParsedValue;
use crate::tabular::WrongValue;

/// Field for attributes, as written by `sockcap export events`.
const ATTRIBUTES: &str = "attributes";

/// Adds the event of a line to the sink.
///
/// # Errors
/// When the line is not an object, or lacks a field that events need; attributes may have
/// been added then.
pub(super) fn add_event(
    rows: &EventRowReader,
    line: &[u8],
    sink: &mut EventSink,
) -> Result<(), WrongValue> {
    let object = parse_object(line)?;
    let mut row = rows.begin_row();
    for (name, value) in &object {
        match (value, name.as_str()) {
            (Value::Object(inner), ATTRIBUTES) => add_members(inner, sink),
            (Value::Object(inner), _) => {
                for (below, value) in inner {
                    take_member(rows, &mut row, &format!("{name}.{below}"), value, sink)?;
                }
            }
            _ => take_member(rows, &mut row, name, value, sink)?,
        }
    }
    let message_and_severity =
        ["message", "error_severity"].map(|name| object.get(name).and_then(Value::as_str));
    rows.finish_row(row, message_and_severity, sink)
}

/// Adds the attributes of a JSON object.
///
/// # Errors
/// When `text` is not a JSON object.
pub(super) fn add_attributes(text: &[u8], sink: &mut EventSink) -> Result<(), WrongValue> {
    add_members(&parse_object(text)?, sink);
    Ok(())
}

fn add_members(object: &Map<String, Value>, sink: &mut EventSink) {
    for (name, value) in object {
        if let Some(read) = to_parsed_value(value) {
            let name = sink.names.intern(name);
            sink.batch.push_attribute(name, read.as_value());
        }
    }
}

fn parse_object(text: &[u8]) -> Result<Map<String, Value>, WrongValue> {
    serde_json::from_slice(text).map_err(|error| {
        let why = format!("is not a JSON object: {error}");
        WrongValue::new("line that is not a JSON object", text, &why)
    })
}

fn take_member(
    rows: &EventRowReader,
    row: &mut EventRow,
    name: &str,
    value: &Value,
    sink: &mut EventSink,
) -> Result<(), WrongValue> {
    to_parsed_value(value).map_or(Ok(()), |value| rows.take_value(row, name, &value, sink))
}

/// Converts a JSON value; `None` for null.
fn to_parsed_value(value: &Value) -> Option<ParsedValue<'_>> {
    match value {
        Value::Null => None,
        Value::Bool(is) => Some(ParsedValue::Int(i64::from(*is))),
        Value::String(text) => Some(ParsedValue::Text(Cow::Borrowed(text))),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => Some(ParsedValue::Int(number)),
            (None, Some(number)) => Some(ParsedValue::Int(number as i64)),
            (None, None) => number.as_f64().map(ParsedValue::Real),
        },
        Value::Array(_) | Value::Object(_) => {
            Some(ParsedValue::Text(Cow::Owned(value.to_string())))
        }
    }
}
