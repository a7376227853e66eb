//! Head of a file: the part that is examined to determine its layout, before it is read.

use std::io::{Cursor, Read};

use crate::import_input::ImportInput;
use crate::tuning::SPANS_HEAD_BYTES;

/// Beginning of a file.
#[derive(Debug)]
pub(super) struct FileHead {
    pub(super) bytes: Vec<u8>,
}

impl FileHead {
    /// Reads the head of a file; returns it and the whole file again.
    pub(super) fn read_head<'i>(mut input: ImportInput<'i>) -> (FileHead, ImportInput<'i>) {
        let mut bytes = Vec::new();
        let read = input.bytes.by_ref().take(SPANS_HEAD_BYTES).read_to_end(&mut bytes);
        let rest = input.bytes;
        let again = Cursor::new(bytes.clone());
        let bytes_again: Box<dyn Read + Send + 'i> = match read {
            Ok(_) => Box::new(again.chain(rest)),
            // Further reading fails with the same error.
            Err(error) => Box::new(again.chain(FailingReader(Some(error)))),
        };
        (FileHead { bytes }, ImportInput { file: input.file, bytes: bytes_again })
    }
}

/// Fails with an error once, and is then at its end.
struct FailingReader(Option<std::io::Error>);

impl Read for FailingReader {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Some bytes, and then an error.
    fn input(bytes: &[u8]) -> ImportInput<'_> {
        let error = std::io::Error::other("torn");
        ImportInput {
            file: Path::new("x").into(),
            bytes: Box::new(bytes.chain(FailingReader(Some(error)))),
        }
    }

    #[test]
    fn a_file_is_read_completely_after_its_head() {
        for length in [0, 3, SPANS_HEAD_BYTES as usize, 2 * SPANS_HEAD_BYTES as usize + 5] {
            let bytes: Vec<u8> = (0..length).map(|place| place as u8).collect();
            let (head, mut input) = FileHead::read_head(input(&bytes));
            assert_eq!(head.bytes, bytes[..length.min(SPANS_HEAD_BYTES as usize)]);
            let mut read = Vec::new();
            assert_eq!(input.bytes.read_to_end(&mut read).unwrap_err().to_string(), "torn");
            assert_eq!(read, bytes);
        }
    }
}
