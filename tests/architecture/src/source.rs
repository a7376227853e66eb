//! The modules of a crate: one for each file that its `mod` lines lead to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use syn::Attribute;

/// Why the sources of a crate could not be read: the file, and what is wrong with it.
#[derive(Debug)]
pub struct SourceError {
    /// The file that is missing or cannot be parsed.
    pub file: PathBuf,
    /// Message of the system or the parser.
    pub what: String,
}

impl std::fmt::Display for SourceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.what)
    }
}

impl std::error::Error for SourceError {}

/// A module: one file of a crate, with its inline modules.
#[derive(Debug, Default)]
pub struct SourceModule {
    /// File of the module.
    pub file: PathBuf,
    /// Names that the module defines.
    pub(crate) items: BTreeSet<String>,
    /// Names that the module imports or re-exports, with the path from the crate's root that each
    /// name stands for.
    pub(crate) names: BTreeMap<String, Vec<String>>,
    /// Modules from which the module imports or re-exports everything.
    pub(crate) globs: Vec<Vec<String>>,
    /// Paths that the module uses, from the crate's root.
    pub(crate) used: BTreeSet<Vec<String>>,
}

/// The modules of a crate, by their path from the crate's root; the root itself is the empty path.
#[derive(Debug, Default)]
pub struct CrateSources {
    /// The modules.
    pub modules: BTreeMap<Vec<String>, SourceModule>,
}

/// Whether an item is compiled for tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| {
                    let condition = list.tokens.to_string();
                    condition == "test"
                        || condition.starts_with("all (test")
                        || condition.starts_with("any (test")
                })
    })
}
