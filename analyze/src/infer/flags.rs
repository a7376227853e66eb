//! Flags that several algorithms share.

use std::time::Duration;

use registry::{Flag, Given, values};

use crate::options::Options;

/// The longest delay between cause and effect.
pub(super) static WINDOW: Flag<Duration> = Flag::text(
    "window",
    "TIME",
    values::duration,
    "The longest time for which a message may wait for its cause to take effect [default: 2s]",
);

/// Sets the window that the user chose.
pub(super) fn set_window(given: &Given, options: &mut Options) {
    options.window = given.get(&WINDOW).map_or(options.window, nanoseconds);
}

/// A time span of the command line, which is at most a year.
pub(super) fn nanoseconds(span: Duration) -> i64 {
    span.as_nanos() as i64
}
