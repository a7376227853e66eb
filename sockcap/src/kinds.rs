//! The registries that the command line is made from.

use importers::Kind;

/// The importers, in the order of help.
pub(crate) fn importers() -> Vec<&'static Kind> {
    importers::IMPORTERS.to_vec()
}
