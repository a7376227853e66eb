//! Id of a recording: identifies the run of `sockcap record` that made a log.
//!
//! A recorder processes logs at its end, possibly as a user with more rights than other users who
//! can make files next to them. The id identifies the logs of its own recording. It is random, but
//! not secret from the recorded programs: it is in their environment and in their logs.

use core::fmt;

/// Number of bytes of an id.
pub const RECORDING_BYTES: usize = 16;

/// Id of a recording: random bytes that a recorder generates, and passes to all programs that it
/// starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RecordingId([u8; RECORDING_BYTES]);

impl RecordingId {
    /// Id with these bytes; `None` if all are zero, as in logs without a recorder.
    pub fn new(bytes: [u8; RECORDING_BYTES]) -> Option<RecordingId> {
        (bytes != [0; RECORDING_BYTES]).then_some(RecordingId(bytes))
    }

    /// Bytes of the id, as a log's header has them.
    pub fn bytes(self) -> [u8; RECORDING_BYTES] {
        self.0
    }

    /// Parses an id from 32 hexadecimal digits, as written by [`fmt::Display`].
    pub fn parse(text: &[u8]) -> Option<RecordingId> {
        let mut bytes = [0; RECORDING_BYTES];
        if text.len() != 2 * RECORDING_BYTES {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            for digit in pair {
                *byte = *byte << 4 | char::from(*digit).to_digit(16)? as u8;
            }
        }
        RecordingId::new(bytes)
    }
}

impl fmt::Display for RecordingId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(to, "{byte:02x}"))
    }
}

impl fmt::Debug for RecordingId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "RecordingId({self})")
    }
}

#[cfg(all(test, feature = "reader"))]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let id = RecordingId::new(*b"\x00\x01\xfeabcdefghijkl\xff").unwrap();
        assert_eq!(id.to_string(), "0001fe6162636465666768696a6b6cff");
        assert_eq!(RecordingId::parse(id.to_string().as_bytes()), Some(id));
        assert_eq!(RecordingId::parse(id.to_string().to_uppercase().as_bytes()), Some(id));
    }

    #[test]
    fn zeros_and_invalid_ids_are_no_recording() {
        assert_eq!(RecordingId::new([0; 16]), None);
        for text in ["", "00000000000000000000000000000000", "0001fe", "g".repeat(32).as_str()] {
            assert_eq!(RecordingId::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(RecordingId::parse("1".repeat(33).as_bytes()), None);
    }
}
