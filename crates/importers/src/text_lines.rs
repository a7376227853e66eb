//! Lines of a stream as they arrive: bytes that were read are returned immediately, so that a pipe
//! is followed without delay; in bounded memory.

use std::io::{self, Read};

use memchr::memchr;

use crate::tuning::{MAX_TEXT_LINE_BYTES, READ_BUFFER_BYTES};

/// The lines of a stream.
pub(crate) struct TextLines<R> {
    bytes: R,
    buffer: Vec<u8>,
    begin: usize,
    end: usize,
    /// Number of bytes of the buffer that were searched for a line end.
    searched: usize,
    number: u64,
    ended: bool,
}

/// Result of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextLine<'l> {
    /// A line, without its end.
    Line(&'l [u8]),
    /// An overlong line, which is skipped.
    TooLong,
    /// More has to be read first, by [`TextLines::read_more`].
    Pending,
    /// The end of the stream.
    End,
}

impl<R: Read> TextLines<R> {
    pub(crate) fn new(bytes: R) -> TextLines<R> {
        TextLines {
            bytes,
            buffer: vec![0; READ_BUFFER_BYTES],
            begin: 0,
            end: 0,
            searched: 0,
            number: 0,
            ended: false,
        }
    }

    /// Number of the last line, from 1.
    pub(crate) fn line_number(&self) -> u64 {
        self.number
    }

    /// Next line of the bytes that were read.
    pub(crate) fn next_line(&mut self) -> NextLine<'_> {
        let rest = self.buffer.get(self.searched..self.end).unwrap_or_default();
        let found = memchr(b'\n', rest).map(|place| self.searched + place);
        let (line, next) = match found {
            Some(end) => (self.begin..end, end + 1),
            None if self.ended && self.begin < self.end => (self.begin..self.end, self.end),
            None if self.ended => return NextLine::End,
            None => {
                self.searched = self.end;
                return NextLine::Pending;
            }
        };
        (self.begin, self.searched) = (next, next);
        self.number += 1;
        if line.len() > MAX_TEXT_LINE_BYTES {
            return NextLine::TooLong;
        }
        NextLine::Line(self.buffer.get(line).unwrap_or_default())
    }

    /// Reads one more piece of the file into the buffer.
    ///
    /// # Errors
    /// When the file cannot be read. The incomplete line is dropped: its end may be missing.
    pub(crate) fn read_more(&mut self) -> io::Result<()> {
        let kept = self.end - self.begin;
        self.buffer.copy_within(self.begin..self.end, 0);
        (self.begin, self.end, self.searched) = (0, kept, kept);
        if kept > MAX_TEXT_LINE_BYTES {
            // Of an overlong line, one byte more than the limit is kept.
            self.end = MAX_TEXT_LINE_BYTES + 1;
            self.searched = self.end;
        }
        if self.end + READ_BUFFER_BYTES / 2 > self.buffer.len() {
            self.buffer.resize(self.end + READ_BUFFER_BYTES, 0);
        }
        loop {
            match self.bytes.read(self.buffer.get_mut(self.end..).unwrap_or_default()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) => {
                    self.ended = true;
                    return Ok(());
                }
                Ok(read) => {
                    self.end += read;
                    return Ok(());
                }
                Err(error) => {
                    (self.begin, self.ended) = (self.end, true);
                    return Err(error);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Input that is read in pieces of the given number of bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn lines(bytes: &[u8], piece: usize) -> Vec<Option<Vec<u8>>> {
        let mut lines = TextLines::new(Pieces(bytes, piece));
        let mut all = Vec::new();
        loop {
            match lines.next_line() {
                NextLine::Line(line) => all.push(Some(line.to_vec())),
                NextLine::TooLong => all.push(None),
                NextLine::Pending => lines.read_more().unwrap(),
                NextLine::End => return all,
            }
        }
    }

    #[test]
    fn lines_are_the_same_however_input_is_divided() {
        let expected = ["one", "", "two\r", "three"].map(|line| Some(line.as_bytes().to_vec()));
        for piece in 1..20 {
            assert_eq!(lines(b"one\n\ntwo\r\nthree", piece), expected);
        }
        assert_eq!((lines(b"", 1).len(), lines(b"\n", 1)), (0, vec![Some(Vec::new())]));
    }

    #[test]
    fn an_overlong_line_is_skipped() {
        let long = vec![b'x'; 2 * MAX_TEXT_LINE_BYTES];
        let text = [b"one\n", long.as_slice(), b"\ntwo"].concat();
        assert_eq!(lines(&text, 100_000), [Some(b"one".to_vec()), None, Some(b"two".to_vec())]);
    }

    /// Fails after everything was read.
    struct Broken<'a>(&'a [u8]);

    impl Read for Broken<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("broken")),
                read => Ok(read),
            }
        }
    }

    #[test]
    fn a_line_with_an_unreadable_end_is_dropped() {
        let mut lines = TextLines::new(Broken(b"1\n23"));
        assert_eq!(lines.next_line(), NextLine::Pending);
        lines.read_more().unwrap();
        assert_eq!(lines.next_line(), NextLine::Line(b"1"));
        assert_eq!(lines.next_line(), NextLine::Pending);
        assert_eq!(lines.read_more().unwrap_err().to_string(), "broken");
        assert_eq!(lines.next_line(), NextLine::End);
        assert_eq!(lines.line_number(), 1);
    }
}
