//! JSON objects in a text: a single one, several in arrays or arrays of arrays, or in a wrapper.
//!
//! A damaged object is counted, and the search continues at each following brace until an object is
//! intact again. Damage thus costs only the damaged part, even if a lost quote would hide
//! everything after it from a parser that counts brackets.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use super::receiver::SpanReceiver;
use super::texts::FileText;
use crate::error::Error;
use crate::summary::{FilePlace, SkippedItem};

/// Consumer of the objects of a format.
pub(super) trait ObjectConsumer<R> {
    /// Consumes the object at the beginning of `text`, and ignores the text after it.
    ///
    /// # Errors
    /// When the object is damaged or of another kind; then no part of the object was used.
    fn take_object(
        &mut self,
        text: &[u8],
        spot: &ObjectSpot<'_>,
        spans: &mut R,
    ) -> Result<ObjectOutcome, ObjectRefusal>;
}

/// Result of consuming an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectOutcome {
    /// A complete object of this length.
    Whole(usize),
    /// A part of a damaged object, such as a span of a damaged trace, of this length.
    Part(usize),
    /// Nothing: the object wraps the following ones.
    Wrapper,
}

/// Reason why nothing was consumed.
#[derive(Debug)]
pub(super) enum ObjectRefusal {
    /// The text is damaged, or another kind of object.
    Json(serde_json::Error),
    /// Results cannot be written any more.
    Failed(Error),
}

impl From<serde_json::Error> for ObjectRefusal {
    fn from(error: serde_json::Error) -> ObjectRefusal {
        ObjectRefusal::Json(error)
    }
}

impl From<Error> for ObjectRefusal {
    fn from(error: Error) -> ObjectRefusal {
        ObjectRefusal::Failed(error)
    }
}

/// Parses the value at the beginning of `text`, and returns its length, too.
///
/// # Errors
/// When the text is damaged, or another kind of value.
pub(super) fn parse_first<'a, T: Deserialize<'a>>(
    text: &'a [u8],
) -> serde_json::Result<(T, usize)> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(value) => Ok((value?, values.byte_offset())),
        None => Err(serde::de::Error::custom("nothing is there")),
    }
}

/// Place of an object.
pub(super) struct ObjectSpot<'a> {
    /// Whether the object is inside or after a damaged one.
    pub(super) in_damage: bool,
    file: &'a Path,
    text: FileText<'a>,
    /// Line in the text, from 1.
    line: usize,
}

impl ObjectSpot<'_> {
    /// The line in which the object begins.
    pub(super) fn place(&self) -> FilePlace {
        FilePlace::new(self.file, self.text.line_at(self.line))
    }
}

/// Passes all objects in a text of `file` to `objects`.
///
/// # Errors
/// When `objects` fails.
pub(super) fn read_objects<R: SpanReceiver>(
    text: FileText<'_>,
    file: &Path,
    objects: &mut impl ObjectConsumer<R>,
    spans: &mut R,
) -> Result<(), Error> {
    let damage = DamageState::None;
    ObjectScanner { file, text, at: 0, lines: (0, 1), depth: 0, damage, has_damage: false }
        .read_all(objects, spans)
}

/// Whether the following text is inside or after a damaged object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DamageState {
    /// The text is intact.
    None,
    /// The text is damaged, until an object is intact again.
    UntilIntact,
    /// The text is damaged up to this offset: the object is valid JSON of another kind.
    Until(usize),
}

struct ObjectScanner<'a> {
    file: &'a Path,
    text: FileText<'a>,
    /// Offset of the next byte.
    at: usize,
    /// Offset up to which lines were counted, and the line there. Each byte is counted once,
    /// however many places are requested.
    lines: (usize, usize),
    /// Number of open arrays and wrappers.
    depth: u64,
    damage: DamageState,
    /// Whether there was any damage, so that brackets cannot be counted.
    has_damage: bool,
}

impl<'a> ObjectScanner<'a> {
    fn read_all<R: SpanReceiver>(
        mut self,
        objects: &mut impl ObjectConsumer<R>,
        spans: &mut R,
    ) -> Result<(), Error> {
        while let Some(byte) = self.unread_bytes().first() {
            match byte {
                b'{' => self.read_object(objects, spans)?,
                _ if self.damage != DamageState::None => self.skip_to_next_object(),
                b'[' => (self.depth, self.at) = (self.depth + 1, self.at + 1),
                b']' | b'}' if self.depth > 0 => {
                    (self.depth, self.at) = (self.depth - 1, self.at + 1);
                }
                // A record separator precedes each text in RFC 7464.
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | 0x1e => self.at += 1,
                _ if self.depth > 0 && self.skip_scalar() => {}
                _ => self.begin_damage("text that is not a JSON object", spans, || {
                    format!("{:?} is not a JSON object", char::from(*byte))
                }),
            }
        }
        if self.depth > 0 && !self.has_damage {
            self.begin_damage("end of a truncated file", spans, || {
                "it ends before its last bracket; was the file cut off?".to_owned()
            });
        }
        Ok(())
    }

    fn unread_bytes(&self) -> &'a [u8] {
        self.text.bytes.get(self.at..).unwrap_or_default()
    }

    /// Skips a text, number or word of a wrapper; returns `false` if there is none.
    fn skip_scalar(&mut self) -> bool {
        match parse_first::<IgnoredAny>(self.unread_bytes()) {
            Ok((_, length)) => self.at += length,
            Err(_) => return false,
        }
        true
    }

    fn read_object<R: SpanReceiver>(
        &mut self,
        objects: &mut impl ObjectConsumer<R>,
        spans: &mut R,
    ) -> Result<(), Error> {
        if let DamageState::Until(end) = self.damage
            && self.at >= end
        {
            self.damage = DamageState::None;
        }
        let in_damage = self.damage != DamageState::None;
        let line = self.current_line();
        let spot = ObjectSpot { in_damage, file: self.file, text: self.text, line };
        match objects.take_object(self.unread_bytes(), &spot, spans) {
            Ok(ObjectOutcome::Part(length)) => self.at += length,
            Ok(ObjectOutcome::Whole(length)) => {
                self.at += length;
                self.end_damage();
            }
            Ok(ObjectOutcome::Wrapper) => {
                self.at += 1;
                self.end_damage();
                self.depth += u64::from(!in_damage);
            }
            Err(ObjectRefusal::Failed(error)) => return Err(error),
            Err(ObjectRefusal::Json(error)) => self.refuse_object(&error, spans),
        }
        Ok(())
    }

    /// Line of the current position, from 1.
    fn current_line(&mut self) -> usize {
        let (counted, line) = self.lines;
        let more = self.text.bytes.get(counted..self.at).unwrap_or_default();
        let line = line + memchr::memchr_iter(b'\n', more).count();
        self.lines = (self.at.max(counted), line);
        line
    }

    /// Ends the damage, as an object is intact again.
    fn end_damage(&mut self) {
        if self.damage == DamageState::UntilIntact {
            self.damage = DamageState::None;
        }
    }

    /// Counts an object that was not consumed as damaged or of another kind, and continues inside
    /// it.
    fn refuse_object(&mut self, error: &serde_json::Error, spans: &mut impl SpanReceiver) {
        let whole = parse_first::<IgnoredAny>(self.unread_bytes()).ok().filter(|_| error.is_data());
        match whole {
            Some((_, length)) if self.damage == DamageState::None => {
                self.count_damage("object of another kind", spans, || describe_error(error));
                self.damage = DamageState::Until(self.at + length);
                self.at += 1;
            }
            _ => {
                let cause = match error.classify() {
                    Category::Eof => "end of a truncated file",
                    _ => "damaged JSON",
                };
                self.begin_damage(cause, spans, || describe_error(error));
            }
        }
    }

    /// Counts the following text as damaged, unless it is part of damage that was counted already,
    /// and continues in search of an object.
    fn begin_damage(
        &mut self,
        cause: &'static str,
        spans: &mut impl SpanReceiver,
        why: impl FnOnce() -> String,
    ) {
        if self.damage == DamageState::None {
            self.count_damage(cause, spans, why);
            (self.damage, self.has_damage) = (DamageState::UntilIntact, true);
        }
        self.at += 1;
    }

    fn count_damage(
        &mut self,
        cause: &'static str,
        spans: &mut impl SpanReceiver,
        why: impl FnOnce() -> String,
    ) {
        let line = self.current_line();
        let spot = ObjectSpot { in_damage: false, file: self.file, text: self.text, line };
        spans.count_damage(cause, || SkippedItem { place: spot.place(), why: why() });
    }

    /// Skips to a brace, or to the end of the known damage.
    fn skip_to_next_object(&mut self) {
        let ahead = self.unread_bytes();
        let next = memchr::memchr(b'{', ahead).unwrap_or(ahead.len());
        self.at += next;
        if let DamageState::Until(end) = self.damage
            && self.at >= end
        {
            (self.at, self.damage) = (end, DamageState::None);
        }
    }
}

/// Description of an object's error, and its distance from the object's beginning.
fn describe_error(error: &serde_json::Error) -> String {
    let why = error.to_string();
    let why = why.split(" at line ").next().unwrap_or_default();
    match (error.line(), error.column()) {
        (0, _) => why.to_owned(),
        (1, column) => format!("{why}, {column} bytes after its beginning"),
        (line, _) => format!("{why}, {} lines below its beginning", line - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::collected::SpanCollector;
    use super::*;
    use crate::summary::FilePosition;

    /// Objects that have a number, and wrappers.
    #[derive(Deserialize)]
    struct Numbered {
        number: u32,
    }

    #[derive(Default)]
    struct Numbers(Vec<u32>);

    impl ObjectConsumer<SpanCollector> for Numbers {
        fn take_object(
            &mut self,
            text: &[u8],
            _: &ObjectSpot<'_>,
            _: &mut SpanCollector,
        ) -> Result<ObjectOutcome, ObjectRefusal> {
            if text.starts_with(br#"{"all":"#) {
                return Ok(ObjectOutcome::Wrapper);
            }
            let (object, length) = parse_first::<Numbered>(text)?;
            self.0.push(object.number);
            Ok(ObjectOutcome::Whole(length))
        }
    }

    fn numbers(text: &str) -> (Vec<u32>, Vec<String>) {
        let (mut objects, mut kept) = (Numbers::default(), SpanCollector::default());
        let text = FileText { at: FilePosition::Line(1), bytes: text.as_bytes() };
        read_objects(text, Path::new("x"), &mut objects, &mut kept).unwrap();
        (objects.0, kept.skipped)
    }

    #[test]
    fn objects_are_found_in_all_packings() {
        for text in [
            r#"[{"number":1},{"number":2}]"#,
            r#"[[{"number":1}],[],[{"number":2}]]"#,
            "{\"number\":1}\n{\"number\":2}\n",
            "[{\"number\":1}]\r\n[{\"number\":2}]",
            "[ {\"number\": 1} ,\t{\"number\": 2, \"more\": [{}]} ]",
            r#"{"all":[{"number":1},{"number":2}],"total":-1.5E+3,"text":"\"{[","errors":null}"#,
            "\u{1e}{\"number\":1}\n\u{1e}{\"number\":2}\n",
        ] {
            assert_eq!(numbers(text), (vec![1, 2], Vec::new()), "{text}");
        }
        assert_eq!(numbers(""), (Vec::new(), Vec::new()));
        assert_eq!(numbers("[]\n"), (Vec::new(), Vec::new()));
    }

    #[test]
    fn damage_skips_one_object_and_not_the_file() {
        let text = "[\n{\"number\":1},\n{\"number\":2,\"x\":{\"number\" 5},\n{\"number\":3}\n]";
        let (read, skipped) = numbers(text);
        assert_eq!(read, [1, 3]);
        assert_eq!(skipped, ["x:3: expected `:`, 27 bytes after its beginning"]);

        let (read, skipped) = numbers("[{\"number\":1},\n{\"text\":\"a\"},{\"number\":3}]");
        assert_eq!(read, [1, 3]);
        assert_eq!(skipped, ["x:2: missing field `number`, 12 bytes after its beginning"]);

        let (read, skipped) = numbers("{\"number\":1}\nnumber,2\n{\"number\":3}\n");
        assert_eq!(read, [1, 3]);
        assert_eq!(skipped, ["x:2: 'n' is not a JSON object"]);
    }

    #[test]
    fn truncation_is_reported_at_any_offset() {
        let text = "[{\"number\":1},\n{\"number\":2},\n{\"number\":3}]";
        for length in 1..text.len() {
            let (read, skipped) = numbers(&text[..length]);
            let whole = text[..length].matches('}').count() as u32;
            assert_eq!(read, (1..=whole).collect::<Vec<_>>(), "{length}");
            assert_eq!(skipped.len(), 1, "{length}: {skipped:?}");
            let line = 1 + text[..length].matches('\n').count();
            assert!(skipped[0].starts_with(&format!("x:{line}: ")), "{length}: {skipped:?}");
        }
    }
}
