//! Tracepoint formats, which describe the bytes of an event.

mod bytes;
mod format;
mod print;
mod tracing_data;

pub(super) use bytes::ByteReader;
pub(super) use format::{FieldEncoding, TracepointField, TracepointFormat};
pub(super) use tracing_data::parse_formats;
