//! OTLP as protobuf. Spans are read one by one, with their texts borrowed from the message, so that
//! damage costs the spans that are damaged. The numbers of the fields are those of
//! `opentelemetry/proto/trace/v1/trace.proto` and of the files that it imports.

use std::borrow::Cow;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use request_flow::spans::ResourceId;

use super::any_value::AnyValue;
use super::ids::OtlpId;
use super::span::{FAILED, OtlpSpan, Reader, STATUS_MESSAGE, Time, kind};
use super::wire::{Field, Fields, NoMessage};
use crate::error::Error;
use crate::spans::attributes::Attributes;
use crate::spans::receiver::Receiver;
use crate::spans::texts::Text;
use crate::tuning::{MAX_ENTRIES, MAX_VALUE_DEPTH};

/// Why a message was not read to its end.
enum Broken {
    /// It is cut off, or is no message.
    Damaged,
    /// What was read cannot be kept.
    Failed(Error),
}

impl From<NoMessage> for Broken {
    fn from(_: NoMessage) -> Broken {
        Broken::Damaged
    }
}

impl From<Error> for Broken {
    fn from(error: Error) -> Broken {
        Broken::Failed(error)
    }
}

/// Reads an `ExportTraceServiceRequest`, which is a `TracesData` as well.
pub(super) fn request(
    text: Text<'_>,
    file: &Path,
    receiver: &mut impl Receiver,
) -> Result<(), Error> {
    let mut reader = Reader { receiver, file, at: text.at };
    let read = messages(text.bytes, 1, |part| resource_spans_in(part, &mut reader));
    told(read, &mut reader)
}

/// Reads a `ResourceSpans`.
pub(super) fn resource_spans(
    text: Text<'_>,
    file: &Path,
    receiver: &mut impl Receiver,
) -> Result<(), Error> {
    let mut reader = Reader { receiver, file, at: text.at };
    let read = resource_spans_in(text.bytes, &mut reader);
    told(read, &mut reader)
}

/// Counts damage, and passes on what else is wrong.
fn told(read: Result<(), Broken>, reader: &mut Reader<'_, impl Receiver>) -> Result<(), Error> {
    match read {
        Err(Broken::Failed(error)) => Err(error),
        Err(Broken::Damaged) => {
            let why = "a message ends too early or is no protobuf; was the file cut off?";
            reader.damage(reader.at, why.to_owned());
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Has `read` read each message that is field number `wanted`, the last one as far as it goes.
fn messages(
    message: &[u8],
    wanted: u64,
    mut read: impl FnMut(&[u8]) -> Result<(), Broken>,
) -> Result<(), Broken> {
    for field in Fields::of(message) {
        let (number, value) = field?;
        match value {
            Field::Bytes(part) if number == wanted => read(part)?,
            Field::CutOff(part) => {
                if number == wanted {
                    read(part)?;
                }
                return Err(Broken::Damaged);
            }
            Field::Bytes(_) | Field::Number(_) => {}
        }
    }
    Ok(())
}

fn resource_spans_in(message: &[u8], reader: &mut Reader<'_, impl Receiver>) -> Result<(), Broken> {
    // The resource may come behind its spans, though nobody writes it there.
    let resource = Fields::of(message).find_map(|field| match field {
        Ok((1, Field::Bytes(resource))) => Some(resource),
        _ => None,
    });
    let attributes = resource.and_then(attributes).unwrap_or_default();
    let resource = reader.resource(&attributes);
    messages(message, 2, |scope| spans(scope, resource, reader))?;
    // Those of before 2022, below `InstrumentationLibrarySpans`.
    messages(message, 1000, |library| spans(library, resource, reader))
}

/// Reads the spans of a `ScopeSpans`.
fn spans(
    message: &[u8],
    resource: ResourceId,
    reader: &mut Reader<'_, impl Receiver>,
) -> Result<(), Broken> {
    for field in Fields::of(message) {
        match field? {
            (2, Field::Bytes(message)) => match span(message) {
                Some(span) => reader.span(&span, resource)?,
                None => reader.span_is_damaged(),
            },
            (_, Field::CutOff(_)) => return Err(Broken::Damaged),
            _ => {}
        }
    }
    Ok(())
}

/// A `Span`; `None` if it is damaged.
fn span(message: &[u8]) -> Option<OtlpSpan<'_>> {
    let mut span = OtlpSpan::default();
    for field in Fields::of(message) {
        match field.ok()? {
            (1, Field::Bytes(id)) => span.trace = OtlpId::of_bytes(id),
            (2, Field::Bytes(id)) => span.id = OtlpId::of_bytes(id),
            (4, Field::Bytes(id)) => span.parent = OtlpId::of_bytes(id),
            (5, Field::Bytes(name)) => span.name = text(name),
            (6, Field::Number(number)) => span.kind = kind(number),
            (7, Field::Number(ns)) => span.begin = Time::of(ns),
            (8, Field::Number(ns)) => span.end = Time::of(ns),
            (9, Field::Bytes(attribute)) => {
                few(&span.attributes)?;
                span.attributes.push(key_value(attribute)?);
            }
            (15, Field::Bytes(status)) => {
                for field in Fields::of(status) {
                    match field.ok()? {
                        (2, Field::Bytes(message)) if !message.is_empty() => {
                            few(&span.attributes)?;
                            span.attributes.push((STATUS_MESSAGE.into(), text(message)));
                        }
                        (3, Field::Number(code)) => span.failed = code == FAILED,
                        _ => {}
                    }
                }
            }
            (_, Field::CutOff(_)) => return None,
            _ => {}
        }
    }
    Some(span)
}

/// The attributes of a `Resource`; `None` if they are damaged.
fn attributes(message: &[u8]) -> Option<Attributes<'_>> {
    let mut attributes = Attributes::new();
    for field in Fields::of(message) {
        match field.ok()? {
            (1, Field::Bytes(attribute)) => {
                few(&attributes)?;
                attributes.push(key_value(attribute)?);
            }
            (_, Field::CutOff(_)) => return None,
            _ => {}
        }
    }
    Some(attributes)
}

/// A `KeyValue`.
fn key_value(message: &[u8]) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    member(message, 0).map(|(key, value)| (key, value.into_text()))
}

fn member(message: &[u8], depth: usize) -> Option<(Cow<'_, str>, AnyValue<'_>)> {
    let (mut key, mut value) = (Cow::Borrowed(""), AnyValue::Empty);
    for field in Fields::of(message) {
        match field.ok()? {
            (1, Field::Bytes(bytes)) => key = text(bytes),
            (2, Field::Bytes(message)) => value = any_value(message, depth)?,
            (_, Field::CutOff(_)) => return None,
            _ => {}
        }
    }
    Some((key, value))
}

/// An `AnyValue`, within `depth` others.
fn any_value(message: &[u8], depth: usize) -> Option<AnyValue<'_>> {
    if depth > MAX_VALUE_DEPTH {
        return Some(AnyValue::Empty);
    }
    let mut value = AnyValue::Empty;
    for field in Fields::of(message) {
        value = match field.ok()? {
            (1, Field::Bytes(bytes)) => AnyValue::Text(text(bytes)),
            (2, Field::Number(number)) => AnyValue::Bool(number != 0),
            (3, Field::Number(number)) => AnyValue::Int(number as i64),
            (4, Field::Number(bits)) => AnyValue::Double(f64::from_bits(bits)),
            (5, Field::Bytes(list)) => {
                let values = parts(list).map(|part| any_value(part?, depth + 1));
                AnyValue::list(&collected(values)?)
            }
            (6, Field::Bytes(map)) => {
                let members = parts(map).map(|part| member(part?, depth + 1));
                AnyValue::map(&collected(members)?)
            }
            (7, Field::Bytes(bytes)) => AnyValue::Text(Cow::Owned(STANDARD.encode(bytes))),
            (_, Field::CutOff(_)) => return None,
            _ => value,
        };
    }
    Some(value)
}

/// `None` where a list is as long as it may be: one more entry would be damage.
fn few<T>(list: &[T]) -> Option<()> {
    (list.len() < MAX_ENTRIES).then_some(())
}

/// The entries; `None` where one is damaged, or there are too many.
fn collected<T>(entries: impl Iterator<Item = Option<T>>) -> Option<Vec<T>> {
    let mut all = Vec::new();
    for entry in entries {
        few(&all)?;
        all.push(entry?);
    }
    Some(all)
}

/// The messages that are field 1; `None` for damage.
fn parts(message: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    Fields::of(message).filter_map(|field| match field {
        Ok((1, Field::Bytes(part))) => Some(Some(part)),
        Err(NoMessage) | Ok((_, Field::CutOff(_))) => Some(None),
        Ok(_) => None,
    })
}

/// A text; what is no UTF-8 in it is replaced.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
