//! The entry of an exporter in the registry: its description, kept next to its code.

use std::fmt;

use registry::{AnyFlag, EntryHelp, FlagValues, RegistryEntry};

use crate::exporter::Exporter;

/// The entry of an exporter.
pub struct ExporterSpec {
    /// The name and the help.
    pub about: EntryHelp,
    /// The tools that open the output; empty for tables, which many tools open.
    pub opened_by: &'static str,
    /// The flags. Flags that several exporters share are in `flags`.
    pub flags: &'static [&'static dyn AnyFlag],
    /// Makes the exporter with these options, or returns why the values are incompatible.
    pub make: fn(&FlagValues) -> Result<Box<dyn Exporter>, String>,
}

impl RegistryEntry for ExporterSpec {
    fn about(&self) -> &EntryHelp {
        &self.about
    }

    fn flags(&self) -> &'static [&'static dyn AnyFlag] {
        self.flags
    }
}

impl fmt::Debug for ExporterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}
