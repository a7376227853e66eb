//! Frames: four bytes of length, little-endian, then a message encoded by postcard, followed by the
//! bytes of an extent. The reader holds one frame at a time, and does not trust the length.

use std::io::{self, Read};

use serde::Serialize;

use super::{CollectorAnswer, FRAME_LIMIT, ShipperRequest};

/// Size of the length prefix, in bytes.
const LENGTH_BYTES: usize = 4;

/// Error of a stream of frames.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other side has closed the connection between two frames.
    #[error("the other side closed the connection")]
    Closed,
    /// The connection ended within a frame.
    #[error("the connection ended within a frame")]
    CutOff,
    /// A length above the limit.
    #[error("a frame of {0} bytes was announced, which is above the limit")]
    TooLong(usize),
    /// Bytes that are not a message.
    #[error("a frame is not a message of this protocol's version")]
    Malformed,
    /// The connection failed, timed out or was stopped.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Cuts a stream into frames, with one buffer for all of them.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl FrameReader {
    /// Returns the bytes of the next frame without its length.
    ///
    /// # Errors
    /// Fails if the source ends or fails, or announces a frame that is too long. After an error the
    /// reader is unusable, except after a timeout: then the next call continues.
    pub fn next_frame(&mut self, source: &mut impl Read) -> Result<&[u8], FrameError> {
        self.next_frame_within(FRAME_LIMIT, source)
    }

    /// Returns the bytes of the next frame as [`next_frame`](FrameReader::next_frame) does, for a
    /// frame of at most `limit` bytes.
    ///
    /// # Errors
    /// Fails as [`next_frame`](FrameReader::next_frame) does.
    pub(crate) fn next_frame_within(
        &mut self,
        limit: usize,
        source: &mut impl Read,
    ) -> Result<&[u8], FrameError> {
        loop {
            let held = self.end - self.start;
            if held >= LENGTH_BYTES {
                let length = self.buffer[self.start..self.start + LENGTH_BYTES]
                    .try_into()
                    .map_or(0, u32::from_le_bytes);
                let length = length as usize;
                if length > limit {
                    return Err(FrameError::TooLong(length));
                }
                if held >= LENGTH_BYTES + length {
                    let first = self.start + LENGTH_BYTES;
                    self.start = first + length;
                    return Ok(&self.buffer[first..first + length]);
                }
            }
            self.fill_buffer(limit, source)?;
        }
    }

    /// Reads at least one byte more into the buffer, which is made large enough for a frame of
    /// `limit` bytes.
    fn fill_buffer(&mut self, limit: usize, source: &mut impl Read) -> Result<(), FrameError> {
        if self.buffer.len() < LENGTH_BYTES + limit {
            self.buffer.resize(LENGTH_BYTES + limit, 0);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        match source.read(&mut self.buffer[self.end..])? {
            0 if self.end > 0 => Err(FrameError::CutOff),
            0 => Err(FrameError::Closed),
            read => {
                self.end += read;
                Ok(())
            }
        }
    }
}

/// Decodes the request of a frame, and returns it with the bytes that follow it, which only an
/// extent has.
///
/// # Errors
/// Fails if the frame is not a request.
pub(crate) fn decode_request(frame: &[u8]) -> Result<(ShipperRequest<'_>, &[u8]), FrameError> {
    let (request, rest) = postcard::take_from_bytes(frame).map_err(|_| FrameError::Malformed)?;
    match request {
        ShipperRequest::Extent { .. } => Ok((request, rest)),
        _ if rest.is_empty() => Ok((request, rest)),
        _ => Err(FrameError::Malformed),
    }
}

/// Decodes the answer of a frame.
///
/// # Errors
/// Fails if the frame is not an answer.
pub fn decode_answer(frame: &[u8]) -> Result<CollectorAnswer, FrameError> {
    match postcard::take_from_bytes(frame) {
        Ok((answer, [])) => Ok(answer),
        _ => Err(FrameError::Malformed),
    }
}

/// Encodes the frame of a message.
///
/// # Errors
/// Fails if the message is longer than a frame may be.
pub fn encode_frame(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    encode_frame_with(message, &[])
}

/// Encodes the frame of a message followed by bytes.
///
/// # Errors
/// Fails if the message is longer than a frame may be.
pub fn encode_frame_with(message: &impl Serialize, bytes: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut frame = Vec::with_capacity(LENGTH_BYTES + 64 + bytes.len());
    frame.extend_from_slice(&[0; LENGTH_BYTES]);
    let mut frame = postcard::to_extend(message, frame).map_err(|_| FrameError::Malformed)?;
    frame.extend_from_slice(bytes);
    let length = frame.len() - LENGTH_BYTES;
    match u32::try_from(length) {
        Ok(prefix) if length <= FRAME_LIMIT => {
            frame[..LENGTH_BYTES].copy_from_slice(&prefix.to_le_bytes())
        }
        _ => return Err(FrameError::TooLong(length)),
    }
    Ok(frame)
}
