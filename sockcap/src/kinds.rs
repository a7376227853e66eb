//! The registries that the command line is made from.

use analyze::infer::AlgorithmEntry;

/// The importers, in the order of help.
pub(crate) fn importers() -> Vec<&'static importers::Kind> {
    importers::IMPORTERS.to_vec()
}

/// The exporters, in the order of help.
pub(crate) fn exporters() -> Vec<&'static exports::Kind> {
    exports::EXPORTERS.to_vec()
}

/// The algorithms, in the order of help; the first is the default.
pub(crate) fn algorithms() -> Vec<&'static AlgorithmEntry> {
    analyze::ALGORITHMS.to_vec()
}
