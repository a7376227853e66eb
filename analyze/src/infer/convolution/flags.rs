//! The flags of the convolution algorithm.

use std::time::Duration;

use registry::{Flag, FlagValues, values};

use crate::infer::flags::{set_window, to_nanoseconds};
use crate::options::{ConvolutionOptions, Options};

const HEADING: &str = "Convolution (--algorithm convolution)";

pub(super) static TIME_STEP: Flag<Duration> = Flag::text(
    "time-step",
    "TIME",
    values::parse_duration,
    "Cut time into steps of this length; delays are told to a step [default: half of the usual \
     delay]",
)
.heading(HEADING);

pub(super) static SPIKE: Flag<f64> = Flag::text(
    "spike",
    "N",
    values::parse_positive,
    "A delay stands out that is so many standard deviations above the mean [default: 4]",
)
.heading(HEADING);

pub(super) static BETWEEN_SPIKES: Flag<f64> = Flag::text(
    "between-spikes",
    "S",
    values::parse_positive,
    "Two delays are two if between them is a point less than so many standard deviations above the \
     mean [default: 3]",
)
.heading(HEADING);

pub(super) static VARIATION: Flag<Duration> = Flag::text(
    "variation",
    "TIME",
    values::parse_duration,
    "Take messages up to this much before and after a delay that stands out [default: as far as it \
     stands out]",
)
.heading(HEADING);

pub(super) static LEAST_MESSAGES: Flag<u32> = Flag::number(
    "least-messages",
    "COUNT",
    0,
    Some(u32::MAX as i64),
    "Leave out what fewer messages show than this [default: 10]",
)
.heading(HEADING);

pub(super) static LEAST_SHARE: Flag<f64> = Flag::text(
    "least-share",
    "SHARE",
    values::parse_share,
    "And what a smaller share of the messages that a path begins with shows, from 0 to 1 [default: \
     0.03]",
)
.heading(HEADING);

/// Sets the options that the user chose.
pub(super) fn apply_flags(given: &FlagValues, options: &mut Options) {
    set_window(given, options);
    let former = &options.convolution;
    let least_messages = given.get(&LEAST_MESSAGES).map(|least| least as usize);
    options.convolution = ConvolutionOptions {
        time_step: given.get(&TIME_STEP).map(to_nanoseconds).or(former.time_step),
        spike: given.get(&SPIKE).unwrap_or(former.spike),
        between_spikes: given.get(&BETWEEN_SPIKES).unwrap_or(former.between_spikes),
        variation: given.get(&VARIATION).map(to_nanoseconds).or(former.variation),
        least_messages: least_messages.unwrap_or(former.least_messages),
        least_share: given.get(&LEAST_SHARE).unwrap_or(former.least_share),
    };
}
