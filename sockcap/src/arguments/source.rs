//! `--source`: what of a data directory is shown, where it has messages and spans.

use clap::Args;
use message_trace::DataDir;

use super::DataArguments;
use super::values::source_parser;
use crate::error::CommandError;
use crate::shown::{PathSource, ShownData};

#[derive(Debug, Default, Args)]
pub(crate) struct SourceChoice {
    /// What to show of a directory that has both: messages that were recorded, or spans of tracers
    /// [default: messages]
    #[arg(long, value_name = "SOURCE", value_parser = source_parser(), hide_possible_values = true)]
    source: Option<PathSource>,
}

impl SourceChoice {
    /// What is shown of the directory that was named.
    ///
    /// # Errors
    /// When what was asked for is not there.
    pub(crate) fn choose_source(&self, data: &DataArguments) -> Result<ShownData, CommandError> {
        self.choose_source_of(data.data_dir())
    }

    /// What is shown of any directory.
    ///
    /// # Errors
    /// When what was asked for is not there.
    pub(crate) fn choose_source_of(&self, data: DataDir) -> Result<ShownData, CommandError> {
        ShownData::choose_shown(data, self.source)
    }
}
