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
    "Divide time into steps of this length, which is the precision of delays [default: half of the \
     usual delay]",
)
.heading(HEADING);

pub(super) static SPIKE: Flag<f64> = Flag::text(
    "spike",
    "N",
    values::parse_positive,
    "Height of a spike, which shows a delay, above the mean, in standard deviations",
)
.shows_default(|| ConvolutionOptions::default().spike.to_string())
.heading(HEADING);

pub(super) static BETWEEN_SPIKES: Flag<f64> = Flag::text(
    "between-spikes",
    "S",
    values::parse_positive,
    "Two spikes are separate if a point between them is less than this many standard deviations \
     above the mean",
)
.shows_default(|| ConvolutionOptions::default().between_spikes.to_string())
.heading(HEADING);

pub(super) static VARIATION: Flag<Duration> = Flag::text(
    "variation",
    "TIME",
    values::parse_duration,
    "Select messages up to this much before and after the delay of a spike [default: the extent of \
     the spike]",
)
.heading(HEADING);

pub(super) static LEAST_MESSAGES: Flag<u32> = Flag::number(
    "least-messages",
    "COUNT",
    0,
    Some(u32::MAX as i64),
    "Leave out edges with fewer messages than this",
)
.shows_default(|| ConvolutionOptions::default().least_messages.to_string())
.heading(HEADING);

pub(super) static LEAST_SHARE: Flag<f64> = Flag::text(
    "least-share",
    "SHARE",
    values::parse_share,
    "Leave out edges with a smaller share of the messages of their path's first edge, from 0 to 1",
)
.shows_default(|| ConvolutionOptions::default().least_share.to_string())
.heading(HEADING);

/// Sets the `options` of the flags that the user gave.
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
