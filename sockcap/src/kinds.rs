//! The registries that the command line is made from. Each is a slice in the crate of its kind;
//! tests add a toy.

use analyze::infer::AlgorithmSpec;

/// The importers, in the order of help.
pub(crate) fn importers() -> Vec<&'static importers::ImporterSpec> {
    [
        importers::IMPORTERS,
        #[cfg(test)]
        &[&crate::toys::importer::KIND],
    ]
    .concat()
}

/// The exporters, in the order of help.
pub(crate) fn exporters() -> Vec<&'static exporters::ExporterSpec> {
    [
        exporters::EXPORTERS,
        #[cfg(test)]
        &[&crate::toys::exporter::KIND],
    ]
    .concat()
}

/// The algorithms, in the order of help; the first is the default.
pub(crate) fn algorithms() -> Vec<&'static AlgorithmSpec> {
    [
        analyze::ALGORITHMS,
        #[cfg(test)]
        &[&crate::toys::algorithm::ENTRY],
    ]
    .concat()
}
