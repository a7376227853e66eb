//! Tracepoints: what their formats say of the bytes of an event.

mod bytes;
mod format;
mod print;
mod tracing_data;

pub(super) use bytes::Bytes;
pub(super) use format::{Field, Format, Shown};
pub(super) use tracing_data::formats;
