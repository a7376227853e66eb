//! Flags that importers of several kinds share.

use clap::Args;

/// `--name NAME`: the name of the import.
#[derive(Args)]
pub(crate) struct NameFlag {
    /// The name of the import [default: after the first file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}
