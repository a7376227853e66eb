//! Objects of JSON in a text: one, several in arrays or arrays of arrays, or in a wrapper.
//!
//! Where an object is damaged, it is counted, and what begins with a brace behind its own is tried
//! until an object is whole again. So damage costs what is damaged and no more, even where a lost
//! quote hides all that follows from whoever counts brackets.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use super::receiver::Receiver;
use super::texts::Text;
use crate::error::Error;
use crate::summary::{Place, Skip};

/// What becomes of the objects of a format.
pub(super) trait Objects<R> {
    /// Uses the object that `text` begins with. What follows it in `text` is none of its business.
    ///
    /// # Errors
    /// When the object is damaged or of another kind; then nothing of it was used.
    fn take(&mut self, text: &[u8], spot: &Spot<'_>, spans: &mut R) -> Result<Taken, Refused>;
}

/// What was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// A whole object of this length.
    Whole(usize),
    /// A part of an object that is damaged, of this length.
    Part(usize),
    /// Nothing: the object wraps those to come.
    Wrapper,
}

/// Why nothing was taken.
#[derive(Debug)]
pub(super) enum Refused {
    /// It is damaged, or no such object.
    Json(serde_json::Error),
    /// Nothing can be taken any more.
    Failed(Error),
}

impl From<serde_json::Error> for Refused {
    fn from(error: serde_json::Error) -> Refused {
        Refused::Json(error)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Failed(error)
    }
}

/// The value that `text` begins with, and its length.
///
/// # Errors
/// When it is damaged, or no such value.
pub(super) fn first<'a, T: Deserialize<'a>>(text: &'a [u8]) -> serde_json::Result<(T, usize)> {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(value) => Ok((value?, values.byte_offset())),
        None => Err(serde::de::Error::custom("nothing is there")),
    }
}

/// Where an object is.
pub(super) struct Spot<'a> {
    /// Whether it is inside or behind one that is damaged.
    pub(super) is_lost: bool,
    file: &'a Path,
    text: Text<'a>,
    /// The line of the text, from 1.
    line: usize,
}

impl Spot<'_> {
    /// The line that it begins in.
    pub(super) fn place(&self) -> Place {
        Place::new(self.file, self.text.line(self.line))
    }
}

/// Has `objects` take all that are in a text of `file`.
///
/// # Errors
/// When `objects` fails.
pub(super) fn read<R: Receiver>(
    text: Text<'_>,
    file: &Path,
    objects: &mut impl Objects<R>,
    spans: &mut R,
) -> Result<(), Error> {
    let lost = Lost::Not;
    Reader { file, text, at: 0, lines: (0, 1), depth: 0, lost, is_broken: false }
        .read(objects, spans)
}

/// Whether what is ahead is inside or behind a damaged object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lost {
    Not,
    /// It is, until an object is whole again.
    UntilWhole,
    /// It is up to that place: the object is JSON, and only of another kind.
    Until(usize),
}

struct Reader<'a> {
    file: &'a Path,
    text: Text<'a>,
    at: usize,
    /// How far lines were counted, and the line there. Each byte is looked at once for it, however
    /// many places are asked for.
    lines: (usize, usize),
    /// Number of arrays and wrappers that are open.
    depth: u64,
    lost: Lost,
    /// Whether there was any damage, so that brackets cannot be counted.
    is_broken: bool,
}

impl<'a> Reader<'a> {
    fn read<R: Receiver>(
        mut self,
        objects: &mut impl Objects<R>,
        spans: &mut R,
    ) -> Result<(), Error> {
        while let Some(byte) = self.ahead().first() {
            match byte {
                b'{' => self.object(objects, spans)?,
                _ if self.lost != Lost::Not => self.pass_to_next_object(),
                b'[' => (self.depth, self.at) = (self.depth + 1, self.at + 1),
                b']' | b'}' if self.depth > 0 => {
                    (self.depth, self.at) = (self.depth - 1, self.at + 1);
                }
                // Record separators stand before each text of RFC 7464.
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' | 0x1e => self.at += 1,
                _ if self.depth > 0 && self.is_scalar() => {}
                _ => self.damage("text that is no object of JSON", spans, || {
                    format!("{:?} is no object of JSON", char::from(*byte))
                }),
            }
        }
        if self.depth > 0 && !self.is_broken {
            self.damage("end of a file that is cut off", spans, || {
                "it ends before its last bracket; was the file cut off?".to_owned()
            });
        }
        Ok(())
    }

    fn ahead(&self) -> &'a [u8] {
        self.text.bytes.get(self.at..).unwrap_or_default()
    }

    /// Passes over a text, number or word of a wrapper; `false` where there is none.
    fn is_scalar(&mut self) -> bool {
        match first::<IgnoredAny>(self.ahead()) {
            Ok((_, length)) => self.at += length,
            Err(_) => return false,
        }
        true
    }

    fn object<R: Receiver>(
        &mut self,
        objects: &mut impl Objects<R>,
        spans: &mut R,
    ) -> Result<(), Error> {
        if let Lost::Until(end) = self.lost
            && self.at >= end
        {
            self.lost = Lost::Not;
        }
        let is_lost = self.lost != Lost::Not;
        let line = self.line();
        let spot = Spot { is_lost, file: self.file, text: self.text, line };
        match objects.take(self.ahead(), &spot, spans) {
            Ok(Taken::Part(length)) => self.at += length,
            Ok(Taken::Whole(length)) => {
                self.at += length;
                self.found();
            }
            Ok(Taken::Wrapper) => {
                self.at += 1;
                self.found();
                self.depth += u64::from(!is_lost);
            }
            Err(Refused::Failed(error)) => return Err(error),
            Err(Refused::Json(error)) => self.refused(&error, spans),
        }
        Ok(())
    }

    /// The line of this place, from 1.
    fn line(&mut self) -> usize {
        let (counted, line) = self.lines;
        let more = self.text.bytes.get(counted..self.at).unwrap_or_default();
        let line = line + memchr::memchr_iter(b'\n', more).count();
        self.lines = (self.at.max(counted), line);
        line
    }

    /// An object is whole again.
    fn found(&mut self) {
        if self.lost == Lost::UntilWhole {
            self.lost = Lost::Not;
        }
    }

    fn refused(&mut self, error: &serde_json::Error, spans: &mut impl Receiver) {
        let whole = first::<IgnoredAny>(self.ahead()).ok().filter(|_| error.is_data());
        match whole {
            Some((_, length)) if self.lost == Lost::Not => {
                self.count("object of another kind", spans, || told(error));
                self.lost = Lost::Until(self.at + length);
                self.at += 1;
            }
            _ => {
                let cause = match error.classify() {
                    Category::Eof => "end of a file that is cut off",
                    _ => "damaged JSON",
                };
                self.damage(cause, spans, || told(error));
            }
        }
    }

    /// Counts what is ahead as damaged, if it is not behind something that is counted already, and
    /// goes on in search of an object.
    fn damage(
        &mut self,
        cause: &'static str,
        spans: &mut impl Receiver,
        why: impl FnOnce() -> String,
    ) {
        if self.lost == Lost::Not {
            self.count(cause, spans, why);
            (self.lost, self.is_broken) = (Lost::UntilWhole, true);
        }
        self.at += 1;
    }

    fn count(
        &mut self,
        cause: &'static str,
        spans: &mut impl Receiver,
        why: impl FnOnce() -> String,
    ) {
        let line = self.line();
        let spot = Spot { is_lost: false, file: self.file, text: self.text, line };
        spans.damage(cause, || Skip { place: spot.place(), why: why() });
    }

    /// Goes on to a brace, or to the end of what is known to be damaged.
    fn pass_to_next_object(&mut self) {
        let ahead = self.ahead();
        let next = memchr::memchr(b'{', ahead).unwrap_or(ahead.len());
        self.at += next;
        if let Lost::Until(end) = self.lost
            && self.at >= end
        {
            (self.at, self.lost) = (end, Lost::Not);
        }
    }
}

/// What is wrong with an object, and how far behind its beginning.
fn told(error: &serde_json::Error) -> String {
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
    use super::super::kept::Kept;
    use super::*;
    use crate::summary::At;

    /// Objects that have a number, and wrappers.
    #[derive(Deserialize)]
    struct Numbered {
        number: u32,
    }

    #[derive(Default)]
    struct Numbers(Vec<u32>);

    impl Objects<Kept> for Numbers {
        fn take(&mut self, text: &[u8], _: &Spot<'_>, _: &mut Kept) -> Result<Taken, Refused> {
            if text.starts_with(br#"{"all":"#) {
                return Ok(Taken::Wrapper);
            }
            let (object, length) = first::<Numbered>(text)?;
            self.0.push(object.number);
            Ok(Taken::Whole(length))
        }
    }

    fn numbers(text: &str) -> (Vec<u32>, Vec<String>) {
        let (mut objects, mut kept) = (Numbers::default(), Kept::default());
        let text = Text { at: At::Line(1), bytes: text.as_bytes() };
        read(text, Path::new("x"), &mut objects, &mut kept).unwrap();
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
