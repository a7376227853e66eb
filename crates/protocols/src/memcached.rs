//! Memcached: commands without keys and values, in the text protocol and its meta commands, and in
//! the binary protocol.

mod binary;
mod text;

use registry::About;

use crate::opening::{Opening, yes_if};
use crate::operation::Out;
use crate::parser::Parser;
use crate::piece::{Class, Speaker};
use crate::protocol::Protocol;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// The entry of memcached.
pub(crate) static MEMCACHED: Protocol = Protocol {
    about: About {
        name: "memcached",
        summary: "Memcached: commands without keys and values, in text and in binary",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "A line that is a whole command, or the head of a binary request.",
    recognise: |opening: &Opening| {
        let client = opening.client();
        yes_if(text::is_command(client) || binary::is_request(client))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(Memcached::default()))
}

#[derive(Debug, Default)]
struct Memcached {
    text: text::Text,
}

impl Messages for Memcached {
    const NAME: &'static str = "memcached";
    const BOUND: usize = OTHER_MESSAGE_BYTES;
    const QUIET_TURNS: bool = true;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        match (heard.bytes.first(), heard.speaker) {
            (Some(&(binary::REQUEST | binary::RESPONSE)), _) => binary::message(heard, out),
            (_, Speaker::Client) => text::asks(heard, out),
            (_, Speaker::Server) => self.text.answers(heard, out),
        }
    }

    fn lose(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        self.gap(speaker, out);
    }

    fn gap(&mut self, speaker: Speaker, _: &mut Out<'_>) {
        if speaker == Speaker::Server {
            self.text = text::Text::default();
        }
    }

    fn is_within(&self, speaker: Speaker) -> bool {
        speaker == Speaker::Server && self.text.goes_on()
    }
}

#[cfg(test)]
mod tests {
    use crate::talk::Talk;

    fn request(opcode: u8, opaque: u8, body: &[u8]) -> Vec<u8> {
        let length = body.len() as u8;
        let mut head = [0; 24];
        (head[0], head[1], head[3], head[11], head[15]) = (0x80, opcode, length, length, opaque);
        [&head, body].concat()
    }

    fn response(opcode: u8, opaque: u8, status: u8, body: &[u8]) -> Vec<u8> {
        let mut head = [0; 24];
        (head[0], head[1], head[7], head[11]) = (0x81, opcode, status, body.len() as u8);
        head[15] = opaque;
        [&head, body].concat()
    }

    pub(crate) fn samples() -> Vec<Talk> {
        vec![
            Talk::other()
                .client("get user:7 user:8\r\n")
                .server("VALUE user:7 0 5\r\nalice\r\nEND\r\n")
                .client("set user:7 0 60 5\r\nalice\r\nget user:9\r\n")
                .server("STORED\r\nEND\r\n")
                .client("incr hits 1\r\ndelete user:7 noreply\r\nmg user:7 v\r\n")
                .server("8\r\nVA 5 f0\r\nalice\r\n")
                .client("set big 0 0 500\r\naaaa".to_owned() + &"a".repeat(496) + "\r\n")
                .server("SERVER_ERROR out of memory\r\n"),
            Talk::other()
                .client([request(0, 1, b"user:7"), request(0x0c, 2, b"user:8")].concat())
                .server([response(0, 1, 0, b"\0\0\0\0alice"), response(0x0c, 2, 1, b"")].concat())
                .client(request(0x0a, 3, b""))
                .server(response(0x0a, 3, 0x84, b"")),
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
        assert_eq!(samples()[0].told(), expected);
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
        assert_eq!(samples()[1].told(), expected);
    }

    #[test]
    fn what_is_no_command_is_not_recognised() {
        for line in ["get\r\n", "GET a\r\n", "set a b c d\r\n", "hello\r\n", "get a"] {
            assert_eq!(Talk::other().client(line).told(), [""; 0], "{line}");
        }
    }
}
