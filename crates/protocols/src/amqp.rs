//! AMQP 0-9-1: methods with exchange, routing key and queue, paired by channel and method.
//!
//! A method and its reply have one call id: the channel, the class, and the number of the
//! requesting method. Publishing and delivering are one-way. During a login the client's methods
//! are requests and the server's are responses, without ids: the specification calls the server's
//! methods requests, but the client waits for them.

mod methods;

use registry::{EntryHelp, Spec};

use crate::cursor::ByteCursor;
use crate::flow_snippet::{FlowSpeaker, LogPosition, SnippetRule};
use crate::names;
use crate::opening::{FlowOpening, yes_if};
use crate::operation::{MessageRole, OperationSink, ProtocolOperation};
use crate::parser::ProtocolParser;
use crate::protocol::{ProtocolEntry, ProtocolSpec};
use crate::streams::{MessageParser, MessageStreams, ParseStep, UnparsedBytes};
use crate::tuning::OTHER_MESSAGE_BYTES;
use methods::{AmqpMethod, MethodArguments};

/// Registry entry of AMQP.
pub(crate) static AMQP: ProtocolSpec = Spec {
    about: EntryHelp {
        name: "amqp",
        summary: "AMQP 0-9-1: methods, exchanges, routing keys and queues, by channels",
        ..EntryHelp::NOTHING
    },
    flags: registry::no_flags,
    entry: ProtocolEntry {
        class: SnippetRule::Other,
        recognised: "The header of the protocol, or a whole frame with a known method.",
        recognise: |opening: &FlowOpening| {
            let client = opening.client_bytes();
            yes_if(
                client.starts_with(HEADER)
                    || is_method(client)
                    || is_method(opening.server_bytes()),
            )
        },
        open: open_parser,
        #[cfg(test)]
        samples: tests::sample_conversations,
    },
};

fn open_parser() -> Box<dyn ProtocolParser> {
    Box::new(MessageStreams::new(Amqp { tuned: None }))
}

const NAME: &str = "amqp";

const HEADER: &[u8] = b"AMQP\0\0\x09\x01";

/// Method by which a client accepts the limits of the connection.
const TUNED: &str = "connection.tune-ok";

/// Frame types.
const METHOD: u8 = 1;
const HEARTBEAT: u8 = 8;

/// Last byte of each frame.
const END: u8 = 0xce;

/// Largest plausible frame size in bytes; a larger one is not AMQP.
const MAX_FRAME_BYTES: u32 = 1 << 24;

/// Whether the bytes begin with a complete frame of a known method.
fn is_method(bytes: &[u8]) -> bool {
    let mut cursor = ByteCursor(bytes);
    let head = (cursor.u8(), cursor.be_u16(), cursor.be_u32());
    let (Some(METHOD), Some(_), Some(size @ 4..MAX_FRAME_BYTES)) = head else { return false };
    let end = cursor.0.get(size as usize);
    let (class, method) = (cursor.be_u16(), cursor.be_u16());
    let known = class.zip(method).and_then(|(class, method)| methods::find_method(class, method));
    end == Some(&END) && known.is_some()
}

#[derive(Debug)]
struct Amqp {
    /// Log position of the client's `tune-ok`; the request for a virtual host after it is part of
    /// the same request.
    tuned: Option<LogPosition>,
}

impl MessageParser for Amqp {
    const NAME: &'static str = NAME;
    const MAX_EXAMINED_BYTES: usize = OTHER_MESSAGE_BYTES;

    fn parse_message(
        &mut self,
        unparsed: &UnparsedBytes<'_>,
        out: &mut OperationSink<'_>,
    ) -> ParseStep {
        if unparsed.bytes.first() == Some(&b'A') {
            let available = unparsed.bytes.len().min(HEADER.len());
            return match unparsed.bytes.get(..available) == HEADER.get(..available) {
                true if available < HEADER.len() => unparsed.wait_or_give_up(),
                true => {
                    let begin =
                        ProtocolOperation::new(unparsed.position_at(0), MessageRole::Request, NAME);
                    out.push(begin.with_name("protocol.header"));
                    ParseStep::Skip(HEADER.len() as u64)
                }
                false => ParseStep::Lost,
            };
        }
        let mut cursor = ByteCursor(unparsed.bytes);
        let head = (cursor.u8(), cursor.be_u16(), cursor.be_u32());
        let (Some(kind), Some(channel), Some(size)) = head else {
            return unparsed.wait_or_give_up();
        };
        if !matches!(kind, METHOD | 2 | 3 | HEARTBEAT) || size >= MAX_FRAME_BYTES {
            return ParseStep::Lost;
        }
        let length = 8 + u64::from(size);
        // Content is not examined and may be missing.
        if kind != METHOD {
            return if unparsed.after_gap { ParseStep::Lost } else { ParseStep::Skip(length) };
        }
        let available = cursor.0.len().min(size as usize);
        let whole = cursor.0.len() > size as usize;
        if !whole && !unparsed.ended {
            return ParseStep::More;
        }
        if whole && cursor.0.get(size as usize) != Some(&END) {
            return ParseStep::Lost;
        }
        let body = ByteCursor(cursor.0.get(..available).unwrap_or_default());
        let Some(operation) = parse_operation(channel, body, unparsed.position_at(0)) else {
            return ParseStep::Lost;
        };
        let is_client = unparsed.speaker == FlowSpeaker::Client;
        match operation.name.as_str() {
            TUNED if is_client => self.tuned = Some(operation.place),
            "connection.open" if is_client => {
                let place = self.tuned.take().unwrap_or(operation.place);
                out.push(ProtocolOperation { place, ..operation });
            }
            _ => out.push(operation),
        }
        ParseStep::Skip(length)
    }

    fn on_turn(&mut self, speaker: FlowSpeaker, out: &mut OperationSink<'_>) {
        if speaker == FlowSpeaker::Server
            && let Some(place) = self.tuned.take()
        {
            let tuned = ProtocolOperation::new(place, MessageRole::OneWay, NAME).with_name(TUNED);
            out.for_speaker(FlowSpeaker::Client).push(tuned);
        }
    }
}

/// Parses the operation of a method; `None` if the method is not known.
fn parse_operation(
    channel: u16,
    mut body: ByteCursor<'_>,
    place: LogPosition,
) -> Option<ProtocolOperation> {
    let (class, number) = (body.be_u16()?, body.be_u16()?);
    let AmqpMethod { name, role, request_number, arguments, .. } =
        *methods::find_method(class, number)?;
    let mut label = name.to_owned();
    let mut operation = ProtocolOperation::new(place, role, NAME);
    match arguments {
        MethodArguments::None => {}
        MethodArguments::Code => {
            let code = body.be_u16();
            let status = code.map_or(String::new(), |code| code.to_string());
            operation = operation.with_status(status, code.is_some_and(|code| code >= 300));
        }
        MethodArguments::Texts { skip, count } => {
            let mut words = || {
                if skip == usize::MAX {
                    // The consumer tag, the delivery tag, and a flag.
                    short_text(&mut body)?;
                    body.take_bytes(9)?;
                } else {
                    body.take_bytes(skip)?;
                }
                for _ in 0..count {
                    let text = short_text(&mut body)?;
                    if !text.is_empty() {
                        label.push(' ');
                        label.push_str(&names::reduce_label(text));
                    }
                }
                Some(())
            };
            // An incomplete name is left out.
            let _ = words();
        }
    }
    if role != MessageRole::OneWay && !methods::is_login(class, number) {
        let call = u64::from(channel) << 32 | u64::from(class) << 16 | u64::from(request_number);
        operation = operation.with_call(call);
    }
    Some(operation.with_name(label))
}

/// Reads a text of at most 255 bytes.
fn short_text<'a>(body: &mut ByteCursor<'a>) -> Option<&'a str> {
    let length = body.u8()?;
    Some(std::str::from_utf8(body.take_bytes(length.into())?).unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use crate::test_conversation::TestConversation;

    fn make_frame(kind: u8, channel: u8, body: &[u8]) -> Vec<u8> {
        let size = (body.len() as u32).to_be_bytes();
        [&[kind, 0, channel], &size[..], body, &[0xce]].concat()
    }

    fn make_method(channel: u8, class: u8, number: u8, arguments: &[u8]) -> Vec<u8> {
        make_frame(1, channel, &[&[0, class, 0, number], arguments].concat())
    }

    fn make_short(text: &str) -> Vec<u8> {
        [&[text.len() as u8], text.as_bytes()].concat()
    }

    pub(crate) fn sample_conversations() -> Vec<TestConversation> {
        let declare = [&[0, 0], &make_short("orders")[..], &[0; 5]].concat();
        let publish = [&[0, 0], &make_short("shop")[..], &make_short("user.alice"), &[0]].concat();
        let content = [make_frame(2, 1, &[0; 14]), make_frame(3, 1, b"alice")].concat();
        let tag = make_short("ctag1.a1b2c3");
        let deliver =
            [&tag, &[0; 9][..], &make_short("shop"), &make_short("order.created")].concat();
        let close = [&[1, 148], &make_short("NOT_FOUND alice")[..], &[0; 4]].concat();
        vec![
            TestConversation::other_protocol()
                .client_says(b"AMQP\0\0\x09\x01")
                .server_says(make_method(0, 10, 10, b"\0\x09"))
                .client_says(make_method(0, 10, 11, b"\0\0\0\0"))
                .server_says(make_method(0, 10, 30, &[0; 8]))
                .client_says(
                    [make_method(0, 10, 31, &[0; 8]), make_method(0, 10, 40, b"\x01/\0\0")]
                        .concat(),
                )
                .server_says(make_method(0, 10, 41, b"\0"))
                .client_says(make_method(1, 50, 10, &declare))
                .server_says(make_method(1, 50, 11, &[0; 9]))
                .client_says([make_method(1, 60, 40, &publish), content.clone()].concat())
                .server_says(
                    [make_method(1, 60, 60, &deliver), content, make_frame(8, 0, b"")].concat(),
                )
                .client_says(make_method(1, 60, 80, &[0; 9]))
                .server_says(make_method(1, 20, 40, &close))
                .client_says(make_method(1, 20, 41, b"")),
        ]
    }

    #[test]
    fn methods_by_channels() {
        let call = |channel: u64, class: u64, method: u64| channel << 32 | class << 16 | method;
        let open = call(0, 10, 40);
        let (declare, close) = (call(1, 50, 10), call(1, 20, 40));
        let expected = [
            "> protocol.header".to_owned(),
            "< connection.start".to_owned(),
            "> connection.start-ok".to_owned(),
            "< connection.tune".to_owned(),
            format!("> connection.open #{open}"),
            format!("< connection.open-ok #{open}"),
            format!("> queue.declare orders #{declare}"),
            format!("< queue.declare-ok #{declare}"),
            "> = basic.publish shop user.{}".to_owned(),
            "< = basic.deliver shop order.created".to_owned(),
            "> = basic.ack".to_owned(),
            format!("< ask channel.close 404! #{close}"),
            format!("> answer channel.close-ok #{close}"),
        ];
        assert_eq!(sample_conversations()[0].operation_lines(), expected);
    }

    #[test]
    fn a_flow_that_is_joined_later() {
        let talk = TestConversation::other_protocol()
            .client_says(make_method(1, 60, 80, &[0; 9]))
            .client_says(make_method(2, 90, 10, b""));
        assert_eq!(talk.operation_lines(), ["> = basic.ack", "> tx.select #8595832842"]);
        let broken = [1, 0, 1, 0, 0, 0, 4, 0, 60, 0, 80, 0];
        assert_eq!(
            TestConversation::other_protocol().client_says(broken).operation_lines(),
            [""; 0]
        );
    }
}
