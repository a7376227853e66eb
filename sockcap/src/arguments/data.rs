//! `-d DIR`: the data directory that a command works on.

use std::path::PathBuf;

use clap::Args;
use message_trace::DataDir;

use crate::tuning::DEFAULT_DIRECTORY;

#[derive(Debug, Args)]
pub(crate) struct Data {
    /// The data directory
    #[arg(short = 'd', long = "data", value_name = "DIR", default_value = DEFAULT_DIRECTORY)]
    directory: PathBuf,
}

impl Data {
    pub(crate) fn dir(&self) -> DataDir {
        DataDir::new(&self.directory)
    }
}
