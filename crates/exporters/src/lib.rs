#![doc = include_str!("../README.md")]

mod chrome;
mod dot;
mod error;
mod exporter;
mod exporter_registry;
mod exporter_spec;
mod flags;
mod folded;
mod mermaid;
mod otlp;
mod patterns;
mod perfetto;
mod tables;
mod traces;
mod tuning;

pub use error::{Error, SendError};
pub use exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
pub use exporter_registry::EXPORTERS;
pub use exporter_spec::{ExporterEntry, ExporterSpec};
