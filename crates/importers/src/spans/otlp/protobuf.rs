//! OTLP as protobuf. Spans are parsed one by one, with texts borrowed from the message, so that
//! damage costs only the damaged spans. Field numbers are from
//! `opentelemetry/proto/trace/v1/trace.proto` and the files that it imports.

use std::borrow::Cow;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use request_flow::spans::ResourceId;

use super::any_value::AnyValue;
use super::ids::OtlpId;
use super::span::{
    FAILED_STATUS, OtlpSpan, OtlpSpanReader, OtlpTime, STATUS_MESSAGE, kind_of_number,
};
use super::wire::{MalformedMessage, WireField, WireFields};
use crate::error::Error;
use crate::spans::attributes::SpanAttributes;
use crate::spans::receiver::SpanReceiver;
use crate::spans::texts::FileText;
use crate::tuning::{MAX_ENTRIES, MAX_VALUE_DEPTH};

/// Reason why a message was not read to its end.
enum BrokenMessage {
    /// The message is truncated or invalid.
    Damaged,
    /// The spans of the message cannot be written.
    Failed(Error),
}

impl From<MalformedMessage> for BrokenMessage {
    fn from(_: MalformedMessage) -> BrokenMessage {
        BrokenMessage::Damaged
    }
}

impl From<Error> for BrokenMessage {
    fn from(error: Error) -> BrokenMessage {
        BrokenMessage::Failed(error)
    }
}

/// Reads an `ExportTraceServiceRequest`, which is a `TracesData` as well.
pub(super) fn read_request(
    text: FileText<'_>,
    file: &Path,
    receiver: &mut impl SpanReceiver,
) -> Result<(), Error> {
    let mut reader = OtlpSpanReader { receiver, file, at: text.at };
    let read = for_each_message(text.bytes, 1, |part| read_spans_of_resource(part, &mut reader));
    count_damage(read, &mut reader)
}

/// Reads the spans of a `ResourceSpans`.
pub(super) fn read_resource_spans(
    text: FileText<'_>,
    file: &Path,
    receiver: &mut impl SpanReceiver,
) -> Result<(), Error> {
    let mut reader = OtlpSpanReader { receiver, file, at: text.at };
    let read = read_spans_of_resource(text.bytes, &mut reader);
    count_damage(read, &mut reader)
}

/// Counts the damage of a broken message, and returns other errors to the caller.
fn count_damage(
    read: Result<(), BrokenMessage>,
    reader: &mut OtlpSpanReader<'_, impl SpanReceiver>,
) -> Result<(), Error> {
    match read {
        Err(BrokenMessage::Failed(error)) => Err(error),
        Err(BrokenMessage::Damaged) => {
            let why = "a message ends too early or is not protobuf; was the file cut off?";
            reader.count_damage(reader.at, why.to_owned());
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Passes each message in field `wanted` to `read`, the last one as far as it exists.
fn for_each_message(
    message: &[u8],
    wanted: u64,
    mut read: impl FnMut(&[u8]) -> Result<(), BrokenMessage>,
) -> Result<(), BrokenMessage> {
    for field in WireFields::new(message) {
        let (number, value) = field?;
        match value {
            WireField::Bytes(part) if number == wanted => read(part)?,
            WireField::CutOff(part) => {
                if number == wanted {
                    read(part)?;
                }
                return Err(BrokenMessage::Damaged);
            }
            WireField::Bytes(_) | WireField::Number(_) => {}
        }
    }
    Ok(())
}

fn read_spans_of_resource(
    message: &[u8],
    reader: &mut OtlpSpanReader<'_, impl SpanReceiver>,
) -> Result<(), BrokenMessage> {
    // The resource may follow its spans, though no writer puts it there.
    let resource = WireFields::new(message).find_map(|field| match field {
        Ok((1, WireField::Bytes(resource))) => Some(resource),
        _ => None,
    });
    let attributes = resource.and_then(parse_attributes).unwrap_or_default();
    let resource = reader.resource_id(&attributes);
    for_each_message(message, 2, |scope| read_scope_spans(scope, resource, reader))?;
    // Spans of versions before 2022, below `InstrumentationLibrarySpans`.
    for_each_message(message, 1000, |library| read_scope_spans(library, resource, reader))
}

/// Reads the spans of a `ScopeSpans`.
fn read_scope_spans(
    message: &[u8],
    resource: ResourceId,
    reader: &mut OtlpSpanReader<'_, impl SpanReceiver>,
) -> Result<(), BrokenMessage> {
    for field in WireFields::new(message) {
        match field? {
            (2, WireField::Bytes(message)) => match parse_span(message) {
                Some(span) => reader.add_span(&span, resource)?,
                None => reader.count_damaged_span(),
            },
            (_, WireField::CutOff(_)) => return Err(BrokenMessage::Damaged),
            _ => {}
        }
    }
    Ok(())
}

/// Parses a `Span`; `None` if it is damaged.
fn parse_span(message: &[u8]) -> Option<OtlpSpan<'_>> {
    let mut span = OtlpSpan::default();
    for field in WireFields::new(message) {
        match field.ok()? {
            (1, WireField::Bytes(id)) => span.trace = OtlpId::from_bytes(id),
            (2, WireField::Bytes(id)) => span.id = OtlpId::from_bytes(id),
            (4, WireField::Bytes(id)) => span.parent = OtlpId::from_bytes(id),
            (5, WireField::Bytes(name)) => span.name = decode_text(name),
            (6, WireField::Number(number)) => span.kind = kind_of_number(number),
            (7, WireField::Number(ns)) => span.begin = OtlpTime::from_nanoseconds(ns),
            (8, WireField::Number(ns)) => span.end = OtlpTime::from_nanoseconds(ns),
            (9, WireField::Bytes(attribute)) => {
                check_length(&span.attributes)?;
                span.attributes.push(parse_key_value(attribute)?);
            }
            (15, WireField::Bytes(status)) => {
                for field in WireFields::new(status) {
                    match field.ok()? {
                        (2, WireField::Bytes(message)) if !message.is_empty() => {
                            check_length(&span.attributes)?;
                            span.attributes.push((STATUS_MESSAGE.into(), decode_text(message)));
                        }
                        (3, WireField::Number(code)) => span.failed = code == FAILED_STATUS,
                        _ => {}
                    }
                }
            }
            (_, WireField::CutOff(_)) => return None,
            _ => {}
        }
    }
    Some(span)
}

/// Parses the attributes of a `Resource`; `None` if they are damaged.
fn parse_attributes(message: &[u8]) -> Option<SpanAttributes<'_>> {
    let mut attributes = SpanAttributes::new();
    for field in WireFields::new(message) {
        match field.ok()? {
            (1, WireField::Bytes(attribute)) => {
                check_length(&attributes)?;
                attributes.push(parse_key_value(attribute)?);
            }
            (_, WireField::CutOff(_)) => return None,
            _ => {}
        }
    }
    Some(attributes)
}

/// Parses a `KeyValue`: the key and the value of an attribute.
fn parse_key_value(message: &[u8]) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    parse_member(message, 0).map(|(key, value)| (key, value.into_text()))
}

fn parse_member(message: &[u8], depth: usize) -> Option<(Cow<'_, str>, AnyValue<'_>)> {
    let (mut key, mut value) = (Cow::Borrowed(""), AnyValue::Empty);
    for field in WireFields::new(message) {
        match field.ok()? {
            (1, WireField::Bytes(bytes)) => key = decode_text(bytes),
            (2, WireField::Bytes(message)) => value = parse_any_value(message, depth)?,
            (_, WireField::CutOff(_)) => return None,
            _ => {}
        }
    }
    Some((key, value))
}

/// Parses an `AnyValue` within `depth` others.
fn parse_any_value(message: &[u8], depth: usize) -> Option<AnyValue<'_>> {
    if depth > MAX_VALUE_DEPTH {
        return Some(AnyValue::Empty);
    }
    let mut value = AnyValue::Empty;
    for field in WireFields::new(message) {
        value = match field.ok()? {
            (1, WireField::Bytes(bytes)) => AnyValue::Text(decode_text(bytes)),
            (2, WireField::Number(number)) => AnyValue::Bool(number != 0),
            (3, WireField::Number(number)) => AnyValue::Int(number as i64),
            (4, WireField::Number(bits)) => AnyValue::Double(f64::from_bits(bits)),
            (5, WireField::Bytes(list)) => {
                let values = repeated_messages(list).map(|part| parse_any_value(part?, depth + 1));
                AnyValue::from_list(&collect_entries(values)?)
            }
            (6, WireField::Bytes(map)) => {
                let members = repeated_messages(map).map(|part| parse_member(part?, depth + 1));
                AnyValue::from_map(&collect_entries(members)?)
            }
            (7, WireField::Bytes(bytes)) => AnyValue::Text(Cow::Owned(STANDARD.encode(bytes))),
            (_, WireField::CutOff(_)) => return None,
            _ => value,
        };
    }
    Some(value)
}

/// `None` if a list has the maximum length: one more entry would be damage.
fn check_length<T>(list: &[T]) -> Option<()> {
    (list.len() < MAX_ENTRIES).then_some(())
}

/// Collects the entries; `None` if one is damaged, or there are too many.
fn collect_entries<T>(entries: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    for entry in entries {
        check_length(&all)?;
        all.push(entry?);
    }
    Some(all)
}

/// The messages in field 1; `None` for damage.
fn repeated_messages(message: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    WireFields::new(message).filter_map(|field| match field {
        Ok((1, WireField::Bytes(part))) => Some(Some(part)),
        Err(MalformedMessage) | Ok((_, WireField::CutOff(_))) => Some(None),
        Ok(_) => None,
    })
}

/// Decodes a text; invalid UTF-8 is replaced.
fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
