//! Whose messages were seen at one end only, as the page has it.

use analyze::{MissingEnd, OneSided};
use serde::Serialize;

use message_trace::units::printable;

/// Pairs of nodes that the page names; of others the messages are counted.
const MOST: usize = 200;

/// All of it.
#[derive(Debug, Default, Serialize)]
pub(super) struct OneSidedMessages {
    messages: u64,
    between: Vec<Between>,
}

#[derive(Debug, Serialize)]
struct Between {
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
    /// Those of `found`, of which the first have the most messages.
    pub(super) fn of(found: &[OneSided]) -> OneSidedMessages {
        let between = |one: &OneSided| Between {
            from: printable(&one.from),
            to: printable(&one.to),
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
            between: found.iter().take(MOST).map(between).collect(),
        }
    }
}
