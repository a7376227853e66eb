//! The flags of the nesting algorithm.

use std::time::Duration;

use clap::Args;
use registry::{ShownDefault, values};

use crate::infer::flags::to_nanoseconds;
use crate::infer::inference::AlgorithmFlags;
use crate::options::{NestingOptions, Options};

#[derive(Debug, Args)]
#[command(next_help_heading = "Nesting (--algorithm nesting)")]
pub(super) struct NestingFlags {
    /// Let a call begin before its parent, or end after it, by up to this difference of clocks
    #[arg(
        long,
        value_name = "TIME",
        value_parser = values::parse_duration_or_none,
        add = ShownDefault::new(values::show_nanoseconds(NestingOptions::default().skew_window))
    )]
    skew_window: Option<Duration>,
    /// Smooth the scoreboard with a normal curve of this standard deviation, in bins of 5% of a
    /// delay
    #[arg(
        long,
        value_name = "BINS",
        value_parser = values::parse_not_negative,
        add = ShownDefault::new(NestingOptions::default().smoothing)
    )]
    smoothing: Option<f64>,
    /// The exponents of the penalties for a parent's overlapping children, children to the same
    /// node, and all children
    #[arg(
        long,
        value_name = "X,Y,Z",
        value_parser = values::parse_triple,
        add = ShownDefault::new(values::show_triple(NestingOptions::default().penalties))
    )]
    penalties: Option<[f64; 3]>,
    /// Choose parents by the calls within a surrounding window of this length, for systems that
    /// change [default: the whole trace]
    #[arg(long, value_name = "TIME", value_parser = values::parse_duration)]
    scoreboard_window: Option<Duration>,
}

impl AlgorithmFlags for NestingFlags {
    fn apply_to(&self, options: &mut Options) {
        let former = &options.nesting;
        let scoreboard_window = self.scoreboard_window.map(to_nanoseconds);
        options.nesting = NestingOptions {
            skew_window: self.skew_window.map_or(former.skew_window, to_nanoseconds),
            smoothing: self.smoothing.unwrap_or(former.smoothing),
            penalties: self.penalties.unwrap_or(former.penalties),
            scoreboard_window: scoreboard_window.or(former.scoreboard_window),
        };
    }
}
