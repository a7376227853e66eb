//! First topic of a request, and the acknowledgement that a producer requests, in versions that
//! name topics.

use crate::cursor::ByteCursor;
use crate::names;

/// Facts from the body of a request.
#[derive(Debug, Default)]
pub(super) struct KafkaBody {
    /// First topic, without literals.
    pub(super) topic: Option<String>,
    /// Number of servers that are to acknowledge the request; if it is 0, there is no response.
    pub(super) acks: Option<u16>,
}

/// Parses the body of a request, as far as it is present.
pub(super) fn parse_body(key: u16, version: u16, mut body: ByteCursor<'_>) -> KafkaBody {
    let mut facts = KafkaBody::default();
    let topic = match key {
        0 => produce_topic(version, &mut body, &mut facts),
        1 => fetch_topic(version, &mut body),
        _ => None,
    };
    let text = topic.and_then(|topic| std::str::from_utf8(topic).ok());
    facts.topic = text.filter(|topic| !topic.is_empty()).map(names::reduce_label);
    facts
}

/// Topic of a Produce request. Versions up to 12 name topics; later ones have ids.
fn produce_topic<'a>(
    version: u16,
    body: &mut ByteCursor<'a>,
    facts: &mut KafkaBody,
) -> Option<&'a [u8]> {
    let is_flexible = version >= 9;
    if is_flexible {
        skip_tags(body)?;
    }
    if version >= 3 {
        // The transactional id.
        nullable_text(body, is_flexible)?;
    }
    facts.acks = Some(body.be_u16()?);
    body.be_u32()?;
    if version > 12 { None } else { first_topic(body, is_flexible) }
}

/// Topic of a Fetch request. Versions up to 12 name topics; later ones have ids.
fn fetch_topic<'a>(version: u16, body: &mut ByteCursor<'a>) -> Option<&'a [u8]> {
    let is_flexible = version >= 12;
    if version > 12 {
        return None;
    }
    if is_flexible {
        skip_tags(body)?;
    }
    let max_bytes = if version >= 3 { 4 } else { 0 };
    let isolation = if version >= 4 { 1 } else { 0 };
    let session = if version >= 7 { 8 } else { 0 };
    body.take_bytes(12 + max_bytes + isolation + session)?;
    first_topic(body, is_flexible)
}

/// Name of the first topic of a list.
fn first_topic<'a>(body: &mut ByteCursor<'a>, is_flexible: bool) -> Option<&'a [u8]> {
    let count = if is_flexible { read_varint(body)?.checked_sub(1)? } else { body.be_u32()? };
    if (1..1 << 16).contains(&count) { nullable_text(body, is_flexible) } else { None }
}

/// Reads a nullable text; null is empty.
fn nullable_text<'a>(body: &mut ByteCursor<'a>, is_flexible: bool) -> Option<&'a [u8]> {
    let length = if is_flexible {
        read_varint(body)?.saturating_sub(1) as usize
    } else {
        match body.be_u16()? {
            u16::MAX => 0,
            length => usize::from(length),
        }
    };
    body.take_bytes(length)
}

/// Skips the tagged fields after a flexible header: none is defined, and clients send none.
fn skip_tags(body: &mut ByteCursor<'_>) -> Option<()> {
    (read_varint(body)? == 0).then_some(())
}

fn read_varint(body: &mut ByteCursor<'_>) -> Option<u32> {
    let mut number = 0;
    for shift in [0, 7, 14, 21] {
        let byte = body.u8()?;
        number |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}
