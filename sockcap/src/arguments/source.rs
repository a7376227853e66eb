//! `--source`: the source to show of a data directory that has messages and spans.

use clap::Args;
use message_trace::DataDir;
use registry::ShownDefault;

use super::DataArguments;
use super::values::source_parser;
use crate::error::CommandError;
use crate::shown::{PathSource, ShownData};

#[derive(Debug, Default, Args)]
pub(crate) struct SourceChoice {
    /// What to show of a directory that has both: recorded messages, or spans of tracers
    #[arg(
        long,
        value_name = "SOURCE",
        value_parser = source_parser(),
        hide_possible_values = true,
        add = ShownDefault::new(PathSource::PREFERRED)
    )]
    source: Option<PathSource>,
}

impl SourceChoice {
    /// The source to show of the named directory.
    ///
    /// # Errors
    /// When the requested source does not exist.
    pub(crate) fn choose_source(&self, data: &DataArguments) -> Result<ShownData, CommandError> {
        self.choose_source_of(data.data_dir())
    }

    /// The source to show of any directory.
    ///
    /// # Errors
    /// When the requested source does not exist.
    pub(crate) fn choose_source_of(&self, data: DataDir) -> Result<ShownData, CommandError> {
        ShownData::choose_shown(data, self.source)
    }
}
