//! The entry of an exporter in the registry: its description, kept next to its code.

use clap::ArgMatches;
use registry::Spec;

use crate::exporter::Exporter;

/// The registry entry of an exporter.
pub type ExporterSpec = Spec<ExporterEntry>;

/// The part of a registry entry that only exporters have.
pub struct ExporterEntry {
    /// The tools that open the output; empty for tables, which many tools open.
    pub opened_by: &'static str,
    /// Makes the exporter with the given flags, or returns why the values are incompatible.
    pub make: fn(&ArgMatches) -> Result<Box<dyn Exporter>, String>,
}
