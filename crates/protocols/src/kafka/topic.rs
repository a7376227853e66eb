//! The first topic of a request, and which acknowledgement a producer wants, of the versions that
//! have topics by name.

use crate::cursor::Cursor;
use crate::names;

/// What a body says.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Its first topic, without literals.
    pub(super) topic: Option<String>,
    /// How many servers are to acknowledge; with 0, none answers.
    pub(super) acks: Option<u16>,
}

/// What the body of a request says, as far as it is there.
pub(super) fn of(key: u16, version: u16, mut body: Cursor<'_>) -> Told {
    let mut told = Told::default();
    let topic = match key {
        0 => produce(version, &mut body, &mut told),
        1 => fetch(version, &mut body),
        _ => None,
    };
    let text = topic.and_then(|topic| std::str::from_utf8(topic).ok());
    told.topic = text.filter(|topic| !topic.is_empty()).map(names::label);
    told
}

/// Versions until 12 have topics by names; those behind have ids.
fn produce<'a>(version: u16, body: &mut Cursor<'a>, told: &mut Told) -> Option<&'a [u8]> {
    let is_flexible = version >= 9;
    if is_flexible {
        tags(body)?;
    }
    if version >= 3 {
        // The transaction's id.
        text(body, is_flexible)?;
    }
    told.acks = Some(body.be_u16()?);
    body.be_u32()?;
    if version > 12 { None } else { first(body, is_flexible) }
}

/// Versions until 12; those behind have topics by ids.
fn fetch<'a>(version: u16, body: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let is_flexible = version >= 12;
    if version > 12 {
        return None;
    }
    if is_flexible {
        tags(body)?;
    }
    let most = if version >= 3 { 4 } else { 0 };
    let isolation = if version >= 4 { 1 } else { 0 };
    let session = if version >= 7 { 8 } else { 0 };
    body.take(12 + most + isolation + session)?;
    first(body, is_flexible)
}

/// The name of the first topic of a list.
fn first<'a>(body: &mut Cursor<'a>, is_flexible: bool) -> Option<&'a [u8]> {
    let count = if is_flexible { varint(body)?.checked_sub(1)? } else { body.be_u32()? };
    if (1..1 << 16).contains(&count) { text(body, is_flexible) } else { None }
}

/// A text that may be none; then it is empty.
fn text<'a>(body: &mut Cursor<'a>, is_flexible: bool) -> Option<&'a [u8]> {
    let length = if is_flexible {
        varint(body)?.saturating_sub(1) as usize
    } else {
        match body.be_u16()? {
            u16::MAX => 0,
            length => usize::from(length),
        }
    };
    body.take(length)
}

/// Fields behind a flexible head: none is known, and clients send none.
fn tags(body: &mut Cursor<'_>) -> Option<()> {
    (varint(body)? == 0).then_some(())
}

fn varint(body: &mut Cursor<'_>) -> Option<u32> {
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
