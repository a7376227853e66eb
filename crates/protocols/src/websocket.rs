//! WebSocket (RFC 6455): frames by their opcodes, after an HTTP upgrade.

use registry::{EntryHelp, Spec};

use crate::flow_snippet::SnippetRule;
use crate::opening::OpeningVerdict;
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// Registry entry of WebSocket.
pub(crate) static WEBSOCKET: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "websocket",
        summary: "WebSocket: the route of the upgrade, kinds of frames, codes of closing",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "An upgrade of HTTP/1 that the server agrees to.",
        recognise: |_| OpeningVerdict::No,
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

/// Creates a frame parser.
pub(crate) fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(WebSocket))
}

#[derive(Debug)]
struct WebSocket;

impl MessageParser for WebSocket {
    const NAME: &'static str = "websocket";
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let Some(frame) = WebSocketFrame::read_frame(unparsed.bytes) else {
            return unparsed.wait_or_give_up();
        };
        // After a gap, a frame begins only where the reserved bits are 0 and exactly the client's
        // frames are masked.
        let is_client = unparsed.speaker == crate::flow_snippet::FlowSpeaker::Client;
        let valid = frame.reserved == 0 && frame.mask.is_some() == is_client;
        let name = match frame.opcode {
            0 => "",
            1 => "text",
            2 => "binary",
            8 => "close",
            9 => "ping",
            10 => "pong",
            _ => return ParseStep::Lost,
        };
        if !valid || frame.opcode >= 8 && frame.payload > 125 {
            return ParseStep::Lost;
        }
        let mut operation =
            ProtocolOperation::new(unparsed.position_at(0), MessageRole::OneWay, "websocket")
                .with_name(name);
        if frame.opcode == 8 && frame.payload >= 2 {
            match unparsed.bytes.get(frame.header_bytes..frame.header_bytes + 2) {
                Some(&[high, low]) => {
                    let mask = frame.mask.unwrap_or_default();
                    let code = u16::from_be_bytes([high ^ mask[0], low ^ mask[1]]);
                    operation = operation.with_status(code.to_string(), code == 1011);
                }
                _ if !unparsed.ended => return ParseStep::More,
                _ => {}
            }
        }
        // A continuation frame has no operation of its own.
        if frame.opcode != 0 {
            out.push(operation);
        }
        ParseStep::Skip((frame.header_bytes as u64).saturating_add(frame.payload))
    }

    fn silent_role(&self, _: crate::flow_snippet::FlowSpeaker) -> MessageRole {
        MessageRole::OneWay
    }
}

/// Header of a frame (5.2).
struct WebSocketFrame {
    opcode: u8,
    reserved: u8,
    mask: Option<[u8; 4]>,
    payload: u64,
    header_bytes: usize,
}

impl WebSocketFrame {
    fn read_frame(bytes: &[u8]) -> Option<WebSocketFrame> {
        let (first, rest) = bytes.split_first()?;
        let (second, rest) = rest.split_first()?;
        let (payload, long) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes(*rest.first_chunk()?)), 2),
            127 => (u64::from_be_bytes(*rest.first_chunk()?), 8),
            short => (u64::from(short), 0),
        };
        let mask = match second & 0x80 {
            0 => None,
            _ => Some(*rest.get(long..)?.first_chunk()?),
        };
        let head = 2 + long + if mask.is_some() { 4 } else { 0 };
        Some(WebSocketFrame {
            opcode: first & 15,
            reserved: first >> 4 & 7,
            mask,
            payload,
            header_bytes: head,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_conversation::TestConversation;

    fn upgraded_conversation() -> TestConversation {
        TestConversation::new(SnippetRule::Http1)
            .client_says("GET /chat/7 HTTP/1.1\r\nUpgrade: WebSocket\r\n\r\n")
            .server_says("HTTP/1.1 101 Switching Protocols\r\n\r\n")
            .then_rule(SnippetRule::Other)
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        // "Hello" of RFC 6455, 5.7: masked, then not.
        let masked = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
        let long = [b"\x82\x7e\x01\x00".as_slice(), &[7; 256]].concat();
        vec![
            upgraded_conversation()
                .client_says(masked)
                .server_says(b"\x81\x05Hello\x89\x00")
                .client_says(b"\x8a\x80\0\0\0\0")
                .server_says(long)
                .client_says(b"\x88\x82\x01\x02\x03\x04\x02\xea")
                .server_says(b"\x88\x02\x03\xe8"),
        ]
    }

    #[test]
    fn frames_have_kinds_and_closing_has_a_code() {
        let expected = [
            "> GET /chat/{}",
            "< 101",
            "> = text",
            "< = text",
            "< = ping",
            "> = pong",
            "< = binary",
            "> = close 1000",
            "< = close 1000",
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn invalid_frames_yield_nothing() {
        for bytes in
            [b"\x81\x05Hello".as_slice(), b"\xf1\x85\x37\xfa\x21\x3d\x7f", b"\x83\x80\0\0\0\0"]
        {
            assert_eq!(
                upgraded_conversation().client_says(bytes).server_says("").operation_lines()[2..],
                ["> ="],
                "{bytes:?}"
            );
        }
    }
}
