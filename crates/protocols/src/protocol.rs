//! Protocol spec: the registry entry of a protocol.

use std::fmt;

use registry::{AnyFlag, EntryHelp, RegistryEntry};

use crate::flow_snippet::SnippetRule;
use crate::opening::{FlowOpening, OpeningVerdict};
use crate::parser::ProtocolParser;

/// One protocol.
pub struct ProtocolSpec {
    /// Name and help.
    pub about: EntryHelp,
    /// Rule by which its bytes are kept.
    pub class: SnippetRule,
    /// How it is recognised, as a sentence.
    pub recognised: &'static str,
    /// Decides whether a flow's opening has this protocol. A protocol that occurs within another
    /// one, or that is recognised by its snippet rule, always answers no.
    pub(crate) recognise: fn(&FlowOpening) -> OpeningVerdict,
    /// Creates a parser.
    pub(crate) open: fn() -> Box<dyn ProtocolParser>,
    /// Whole conversations: tests truncate and damage them, and fuzzing begins with them.
    #[cfg(test)]
    pub(crate) samples: fn() -> Vec<crate::test_conversation::TestConversation>,
}

impl RegistryEntry for ProtocolSpec {
    fn about(&self) -> &EntryHelp {
        &self.about
    }

    fn flags(&self) -> &'static [&'static dyn AnyFlag] {
        &[]
    }
}

impl fmt::Debug for ProtocolSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about.name)
    }
}
