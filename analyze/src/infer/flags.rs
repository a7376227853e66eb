//! Flags that several algorithms share.

use std::time::Duration;

use clap::Args;
use registry::{ShownDefault, values};

use crate::options::Options;

/// `--window TIME`: the longest delay between cause and effect.
#[derive(Debug, Args)]
pub(super) struct WindowFlag {
    /// The longest delay between a message and its effect
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::parse_duration,
        add = ShownDefault::new(values::show_nanoseconds(Options::default().window))
    )]
    window: Option<Duration>,
}

impl WindowFlag {
    /// Sets the window of `options` if the user gave the flag.
    pub(super) fn apply_to(&self, options: &mut Options) {
        options.window = self.window.map_or(options.window, to_nanoseconds);
    }
}

/// Returns a time span of the command line, which is at most a year, in nanoseconds.
pub(super) fn to_nanoseconds(span: Duration) -> i64 {
    span.as_nanos() as i64
}
