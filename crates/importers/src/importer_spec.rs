//! Importer spec: the registry entry of an importer.

use std::fmt;

use registry::{AnyFlag, EntryHelp, FlagValues, RegistryEntry};

use crate::importer::Importer;

/// One kind of foreign capture.
pub struct ImporterSpec {
    /// Name and help.
    pub about: EntryHelp,
    /// Help text for the files that are imported.
    pub files: &'static str,
    /// Long name of a flag that also names files: with it, no other files are required.
    pub files_by: Option<&'static str>,
    /// The flags.
    pub flags: &'static [&'static dyn AnyFlag],
    /// Creates the importer for the user's flag values.
    pub make: fn(&FlagValues) -> Box<dyn Importer>,
    /// Imports arbitrary bytes as a file and writes nothing. Panics if the importer violates its
    /// contract: everything that is read is either used or counted as skipped, and an error names
    /// the file, which is called `input`.
    pub fuzz: fn(&[u8]),
    /// Whole files: tests damage them, and fuzzing begins with them.
    #[cfg(test)]
    pub(crate) samples: fn() -> Vec<Vec<u8>>,
}

impl RegistryEntry for ImporterSpec {
    fn about(&self) -> &EntryHelp {
        &self.about
    }

    fn flags(&self) -> &'static [&'static dyn AnyFlag] {
        self.flags
    }
}

impl fmt::Debug for ImporterSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}
