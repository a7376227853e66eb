//! `--source`: what of a data directory is shown, where it has messages and spans.

use clap::Args;
use message_trace::DataDir;

use super::Data;
use super::values::source;
use crate::error::Error;
use crate::shown::{Shown, Source};

#[derive(Debug, Default, Args)]
pub(crate) struct SourceChoice {
    /// What to show of a directory that has both: messages that were recorded, or spans of tracers
    /// [default: messages]
    #[arg(long, value_name = "SOURCE", value_parser = source(), hide_possible_values = true)]
    source: Option<Source>,
}

impl SourceChoice {
    /// What is shown of the directory that was named.
    ///
    /// # Errors
    /// When what was asked for is not there.
    pub(crate) fn of(&self, data: &Data) -> Result<Shown, Error> {
        self.shown(data.dir())
    }

    /// What is shown of any directory.
    ///
    /// # Errors
    /// When what was asked for is not there.
    pub(crate) fn shown(&self, data: DataDir) -> Result<Shown, Error> {
        Shown::of(data, self.source)
    }
}
