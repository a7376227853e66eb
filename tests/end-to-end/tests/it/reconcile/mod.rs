//! From the logs of real hosts to messages: names, addresses, clocks.

mod clock_hints;
mod clock_step;
mod containers;
mod greetings;
mod many_hosts;
mod names_or_none;
mod namespaces;
mod translation;
