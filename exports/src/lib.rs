//! Traces and patterns for the tools that people already have: one file for each format.

pub mod chrome;
mod description;
pub mod dot;
mod error;
mod exporter;
pub mod folded;
pub mod mermaid;
pub mod otlp;
mod patterns;
pub mod perfetto;
pub mod tables;
mod traces;
mod tuning;

pub use chrome::Chrome;
pub use description::Description;
pub use dot::Dot;
pub use error::{Error, SendError};
pub use exporter::{Exporter, Needs, Output, Source, TraceCount};
pub use folded::Folded;
pub use mermaid::Mermaid;
pub use otlp::Otlp;
pub use perfetto::Perfetto;
pub use traces::TraceChoice;
