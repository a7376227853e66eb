//! Rows of CSV with their line numbers, in bounded memory: no field is copied, and an unterminated
//! quote costs a row and not the machine's memory.

use std::io::{self, Read};

use csv_core::{ReadRecordResult, Reader};

use crate::tuning::{MAX_COLUMNS, MAX_ROW_BYTES, READ_BUFFER_BYTES};

/// The rows of a CSV file.
pub(crate) struct CsvRows<R> {
    bytes: R,
    parser: Reader,
    buffer: Vec<u8>,
    /// Index of the first byte of the buffer that has not been parsed.
    start: usize,
    end: usize,
    /// Text of the row's fields, concatenated, and the end of each.
    text: Vec<u8>,
    ends: Vec<usize>,
    /// Line on which the row begins.
    line: u64,
}

/// Result of reading a row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextRow {
    /// A row, which `CsvRows::field` returns.
    Row,
    /// A row that is too long or has too many columns; reading continues after the end of its line.
    TooLong,
    /// The table has no further row.
    End,
}

impl<R: Read> CsvRows<R> {
    pub(crate) fn new(bytes: R) -> CsvRows<R> {
        CsvRows {
            bytes,
            parser: Reader::new(),
            buffer: vec![0; READ_BUFFER_BYTES],
            start: 0,
            end: 0,
            text: vec![0; 1 << 12],
            ends: vec![0; 64],
            line: 1,
        }
    }

    /// Line on which the last row began, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The field at `place`, or nothing if the row has fewer.
    pub(crate) fn field(&self, place: usize) -> &[u8] {
        let end = self.ends.get(place).copied().unwrap_or(0);
        let start = if place == 0 { 0 } else { self.ends.get(place - 1).copied().unwrap_or(0) };
        self.text.get(start..end).unwrap_or_default()
    }

    /// Reads the next row; returns it with its number of fields.
    pub(crate) fn next_row(&mut self) -> io::Result<(NextRow, usize)> {
        self.skip_ends_of_lines()?;
        self.line = self.parser.line();
        let (mut length, mut fields) = (0, 0);
        loop {
            let (result, read, written, ended) = self.parser.read_record(
                &self.buffer[self.start..self.end],
                &mut self.text[length..],
                &mut self.ends[fields..],
            );
            self.start += read;
            length += written;
            fields += ended;
            match result {
                // An empty input marks the end for the parser.
                ReadRecordResult::InputEmpty => self.fill_buffer().map(|_| ())?,
                ReadRecordResult::OutputFull if length < MAX_ROW_BYTES => {
                    self.text.resize(2 * length, 0)
                }
                ReadRecordResult::OutputEndsFull if fields < MAX_COLUMNS => {
                    self.ends.resize(2 * fields, 0)
                }
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull => {
                    self.skip_line()?;
                    return Ok((NextRow::TooLong, 0));
                }
                ReadRecordResult::Record => {
                    self.ends[fields..].fill(length);
                    return Ok((NextRow::Row, fields));
                }
                ReadRecordResult::End => return Ok((NextRow::End, 0)),
            }
        }
    }

    /// Reads more of the file; returns `false` at the end.
    fn fill_buffer(&mut self) -> io::Result<bool> {
        self.start = 0;
        self.end = loop {
            match self.bytes.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        Ok(self.end > 0)
    }

    /// Skips line ends. The parser would skip empty lines itself, but the line of the next row
    /// would be unknown.
    fn skip_ends_of_lines(&mut self) -> io::Result<()> {
        loop {
            match self.buffer[self.start..self.end].first() {
                Some(b'\n') => {
                    self.start += 1;
                    self.parser.set_line(self.parser.line() + 1);
                }
                Some(b'\r') => self.start += 1,
                Some(_) => return Ok(()),
                None => {
                    if !self.fill_buffer()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Skips to the end of the line, ignoring quotes.
    fn skip_line(&mut self) -> io::Result<()> {
        let line = self.parser.line();
        self.parser.reset();
        self.parser.set_line(line);
        loop {
            if let Some(end) =
                self.buffer[self.start..self.end].iter().position(|byte| *byte == b'\n')
            {
                self.start += end;
                return Ok(());
            }
            if !self.fill_buffer()? {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads all rows with their lines; an overlong one is `None`.
    fn read_rows(bytes: &[u8]) -> Vec<(u64, Option<Vec<String>>)> {
        let mut rows = CsvRows::new(bytes);
        let mut all = Vec::new();
        loop {
            match rows.next_row().unwrap() {
                (NextRow::Row, fields) => {
                    let text = |place| String::from_utf8_lossy(rows.field(place)).into_owned();
                    all.push((rows.line(), Some((0..fields).map(text).collect())));
                }
                (NextRow::TooLong, _) => all.push((rows.line(), None)),
                (NextRow::End, _) => return all,
            }
        }
    }

    fn expected_row(line: u64, fields: &[&str]) -> (u64, Option<Vec<String>>) {
        (line, Some(fields.iter().map(|field| (*field).to_owned()).collect()))
    }

    #[test]
    fn rows_know_their_lines() {
        let text = "a,b\r\n\r\n1,\"x\ny\"\n\n2,\"q\"\"q\",\n3";
        let expected = [
            expected_row(1, &["a", "b"]),
            expected_row(3, &["1", "x\ny"]),
            expected_row(6, &["2", "q\"q", ""]),
            expected_row(7, &["3"]),
        ];
        assert_eq!(read_rows(text.as_bytes()), expected);
        assert_eq!(read_rows(b""), []);
        assert_eq!(read_rows(b"\n\n"), []);
    }

    #[test]
    fn missing_fields_are_empty() {
        let mut rows = CsvRows::new(&b"a,b\n"[..]);
        assert_eq!(rows.next_row().unwrap(), (NextRow::Row, 2));
        assert_eq!(
            (rows.field(0), rows.field(1), rows.field(2), rows.field(5000)),
            (&b"a"[..], &b"b"[..], &b""[..], &b""[..])
        );
    }

    #[test]
    fn an_unterminated_quote_skips_one_row() {
        let mut text = b"a,\"b\n".to_vec();
        for number in 0..300_000 {
            text.extend_from_slice(format!("{number},x\n").as_bytes());
        }
        let rows = read_rows(&text);
        assert_eq!(rows[0], (1, None));
        let (line, last) = rows.last().unwrap();
        assert_eq!((*line, last.as_ref().unwrap()[0].as_str()), (300_001, "299999"));
        assert!(rows.len() > 100_000);
    }

    #[test]
    fn rows_with_too_many_columns_are_too_long() {
        let text = format!("{}\nx,y\n", ",".repeat(MAX_COLUMNS + 1));
        assert_eq!(read_rows(text.as_bytes()), [(1, None), expected_row(2, &["x", "y"])]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn quoted_fields_round_trip(fields in proptest::collection::vec(proptest::collection::vec("[a-c\",\n\r é]{0,6}", 1..4), 0..6)) {
            let quoted = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let text: String = fields.iter().map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n").collect();
            let read: Vec<Vec<String>> = read_rows(text.as_bytes()).into_iter().map(|(_, row)| row.unwrap()).collect();
            prop_assert_eq!(read, fields);
        }
    }
}
