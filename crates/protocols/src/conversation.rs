//! One flow: its protocol is recognised, its parser is given what is said, and where the flow goes
//! on in another protocol, so does this.

use crate::kinds::PROTOCOLS;
use crate::opening::{Guess, Opening};
use crate::operation::{Operation, Out, Said};
use crate::parser::{Next, Parser};
use crate::piece::{Class, Piece, Speaker};
use crate::tuning::OPENING_TURNS;
use crate::unread::role;
use crate::{http, http2};

/// What is said on one flow. It holds some KiB at most.
pub struct Conversation(State);

enum State {
    /// The protocol is not known yet.
    Unknown(Opening),
    Speaking(Box<dyn Parser>, Class),
    /// Nothing can be said of what follows.
    Silent,
}

impl std::fmt::Debug for Conversation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            State::Unknown(_) => "unknown",
            State::Speaking(..) => "speaking",
            State::Silent => "silent",
        })
    }
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation::new()
    }
}

impl Conversation {
    /// A flow about which nothing is known.
    pub fn new() -> Conversation {
        Conversation(State::Unknown(Opening::default()))
    }

    /// Takes the next piece of either side, in the order of time, and adds to `out` the operations
    /// that are certain by then. An operation may become certain only when its status is there, so
    /// they are not in the order of their places.
    pub fn take(&mut self, piece: &Piece<'_>, out: &mut Vec<Said>) {
        match (piece.class, &mut self.0) {
            (Class::Other, State::Unknown(opening)) => {
                opening.take(piece);
                self.recognise(out);
            }
            (_, State::Speaking(parser, class)) if *class == piece.class => {
                let next = parser.take(piece, &mut Out::new(out, piece.speaker));
                self.go_on(next);
            }
            // Bodies between heads, and what cannot be read.
            (Class::Other, State::Speaking(..) | State::Silent) => {}
            // Values of another protocol that look like a head; only HTTP/1 becomes HTTP/2.
            (_, State::Speaking(_, Class::Other)) | (Class::Http1, State::Speaking(..)) => {}
            (class, _) => {
                self.finish(out);
                let parser = if class == Class::Http1 { http::open() } else { http2::open() };
                self.0 = State::Speaking(parser, class);
                self.take(piece, out);
            }
        }
    }

    /// Adds what is known of messages that never became whole. To be called when nothing more
    /// comes; without it, the last message of a flow may be missing.
    pub fn finish(&mut self, out: &mut Vec<Said>) {
        if let State::Speaking(parser, _) = &mut self.0 {
            parser.finish(&mut Out::new(out, Speaker::Client));
        }
    }

    fn go_on(&mut self, next: Next) {
        self.0 = match next {
            Next::Same => return,
            Next::Become(parser, class) => State::Speaking(parser, class),
            Next::Unknown => State::Unknown(Opening::default()),
            Next::Silent => State::Silent,
        };
    }

    /// Asks the protocols whose the opening is, and gives it to the first that says so.
    fn recognise(&mut self, out: &mut Vec<Said>) {
        let State::Unknown(opening) = &self.0 else { return };
        if opening.count() > OPENING_TURNS {
            self.0 = State::Silent;
            return;
        }
        let knows = |protocol: &&&crate::Protocol| (protocol.recognise)(opening) == Guess::Yes;
        let Some(protocol) = PROTOCOLS.iter().find(knows) else {
            if is_encrypted(opening.client()) {
                self.0 = State::Silent;
            }
            return;
        };
        let speaking = State::Speaking((protocol.open)(), Class::Other);
        let State::Unknown(opening) = std::mem::replace(&mut self.0, speaking) else { return };
        for (speaker, place) in opening.passed() {
            let unread = Operation::new(*place, role(*speaker), protocol.about.name);
            Out::new(out, *speaker).push(unread);
        }
        for piece in opening.pieces() {
            let State::Speaking(parser, _) = &mut self.0 else { return };
            let next = parser.take(&piece, &mut Out::new(out, piece.speaker));
            self.go_on(next);
        }
    }
}

/// Whether the client begins a handshake of TLS.
fn is_encrypted(client: &[u8]) -> bool {
    matches!(client, [0x16, 3, 0..=4, _, _, 1, ..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::Talk;

    /// A value that looks like a head of HTTP does not end another protocol.
    #[test]
    fn a_value_that_looks_like_http() {
        let talk = Talk::other()
            .client("*2\r\n$4\r\nECHO\r\n$18\r\n")
            .then(Class::Http1)
            .client("GET / HTTP/1.1\r\n\r\n\r\n")
            .then(Class::Other)
            .server("+OK\r\n");
        assert_eq!(talk.told(), ["> ECHO", "<"]);
    }

    #[test]
    fn encrypted_flows_and_what_is_never_recognised_are_given_up() {
        let tls = Talk::other().client(b"\x16\x03\x01\x02\x00\x01\x00");
        let told = tls.server("x").client("get a\r\n").told();
        assert_eq!(told, [""; 0]);
        let unknown = (0..8).fold(Talk::other(), |talk, _| talk.client("?").server("!"));
        assert_eq!(unknown.clone().client("get a\r\n").told(), [""; 0]);
        let late = Talk::other().client("?").server("!\r\n").client("get a\r\n");
        assert_eq!(late.told(), [">", "<", "> get"], "each turn is told, if without a name");
    }

    #[test]
    fn a_protocol_is_recognised_behind_a_gap() {
        let pieces =
            Talk::other().client("?? get a").server("END\r\n").client("get a\r\n").pieces();
        let told = crate::talk::operations(&pieces);
        let told: Vec<_> = told.iter().map(|of| (of.name.as_str(), of.status.as_str())).collect();
        assert_eq!(told, [("", ""), ("", "END"), ("get", "")]);
    }
}
