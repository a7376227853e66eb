//! `-d DIR`: the data directory that a command works on.

use std::path::PathBuf;

use clap::Args;
use message_trace::DataDir;

use crate::tuning::DEFAULT_DIRECTORY;

#[derive(Debug, Args)]
pub(crate) struct DataArguments {
    /// The data directory
    #[arg(short = 'd', long = "data", value_name = "DIR", default_value = DEFAULT_DIRECTORY)]
    directory: PathBuf,
}

impl DataArguments {
    pub(crate) fn data_dir(&self) -> DataDir {
        DataDir::new(&self.directory)
    }
}
