//! What an importer says of itself, beside its code: the entry of a registry.

use std::fmt;

use registry::{AnyFlag, EntryHelp, FlagValues, RegistryEntry};

use crate::importer::Importer;

/// One kind of foreign capture.
pub struct ImporterSpec {
    /// The name and the help.
    pub about: EntryHelp,
    /// What help says of the files that are imported.
    pub files: &'static str,
    /// The long name of a flag that names files, too: with it, none need be named otherwise.
    pub files_by: Option<&'static str>,
    /// The flags.
    pub flags: &'static [&'static dyn AnyFlag],
    /// Makes the importer that the user wants.
    pub make: fn(&FlagValues) -> Box<dyn Importer>,
    /// Imports any bytes as a file and writes nothing. It panics where the importer breaks its
    /// word: everything that is read is either used or counted as skipped, and an error names the
    /// file, which is called `input`.
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
