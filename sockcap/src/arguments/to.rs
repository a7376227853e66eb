//! `--to DIR`: another data directory, for a trace that is made of this one's.

use std::path::PathBuf;

use clap::Args;
use message_trace::DataDir;

use super::data::Data;
use crate::error::Error;

/// Another data directory, for a trace that is made of this one's.
#[derive(Debug, Args)]
pub(crate) struct To {
    /// The data directory to write to, which must be another one
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

impl To {
    /// The directory, which may not be that of `data`.
    pub(crate) fn dir(&self, data: &Data) -> Result<DataDir, Error> {
        let (to, from) = (self.to.canonicalize().ok(), data.dir().path().canonicalize().ok());
        if to.is_some() && to == from {
            Err(Error::Onto(self.to.clone()))
        } else {
            Ok(DataDir::new(&self.to))
        }
    }
}
