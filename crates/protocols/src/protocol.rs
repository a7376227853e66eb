//! Protocol spec: the registry entry of a protocol.

use registry::Spec;

use crate::flow_snippet::SnippetRule;
use crate::opening::{FlowOpening, OpeningVerdict};
use crate::parser::ProtocolParser;

/// The registry entry of a protocol.
pub type ProtocolSpec = Spec<ProtocolEntry>;

/// The part of a registry entry that only protocols have.
pub struct ProtocolEntry {
    /// Rule by which the library keeps the protocol's bytes.
    pub class: SnippetRule,
    /// How the protocol is recognised, as a sentence.
    pub recognised: &'static str,
    /// Decides whether a flow's opening has this protocol. A protocol that occurs within another
    /// one, or that is recognised by its snippet rule, always answers no.
    pub(crate) recognise: fn(&FlowOpening) -> OpeningVerdict,
    /// Creates a parser of the protocol for one flow.
    pub(crate) open: fn() -> Box<dyn ProtocolParser>,
    /// Whole conversations: tests truncate and damage them, and fuzzing begins with them.
    #[cfg(test)]
    pub(crate) samples: fn() -> Vec<crate::test_conversation::TestConversation>,
}
