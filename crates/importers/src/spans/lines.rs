//! Lines of a file as texts, without empty ones. A line that exceeds the memory limit is skipped.

use std::io::{self, Read};

use super::texts::{TextBatch, TextSource};
use crate::summary::FilePosition;
use crate::tuning::{MAX_TEXT_BYTES, READ_BUFFER_BYTES, TEXTS_BYTES};

/// The lines of a file.
#[derive(Debug)]
pub(crate) struct LineTexts<R> {
    bytes: R,
    /// Beginning of an incomplete line.
    partial: Vec<u8>,
    line: u64,
    max_line_bytes: usize,
    ended: bool,
    /// Read error that is not reported yet.
    error: Option<io::Error>,
}

impl<R: Read> LineTexts<R> {
    /// The lines of `bytes`.
    pub(crate) fn new(bytes: R) -> LineTexts<R> {
        LineTexts {
            bytes,
            partial: Vec::new(),
            line: 1,
            max_line_bytes: MAX_TEXT_BYTES,
            ended: false,
            error: None,
        }
    }

    /// Reads bytes into `into`, about as many as a thread gets at a time.
    fn fill_text(&mut self, into: &mut Vec<u8>) {
        let room = TEXTS_BYTES.saturating_sub(into.len()).max(READ_BUFFER_BYTES) as u64;
        match self.bytes.by_ref().take(room).read_to_end(into) {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(error) => (self.ended, self.error) = (true, Some(error)),
        }
    }

    /// Skips the rest of a line that does not end in the buffer.
    fn skip_long_line(&mut self) -> TextBatch {
        let mut bytes = Vec::new();
        while !self.ended {
            bytes.clear();
            self.fill_text(&mut bytes);
            if let Some(end) = memchr::memchr(b'\n', &bytes) {
                self.partial = bytes.split_off(end + 1);
                break;
            }
        }
        let mut texts = TextBatch::default();
        texts.add_fault(FilePosition::Line(self.line), "the line is longer than a line can be");
        self.line += 1;
        texts
    }

    /// Splits complete lines into texts, without empty lines.
    fn split_lines(&mut self, bytes: Vec<u8>) -> TextBatch {
        let ends = memchr::memchr_iter(b'\n', &bytes).chain([bytes.len()]);
        let (mut begin, mut lines) = (0, Vec::new());
        for (number, end) in (self.line..).zip(ends) {
            if bytes.get(begin..end).is_some_and(|line| !line.trim_ascii().is_empty()) {
                lines.push((number, begin, end));
            }
            (begin, self.line) = (end + 1, number);
        }
        let mut texts = TextBatch::from_bytes(bytes);
        lines.into_iter().for_each(|(number, begin, end)| {
            texts.add_range(FilePosition::Line(number), begin, end)
        });
        texts
    }
}

impl<R: Read + Send> TextSource for LineTexts<R> {
    fn next(&mut self) -> io::Result<Option<TextBatch>> {
        while !self.ended || !self.partial.is_empty() {
            let mut bytes = std::mem::take(&mut self.partial);
            bytes.reserve((TEXTS_BYTES + READ_BUFFER_BYTES).saturating_sub(bytes.len()));
            // End of the last complete line in `bytes`.
            let mut complete_end = None;
            while !self.ended && (complete_end.is_none() || bytes.len() < TEXTS_BYTES) {
                let from = bytes.len();
                self.fill_text(&mut bytes);
                let read = bytes.get(from..).unwrap_or_default();
                complete_end =
                    memchr::memrchr(b'\n', read).map(|end| from + end + 1).or(complete_end);
                if complete_end.is_none() && bytes.len() > self.max_line_bytes {
                    return Ok(Some(self.skip_long_line()));
                }
            }
            if !self.ended {
                self.partial = bytes.split_off(complete_end.unwrap_or(bytes.len()));
            }
            let texts = self.split_lines(bytes);
            if !texts.is_empty() {
                return Ok(Some(texts));
            }
        }
        self.error.take().map_or(Ok(None), Err)
    }

    fn at(&self) -> FilePosition {
        FilePosition::Line(self.line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads in pieces of the given number of bytes and fails at the end, if requested.
    struct Pieces<'a>(&'a [u8], usize, bool);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() && self.2 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn number(at: FilePosition) -> u64 {
        let FilePosition::Line(number) = at else { panic!("{at:?}") };
        number
    }

    type Line = (u64, Result<String, &'static str>);

    fn lines(mut lines: LineTexts<Pieces<'_>>) -> (Vec<Line>, Option<u64>) {
        let mut all = Vec::new();
        loop {
            match lines.next() {
                Ok(Some(texts)) => all.extend(texts.iter().map(|text| match text {
                    Ok(text) => {
                        (number(text.at), Ok(String::from_utf8_lossy(text.bytes).into_owned()))
                    }
                    Err((at, fault)) => (number(at), Err(fault)),
                })),
                Ok(None) => return (all, None),
                Err(_) => {
                    assert!(lines.next().unwrap().is_none(), "an error is the end");
                    return (all, Some(number(lines.at())));
                }
            }
        }
    }

    #[test]
    fn lines_are_the_same_however_input_is_divided() {
        let text = b"one\n\n two\r\n\nfive";
        let line = |number, text: &str| (number, Ok(text.to_owned()));
        let expected = vec![line(1, "one"), line(3, " two\r"), line(5, "five")];
        for piece in 1..=text.len() {
            assert_eq!(lines(LineTexts::new(Pieces(text, piece, false))), (expected.clone(), None));
            // The bytes before an error are returned first.
            assert_eq!(
                lines(LineTexts::new(Pieces(text, piece, true))),
                (expected.clone(), Some(5))
            );
        }
        assert_eq!(lines(LineTexts::new(Pieces(b"", 1, false))), (vec![], None));
        assert_eq!(lines(LineTexts::new(Pieces(b"\n\n", 1, false))), (vec![], None));
    }

    #[test]
    fn many_lines_come_in_several_groups_with_their_numbers() {
        let text: String = (1..=300_000).map(|number| format!("line {number}\n")).collect();
        assert!(text.len() > 3 * TEXTS_BYTES);
        for piece in [1000, usize::MAX] {
            let (all, _) = lines(LineTexts::new(Pieces(text.as_bytes(), piece, false)));
            assert_eq!(all.len(), 300_000);
            assert!(
                all.iter().all(|(number, line)| *line == Ok(format!("line {number}"))),
                "each has its number"
            );
        }
    }

    #[test]
    fn an_endless_line_is_skipped() {
        let long = vec![b'x'; 3 * TEXTS_BYTES];
        let text = [b"one\n".as_slice(), &long, b"\nthree\n"].concat();
        let read = |max_line_bytes, text| {
            lines(LineTexts { max_line_bytes, ..LineTexts::new(Pieces(text, 777, false)) })
        };
        let (all, _) = read(2 * TEXTS_BYTES, &text);
        let numbers: Vec<(u64, bool)> =
            all.iter().map(|(line, text)| (*line, text.is_ok())).collect();
        assert_eq!(numbers, [(1, true), (2, false), (3, true)]);
        assert_eq!(read(4 * TEXTS_BYTES, &text).0.len(), 3);
        let (all, _) = read(2 * TEXTS_BYTES, &long);
        assert!(all.len() == 1 && all[0].1.is_err());
    }
}
