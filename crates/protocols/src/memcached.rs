//! Memcached: commands without keys and values, in the text protocol and its meta commands, and in
//! the binary protocol.

mod binary;
mod text;

use registry::{EntryHelp, Spec};

use crate::flow_snippet::{FlowSpeaker, SnippetRule};
use crate::opening::{FlowOpening, yes_if};
use crate::operation::OperationSink;
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// Registry entry of memcached.
pub(crate) static MEMCACHED: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "memcached",
        summary: "Memcached: commands without keys and values, in text and in binary",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A line that is a complete command, or the header of a binary request.",
        recognise: |opening: &FlowOpening| {
            let client = opening.client_bytes();
            yes_if(text::is_command(client) || binary::is_request(client))
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Memcached::default()))
}

#[derive(Debug, Default)]
struct Memcached {
    text: text::TextResponse,
}

impl MessageParser for Memcached {
    const NAME: &'static str = "memcached";
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        match (unparsed.bytes.first(), unparsed.speaker) {
            (Some(&(binary::REQUEST | binary::RESPONSE)), _) => binary::parse_binary(unparsed, out),
            (_, FlowSpeaker::Client) => text::parse_request(unparsed, out),
            (_, FlowSpeaker::Server) => self.text.parse_response_line(unparsed, out),
        }
    }

    fn lose_track(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        self.on_gap(speaker, out);
    }

    fn on_gap(&mut self, speaker: FlowSpeaker, _: &mut OperationSink<'_>) {
        if speaker == FlowSpeaker::Server {
            self.text = text::TextResponse::default();
        }
    }

    fn is_within(&self, speaker: FlowSpeaker) -> bool {
        speaker == FlowSpeaker::Server && self.text.continues_value()
    }
}

#[cfg(test)]
mod tests {
    use crate::test_conversation::TestConversation;

    fn make_request(opcode: u8, opaque: u8, body: &[u8]) -> Vec<u8> {
        let length = body.len() as u8;
        let mut head = [0; 24];
        (head[0], head[1], head[3], head[11], head[15]) = (0x80, opcode, length, length, opaque);
        [&head, body].concat()
    }

    fn make_response(opcode: u8, opaque: u8, status: u8, body: &[u8]) -> Vec<u8> {
        let mut head = [0; 24];
        (head[0], head[1], head[7], head[11]) = (0x81, opcode, status, body.len() as u8);
        head[15] = opaque;
        [&head, body].concat()
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        vec![
            TestConversation::other_protocol()
                .client_says("get user:7 user:8\r\n")
                .server_says("VALUE user:7 0 5\r\nalice\r\nEND\r\n")
                .client_says("set user:7 0 60 5\r\nalice\r\nget user:9\r\n")
                .server_says("STORED\r\nEND\r\n")
                .client_says("incr hits 1\r\ndelete user:7 noreply\r\nmg user:7 v\r\n")
                .server_says("8\r\nVA 5 f0\r\nalice\r\n")
                .client_says("set big 0 0 500\r\naaaa".to_owned() + &"a".repeat(496) + "\r\n")
                .server_says("SERVER_ERROR out of memory\r\n"),
            TestConversation::other_protocol()
                .client_says(
                    [make_request(0, 1, b"user:7"), make_request(0x0c, 2, b"user:8")].concat(),
                )
                .server_says(
                    [make_response(0, 1, 0, b"\0\0\0\0alice"), make_response(0x0c, 2, 1, b"")]
                        .concat(),
                )
                .client_says(make_request(0x0a, 3, b""))
                .server_says(make_response(0x0a, 3, 0x84, b"")),
        ]
    }

    #[test]
    fn commands_of_text() {
        let expected = [
            "> get",
            "< VALUE",
            "> set",
            "> get",
            "< STORED",
            "< END",
            "> incr",
            "> = delete",
            "> mg",
            "<",
            "< VA",
            "> set",
            "< SERVER_ERROR!",
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn binary_commands_by_their_opaque() {
        let expected = [
            "> get #1",
            "> getk #2",
            "< #1",
            "< KEY_NOT_FOUND #2",
            "> noop #3",
            "< INTERNAL_ERROR! #3",
        ];
        assert_eq!(sample_conversations()[1].operation_lines(), expected);
    }

    #[test]
    fn other_lines_are_not_recognised_as_commands() {
        for line in ["get\r\n", "GET a\r\n", "set a b c d\r\n", "hello\r\n", "get a"] {
            assert_eq!(
                TestConversation::other_protocol().client_says(line).operation_lines(),
                [""; 0],
                "{line}"
            );
        }
    }
}
