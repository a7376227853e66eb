//! JSON of spans in any layout: one value per line, one document of any size, or several documents
//! in sequence. A document's elements are read one by one, so that neither its size nor damage in
//! one of them affects the others.

mod elements;
mod scan;

pub(super) use scan::JsonScan;

use super::head::FileHead;
use super::lines::LineTexts;
use super::span_import::{SpanBatch, SpanImport};
use super::texts::{self, FileText};
use crate::error::Error;
use crate::import_input::ImportInput;
use elements::JsonElements;
use scan::BYTE_ORDER_MARK;

/// Lets `read` read each value of a file on all processors: each line of a file with one value per
/// line, otherwise each element of a document.
///
/// The elements of a document are the elements of an outermost array, or of an array below one of
/// `keys` in an outermost object. Values below other keys are skipped. Without `keys`, an object is
/// an element itself.
pub(crate) fn for_each_value(
    input: ImportInput<'_>,
    keys: &'static [&'static str],
    reading: &mut SpanImport<'_, '_>,
    read: impl Fn(FileText<'_>, &mut SpanBatch<'_, '_>) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let (head, input) = FileHead::read_head(input);
    if has_values_on_lines(&head) {
        return texts::for_each_text(input, LineTexts::new, reading, read);
    }
    texts::for_each_text(input, |bytes| JsonElements::new(bytes, keys), reading, read)
}

/// Does the same as [`for_each_value`], for a `read` that finds the intact parts of damaged JSON:
/// it also receives text that is not JSON, up to where a document can begin.
pub(crate) fn for_each_value_or_damage(
    input: ImportInput<'_>,
    keys: &'static [&'static str],
    reading: &mut SpanImport<'_, '_>,
    read: impl Fn(FileText<'_>, &mut SpanBatch<'_, '_>) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let (head, input) = FileHead::read_head(input);
    if has_values_on_lines(&head) {
        return texts::for_each_text(input, LineTexts::new, reading, read);
    }
    texts::for_each_text(
        input,
        |bytes| JsonElements::new(bytes, keys).with_damaged(),
        reading,
        read,
    )
}

/// Whether JSON certainly begins at `head`: a brace or a bracket, and a character that may follow
/// it.
pub(crate) fn is_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    let Some(b'{' | b'[') = head.first() else { return false };
    match head.get(1..).unwrap_or_default().trim_ascii_start() {
        [b'"', next, ..] => *next >= b' ',
        [next, ..] => b"{}[]\"-0123456789tfn".contains(next),
        [] => true,
    }
}

/// Whether each line is a value of its own. False for a document on one line: its elements are read
/// one by one.
fn has_values_on_lines(head: &FileHead) -> bool {
    let lines = head.bytes.split_inclusive(|byte| *byte == b'\n');
    let mut lines = lines.map(<[u8]>::trim_ascii_start).filter(|line| !line.is_empty());
    let (Some(first), Some(second)) = (lines.next(), lines.next()) else { return false };
    // The first line may be damaged, and the second is then similar to it.
    let like = |line: &[u8]| line.get(..16).is_some_and(|begin| first.starts_with(begin));
    is_object(first) || is_object(second) && like(second)
}

/// Whether a whole line is an object.
fn is_object(line: &[u8]) -> bool {
    let end = JsonScan::default().find_end(line);
    line.starts_with(b"{") && end.is_some_and(|end| line[end..].trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn lines(text: &str) -> bool {
        let input = ImportInput::from_reader(Path::new("x"), text.as_bytes()).unwrap();
        has_values_on_lines(&FileHead::read_head(input).0)
    }

    #[test]
    fn values_on_lines_are_distinguished_from_documents() {
        assert!(lines("{\"a\": [1]}\n{\"a\": [2]}\n"));
        assert!(lines("\n{\"a\": \"}\"} \r\n\n{"));
        let damaged = "{\"resourceSpans\": [1}";
        assert!(lines(&format!("{damaged}\n{{\"resourceSpans\": [1, 2]}}\n")));
        for document in [
            "",
            "{}",
            "{\"a\": [1]}\n",
            "{\n  \"a\": [\n    1\n  ]\n}\n",
            "[{\"a\": 1},\n{\"a\": 2}]",
            "{\"resourceSpans\":[\n{\"resource\":{\"attributes\":[]}},\n{\"resource\":{}}]}",
        ] {
            assert!(!lines(document), "{document}");
        }
    }

    #[test]
    fn json_is_recognised_by_its_beginning() {
        for json in ["{", "\n {\n\t\"a\"", "[]", "[[", " [{", "\u{feff}{\"a\":1}", "{}"] {
            assert!(is_json(json.as_bytes()), "{json}");
        }
        // Protobuf that begins with a line end and a brace, as its first length is 123.
        for other in [&b""[..], b"a,b\n1,2", b"\n\x7b\n\x22\n", b"\n\x7b\n\x20\n\x1e", b"\0\0\0{"] {
            assert!(!is_json(other), "{other:?}");
        }
    }
}
