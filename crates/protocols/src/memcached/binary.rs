//! memcached's binary protocol: requests and responses, paired by their opaque value.

use crate::cursor::ByteCursor;
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::streams::{ParseStep, UnparsedBytes};

/// First bytes of requests and responses.
pub(super) const REQUEST: u8 = 0x80;
pub(super) const RESPONSE: u8 = 0x81;

/// Length of a header, in bytes.
const HEAD: u64 = 24;

/// Largest plausible length of a body, in bytes.
const MAX_BODY_BYTES: u32 = 1 << 28;

/// Commands, by their numbers.
const COMMANDS: [&str; 0x25] = [
    "get",
    "set",
    "add",
    "replace",
    "delete",
    "increment",
    "decrement",
    "quit",
    "flush",
    "getq",
    "noop",
    "version",
    "getk",
    "getkq",
    "append",
    "prepend",
    "stat",
    "setq",
    "addq",
    "replaceq",
    "deleteq",
    "incrementq",
    "decrementq",
    "quitq",
    "flushq",
    "appendq",
    "prependq",
    "verbosity",
    "touch",
    "gat",
    "gatq",
    "",
    "sasl_list",
    "sasl_auth",
    "sasl_step",
    "gatk",
    "gatkq",
];

struct BinaryHeader {
    name: &'static str,
    status: u16,
    body: u32,
    opaque: u32,
}

fn read_header(bytes: &[u8]) -> Option<BinaryHeader> {
    let mut cursor = ByteCursor(bytes);
    let (_, opcode, key) = (cursor.u8()?, cursor.u8()?, cursor.be_u16()?);
    let (extras, kind, status) = (cursor.u8()?, cursor.u8()?, cursor.be_u16()?);
    let (body, opaque) = (cursor.be_u32()?, cursor.be_u32()?);
    cursor.take_bytes(8)?;
    let name = COMMANDS.get(usize::from(opcode)).filter(|name| !name.is_empty())?;
    let fits = u32::from(key) + u32::from(extras) <= body && body < MAX_BODY_BYTES;
    (kind == 0 && key <= 250 && fits).then_some(BinaryHeader { name, status, body, opaque })
}

/// Whether the client's bytes begin with a request.
pub(super) fn is_request(client: &[u8]) -> bool {
    client.first() == Some(&REQUEST) && read_header(client).is_some_and(|head| head.status == 0)
}

/// Parses a request or response.
pub(super) fn parse_binary(unparsed: &UnparsedBytes<'_>, out: &mut OperationSink<'_>) -> ParseStep {
    if (unparsed.bytes.len() as u64) < HEAD {
        return unparsed.wait_or_give_up();
    }
    let Some(head) = read_header(unparsed.bytes) else { return ParseStep::Lost };
    let role = match unparsed.bytes.first() {
        Some(&RESPONSE) => MessageRole::Response,
        _ if head.name.starts_with("quit") => MessageRole::OneWay,
        _ => MessageRole::Request,
    };
    let mut operation = ProtocolOperation::new(unparsed.position_at(0), role, "memcached");
    // Libraries that do not use the opaque value set it to 0.
    operation.call = (head.opaque != 0).then_some(head.opaque.into());
    out.push(if role == MessageRole::Response {
        let (status, is_error) = status_name(head.status);
        operation.with_status(status, is_error)
    } else {
        operation.with_name(head.name)
    });
    ParseStep::Skip(HEAD + u64::from(head.body))
}

/// Name of a status, and whether the server failed.
fn status_name(status: u16) -> (&'static str, bool) {
    match status {
        0 => ("", false),
        1 => ("KEY_NOT_FOUND", false),
        2 => ("KEY_EXISTS", false),
        3 => ("VALUE_TOO_LARGE", false),
        4 => ("INVALID_ARGUMENTS", false),
        5 => ("NOT_STORED", false),
        6 => ("NON_NUMERIC", false),
        0x20 => ("AUTH_ERROR", false),
        0x21 => ("AUTH_CONTINUE", false),
        0x81 => ("UNKNOWN_COMMAND", true),
        0x82 => ("OUT_OF_MEMORY", true),
        0x83 => ("NOT_SUPPORTED", true),
        0x84 => ("INTERNAL_ERROR", true),
        0x85 => ("BUSY", true),
        0x86 => ("TEMPORARY_FAILURE", true),
        _ => ("OTHER", true),
    }
}
