//! Pairs of nodes with messages that were seen at one end only, in the form of the page.

use analyze::{MissingEnd, OneSided};
use message_trace::units::to_printable;
use serde::Serialize;

use crate::tuning::MAX_ONE_SIDED_PAIRS;

/// The pairs, and the number of messages of all pairs.
#[derive(Debug, Default, Serialize)]
pub(super) struct OneSidedMessages {
    messages: u64,
    between: Vec<OneSidedPair>,
}

#[derive(Debug, Serialize)]
struct OneSidedPair {
    from: String,
    to: String,
    protocol: &'static str,
    missing: &'static str,
    traced: bool,
    messages: u64,
    flows: u64,
    bytes: i64,
}

impl OneSidedMessages {
    /// The pairs of `found`, which is sorted by descending number of messages.
    pub(super) fn from_pairs(found: &[OneSided]) -> OneSidedMessages {
        let between = |one: &OneSided| OneSidedPair {
            from: to_printable(&one.from),
            to: to_printable(&one.to),
            protocol: one.protocol.name(),
            missing: match one.missing {
                MissingEnd::Sending => "sending",
                MissingEnd::Receipt => "receipt",
            },
            traced: one.traced,
            messages: one.messages,
            flows: one.flows,
            bytes: one.bytes,
        };
        OneSidedMessages {
            messages: found.iter().map(|one| one.messages).sum(),
            between: found.iter().take(MAX_ONE_SIDED_PAIRS).map(between).collect(),
        }
    }
}
