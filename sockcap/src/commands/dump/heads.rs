//! Heads of messages as text.

use std::io::{self, Write};

use socket_log::Head;
use socket_log::layout::head;

use super::verb::verb;

/// Writes what is known of a head, and its bytes: text as it is, other bytes as numbers.
pub(super) fn line(out: &mut impl Write, head: &Head) -> io::Result<()> {
    let Head { direction, flow, class, offset, .. } = head;
    write!(out, "head flow {flow} {} {} byte {offset}", verb(*direction), name(*class))?;
    let flags = [
        (head.plain, "plain"),
        (head.datagram, "datagram"),
        (head.continues, "continues"),
        (head.cut, "cut"),
    ];
    for (_, word) in flags.iter().filter(|(is_set, _)| *is_set) {
        write!(out, " {word}")?;
    }
    if !head.bytes.is_empty() && head.bytes.iter().all(|byte| *byte == 0) {
        return writeln!(out, " {} bytes, blank", head.bytes.len());
    }
    writeln!(out, " \"{}\"", head.bytes.escape_ascii())
}

/// Name of a class of heads.
fn name(class: u8) -> &'static str {
    match class {
        head::HTTP1 => "http1",
        head::HTTP2 => "http2",
        _ => "other",
    }
}
