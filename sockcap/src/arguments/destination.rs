//! `--to DIR`: another data directory, for a trace that is derived from the current one.

use std::path::PathBuf;

use clap::Args;
use message_trace::DataDir;

use super::data::DataArguments;
use crate::error::CommandError;

/// Another data directory, for a trace that is derived from the current one.
#[derive(Debug, Args)]
pub(crate) struct DestinationArguments {
    /// The data directory to write to, which must differ from the one that is read
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl DestinationArguments {
    /// The directory, which must differ from that of `data`.
    pub(crate) fn destination_dir(&self, data: &DataArguments) -> Result<DataDir, CommandError> {
        let (to, from) = (self.to.canonicalize().ok(), data.data_dir().path().canonicalize().ok());
        if to.is_some() && to == from {
            Err(CommandError::Onto(self.to.clone()))
        } else {
            Ok(DataDir::new(&self.to))
        }
    }
}
