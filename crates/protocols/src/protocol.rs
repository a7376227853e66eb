//! What a protocol says of itself, beside its code: the entry of a registry.

use std::fmt;

use registry::{AnyFlag, EntryHelp, RegistryEntry};

use crate::flow_snippet::SnippetRule;
use crate::opening::{FlowOpening, OpeningVerdict};
use crate::parser::ProtocolParser;

/// One protocol.
pub struct ProtocolSpec {
    /// The name and the help.
    pub about: EntryHelp,
    /// By which rule its bytes are kept.
    pub class: SnippetRule,
    /// By what it is recognised, as a sentence.
    pub recognised: &'static str,
    /// Whether a flow's first turns are of it. What is within another protocol or is recognised by
    /// its class says no to all.
    pub(crate) recognise: fn(&FlowOpening) -> OpeningVerdict,
    /// Makes a parser.
    pub(crate) open: fn() -> Box<dyn ProtocolParser>,
    /// Whole conversations: tests cut and damage them, and fuzzing begins with them.
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
