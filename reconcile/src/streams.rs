//! Streams: from calls to messages, connection by connection.
//!
//! `stream_flows` drives it. `call_streams` gives the calls of each direction, `fragment_matching`
//! finds which receive got which bytes, `merging` merges adjacent parts into messages, `inner_gap`
//! learns how long messages pause within, `streaming`, `unanswered` and `multiplexed` handle sides
//! that do not take turns, `greeting` connections on which the accepting side speaks first, and
//! `counted_streams` finds the position of the first calls in a stream that was open before. For
//! unix streams `aligned` finds it, from `looks` at queues between the `epochs` of recordings.

mod aligned;
pub(crate) mod boundary;
pub(crate) mod call_streams;
mod counted_streams;
mod epochs;
pub(crate) mod fragment_matching;
pub(crate) mod fragment_order;
pub(crate) mod greeting;
pub(crate) mod inner_gap;
mod looks;
pub(crate) mod merging;
pub(crate) mod multiplexed;
pub(crate) mod stream_flows;
pub(crate) mod streaming;
pub(crate) mod tally;
pub(crate) mod unanswered;
