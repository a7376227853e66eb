//! Interface between a protocol's parser and a conversation.

use crate::flow_snippet::{FlowSnippet, SnippetRule};
use crate::operation::OperationSink;

/// Parser of one protocol on one flow.
pub(crate) trait ProtocolParser: Send {
    /// Parses the next snippet and appends the operations that have become certain to `out`.
    fn parse_snippet(
        &mut self,
        piece: &FlowSnippet<'_>,
        out: &mut OperationSink<'_>,
    ) -> FlowContinuation;

    /// Appends what is known of incomplete messages.
    fn finish_parsing(&mut self, out: &mut OperationSink<'_>);
}

/// How a flow continues after a snippet.
pub(crate) enum FlowContinuation {
    /// In the same protocol.
    Same,
    /// In another protocol, with another rule for the kept bytes.
    Become(Box<dyn ProtocolParser>, SnippetRule),
    /// In a protocol that has to be recognised.
    Unknown,
    /// In a form that cannot be read.
    Silent,
}
