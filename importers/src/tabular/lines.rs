//! Lines of text with their numbers, in bounded memory: one that is longer than any real one is
//! passed over.

use std::io::{self, Read};

use crate::reading::BUFFER;

/// The longest line, in bytes.
const LONGEST: usize = 1 << 20;

/// The lines of a text.
pub(super) struct Lines<R> {
    bytes: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// The line that was read last, in the buffer, without its end.
    line: (usize, usize),
    number: u64,
}

/// What comes next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A line, which [`Lines::text`] has.
    Line,
    /// A line that is too long, and is passed over.
    TooLong,
    /// There is none.
    End,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(bytes: R) -> Lines<R> {
        Lines { bytes, buffer: vec![0; BUFFER], start: 0, end: 0, line: (0, 0), number: 0 }
    }

    /// The number of the last line, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The last line, without its end.
    pub(super) fn text(&self) -> &[u8] {
        &self.buffer[self.line.0..self.line.1]
    }

    /// Goes to the next line. After an error, [`Lines::number`] is the line that could not be read
    /// whole.
    pub(super) fn next(&mut self) -> io::Result<Next> {
        self.number += 1;
        let mut searched = self.start;
        loop {
            if let Some(place) =
                self.buffer[searched..self.end].iter().position(|byte| *byte == b'\n')
            {
                let end = searched + place;
                self.line = (self.start, end);
                self.start = end + 1;
                return Ok(Next::Line);
            }
            if self.end - self.start > LONGEST {
                return self.skip();
            }
            let more = self.fill()?;
            searched = self.end - more;
            if more == 0 {
                if self.start == self.end {
                    self.number -= 1;
                    return Ok(Next::End);
                }
                self.line = (self.start, self.end);
                self.start = self.end;
                return Ok(Next::Line);
            }
        }
    }

    /// Reads more behind what there is; returns how much, 0 at the end.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            self.buffer.resize(2 * self.end, 0);
        }
        loop {
            match self.bytes.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    let read = read?;
                    self.end += read;
                    return Ok(read);
                }
            }
        }
    }

    /// Passes over the rest of the line.
    fn skip(&mut self) -> io::Result<Next> {
        loop {
            (self.start, self.end) = (0, 0);
            if self.fill()? == 0 {
                return Ok(Next::TooLong);
            }
            if let Some(place) = self.buffer[..self.end].iter().position(|byte| *byte == b'\n') {
                self.start = place + 1;
                return Ok(Next::TooLong);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads in pieces of `piece` bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn lines(text: &[u8], piece: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::new(Pieces(text, piece));
        let mut all = Vec::new();
        loop {
            match lines.next().unwrap() {
                Next::Line => all.push((
                    lines.number(),
                    Some(String::from_utf8_lossy(lines.text()).into_owned()),
                )),
                Next::TooLong => all.push((lines.number(), None)),
                Next::End => return all,
            }
        }
    }

    #[test]
    fn lines_are_the_same_in_whatever_pieces_they_come() {
        let text = b"one\n\ntwo\r\nthree";
        let expected = ["one", "", "two\r", "three"];
        for piece in 1..=text.len() {
            let read: Vec<String> =
                lines(text, piece).into_iter().map(|(_, line)| line.unwrap()).collect();
            assert_eq!(read, expected, "{piece}");
        }
        assert_eq!(lines(b"", 1), []);
        assert_eq!(lines(b"\n", 1), [(1, Some(String::new()))]);
    }

    #[test]
    fn a_line_that_never_ends_is_passed_over() {
        let text = [b"one\n".as_slice(), &vec![b'x'; 3 * LONGEST], b"\nthree\n"].concat();
        let expected = [(1, Some("one".to_owned())), (2, None), (3, Some("three".to_owned()))];
        assert_eq!(lines(&text, usize::MAX), expected);
    }
}
