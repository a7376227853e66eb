//! DNS (RFC 1035): the type of a question and the code of its answer, paired by the message's id.
//!
//! The requested name is left out, since it shows what a user does. Only the type of a question is
//! kept.

use registry::{EntryHelp, Spec};

use crate::cursor::ByteCursor;
use crate::flow_snippet::SnippetRule;
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::OTHER_MESSAGE_BYTES;

/// Registry entry of DNS.
pub(crate) static DNS: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "dns",
        summary: "DNS: types of questions without names, codes of responses, by message ids",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "A valid message with one question, as a datagram or after its length.",
        recognise: |opening: &FlowOpening| {
            let question = |bytes: &[u8]| read_message(bytes).is_some_and(|of| !of.is_response);
            match opening.latest_datagram() {
                Some(datagram) => yes_if(read_message(datagram).is_some()),
                None => {
                    let mut cursor = ByteCursor(opening.client_bytes());
                    let length = cursor.be_u16().map(usize::from);
                    yes_if(length == Some(cursor.0.len()) && question(cursor.0))
                }
            }
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Dns))
}

/// Largest plausible number of records in one section of a message.
const MAX_RECORDS: u16 = 500;

#[derive(Debug)]
struct Dns;

/// Fields of a message that are examined.
struct DnsMessage {
    id: u16,
    is_response: bool,
    opcode: u8,
    /// Response code.
    code: u8,
    /// Record type of the question.
    kind: u16,
}

/// Reads a message with one question; `None` if it is not valid.
fn read_message(bytes: &[u8]) -> Option<DnsMessage> {
    let mut cursor = ByteCursor(bytes);
    let (id, flags) = (cursor.be_u16()?, cursor.be_u16()?);
    let counts = [cursor.be_u16()?, cursor.be_u16()?, cursor.be_u16()?, cursor.be_u16()?];
    let is_response = flags & 0x8000 != 0;
    let (opcode, code) = ((flags >> 11 & 15) as u8, (flags & 15) as u8);
    // A reserved bit is 0, the opcode is a query, notification or update, and there is one
    // question.
    if flags & 0x40 != 0 || !matches!(opcode, 0 | 4 | 5) || counts.first() != Some(&1) {
        return None;
    }
    let [_, answers, authorities, additions] = counts;
    let few = is_response || opcode == 5 || answers == 0 && authorities <= 1 && additions <= 2;
    if !few || counts.iter().any(|count| *count > MAX_RECORDS) || !is_response && code != 0 {
        return None;
    }
    // Labels of the name (RFC 1035, 3.1), at most 255 bytes.
    let mut length = 0;
    loop {
        let label = usize::from(cursor.u8()?);
        length += label + 1;
        if label > 63 || length > 255 {
            return None;
        }
        if label == 0 {
            break;
        }
        cursor.take_bytes(label)?;
    }
    let (kind, class) = (cursor.be_u16()?, cursor.be_u16()?);
    // If no records are counted, nothing may follow the question.
    let ends = answers + authorities + additions > 0 || cursor.0.is_empty();
    // Internet, Chaos, any.
    let known = matches!(class & 0x7fff, 1 | 3 | 254 | 255) && kind != 0;
    (known && ends).then_some(DnsMessage { id, is_response, opcode, code, kind })
}

impl MessageParser for Dns {
    const NAME: &'static str = "dns";
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        let mut cursor = ByteCursor(unparsed.bytes);
        let mut length = unparsed.bytes.len() as u64;
        if !unparsed.datagram {
            let Some(stated) = cursor.be_u16() else { return unparsed.wait_or_give_up() };
            length = 2 + u64::from(stated);
            if cursor.0.len() < usize::from(stated) && !unparsed.ended {
                return ParseStep::More;
            }
            let available = cursor.0.len().min(usize::from(stated));
            cursor = ByteCursor(cursor.0.get(..available).unwrap_or_default());
        }
        let Some(message) = read_message(cursor.0) else { return ParseStep::Lost };
        let role = if message.is_response { MessageRole::Response } else { MessageRole::Request };
        let operation = ProtocolOperation::new(unparsed.position_at(0), role, "dns")
            .with_call(message.id.into());
        out.push(if message.is_response {
            let (status, is_error) = code_name(message.code);
            operation.with_status(status, is_error)
        } else {
            let kind = type_name(message.kind);
            operation.with_name(match message.opcode {
                4 => format!("NOTIFY {kind}"),
                5 => format!("UPDATE {kind}"),
                _ => kind,
            })
        });
        ParseStep::Skip(length)
    }
}

/// Name of a record type.
fn type_name(number: u16) -> String {
    let name = match number {
        1 => "A",
        2 => "NS",
        5 => "CNAME",
        6 => "SOA",
        12 => "PTR",
        15 => "MX",
        16 => "TXT",
        28 => "AAAA",
        33 => "SRV",
        35 => "NAPTR",
        43 => "DS",
        48 => "DNSKEY",
        64 => "SVCB",
        65 => "HTTPS",
        251 => "IXFR",
        252 => "AXFR",
        255 => "ANY",
        257 => "CAA",
        _ => return format!("TYPE{number}"),
    };
    name.to_owned()
}

/// Name of a response code, and whether the server failed.
fn code_name(code: u8) -> (&'static str, bool) {
    match code {
        0 => ("NOERROR", false),
        1 => ("FORMERR", true),
        2 => ("SERVFAIL", true),
        3 => ("NXDOMAIN", false),
        4 => ("NOTIMP", true),
        5 => ("REFUSED", true),
        9 => ("NOTAUTH", true),
        _ => ("OTHER", true),
    }
}

#[cfg(test)]
mod tests {
    use crate::test_conversation::TestConversation;

    fn make_message(id: u16, flags: u16, kind: u16, answers: u8, rest: &[u8]) -> Vec<u8> {
        let (id, flags, kind) = (id.to_be_bytes(), flags.to_be_bytes(), kind.to_be_bytes());
        let name = b"\x05alice\x07example\0";
        [&id[..], &flags, &[0, 1, 0, answers, 0, 0, 0, 0], name, &kind, &[0, 1], rest].concat()
    }

    fn with_length(message: &[u8]) -> Vec<u8> {
        [&(message.len() as u16).to_be_bytes()[..], message].concat()
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        vec![
            TestConversation::of_datagrams()
                .client_says(make_message(7, 0x100, 1, 0, b""))
                .client_says(make_message(8, 0x100, 28, 0, b""))
                .server_says(make_message(8, 0x8183, 28, 0, b""))
                .server_says(make_message(
                    7,
                    0x8180,
                    1,
                    1,
                    b"\xc0\x0c\0\x01\0\x01\0\0\0\x09\0\x04\x7f\0\0\x01",
                )),
            TestConversation::other_protocol()
                .client_says(with_length(&make_message(9, 0x100, 65, 0, b"")))
                .server_says(with_length(&make_message(9, 0x8182, 65, 0, b""))),
        ]
    }

    #[test]
    fn questions_by_type_and_responses_by_code() {
        assert_eq!(
            sample_conversations()[0].operation_lines(),
            ["> A #7", "> AAAA #8", "< NXDOMAIN #8", "< NOERROR #7"]
        );
        assert_eq!(sample_conversations()[1].operation_lines(), ["> HTTPS #9", "< SERVFAIL! #9"]);
    }

    #[test]
    fn other_datagrams_are_not_recognised() {
        let mut wrong = make_message(7, 0x100, 1, 0, b"");
        wrong[5] = 2;
        let after = make_message(7, 0x100, 1, 0, b"more");
        for bytes in [wrong, after, vec![0; 40], b"alice".to_vec()] {
            assert_eq!(
                TestConversation::of_datagrams().client_says(bytes).operation_lines(),
                [""; 0]
            );
        }
    }
}
