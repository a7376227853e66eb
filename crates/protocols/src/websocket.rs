//! WebSocket (RFC 6455): frames by their opcodes, behind an upgrade of HTTP.

use registry::About;

use crate::opening::Guess;
use crate::operation::{Operation, Out, Role};
use crate::parser::Parser;
use crate::piece::Class;
use crate::protocol::Protocol;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// The entry of WebSocket.
pub(crate) static WEBSOCKET: Protocol = Protocol {
    about: About {
        name: "websocket",
        summary: "WebSocket: the route of the upgrade, kinds of frames, codes of closing",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "An upgrade of HTTP/1 that the server agrees to.",
    recognise: |_| Guess::No,
    open,
    #[cfg(test)]
    samples: tests::samples,
};

/// A parser of frames.
pub(crate) fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(WebSocket))
}

#[derive(Debug)]
struct WebSocket;

impl Messages for WebSocket {
    const NAME: &'static str = "websocket";
    const BOUND: usize = OTHER_MESSAGE_BYTES;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        let Some(frame) = Frame::read(heard.bytes) else { return heard.more() };
        // Behind a gap a frame begins only where the reserved bits are 0 and it is the client's
        // that is masked.
        let is_client = heard.speaker == crate::piece::Speaker::Client;
        let valid = frame.reserved == 0 && frame.mask.is_some() == is_client;
        let name = match frame.opcode {
            0 => "",
            1 => "text",
            2 => "binary",
            8 => "close",
            9 => "ping",
            10 => "pong",
            _ => return Step::Lost,
        };
        if !valid || frame.opcode >= 8 && frame.payload > 125 {
            return Step::Lost;
        }
        let mut operation = Operation::new(heard.place(0), Role::OneWay, "websocket").named(name);
        if frame.opcode == 8 && frame.payload >= 2 {
            match heard.bytes.get(frame.head..frame.head + 2) {
                Some(&[high, low]) => {
                    let mask = frame.mask.unwrap_or_default();
                    let code = u16::from_be_bytes([high ^ mask[0], low ^ mask[1]]);
                    operation = operation.ended(code.to_string(), code == 1011);
                }
                _ if !heard.ended => return Step::More,
                _ => {}
            }
        }
        // What continues a message says nothing of itself.
        if frame.opcode != 0 {
            out.push(operation);
        }
        Step::Skip((frame.head as u64).saturating_add(frame.payload))
    }

    fn role(&self, _: crate::piece::Speaker) -> Role {
        Role::OneWay
    }
}

/// The head of a frame (5.2).
struct Frame {
    opcode: u8,
    reserved: u8,
    mask: Option<[u8; 4]>,
    payload: u64,
    head: usize,
}

impl Frame {
    fn read(bytes: &[u8]) -> Option<Frame> {
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
        Some(Frame { opcode: first & 15, reserved: first >> 4 & 7, mask, payload, head })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::Talk;

    fn upgraded() -> Talk {
        Talk::new(Class::Http1)
            .client("GET /chat/7 HTTP/1.1\r\nUpgrade: WebSocket\r\n\r\n")
            .server("HTTP/1.1 101 Switching Protocols\r\n\r\n")
            .then(Class::Other)
    }

    pub(crate) fn samples() -> Vec<Talk> {
        // "Hello" of RFC 6455, 5.7: masked, then not.
        let masked = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
        let long = [b"\x82\x7e\x01\x00".as_slice(), &[7; 256]].concat();
        vec![
            upgraded()
                .client(masked)
                .server(b"\x81\x05Hello\x89\x00")
                .client(b"\x8a\x80\0\0\0\0")
                .server(long)
                .client(b"\x88\x82\x01\x02\x03\x04\x02\xea")
                .server(b"\x88\x02\x03\xe8"),
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
        assert_eq!(samples()[0].told(), expected);
    }

    #[test]
    fn what_is_no_frame_says_nothing() {
        for bytes in
            [b"\x81\x05Hello".as_slice(), b"\xf1\x85\x37\xfa\x21\x3d\x7f", b"\x83\x80\0\0\0\0"]
        {
            assert_eq!(upgraded().client(bytes).server("").told()[2..], ["> ="], "{bytes:?}");
        }
    }
}
