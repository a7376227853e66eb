//! Objects of JSON in a text: one, several in arrays or arrays of arrays, or in a wrapper.
//!
//! Where an object is damaged, it is counted, and what begins with a brace behind its own is tried
//! until an object is whole again. So damage costs what is damaged and no more, even where a lost
//! quote hides all that follows from whoever counts brackets.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use super::receiver::SpanReceiver;
use super::texts::FileText;
use crate::error::Error;
use crate::summary::{FilePlace, SkippedItem};

/// What becomes of the objects of a format.
pub(super) trait ObjectConsumer<R> {
    /// Uses the object that `text` begins with. What follows it in `text` is none of its business.
    ///
    /// # Errors
    /// When the object is damaged or of another kind; then nothing of it was used.
    fn take_object(
        &mut self,
        text: &[u8],
        spot: &ObjectSpot<'_>,
        spans: &mut R,
    ) -> Result<ObjectOutcome, ObjectRefusal>;
}

/// What was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectOutcome {
    /// A whole object of this length.
    Whole(usize),
    /// A part of an object that is damaged, of this length.
    Part(usize),
    /// Nothing: the object wraps those to come.
    Wrapper,
}

/// Why nothing was taken.
#[derive(Debug)]
pub(super) enum ObjectRefusal {
    /// It is damaged, or no such object.
    Json(serde_json::Error),
    /// Nothing can be taken any more.
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

/// The value that `text` begins with, and its length.
///
/// # Errors
/// When it is damaged, or no such value.
pub(super) fn parse_first<'a, T: Deserialize<'a>>(
    text: &'a [u8],
) -> serde_json::Result<(T, usize)> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(value) => Ok((value?, values.byte_offset())),
        None => Err(serde::de::Error::custom("nothing is there")),
    }
}

/// Where an object is.
pub(super) struct ObjectSpot<'a> {
    /// Whether it is inside or behind one that is damaged.
    pub(super) is_lost: bool,
    file: &'a Path,
    text: FileText<'a>,
    /// The line of the text, from 1.
    line: usize,
}

impl ObjectSpot<'_> {
    /// The line that it begins in.
    pub(super) fn place(&self) -> FilePlace {
        FilePlace::new(self.file, self.text.line_at(self.line))
    }
}

/// Has `objects` take all that are in a text of `file`.
///
/// # Errors
/// When `objects` fails.
pub(super) fn read_objects<R: SpanReceiver>(
    text: FileText<'_>,
    file: &Path,
    objects: &mut impl ObjectConsumer<R>,
    spans: &mut R,
) -> Result<(), Error> {
    let lost = DamageState::Not;
    ObjectScanner { file, text, at: 0, lines: (0, 1), depth: 0, lost, is_broken: false }
        .read_all(objects, spans)
}

/// Whether what is ahead is inside or behind a damaged object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DamageState {
    Not,
    /// It is, until an object is whole again.
    UntilWhole,
    /// It is up to that place: the object is JSON, and only of another kind.
    Until(usize),
}

struct ObjectScanner<'a> {
    file: &'a Path,
    text: FileText<'a>,
    at: usize,
    /// How far lines were counted, and the line there. Each byte is looked at once for it, however
    /// many places are asked for.
    lines: (usize, usize),
    /// Number of arrays and wrappers that are open.
    depth: u64,
    lost: DamageState,
    /// Whether there was any damage, so that brackets cannot be counted.
    is_broken: bool,
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
                _ if self.lost != DamageState::Not => self.skip_to_next_object(),
                b'[' => (self.depth, self.at) = (self.depth + 1, self.at + 1),
                b']' | b'}' if self.depth > 0 => {
                    (self.depth, self.at) = (self.depth - 1, self.at + 1);
                }
                // Record separators stand before each text of RFC 7464.
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | 0x1e => self.at += 1,
                _ if self.depth > 0 && self.is_scalar() => {}
                _ => self.begin_damage("text that is no object of JSON", spans, || {
                    format!("{:?} is no object of JSON", char::from(*byte))
                }),
            }
        }
        if self.depth > 0 && !self.is_broken {
            self.begin_damage("end of a file that is cut off", spans, || {
                "it ends before its last bracket; was the file cut off?".to_owned()
            });
        }
        Ok(())
    }

    fn unread_bytes(&self) -> &'a [u8] {
        self.text.bytes.get(self.at..).unwrap_or_default()
    }

    /// Passes over a text, number or word of a wrapper; `false` where there is none.
    fn is_scalar(&mut self) -> bool {
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
        if let DamageState::Until(end) = self.lost
            && self.at >= end
        {
            self.lost = DamageState::Not;
        }
        let is_lost = self.lost != DamageState::Not;
        let line = self.current_line();
        let spot = ObjectSpot { is_lost, file: self.file, text: self.text, line };
        match objects.take_object(self.unread_bytes(), &spot, spans) {
            Ok(ObjectOutcome::Part(length)) => self.at += length,
            Ok(ObjectOutcome::Whole(length)) => {
                self.at += length;
                self.end_damage();
            }
            Ok(ObjectOutcome::Wrapper) => {
                self.at += 1;
                self.end_damage();
                self.depth += u64::from(!is_lost);
            }
            Err(ObjectRefusal::Failed(error)) => return Err(error),
            Err(ObjectRefusal::Json(error)) => self.refuse_object(&error, spans),
        }
        Ok(())
    }

    /// The line of this place, from 1.
    fn current_line(&mut self) -> usize {
        let (counted, line) = self.lines;
        let more = self.text.bytes.get(counted..self.at).unwrap_or_default();
        let line = line + memchr::memchr_iter(b'\n', more).count();
        self.lines = (self.at.max(counted), line);
        line
    }

    /// An object is whole again.
    fn end_damage(&mut self) {
        if self.lost == DamageState::UntilWhole {
            self.lost = DamageState::Not;
        }
    }

    fn refuse_object(&mut self, error: &serde_json::Error, spans: &mut impl SpanReceiver) {
        let whole = parse_first::<IgnoredAny>(self.unread_bytes()).ok().filter(|_| error.is_data());
        match whole {
            Some((_, length)) if self.lost == DamageState::Not => {
                self.count_damage("object of another kind", spans, || describe_error(error));
                self.lost = DamageState::Until(self.at + length);
                self.at += 1;
            }
            _ => {
                let cause = match error.classify() {
                    Category::Eof => "end of a file that is cut off",
                    _ => "damaged JSON",
                };
                self.begin_damage(cause, spans, || describe_error(error));
            }
        }
    }

    /// Counts what is ahead as damaged, if it is not behind something that is counted already, and
    /// goes on in search of an object.
    fn begin_damage(
        &mut self,
        cause: &'static str,
        spans: &mut impl SpanReceiver,
        why: impl FnOnce() -> String,
    ) {
        if self.lost == DamageState::Not {
            self.count_damage(cause, spans, why);
            (self.lost, self.is_broken) = (DamageState::UntilWhole, true);
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
        let spot = ObjectSpot { is_lost: false, file: self.file, text: self.text, line };
        spans.count_damage(cause, || SkippedItem { place: spot.place(), why: why() });
    }

    /// Goes on to a brace, or to the end of what is known to be damaged.
    fn skip_to_next_object(&mut self) {
        let ahead = self.unread_bytes();
        let next = memchr::memchr(b'{', ahead).unwrap_or(ahead.len());
        self.at += next;
        if let DamageState::Until(end) = self.lost
            && self.at >= end
        {
            (self.at, self.lost) = (end, DamageState::Not);
        }
    }
}

/// What is wrong with an object, and how far behind its beginning.
fn describe_error(error: &serde_json::Error) -> String {
    let why = error.to_string();
    let why = why.split(" at line ").next().unwrap_or_default();
    match (error.line(), error.column()) {
        (0, _) => why.to_owned(),
        (1, column) => format!("{why}, {column} bytes behind its beginning"),
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
    fn objects_come_however_they_are_packed() {
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
    fn damage_costs_an_object_and_not_the_file() {
        let text = "[\n{\"number\":1},\n{\"number\":2,\"x\":{\"number\" 5},\n{\"number\":3}\n]";
        let (read, skipped) = numbers(text);
        assert_eq!(read, [1, 3]);
        assert_eq!(skipped, ["x:3: expected `:`, 27 bytes behind its beginning"]);

        let (read, skipped) = numbers("[{\"number\":1},\n{\"text\":\"a\"},{\"number\":3}]");
        assert_eq!(read, [1, 3]);
        assert_eq!(skipped, ["x:2: missing field `number`, 12 bytes behind its beginning"]);

        let (read, skipped) = numbers("{\"number\":1}\nnumber,2\n{\"number\":3}\n");
        assert_eq!(read, [1, 3]);
        assert_eq!(skipped, ["x:2: 'n' is no object of JSON"]);
    }

    #[test]
    fn a_file_that_is_cut_off_says_so_wherever_that_is() {
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
