//! Kinds of evidence that the algorithm `auto` weighs. Each can be switched off, either to measure
//! its worth or because it is known to mislead in a system.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A kind of evidence for the request that caused a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The delay after which a call is made or a request answered.
    Delays,
    /// How the delay of a call or response depends on the time since the request was received.
    Context,
    /// The set of calls that a kind of request makes.
    Shapes,
    /// The order of calls.
    Order,
    /// Whether waiting requests are served first in, first out.
    Turns,
    /// The nesting of calls: a call mostly ends before its request does.
    Nesting,
    /// The threads that make calls.
    Threads,
    /// The connections that calls share.
    Connections,
    /// The number of bytes that are forwarded and returned.
    Sizes,
    /// Recorded hand-offs between threads.
    Handoffs,
    /// Recorded operations and ids of messages; ids pair requests with responses.
    Operations,
    /// Rare words that messages share.
    Words,
}

impl Evidence {
    /// All kinds, in the order in which they are offered.
    pub const ALL: [Evidence; 12] = [
        Evidence::Delays,
        Evidence::Context,
        Evidence::Shapes,
        Evidence::Order,
        Evidence::Turns,
        Evidence::Nesting,
        Evidence::Threads,
        Evidence::Connections,
        Evidence::Sizes,
        Evidence::Handoffs,
        Evidence::Operations,
        Evidence::Words,
    ];
}

impl Evidence {
    /// The name on the command line and in `analysis.json`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Evidence::Delays => "delays",
            Evidence::Context => "context",
            Evidence::Shapes => "shapes",
            Evidence::Order => "order",
            Evidence::Turns => "turns",
            Evidence::Nesting => "nesting",
            Evidence::Threads => "threads",
            Evidence::Connections => "connections",
            Evidence::Sizes => "sizes",
            Evidence::Handoffs => "hand-offs",
            Evidence::Operations => "operations",
            Evidence::Words => "words",
        }
    }
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Evidence {
    type Err = String;

    fn from_str(text: &str) -> Result<Evidence, String> {
        Evidence::ALL.into_iter().find(|evidence| evidence.to_string() == text).ok_or_else(|| {
            let names: Vec<String> = Evidence::ALL.iter().map(Evidence::to_string).collect();
            format!("'{text}' is not a kind of evidence; choose one of {}", names.join(", "))
        })
    }
}

/// The kinds of evidence that are used. A set bit marks a kind that is switched off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EnabledEvidence(u16);

impl EnabledEvidence {
    /// Enables every kind except `kinds`.
    pub(crate) fn all_except(kinds: &[Evidence]) -> EnabledEvidence {
        EnabledEvidence(
            kinds.iter().fold(0, |bits, kind| bits | EnabledEvidence::evidence_bit(*kind)),
        )
    }

    /// Returns whether `kind` is used.
    pub(crate) fn contains(self, kind: Evidence) -> bool {
        self.0 & EnabledEvidence::evidence_bit(kind) == 0
    }

    fn evidence_bit(kind: Evidence) -> u16 {
        1 << kind as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_switched_off_separately_and_has_a_name() {
        for kind in Evidence::ALL {
            let without = EnabledEvidence::all_except(&[kind]);
            assert!(
                Evidence::ALL.into_iter().all(|other| without.contains(other) == (other != kind))
            );
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("luck".parse::<Evidence>().unwrap_err().contains("threads"));
    }
}
