//! Parser from babeltrace2's lines to events.

#[cfg(test)]
use ::events::AttributeValue;
use ::events::Event;
use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHashMap;

use super::fields::CtfFields;
use crate::events::sink::EventSink;
use crate::events::value::ParsedValue;

/// Prefixes of contexts and fields, each a structure of its own.
const PARTS: &[&[u8]] = &[b"stream.packet.context", b"stream.event.", b"event."];

/// Line parser, which remembers the thread of each processor.
#[derive(Debug, Default)]
pub(super) struct CtfText {
    /// Host of events if the trace names none.
    host: NameId,
    /// Thread that each processor of each host last switched to.
    running: FxHashMap<(NameId, i32), i32>,
}

impl CtfText {
    pub(super) fn new(host: NameId) -> CtfText {
        CtfText { host, ..CtfText::default() }
    }

    /// Adds the event of a line to the sink; `None` if the line is not an event, in which case
    /// attributes may have been added.
    pub(super) fn parse_line(&mut self, line: &[u8], sink: &mut EventSink) -> Option<()> {
        let rest = line.strip_prefix(b"timestamp = ")?;
        let comma = memchr::memchr(b',', rest)?;
        let mut event = Event {
            time: parse_nanoseconds(rest.get(..comma)?)?,
            host: self.host,
            processor: Event::NO_PROCESSOR,
            ..Event::default()
        };
        let rest = rest.get(comma..)?;
        let begin = memchr::memmem::find(rest, b", name = ")?;
        let (about, rest) = (rest.get(..begin)?, rest.get(begin + 9..)?);
        if self.host == NameInterner::UNKNOWN
            && let Some(host) = find_value(about, b"trace:hostname = ")
        {
            event.host = sink.names.intern(&String::from_utf8_lossy(host));
        }
        // A name may contain a comma only before fields.
        let end = memchr::memmem::find(rest, b", ").unwrap_or(rest.len());
        let name = String::from_utf8_lossy(rest.get(..end)?).into_owned();
        event.kind = sink.names.intern(&event_kind(&name));
        let (mut rest, mut next) = (rest.get(end..)?, None);
        while let Some((name, inner, after)) = next_structure(rest) {
            let is_fields = name == b"event.fields";
            let mut fields = CtfFields(inner);
            while let Some((name, value)) = fields.next_field() {
                let number = if let ParsedValue::Int(number) = value {
                    i32::try_from(number).ok()
                } else {
                    None
                };
                match (name, number) {
                    (b"cpu_id", Some(number)) if !is_fields => event.processor = number,
                    (b"tid" | b"vtid", Some(number)) if !is_fields => event.thread = number,
                    (b"pid" | b"vpid", Some(number)) if !is_fields => event.process = number,
                    (b"next_tid", Some(number)) => next = Some(number),
                    (b"prev_tid", Some(number)) if event.thread == 0 => event.thread = number,
                    _ => {}
                }
                if is_fields || !matches!(name, b"cpu_id" | b"tid" | b"vtid" | b"pid" | b"vpid") {
                    let name = sink.names.intern(&String::from_utf8_lossy(name));
                    sink.batch.push_attribute(name, value.as_value());
                }
            }
            rest = after;
        }
        let processor = (event.host, event.processor);
        if event.thread == 0 && event.process == 0 && next.is_none() {
            event.thread = self.running.get(&processor).copied().unwrap_or(0);
        }
        if let Some(next) = next {
            self.running.insert(processor, next);
        }
        sink.batch.end_event(event);
        Some(())
    }
}

/// Next structure: its name, its content, and the text after it.
fn next_structure(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let begins = PARTS.iter().filter_map(|part| memchr::memmem::find(text, part));
    let text = text.get(begins.min()?..)?;
    let open = memchr::memmem::find(text, b" = {")?;
    let (name, rest) = (text.get(..open)?, text.get(open + 4..)?);
    let (mut depth, mut quoted, mut escaped) = (1, false, false);
    let close = rest.iter().position(|byte| {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'{' if !quoted => depth += 1,
            b'}' if !quoted => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let (inner, after) = rest.split_at(close.unwrap_or(rest.len()));
    Some((name, inner, after))
}

/// Finds the value after `name`, up to the next comma.
fn find_value<'t>(text: &'t [u8], name: &[u8]) -> Option<&'t [u8]> {
    let begin = memchr::memmem::find(text, name)? + name.len();
    let rest = text.get(begin..)?;
    rest.get(..memchr::memchr(b',', rest).unwrap_or(rest.len()))
}

/// Converts `provider:name` to `provider/name`; in LTTng's traces, events without a provider are
/// the kernel's.
fn event_kind(name: &str) -> String {
    match name.split_once(':') {
        Some((provider, name)) if !provider.is_empty() => format!("{provider}/{name}"),
        _ => format!("lttng/{name}"),
    }
}

/// Time at the beginning of a line; `None` if the line is not an event.
pub(super) fn time_of_line(line: &[u8]) -> Option<i64> {
    let rest = line.strip_prefix(b"timestamp = ")?;
    parse_nanoseconds(rest.get(..memchr::memchr(b',', rest)?)?)
}

fn parse_nanoseconds(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, decimals) = text.split_once('.')?;
    let (seconds, rest) = (seconds.parse::<i64>().ok()?, decimals.parse::<i64>().ok()?);
    if decimals.len() != 9 || rest < 0 {
        return None;
    }
    seconds.checked_mul(1_000_000_000)?.checked_add(rest)
}

/// Attribute of an event by name.
#[cfg(test)]
pub(super) fn find_attribute<'s>(
    sink: &'s EventSink,
    place: usize,
    name: &str,
) -> Option<AttributeValue<'s>> {
    sink.batch.attribute_value(place, sink.names.find_id(name)?)
}
