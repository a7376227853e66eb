//! What a protocol's parser is to a conversation.

use crate::flow_snippet::{FlowSnippet, SnippetRule};
use crate::operation::OperationSink;

/// A parser of one protocol on one flow.
pub(crate) trait ProtocolParser: Send {
    /// Takes what was said next, and adds to `out` what is certain by then.
    fn parse_snippet(
        &mut self,
        piece: &FlowSnippet<'_>,
        out: &mut OperationSink<'_>,
    ) -> FlowContinuation;

    /// Adds what is known of messages that never became whole.
    fn finish_parsing(&mut self, out: &mut OperationSink<'_>);
}

/// What a flow is after a piece.
pub(crate) enum FlowContinuation {
    /// As before.
    Same,
    /// It goes on in another protocol, whose bytes are kept by the rule of a class.
    Become(Box<dyn ProtocolParser>, SnippetRule),
    /// It goes on in a protocol that has to be recognised.
    Unknown,
    /// It goes on in what cannot be read.
    Silent,
}
