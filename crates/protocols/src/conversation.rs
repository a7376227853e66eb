//! Conversation of one flow: recognises its protocol, passes its snippets to the parser, and
//! changes to another protocol when the flow does.

use crate::flow_snippet::{FlowSnippet, FlowSpeaker, SnippetRule};
use crate::kinds::PROTOCOLS;
use crate::opening::{FlowOpening, OpeningVerdict};
use crate::operation::{OperationSink, ProtocolOperation, SpokenOperation};
use crate::parser::{FlowContinuation, ProtocolParser};
use crate::silent_turn::role_of_speaker;
use crate::tuning::OPENING_TURNS;
use crate::{http, http2};

/// Conversation of one flow. A conversation takes some KiB of memory at most.
pub struct Conversation(ConversationState);

enum ConversationState {
    /// The protocol is not known yet.
    Unknown(FlowOpening),
    /// The protocol is known: its parser, and the rule by which its snippets are captured.
    Speaking(Box<dyn ProtocolParser>, SnippetRule),
    /// The rest of the flow cannot be parsed.
    Silent,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            ConversationState::Unknown(_) => "unknown",
            ConversationState::Speaking(..) => "speaking",
            ConversationState::Silent => "silent",
        })
    }
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation::new()
    }
}

impl Conversation {
    /// Creates a conversation for a flow about which nothing is known.
    pub fn new() -> Conversation {
        Conversation(ConversationState::Unknown(FlowOpening::default()))
    }

    /// Adds the next snippet of either side, in the order of time, and appends to `out` the
    /// operations that have become certain. Some become certain only with a later status, so
    /// operations are not in the order of their log positions.
    pub fn add_snippet(&mut self, piece: &FlowSnippet<'_>, out: &mut Vec<SpokenOperation>) {
        match (piece.class, &mut self.0) {
            (SnippetRule::Other, ConversationState::Unknown(opening)) => {
                opening.add_snippet(piece);
                self.recognise_protocol(out);
            }
            (_, ConversationState::Speaking(parser, class)) if *class == piece.class => {
                let next = parser.parse_snippet(piece, &mut OperationSink::new(out, piece.speaker));
                self.continue_as(next);
            }
            // Bodies between HTTP heads, and flows that cannot be parsed.
            (SnippetRule::Other, ConversationState::Speaking(..) | ConversationState::Silent) => {}
            // Values of another protocol that look like an HTTP head; only HTTP/1 becomes HTTP/2.
            (_, ConversationState::Speaking(_, SnippetRule::Other))
            | (SnippetRule::Http1, ConversationState::Speaking(..)) => {}
            (class, _) => {
                self.finish_conversation(out);
                let parser = if class == SnippetRule::Http1 {
                    http::open_parser()
                } else {
                    http2::open_parser()
                };
                self.0 = ConversationState::Speaking(parser, class);
                self.add_snippet(piece, out);
            }
        }
    }

    /// Appends what is known of incomplete messages. Must be called at the end of the flow;
    /// otherwise its last message may be missing.
    pub fn finish_conversation(&mut self, out: &mut Vec<SpokenOperation>) {
        if let ConversationState::Speaking(parser, _) = &mut self.0 {
            parser.finish_parsing(&mut OperationSink::new(out, FlowSpeaker::Client));
        }
    }

    fn continue_as(&mut self, next: FlowContinuation) {
        self.0 = match next {
            FlowContinuation::Same => return,
            FlowContinuation::Become(parser, class) => ConversationState::Speaking(parser, class),
            FlowContinuation::Unknown => ConversationState::Unknown(FlowOpening::default()),
            FlowContinuation::Silent => ConversationState::Silent,
        };
    }

    /// Passes the opening to the first protocol that recognises it.
    fn recognise_protocol(&mut self, out: &mut Vec<SpokenOperation>) {
        let ConversationState::Unknown(opening) = &self.0 else { return };
        if opening.turn_count() > OPENING_TURNS {
            self.0 = ConversationState::Silent;
            return;
        }
        let knows =
            |protocol: &&&crate::ProtocolSpec| (protocol.recognise)(opening) == OpeningVerdict::Yes;
        let Some(protocol) = PROTOCOLS.iter().find(knows) else {
            if is_encrypted(opening.client_bytes()) {
                self.0 = ConversationState::Silent;
            }
            return;
        };
        let speaking = ConversationState::Speaking((protocol.open)(), SnippetRule::Other);
        let ConversationState::Unknown(opening) = std::mem::replace(&mut self.0, speaking) else {
            return;
        };
        for (speaker, place) in opening.earlier_turns() {
            let unread =
                ProtocolOperation::new(*place, role_of_speaker(*speaker), protocol.about.name);
            OperationSink::new(out, *speaker).push(unread);
        }
        for piece in opening.snippets() {
            let ConversationState::Speaking(parser, _) = &mut self.0 else { return };
            let next = parser.parse_snippet(&piece, &mut OperationSink::new(out, piece.speaker));
            self.continue_as(next);
        }
    }
}

/// Whether the client begins a TLS handshake.
fn is_encrypted(client: &[u8]) -> bool {
    matches!(client, [0x16, 3, 0..=4, _, _, 1, ..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_conversation::TestConversation;

    /// A value that looks like an HTTP head does not end another protocol.
    #[test]
    fn a_value_that_looks_like_http() {
        let talk = TestConversation::other_protocol()
            .client_says("*2\r\n$4\r\nECHO\r\n$18\r\n")
            .then_rule(SnippetRule::Http1)
            .client_says("GET / HTTP/1.1\r\n\r\n\r\n")
            .then_rule(SnippetRule::Other)
            .server_says("+OK\r\n");
        assert_eq!(talk.operation_lines(), ["> ECHO", "<"]);
    }

    #[test]
    fn encrypted_and_unrecognised_flows_are_given_up() {
        let tls = TestConversation::other_protocol().client_says(b"\x16\x03\x01\x02\x00\x01\x00");
        let operations = tls.server_says("x").client_says("get a\r\n").operation_lines();
        assert_eq!(operations, [""; 0]);
        let unknown = (0..8).fold(TestConversation::other_protocol(), |talk, _| {
            talk.client_says("?").server_says("!")
        });
        assert_eq!(unknown.clone().client_says("get a\r\n").operation_lines(), [""; 0]);
        let late = TestConversation::other_protocol()
            .client_says("?")
            .server_says("!\r\n")
            .client_says("get a\r\n");
        assert_eq!(
            late.operation_lines(),
            [">", "<", "> get"],
            "each turn has an operation, if without a name"
        );
    }

    #[test]
    fn a_protocol_is_recognised_after_a_gap() {
        let pieces = TestConversation::other_protocol()
            .client_says("?? get a")
            .server_says("END\r\n")
            .client_says("get a\r\n")
            .snippets();
        let operations = crate::test_conversation::operations_of_snippets(&pieces);
        let operations: Vec<_> =
            operations.iter().map(|of| (of.name.as_str(), of.status.as_str())).collect();
        assert_eq!(operations, [("", ""), ("", "END"), ("get", "")]);
    }
}
