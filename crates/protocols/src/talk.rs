//! Conversations made by hand, for tests: what is said, and the pieces of it that the library
//! keeps.

use crate::conversation::Conversation;
use crate::operation::{Operation, Said};
use crate::piece::{Class, Piece, Place, Speaker};
use crate::tuning::KEPT_TURN_BYTES;

/// A conversation. Bytes of one side that follow each other are one transfer each.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    class: Class,
    datagrams: bool,
    transfers: Vec<(Class, Speaker, Vec<u8>)>,
}

/// A piece with its own bytes.
#[derive(Clone, Debug)]
pub(crate) struct Owned {
    pub(crate) bytes: Vec<u8>,
    pub(crate) of: Piece<'static>,
}

impl Owned {
    pub(crate) fn piece(&self) -> Piece<'_> {
        Piece { bytes: &self.bytes, ..self.of }
    }
}

impl Talk {
    pub(crate) fn new(class: Class) -> Talk {
        Talk { class, datagrams: false, transfers: Vec::new() }
    }

    pub(crate) fn other() -> Talk {
        Talk::new(Class::Other)
    }

    pub(crate) fn datagrams() -> Talk {
        Talk { datagrams: true, ..Talk::other() }
    }

    pub(crate) fn client(mut self, bytes: impl AsRef<[u8]>) -> Talk {
        self.transfers.push((self.class, Speaker::Client, bytes.as_ref().to_vec()));
        self
    }

    pub(crate) fn server(mut self, bytes: impl AsRef<[u8]>) -> Talk {
        self.transfers.push((self.class, Speaker::Server, bytes.as_ref().to_vec()));
        self
    }

    /// What follows is kept by the rule of another class.
    pub(crate) fn then(mut self, class: Class) -> Talk {
        self.class = class;
        self
    }

    /// The same conversation where each transfer comes in two parts, the first of `at` bytes.
    pub(crate) fn in_parts(&self, at: usize) -> Talk {
        let parts = self.transfers.iter().flat_map(|(class, speaker, bytes)| {
            let (first, rest) = bytes.split_at(at.min(bytes.len()));
            let is_apart = *class == Class::Other && !self.datagrams && !rest.is_empty();
            let parts = if is_apart { vec![first, rest] } else { vec![&bytes[..]] };
            parts.into_iter().map(|part| (*class, *speaker, part.to_vec())).collect::<Vec<_>>()
        });
        Talk { class: self.class, transfers: parts.collect(), datagrams: self.datagrams }
    }

    /// The pieces that the library keeps: of other protocols the first bytes of each turn.
    pub(crate) fn pieces(&self) -> Vec<Owned> {
        let mut pieces: Vec<Owned> = Vec::new();
        let (mut last, mut kept) = (None, 0);
        for (ticks, (class, speaker, bytes)) in self.transfers.iter().enumerate() {
            let begins_turn = last.replace(*speaker) != Some(*speaker) || self.datagrams;
            if begins_turn {
                kept = 0;
            }
            let room = if *class == Class::Other { KEPT_TURN_BYTES - kept } else { bytes.len() };
            let there = room.min(bytes.len());
            kept += there;
            let cut = 0 < there && there < bytes.len();
            let of = Piece {
                speaker: *speaker,
                class: *class,
                bytes: &[],
                continues: !begins_turn && *class == Class::Other,
                begins_turn,
                cut,
                datagram: self.datagrams,
                place: Place { ticks: ticks as u64, at: 0 },
            };
            if there > 0 {
                pieces.push(Owned { bytes: bytes[..there].to_vec(), of });
            }
        }
        pieces
    }

    /// Operations of a conversation.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        operations(&self.pieces())
    }

    /// Operations, each as a line: `> GET /cart/{} #1`, `< 200`, `> =` for one-way messages, `!`
    /// behind a status that is an error.
    pub(crate) fn told(&self) -> Vec<String> {
        told(&self.pieces())
    }
}

/// Operations of pieces, each as a line, as [`Talk::told`] has them.
pub(crate) fn told(pieces: &[Owned]) -> Vec<String> {
    let mut all = said(pieces);
    all.sort_by_key(|said| said.operation.place);
    let line = |Said { speaker, operation }: &Said| {
        let side = if *speaker == Speaker::Client { ">" } else { "<" };
        let role = match (operation.role, side) {
            (crate::Role::OneWay, _) => " =",
            (crate::Role::Request, "<") => " ask",
            (crate::Role::Response, ">") => " answer",
            _ => "",
        };
        let word = |text: &str| match text {
            "" => String::new(),
            text => format!(" {text}"),
        };
        let (name, status) = (word(&operation.name), word(&operation.status));
        let error = if operation.is_error { "!" } else { "" };
        let call = operation.call.map_or(String::new(), |call| format!(" #{call}"));
        format!("{side}{role}{name}{status}{error}{call}")
    };
    all.iter().map(line).collect()
}

/// Operations that pieces tell, the unfinished, too.
pub(crate) fn operations(pieces: &[Owned]) -> Vec<Operation> {
    said(pieces).into_iter().map(|said| said.operation).collect()
}

/// The same with who said them.
pub(crate) fn said(pieces: &[Owned]) -> Vec<Said> {
    let (mut out, mut conversation) = taken(pieces);
    conversation.finish(&mut out);
    out
}

/// Operations that are certain after pieces, and the conversation.
pub(crate) fn taken(pieces: &[Owned]) -> (Vec<Said>, Conversation) {
    let (mut out, mut conversation) = (Vec::new(), Conversation::new());
    pieces.iter().for_each(|piece| conversation.take(&piece.piece(), &mut out));
    (out, conversation)
}
