//! MongoDB: commands with their collection, codes of errors, calls by the request's id.

use registry::About;

use crate::cursor::Cursor;
use crate::names;
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::Parser;
use crate::piece::Class;
use crate::protocol::Protocol;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// The entry of MongoDB.
pub(crate) static MONGODB: Protocol = Protocol {
    about: About {
        name: "mongodb",
        summary: "MongoDB: commands and collections, codes of errors, by requests' ids",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "A message with a command, or the old query that clients begin with.",
    recognise: |opening: &Opening| {
        let client = opening.client();
        yes_if(head(client).is_some_and(|head| head.response_to == 0 && command(client).is_some()))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(MongoDb))
}

const NAME: &str = "mongodb";

const OP_REPLY: u32 = 1;
const OP_QUERY: u32 = 2004;
const OP_COMPRESSED: u32 = 2012;
const OP_MSG: u32 = 2013;

/// Length of a head.
const HEAD: usize = 16;

/// Greatest length of a message: the server takes no more.
const GREATEST: u32 = 48_000_000;

/// A flag of a message: no answer follows.
const MORE_TO_COME: u32 = 2;

struct Head {
    length: u32,
    request: u32,
    response_to: u32,
    opcode: u32,
}

fn head(bytes: &[u8]) -> Option<Head> {
    let mut cursor = Cursor(bytes);
    let (length, request) = (cursor.le_u32()?, cursor.le_u32()?);
    let (response_to, opcode) = (cursor.le_u32()?, cursor.le_u32()?);
    let known = matches!(opcode, OP_REPLY | OP_QUERY | OP_COMPRESSED | OP_MSG);
    let head = Head { length, request, response_to, opcode };
    (known && (HEAD as u32 + 4..GREATEST).contains(&length)).then_some(head)
}

/// The command of a request and its collection. `None` where they are not there.
fn command(bytes: &[u8]) -> Option<String> {
    let head = head(bytes)?;
    let mut cursor = Cursor(bytes.get(HEAD..)?);
    let flags = cursor.le_u32()?;
    let document = match head.opcode {
        OP_MSG if flags & !0x1_0003 == 0 => section(cursor)?,
        OP_QUERY => {
            let collection = cursor.text()?;
            let is_command = collection.ends_with(b".$cmd");
            let _skipped = cursor.take(8).filter(|_| is_command)?;
            cursor
        }
        _ => return None,
    };
    let mut cursor = document;
    let _length = cursor.le_u32()?;
    let kind = cursor.u8()?;
    let name = std::str::from_utf8(cursor.text()?).ok()?;
    let plain = (2..=40).contains(&name.len()) && name.bytes().all(|of| of.is_ascii_alphabetic());
    if !plain {
        return None;
    }
    let mut told = name.to_owned();
    match kind {
        // A text: the collection.
        2 => {
            let length = cursor.le_u32()? as usize;
            let collection = cursor.take(length.checked_sub(1)?)?;
            let collection = std::str::from_utf8(collection).unwrap_or("?");
            told = format!("{name} {}", names::label(collection));
        }
        // Of a cursor's id the collection is another field, which may not be there.
        1 | 8 | 16 | 18 | 3 => {}
        _ => return None,
    }
    Some(told)
}

/// The document of a message's body, behind sequences of documents that may come first.
fn section(mut cursor: Cursor<'_>) -> Option<Cursor<'_>> {
    while let Some(kind) = cursor.u8() {
        match kind {
            0 => return Some(cursor),
            1 => {
                let size = Cursor(cursor.0).le_u32()? as usize;
                cursor.take(size)?;
            }
            _ => return None,
        }
    }
    None
}

#[derive(Debug)]
struct MongoDb;

impl Messages for MongoDb {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        if heard.bytes.len() < HEAD {
            return heard.more();
        }
        let Some(head) = head(heard.bytes) else { return Step::Lost };
        let there = heard.bytes.len().min(head.length as usize);
        let whole = there == head.length as usize;
        if !whole && !heard.ended {
            return Step::More;
        }
        let bytes = heard.bytes.get(..there).unwrap_or_default();
        let place = heard.place(0);
        if head.response_to != 0 || head.opcode == OP_REPLY {
            let (status, is_error) = status(bytes, head.opcode);
            let response = Operation::new(place, Role::Response, NAME);
            out.push(response.of_call(head.response_to.into()).ended(status, is_error));
        } else {
            // Without its flags it is not known whether it is answered.
            let Some(flags) = Cursor(bytes.get(HEAD..).unwrap_or_default()).le_u32() else {
                return Step::Lost;
            };
            let command = command(bytes);
            let is_answered = head.opcode != OP_MSG || flags & MORE_TO_COME == 0;
            let role = if is_answered { Role::Request } else { Role::OneWay };
            let name = command.unwrap_or_default();
            out.push(Operation::new(place, role, NAME).of_call(head.request.into()).named(name));
        }
        Step::Skip(head.length.into())
    }
}

/// How a command ended: the code of its error. Fields that are not there say nothing.
fn status(bytes: &[u8], opcode: u32) -> (String, bool) {
    let behind = match opcode {
        OP_MSG => Cursor(bytes.get(HEAD + 4..).unwrap_or_default()),
        OP_REPLY => Cursor(bytes.get(HEAD + 20..).unwrap_or_default()),
        _ => return (String::new(), false),
    };
    let document = if opcode == OP_MSG { section(behind) } else { Some(behind) };
    let (mut failed, mut code, mut partly) = (false, None, false);
    if let Some(mut cursor) = document {
        let _ = cursor.le_u32();
        while let Some((name, kind, value)) = element(&mut cursor) {
            match (name, kind) {
                (b"ok", 1) => failed = value == [0; 8],
                (b"ok", 16) => failed = value == [0; 4],
                (b"code", 16) => code = Cursor(value).le_u32(),
                (b"writeErrors" | b"writeConcernError", _) => partly = true,
                _ => {}
            }
        }
    }
    match (failed, code) {
        (true, Some(code)) => (code.to_string(), true),
        (true, None) => (String::new(), true),
        _ if partly => ("writeErrors".to_owned(), true),
        _ => (String::new(), false),
    }
}

/// The next element of a document: name, type and value. A value that is not whole is left out,
/// but for its name.
fn element<'a>(cursor: &mut Cursor<'a>) -> Option<(&'a [u8], u8, &'a [u8])> {
    let kind = cursor.u8().filter(|kind| *kind != 0)?;
    let name = cursor.text()?;
    let size = |cursor: &Cursor<'_>| Cursor(cursor.0).le_u32().map(|size| size as usize);
    let length = match kind {
        1 | 9 | 17 | 18 => 8,
        2 | 13 | 14 => size(cursor)?.checked_add(4)?,
        3 | 4 | 15 => size(cursor).unwrap_or(usize::MAX),
        5 => size(cursor)?.checked_add(5)?,
        7 => 12,
        8 => 1,
        16 => 4,
        19 => 16,
        6 | 10 | 127 | 255 => 0,
        _ => return None,
    };
    let there = length.min(cursor.0.len());
    let value = cursor.take(there)?;
    Some((name, kind, if there == length { value } else { &[] }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::talk::Talk;

    fn document(elements: &[Vec<u8>]) -> Vec<u8> {
        let body = elements.concat();
        [&(body.len() as u32 + 5).to_le_bytes()[..], &body, &[0]].concat()
    }

    fn text(name: &str, value: &str) -> Vec<u8> {
        let length = (value.len() as u32 + 1).to_le_bytes();
        [&[2], name.as_bytes(), &[0], &length, value.as_bytes(), &[0]].concat()
    }

    fn int(name: &str, value: u32) -> Vec<u8> {
        [&[16], name.as_bytes(), &[0], &value.to_le_bytes()[..]].concat()
    }

    fn double(name: &str, value: f64) -> Vec<u8> {
        [&[1], name.as_bytes(), &[0], &value.to_le_bytes()[..]].concat()
    }

    fn message(id: u32, to: u32, opcode: u32, body: &[u8]) -> Vec<u8> {
        let length = body.len() as u32 + 16;
        let head: Vec<u8> =
            [length, id, to, opcode].iter().flat_map(|of| of.to_le_bytes()).collect();
        [&head, body].concat()
    }

    fn msg(id: u32, to: u32, flags: u32, elements: &[Vec<u8>]) -> Vec<u8> {
        let body = [&flags.to_le_bytes()[..], &[0], &document(elements)].concat();
        message(id, to, OP_MSG, &body)
    }

    pub(crate) fn samples() -> Vec<Talk> {
        let hello = document(&[int("isMaster", 1)]);
        let query = [&[0; 4], b"admin.$cmd\0".as_slice(), &[0; 4], &[1, 0, 0, 0], &hello].concat();
        let reply = [&[0; 20], document(&[double("ok", 1.0)]).as_slice()].concat();
        let find = [text("find", "books"), text("filter", "alice"), text("$db", "shop")];
        let big = [text("insert", "orders"), text("name", &"alice".repeat(99))];
        let failed = [double("ok", 0.0), text("errmsg", "alice"), int("code", 26)];
        vec![
            Talk::other()
                .client(message(1, 0, OP_QUERY, &query))
                .server(message(90, 1, OP_REPLY, &reply))
                .client([msg(2, 0, 0, &find), msg(3, 0, 0, &big)].concat())
                .server(msg(91, 2, 0, &[text("name", &"alice".repeat(99)), double("ok", 1.0)]))
                .client(msg(4, 0, 2, &[text("insert", "logs"), text("$db", "shop")]))
                .client(msg(5, 0, 0, &[text("drop", "user_550e84"), text("$db", "shop")]))
                .server(msg(92, 5, 0, &failed)),
        ]
    }

    #[test]
    fn commands_and_answers_by_ids() {
        let expected = [
            "> isMaster #1",
            "< #1",
            "> find books #2",
            "> insert orders #3",
            "< #2",
            "> = insert logs #4",
            "> drop user_{} #5",
            "< 26! #5",
        ];
        assert_eq!(samples()[0].told(), expected);
    }

    #[test]
    fn errors_of_some_writes() {
        let array = [&[4], b"writeErrors\0".as_slice(), &document(&[])].concat();
        let reply = msg(9, 1, 0, &[int("n", 1), array, double("ok", 1.0)]);
        assert_eq!(status(&reply, OP_MSG), ("writeErrors".to_owned(), true));
    }
}
