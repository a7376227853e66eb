//! MongoDB: commands with their collection and error codes, paired by request id.

use registry::{EntryHelp, Spec};

use crate::cursor::ByteCursor;
use crate::flow_snippet::SnippetRule;
use crate::names;
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// Registry entry of MongoDB.
pub(crate) static MONGODB: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "mongodb",
        summary: "MongoDB: commands and collections, codes of errors, by request ids",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A message with a command, or the old query that clients begin with.",
        recognise: |opening: &FlowOpening| {
            let client = opening.client_bytes();
            yes_if(
                read_header(client)
                    .is_some_and(|head| head.response_to == 0 && parse_command(client).is_some()),
            )
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(MongoDb))
}

const NAME: &str = "mongodb";

const OP_REPLY: u32 = 1;
const OP_QUERY: u32 = 2004;
const OP_COMPRESSED: u32 = 2012;
const OP_MSG: u32 = 2013;

/// Length of a message header, in bytes.
const HEAD: usize = 16;

/// Maximum length in bytes of a message that the server accepts.
const MAX_MESSAGE_BYTES: u32 = 48_000_000;

/// Message flag: no response follows.
const MORE_TO_COME: u32 = 2;

struct MongoHeader {
    length: u32,
    request: u32,
    response_to: u32,
    opcode: u32,
}

fn read_header(bytes: &[u8]) -> Option<MongoHeader> {
    let mut cursor = ByteCursor(bytes);
    let (length, request) = (cursor.le_u32()?, cursor.le_u32()?);
    let (response_to, opcode) = (cursor.le_u32()?, cursor.le_u32()?);
    let known = matches!(opcode, OP_REPLY | OP_QUERY | OP_COMPRESSED | OP_MSG);
    let head = MongoHeader { length, request, response_to, opcode };
    (known && (HEAD as u32 + 4..MAX_MESSAGE_BYTES).contains(&length)).then_some(head)
}

/// Command of a request and its collection, as in `find books`; `None` if the bytes contain no
/// valid command.
fn parse_command(bytes: &[u8]) -> Option<String> {
    let head = read_header(bytes)?;
    let mut cursor = ByteCursor(bytes.get(HEAD..)?);
    let flags = cursor.le_u32()?;
    let document = match head.opcode {
        OP_MSG if flags & !0x1_0003 == 0 => body_document(cursor)?,
        OP_QUERY => {
            let collection = cursor.zero_ended_text()?;
            let is_command = collection.ends_with(b".$cmd");
            let _skipped = cursor.take_bytes(8).filter(|_| is_command)?;
            cursor
        }
        _ => return None,
    };
    let mut cursor = document;
    let _length = cursor.le_u32()?;
    let kind = cursor.u8()?;
    let name = std::str::from_utf8(cursor.zero_ended_text()?).ok()?;
    let plain = (2..=40).contains(&name.len()) && name.bytes().all(|of| of.is_ascii_alphabetic());
    if !plain {
        return None;
    }
    let mut text = name.to_owned();
    match kind {
        // A text: the collection.
        2 => {
            let length = cursor.le_u32()? as usize;
            let collection = cursor.take_bytes(length.checked_sub(1)?)?;
            let collection = std::str::from_utf8(collection).unwrap_or("?");
            text = format!("{name} {}", names::reduce_label(collection));
        }
        // A cursor id has its collection in another field, which may be missing.
        1 | 8 | 16 | 18 | 3 => {}
        _ => return None,
    }
    Some(text)
}

/// Document of a message's body, after any document sequences.
fn body_document(mut cursor: ByteCursor<'_>) -> Option<ByteCursor<'_>> {
    while let Some(kind) = cursor.u8() {
        match kind {
            0 => return Some(cursor),
            1 => {
                let size = ByteCursor(cursor.0).le_u32()? as usize;
                cursor.take_bytes(size)?;
            }
            _ => return None,
        }
    }
    None
}

#[derive(Debug)]
struct MongoDb;

impl MessageParser for MongoDb {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        if unparsed.bytes.len() < HEAD {
            return unparsed.wait_or_give_up();
        }
        let Some(head) = read_header(unparsed.bytes) else { return ParseStep::Lost };
        let available = unparsed.bytes.len().min(head.length as usize);
        let whole = available == head.length as usize;
        if !whole && !unparsed.ended {
            return ParseStep::More;
        }
        let bytes = unparsed.bytes.get(..available).unwrap_or_default();
        let place = unparsed.position_at(0);
        if head.response_to != 0 || head.opcode == OP_REPLY {
            let (status, is_error) = command_status(bytes, head.opcode);
            let response = ProtocolOperation::new(place, MessageRole::Response, NAME);
            out.push(response.with_call(head.response_to.into()).with_status(status, is_error));
        } else {
            // Without the flags it is unknown whether a response follows.
            let Some(flags) = ByteCursor(bytes.get(HEAD..).unwrap_or_default()).le_u32() else {
                return ParseStep::Lost;
            };
            let command = parse_command(bytes);
            let is_answered = head.opcode != OP_MSG || flags & MORE_TO_COME == 0;
            let role = if is_answered { MessageRole::Request } else { MessageRole::OneWay };
            let name = command.unwrap_or_default();
            out.push(
                ProtocolOperation::new(place, role, NAME)
                    .with_call(head.request.into())
                    .with_name(name),
            );
        }
        ParseStep::Skip(head.length.into())
    }
}

/// Status of a response, and whether the command failed. Fields that are missing count as success.
fn command_status(bytes: &[u8], opcode: u32) -> (String, bool) {
    let after = match opcode {
        OP_MSG => ByteCursor(bytes.get(HEAD + 4..).unwrap_or_default()),
        OP_REPLY => ByteCursor(bytes.get(HEAD + 20..).unwrap_or_default()),
        _ => return (String::new(), false),
    };
    let document = if opcode == OP_MSG { body_document(after) } else { Some(after) };
    let (mut failed, mut code, mut partly) = (false, None, false);
    if let Some(mut cursor) = document {
        let _ = cursor.le_u32();
        while let Some((name, kind, value)) = next_element(&mut cursor) {
            match (name, kind) {
                (b"ok", 1) => failed = value == [0; 8],
                (b"ok", 16) => failed = value == [0; 4],
                (b"code", 16) => code = ByteCursor(value).le_u32(),
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

/// Reads the next element of a document: u8 type, zero-terminated name, value of the type's size.
/// Returns name, type and value. An incomplete value is left out, and its name is kept.
fn next_element<'a>(cursor: &mut ByteCursor<'a>) -> Option<(&'a [u8], u8, &'a [u8])> {
    let kind = cursor.u8().filter(|kind| *kind != 0)?;
    let name = cursor.zero_ended_text()?;
    let size = |cursor: &ByteCursor<'_>| ByteCursor(cursor.0).le_u32().map(|size| size as usize);
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
    let available = length.min(cursor.0.len());
    let value = cursor.take_bytes(available)?;
    Some((name, kind, if available == length { value } else { &[] }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_conversation::TestConversation;

    fn make_document(elements: &[Vec<u8>]) -> Vec<u8> {
        let body = elements.concat();
        [&(body.len() as u32 + 5).to_le_bytes()[..], &body, &[0]].concat()
    }

    fn text_element(name: &str, value: &str) -> Vec<u8> {
        let length = (value.len() as u32 + 1).to_le_bytes();
        [&[2], name.as_bytes(), &[0], &length, value.as_bytes(), &[0]].concat()
    }

    fn int_element(name: &str, value: u32) -> Vec<u8> {
        [&[16], name.as_bytes(), &[0], &value.to_le_bytes()[..]].concat()
    }

    fn double_element(name: &str, value: f64) -> Vec<u8> {
        [&[1], name.as_bytes(), &[0], &value.to_le_bytes()[..]].concat()
    }

    fn make_message(id: u32, to: u32, opcode: u32, body: &[u8]) -> Vec<u8> {
        let length = body.len() as u32 + 16;
        let head: Vec<u8> =
            [length, id, to, opcode].iter().flat_map(|of| of.to_le_bytes()).collect();
        [&head, body].concat()
    }

    fn make_op_msg(id: u32, to: u32, flags: u32, elements: &[Vec<u8>]) -> Vec<u8> {
        let body = [&flags.to_le_bytes()[..], &[0], &make_document(elements)].concat();
        make_message(id, to, OP_MSG, &body)
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        let hello = make_document(&[int_element("isMaster", 1)]);
        let query = [&[0; 4], b"admin.$cmd\0".as_slice(), &[0; 4], &[1, 0, 0, 0], &hello].concat();
        let reply = [&[0; 20], make_document(&[double_element("ok", 1.0)]).as_slice()].concat();
        let find = [
            text_element("find", "books"),
            text_element("filter", "alice"),
            text_element("$db", "shop"),
        ];
        let big = [text_element("insert", "orders"), text_element("name", &"alice".repeat(99))];
        let failed =
            [double_element("ok", 0.0), text_element("errmsg", "alice"), int_element("code", 26)];
        vec![
            TestConversation::other_protocol()
                .client_says(make_message(1, 0, OP_QUERY, &query))
                .server_says(make_message(90, 1, OP_REPLY, &reply))
                .client_says([make_op_msg(2, 0, 0, &find), make_op_msg(3, 0, 0, &big)].concat())
                .server_says(make_op_msg(
                    91,
                    2,
                    0,
                    &[text_element("name", &"alice".repeat(99)), double_element("ok", 1.0)],
                ))
                .client_says(make_op_msg(
                    4,
                    0,
                    2,
                    &[text_element("insert", "logs"), text_element("$db", "shop")],
                ))
                .client_says(make_op_msg(
                    5,
                    0,
                    0,
                    &[text_element("drop", "user_550e84"), text_element("$db", "shop")],
                ))
                .server_says(make_op_msg(92, 5, 0, &failed)),
        ]
    }

    #[test]
    fn commands_and_responses_by_ids() {
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
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn errors_of_some_writes() {
        let array = [&[4], b"writeErrors\0".as_slice(), &make_document(&[])].concat();
        let reply = make_op_msg(9, 1, 0, &[int_element("n", 1), array, double_element("ok", 1.0)]);
        assert_eq!(command_status(&reply, OP_MSG), ("writeErrors".to_owned(), true));
    }
}
