//! Snippets of messages as text.

use std::io::{self, Write};

use socket_log::Snippet;
use socket_log::layout::snippet;

use super::verb::direction_verb;

/// Writes the properties of a snippet, and its bytes: text unchanged, other bytes as numbers.
pub(super) fn write_snippet(out: &mut impl Write, head: &Snippet) -> io::Result<()> {
    let Snippet { direction, flow, class, offset, .. } = head;
    write!(
        out,
        "head flow {flow} {} {} byte {offset}",
        direction_verb(*direction),
        class_name(*class)
    )?;
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

/// Name of a class of snippets.
fn class_name(class: u8) -> &'static str {
    match class {
        snippet::HTTP1 => "http1",
        snippet::HTTP2 => "http2",
        _ => "other",
    }
}
