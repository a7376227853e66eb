#![doc = include_str!("../README.md")]

mod chrome;
mod dot;
mod error;
mod exporter;
mod flags;
mod folded;
mod kind;
mod kinds;
mod mermaid;
mod otlp;
mod patterns;
mod perfetto;
mod tables;
mod traces;
mod tuning;

pub use error::{Error, SendError};
pub use exporter::{Exporter, Needs, Output, Source, TraceCount};
pub use kind::Kind;
pub use kinds::EXPORTERS;
