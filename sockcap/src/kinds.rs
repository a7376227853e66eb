//! The registries that the command line is made from.

/// The importers, in the order of help.
pub(crate) fn importers() -> Vec<&'static importers::Kind> {
    importers::IMPORTERS.to_vec()
}

/// The exporters, in the order of help.
pub(crate) fn exporters() -> Vec<&'static exports::Kind> {
    exports::EXPORTERS.to_vec()
}
