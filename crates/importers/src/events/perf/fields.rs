//! Fields of a tracepoint, as `perf script` prints them: `name=value name=value`, or
//! `name: value, name: value` for system calls, or the block layer's format without names.

use ::events::{AttributeValue, EventBatch};
use memchr::memchr_iter;
use out_of_core::{NameId, NameInterner};

use crate::events::value::parse_value;

/// Syntax of the fields of a kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldSyntax {
    /// `name=value` or `name: value`.
    Named,
    /// A number: the return value of a system call.
    Returned,
    /// A request of the block layer.
    Block,
}

impl FieldSyntax {
    /// Field syntax of the event `provider/name`.
    pub(super) fn from_event_name(kind: &str) -> FieldSyntax {
        if kind.starts_with("syscalls/sys_exit_") {
            FieldSyntax::Returned
        } else if kind.starts_with("block/block_rq_") || kind.starts_with("block/block_bio_") {
            FieldSyntax::Block
        } else {
            FieldSyntax::Named
        }
    }
}

/// Field names of the latest event of a kind, in their order, with their ids: the next event mostly
/// has the same names.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldNames(Vec<(Box<[u8]>, NameId)>);

impl FieldNames {
    /// Id of the field name at the position `place` of the event.
    fn intern_name(&mut self, place: usize, name: &[u8], names: &mut NameInterner) -> NameId {
        match self.0.get_mut(place) {
            Some((known, number)) if **known == *name => *number,
            known => {
                let number = names.intern(&String::from_utf8_lossy(name));
                match known {
                    Some(known) => *known = (name.into(), number),
                    None => self.0.push((name.into(), number)),
                }
                number
            }
        }
    }
}

/// Adds the fields of `trace` to the next event of `batch`, and returns whether one of them is
/// `comm`.
pub(super) fn add_fields(
    syntax: FieldSyntax,
    trace: &[u8],
    known: &mut FieldNames,
    names: &mut NameInterner,
    batch: &mut EventBatch,
) -> bool {
    match syntax {
        FieldSyntax::Returned => {
            let number = known.intern_name(0, b"ret", names);
            batch.push_attribute(number, parse_value(b"ret", trace).as_value());
            false
        }
        FieldSyntax::Block if add_block_fields(trace, names, batch) => true,
        _ => add_named_fields(trace, known, names, batch),
    }
}

fn add_named_fields(
    trace: &[u8],
    known: &mut FieldNames,
    names: &mut NameInterner,
    batch: &mut EventBatch,
) -> bool {
    let (mut place, mut has_comm) = (0, false);
    let mut add = |name: &[u8], of: &[u8], place: &mut usize| {
        let number = known.intern_name(*place, name, names);
        batch.push_attribute(number, parse_value(name, of).as_value());
        *place += 1;
        has_comm |= name == b"comm";
    };
    // The field with a value that may continue.
    let mut open: Option<(&[u8], usize)> = None;
    for sign in memchr_iter(b'=', trace) {
        let Some(name) = name_before(trace, sign) else { continue };
        if let Some((of, begin)) = open {
            if name.as_ptr() < of.as_ptr() {
                continue;
            }
            let end = sign - name.len();
            add(of, trim_value(trace.get(begin..end).unwrap_or_default()), &mut place);
        }
        open = Some((name, sign + 1));
    }
    if let Some((of, begin)) = open {
        add(of, trim_value(trace.get(begin..).unwrap_or_default()), &mut place);
        return has_comm;
    }
    for sign in memchr_iter(b':', trace) {
        let Some(name) = name_before(trace, sign) else { continue };
        if trace.get(sign + 1) != Some(&b' ') {
            continue;
        }
        if let Some((of, begin)) = open {
            add(
                of,
                trim_value(trace.get(begin..sign - name.len()).unwrap_or_default()),
                &mut place,
            );
        }
        open = Some((name, sign + 1));
    }
    match open {
        Some((of, begin)) => {
            add(of, trim_value(trace.get(begin..).unwrap_or_default()), &mut place);
        }
        // The text has no field names.
        None if !trace.is_empty() => add(b"text", trace, &mut place),
        None => {}
    }
    has_comm
}

/// Name that ends at `sign`, preceded by a blank or nothing.
fn name_before(trace: &[u8], sign: usize) -> Option<&[u8]> {
    let before = trace.get(..sign)?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'.';
    let length = before.iter().rev().take_while(|byte| is_name(byte)).count();
    let (rest, name) = before.split_at(before.len() - length);
    let begins = name.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    (begins && rest.last().is_none_or(|byte| matches!(byte, b' ' | b'(' | b'{'))).then_some(name)
}

/// Trims the separators between fields from a value.
fn trim_value(value: &[u8]) -> &[u8] {
    let value = value.trim_ascii();
    let value = value.strip_suffix(b"==>").unwrap_or(value).trim_ascii_end();
    value.strip_suffix(b",").unwrap_or(value)
}

/// Adds the fields of a block-layer request, by the names of its format:
/// `MAJOR,MINOR RWBS [BYTES] (CMD) SECTOR + NR_SECTOR [...] [COMM or ERROR]`. Returns `false` if
/// the text has another form; nothing is added then.
fn add_block_fields(trace: &[u8], names: &mut NameInterner, batch: &mut EventBatch) -> bool {
    let read = || {
        let text = std::str::from_utf8(trace).ok()?;
        let (device, rest) = text.trim().split_once(' ')?;
        let (major, minor) = device.split_once(',')?;
        let device = major.parse::<i64>().ok()? << 20 | minor.parse::<i64>().ok()?;
        let (rwbs, rest) = rest.trim_start().split_once(' ')?;
        let plus = rest.find(" + ")?;
        let (before, after) = (rest.get(..plus)?, rest.get(plus + 3..)?);
        let (before, sector) = before.rsplit_once(' ').unwrap_or(("", before));
        let sector = sector.parse::<u64>().ok()? as i64;
        let count = after.split(' ').next()?.parse::<i64>().ok()?;
        let bytes = before.split(' ').next().and_then(|bytes| bytes.parse::<i64>().ok());
        let last = after.rsplit_once('[').and_then(|(_, last)| last.strip_suffix(']'));
        Some((device, rwbs, sector, count, bytes, last))
    };
    let Some((device, rwbs, sector, count, bytes, last)) = read() else { return false };
    let mut add = |name: &str, value| batch.push_attribute(names.intern(name), value);
    add("dev", AttributeValue::Int(device));
    add("rwbs", AttributeValue::Text(rwbs));
    add("sector", AttributeValue::Int(sector));
    add("nr_sector", AttributeValue::Int(count));
    if let Some(bytes) = bytes {
        add("bytes", AttributeValue::Int(bytes));
    }
    match last.map(|last| (last, last.parse::<i64>())) {
        Some((_, Ok(error))) => add("error", AttributeValue::Int(error)),
        Some((comm, Err(_))) => add("comm", AttributeValue::Text(comm)),
        None => {}
    }
    true
}
