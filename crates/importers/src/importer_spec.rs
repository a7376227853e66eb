//! Importer spec: the registry entry of an importer.

use clap::{ArgMatches, Error};
use registry::Spec;

use crate::importer::Importer;

/// The registry entry of an importer, which reads one kind of foreign capture.
pub type ImporterSpec = Spec<ImporterEntry>;

/// The part of a registry entry that only importers have.
pub struct ImporterEntry {
    /// Help text for the files that are imported.
    pub files: &'static str,
    /// Long name of a flag that also names files: with it, no other files are required.
    pub files_by: Option<&'static str>,
    /// Makes the importer with the given flags.
    pub make: fn(&ArgMatches) -> Result<Box<dyn Importer>, Error>,
    /// Imports arbitrary bytes as a file and writes nothing. Panics if the importer violates its
    /// contract: everything that is read is either used or counted as skipped, and an error names
    /// the file, which is called `input`.
    pub fuzz: fn(&[u8]),
    /// Whole files: tests damage them, and fuzzing begins with them.
    #[cfg(test)]
    pub(crate) samples: fn() -> Vec<Vec<u8>>,
}
