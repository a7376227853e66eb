//! Streams: from calls to messages, connection by connection.
//!
//! `stream_flows` drives it. `ways` gives the calls of each direction, `matching` finds which
//! receive got which bytes, `fat` makes one message of adjacent parts, `inner_gap` says how long
//! messages pause within, `streaming`, `unanswered` and `multiplexed` where sides do not take
//! turns, `greeting` where the accepting side speaks first, and `counted` where in a stream that
//! was open before its calls begin. Of unix streams `aligned` finds that, from `looks` at queues
//! between the `epochs` of recordings.

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
