//! The flags of message linking.

use registry::{Flag, FlagValues, values};

use crate::infer::flags;
use crate::options::Options;

/// The constant y of WAP5 section 5.1, step 2.
pub(in crate::infer) static SPONTANEOUS_DELAY: Flag<f64> = Flag::text(
    "spontaneous-delay",
    "Y",
    values::parse_positive,
    "Weigh being spontaneous like a cause this many mean delays earlier",
)
.shows_default(|| Options::default().spontaneous_delay.to_string());

/// Number of estimates of the delays.
pub(in crate::infer) static ITERATIONS: Flag<u16> = Flag::number(
    "iterations",
    "N",
    1,
    Some(1000),
    "Message linking: estimate the delays this many times, from the second time on from the links",
)
.shows_default(|| Options::default().iterations.to_string());

/// Sets the `options` of the flags that the user gave.
pub(in crate::infer) fn apply_flags(given: &FlagValues, options: &mut Options) {
    flags::set_window(given, options);
    options.spontaneous_delay = given.get(&SPONTANEOUS_DELAY).unwrap_or(options.spontaneous_delay);
    options.iterations = given.get(&ITERATIONS).map_or(options.iterations, usize::from);
}
