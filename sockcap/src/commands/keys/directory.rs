//! `--keys DIR`: the directory of the authority.

use std::path::{Path, PathBuf};

use clap::Args;

/// The directory of the keys unless the user names another.
const DEFAULT_KEYS: &str = "sockcap.keys";

/// The location of the authority.
#[derive(Debug, Args)]
pub(super) struct KeysDirectory {
    /// The authority's directory
    #[arg(long = "keys", value_name = "DIR", default_value = DEFAULT_KEYS)]
    pub(super) path: PathBuf,
}

/// The `--keys` that a further command needs to find the authority.
pub(super) fn same_keys(directory: &Path) -> String {
    match directory == Path::new(DEFAULT_KEYS) {
        true => String::new(),
        false => format!(" --keys {}", directory.display()),
    }
}
