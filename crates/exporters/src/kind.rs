//! The entry of an exporter in the registry: what it says of itself, beside its code.

use std::fmt;

use registry::{About, AnyFlag, Entry, Given};

use crate::exporter::Exporter;

/// The entry of an exporter.
pub struct Kind {
    /// The name and the help.
    pub about: About,
    /// The tools that open the output; empty for tables, which many tools open.
    pub opened_by: &'static str,
    /// The flags. Those that several exporters share are in `flags`.
    pub flags: &'static [&'static dyn AnyFlag],
    /// Makes the exporter that the user wants, or says why the values do not go together.
    pub make: fn(&Given) -> Result<Box<dyn Exporter>, String>,
}

impl Entry for Kind {
    fn about(&self) -> &About {
        &self.about
    }

    fn flags(&self) -> &'static [&'static dyn AnyFlag] {
        self.flags
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}
