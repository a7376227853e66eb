//! The flags of the nesting algorithm.

use std::time::Duration;

use registry::{Flag, FlagValues, values};

use crate::infer::flags::to_nanoseconds;
use crate::options::{NestingOptions, Options};

const HEADING: &str = "Nesting (--algorithm nesting)";

pub(super) static SKEW_WINDOW: Flag<Duration> = Flag::text(
    "skew-window",
    "TIME",
    values::parse_duration_or_none,
    "Let a call begin before its parent, or end after it, by up to this difference of clocks",
)
.shows_default(|| values::show_nanoseconds(NestingOptions::default().skew_window))
.heading(HEADING);

pub(super) static SMOOTHING: Flag<f64> = Flag::text(
    "smoothing",
    "BINS",
    values::parse_not_negative,
    "Smooth the scoreboard with a normal curve of this standard deviation, in bins of 5% of a \
     delay",
)
.shows_default(|| NestingOptions::default().smoothing.to_string())
.heading(HEADING);

pub(super) static PENALTIES: Flag<[f64; 3]> = Flag::text(
    "penalties",
    "X,Y,Z",
    values::parse_triple,
    "The exponents of the penalties for a parent's overlapping children, children to the same \
     node, and all children",
)
.shows_default(|| NestingOptions::default().penalties.map(|penalty| penalty.to_string()).join(","))
.heading(HEADING);

pub(super) static SCOREBOARD_WINDOW: Flag<Duration> = Flag::text(
    "scoreboard-window",
    "TIME",
    values::parse_duration,
    "Choose parents by the calls within a surrounding window of this length, for systems that \
     change [default: the whole trace]",
)
.heading(HEADING);

/// Sets the `options` of the flags that the user gave.
pub(super) fn apply_flags(given: &FlagValues, options: &mut Options) {
    let former = &options.nesting;
    options.nesting = NestingOptions {
        skew_window: given.get(&SKEW_WINDOW).map_or(former.skew_window, to_nanoseconds),
        smoothing: given.get(&SMOOTHING).unwrap_or(former.smoothing),
        penalties: given.get(&PENALTIES).unwrap_or(former.penalties),
        scoreboard_window: given
            .get(&SCOREBOARD_WINDOW)
            .map(to_nanoseconds)
            .or(former.scoreboard_window),
    };
}
