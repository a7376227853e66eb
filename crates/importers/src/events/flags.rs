//! Flags that importers of events share.

use registry::Flag;
use socket_log::names;

/// Host of events that do not state it.
pub(super) static HOST: Flag<String> = Flag::text(
    "host",
    "NAME",
    names::read_host_name,
    "The host of events that do not name one, by its name in the trace",
);

/// Offset that is added to each time.
pub(super) static CLOCK_OFFSET: Flag<i64> = Flag::text(
    "clock-offset",
    "NS",
    parse_nanoseconds,
    "The offset added to each time, in nanoseconds, so that it counts from 1970 [default: from the \
     file's data on its clock, else 0]",
);

fn parse_nanoseconds(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number of nanoseconds"))
}
