//! Id of one run of `sockcap record`, which is in the header of every log that it makes, and the
//! secret key of its hashes of words, which is in no file.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use socket_log::{RECORDING_BYTES, RecordingId};

/// Variable with the id for the library.
pub(super) const VARIABLE: &str = "SOCKCAP_RECORDING";

/// Draws a new id.
///
/// # Errors
/// When the kernel gives no random bytes.
pub(super) fn draw_recording_id() -> io::Result<RecordingId> {
    loop {
        let mut bytes = [0; RECORDING_BYTES];
        // 16 bytes are drawn completely, once the kernel has any.
        let drawn = match getrandom(&mut bytes, GetRandomFlags::empty()) {
            Err(rustix::io::Errno::INTR) => 0,
            drawn => drawn?,
        };
        if let Some(id) = RecordingId::new(bytes).filter(|_| drawn == bytes.len()) {
            return Ok(id);
        }
    }
}

/// Variable for the library about rare words: that none are recorded, or else a new secret key.
///
/// # Errors
/// When the kernel gives no random bytes.
pub(super) fn word_variable(no_words: bool) -> io::Result<(&'static str, String)> {
    Ok(match no_words {
        true => ("SOCKCAP_WORDS", "0".to_owned()),
        // A key has as many bytes as an id, and the same form.
        false => ("SOCKCAP_WORDS_KEY", draw_recording_id()?.to_string()),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_recording_has_an_id_of_its_own() {
        assert_ne!(super::draw_recording_id().unwrap(), super::draw_recording_id().unwrap());
    }
}
