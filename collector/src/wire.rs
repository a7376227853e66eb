//! Protocol on the wire, version 1: `docs/wire-format.md` in code. `message` has the messages,
//! `frames` cuts the stream into them. A shipper sends requests and statements, the collector
//! answers in the order of the requests. Neither side ever waits for a message that the other side
//! does not know it has to send.

mod frames;
mod message;
#[cfg(test)]
mod tests;

pub(crate) use frames::decode_request;
pub use frames::{FrameError, FrameReader, decode_answer, encode_frame, encode_frame_with};
pub use message::{CollectorAnswer, ShipperRequest, StorageShortage, TimeExchange};

/// The version of this protocol. A collector refuses every other.
pub const VERSION: u32 = 1;
/// Maximum size of a frame without its length prefix, in bytes.
pub const FRAME_LIMIT: usize = 320 << 10;
/// Maximum size of the first frame of a shipper without its length prefix, in bytes: a peer that
/// has not identified itself gets no more memory than that.
pub(crate) const GREETING_LIMIT: usize = 1 << 10;
/// Maximum size of one [`ShipperRequest::Extent`] before compression, in bytes.
pub const EXTENT_LIMIT: usize = 256 << 10;
/// Maximum number of pages in one query for checksums.
pub const ASK_LIMIT: u32 = 32 << 10;
/// Maximum number of [`ShipperRequest::Flush`] without an answer.
pub(crate) const MAX_UNANSWERED_FLUSHES: usize = 4;
