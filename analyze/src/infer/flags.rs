//! Flags that several algorithms share.

use std::time::Duration;

use registry::{Flag, FlagValues, values};

use crate::options::Options;

/// The longest delay between cause and effect.
pub(super) static WINDOW: Flag<Duration> = Flag::text(
    "window",
    "TIME",
    values::parse_duration,
    "The longest delay between a message and its effect",
)
.shows_default(|| values::show_nanoseconds(Options::default().window));

/// Sets the window of `options` if the user gave the flag.
pub(super) fn set_window(given: &FlagValues, options: &mut Options) {
    options.window = given.get(&WINDOW).map_or(options.window, to_nanoseconds);
}

/// A time span of the command line, which is at most a year.
pub(super) fn to_nanoseconds(span: Duration) -> i64 {
    span.as_nanos() as i64
}
