//! Flags that importers of events share.

use registry::Flag;
use socket_log::names;

/// Host of events that do not state it.
pub(super) static HOST: Flag<String> = Flag::text(
    "host",
    "NAME",
    names::read_host_name,
    "The host of the events that do not name theirs, by the name it has in the trace",
);

/// Offset that is added to each time.
pub(super) static CLOCK_OFFSET: Flag<i64> = Flag::text(
    "clock-offset",
    "NS",
    parse_nanoseconds,
    "What is added to each time, in nanoseconds, so that it counts from 1970 [default: what the \
     file says of its clock; nothing where it says nothing]",
);

fn parse_nanoseconds(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("'{text}' is no whole number of nanoseconds"))
}
