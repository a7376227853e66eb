//! `--to DIR`: another data directory, for a trace that is made of this one's.

use std::path::PathBuf;

use clap::Args;
use message_trace::DataDir;

use super::data::DataArguments;
use crate::error::CommandError;

/// Another data directory, for a trace that is made of this one's.
#[derive(Debug, Args)]
pub(crate) struct DestinationArguments {
    /// The data directory to write to, which must be another one
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl DestinationArguments {
    /// The directory, which may not be that of `data`.
    pub(crate) fn destination_dir(&self, data: &DataArguments) -> Result<DataDir, CommandError> {
        let (to, from) = (self.to.canonicalize().ok(), data.data_dir().path().canonicalize().ok());
        if to.is_some() && to == from {
            Err(CommandError::Onto(self.to.clone()))
        } else {
            Ok(DataDir::new(&self.to))
        }
    }
}
