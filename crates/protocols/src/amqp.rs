//! AMQP 0-9-1: methods with exchange, routing key and queue, calls by channel and method.
//!
//! A method that asks and the one that answers it have one call id: the channel, the class, and the
//! number of the method that asks. Publishing and delivering are one-way. In a login the client
//! asks and the server answers, without ids, though the server's methods are said to ask: the
//! client waits for them.

mod methods;

use registry::About;

use crate::cursor::Cursor;
use crate::names;
use crate::opening::{Opening, yes_if};
use crate::operation::{Operation, Out, Role};
use crate::parser::Parser;
use crate::piece::{Class, Place, Speaker};
use crate::protocol::Protocol;
use crate::streams::{Heard, Messages, Step, Streams};
use crate::tuning::OTHER_MESSAGE_BYTES;
use methods::{Arguments, Method};

/// The entry of AMQP.
pub(crate) static AMQP: Protocol = Protocol {
    about: About {
        name: "amqp",
        summary: "AMQP 0-9-1: methods, exchanges, routing keys and queues, by channels",
        ..About::NOTHING
    },
    class: Class::Other,
    recognised: "The header of the protocol, or a whole frame with a known method.",
    recognise: |opening: &Opening| {
        let client = opening.client();
        yes_if(client.starts_with(HEADER) || is_method(client) || is_method(opening.server()))
    },
    open,
    #[cfg(test)]
    samples: tests::samples,
};

fn open() -> Box<dyn Parser> {
    Box::new(Streams::new(Amqp { tuned: None }))
}

const NAME: &str = "amqp";

const HEADER: &[u8] = b"AMQP\0\0\x09\x01";

/// The method by which a client agrees on limits.
const TUNED: &str = "connection.tune-ok";

const METHOD: u8 = 1;
const HEARTBEAT: u8 = 8;
const END: u8 = 0xce;

/// Greatest size of a frame that is believed.
const GREATEST: u32 = 1 << 24;

/// Whether bytes begin with a whole frame of a known method.
fn is_method(bytes: &[u8]) -> bool {
    let mut cursor = Cursor(bytes);
    let head = (cursor.u8(), cursor.be_u16(), cursor.be_u32());
    let (Some(METHOD), Some(_), Some(size @ 4..GREATEST)) = head else { return false };
    let end = cursor.0.get(size as usize);
    let (class, method) = (cursor.be_u16(), cursor.be_u16());
    let known = class.zip(method).and_then(|(class, method)| methods::find(class, method));
    end == Some(&END) && known.is_some()
}

#[derive(Debug)]
struct Amqp {
    /// Where the client agreed on limits: it asks for a virtual host then, which is one request
    /// with that.
    tuned: Option<Place>,
}

impl Messages for Amqp {
    const NAME: &'static str = NAME;
    const BOUND: usize = OTHER_MESSAGE_BYTES;

    fn message(&mut self, heard: &Heard<'_>, out: &mut Out<'_>) -> Step {
        if heard.bytes.first() == Some(&b'A') {
            let there = heard.bytes.len().min(HEADER.len());
            return match heard.bytes.get(..there) == HEADER.get(..there) {
                true if there < HEADER.len() => heard.more(),
                true => {
                    let begin = Operation::new(heard.place(0), Role::Request, NAME);
                    out.push(begin.named("protocol.header"));
                    Step::Skip(HEADER.len() as u64)
                }
                false => Step::Lost,
            };
        }
        let mut cursor = Cursor(heard.bytes);
        let head = (cursor.u8(), cursor.be_u16(), cursor.be_u32());
        let (Some(kind), Some(channel), Some(size)) = head else { return heard.more() };
        if !matches!(kind, METHOD | 2 | 3 | HEARTBEAT) || size >= GREATEST {
            return Step::Lost;
        }
        let length = 8 + u64::from(size);
        // Content is not looked at, and need not be there.
        if kind != METHOD {
            return if heard.after_gap { Step::Lost } else { Step::Skip(length) };
        }
        let there = cursor.0.len().min(size as usize);
        let whole = cursor.0.len() > size as usize;
        if !whole && !heard.ended {
            return Step::More;
        }
        if whole && cursor.0.get(size as usize) != Some(&END) {
            return Step::Lost;
        }
        let body = Cursor(cursor.0.get(..there).unwrap_or_default());
        let Some(operation) = operation(channel, body, heard.place(0)) else { return Step::Lost };
        match operation.name.as_str() {
            TUNED => self.tuned = Some(operation.place),
            "connection.open" => {
                let place = self.tuned.take().unwrap_or(operation.place);
                out.push(Operation { place, ..operation });
            }
            _ => out.push(operation),
        }
        Step::Skip(length)
    }

    fn turn(&mut self, speaker: Speaker, out: &mut Out<'_>) {
        if speaker == Speaker::Server
            && let Some(place) = self.tuned.take()
        {
            let told = Operation::new(place, Role::OneWay, NAME).named(TUNED);
            out.of(Speaker::Client).push(told);
        }
    }
}

/// What a method says; `None` where it is not known.
fn operation(channel: u16, mut body: Cursor<'_>, place: Place) -> Option<Operation> {
    let (class, number) = (body.be_u16()?, body.be_u16()?);
    let Method { name, role, asks, arguments, .. } = *methods::find(class, number)?;
    let mut told = name.to_owned();
    let mut operation = Operation::new(place, role, NAME);
    match arguments {
        Arguments::None => {}
        Arguments::Code => {
            let code = body.be_u16();
            let status = code.map_or(String::new(), |code| code.to_string());
            operation = operation.ended(status, code.is_some_and(|code| code >= 300));
        }
        Arguments::Texts { skip, count } => {
            let mut words = || {
                if skip == usize::MAX {
                    // The tag of the consumer, the number of the delivery, and a flag.
                    short(&mut body)?;
                    body.take(9)?;
                } else {
                    body.take(skip)?;
                }
                for _ in 0..count {
                    let text = short(&mut body)?;
                    if !text.is_empty() {
                        told.push(' ');
                        told.push_str(&names::label(text));
                    }
                }
                Some(())
            };
            // A name that is not all there is not told.
            let _ = words();
        }
    }
    if role != Role::OneWay && !methods::logs_in(class, number) {
        let call = u64::from(channel) << 32 | u64::from(class) << 16 | u64::from(asks);
        operation = operation.of_call(call);
    }
    Some(operation.named(told))
}

/// A text of at most 255 bytes.
fn short<'a>(body: &mut Cursor<'a>) -> Option<&'a str> {
    let length = body.u8()?;
    Some(std::str::from_utf8(body.take(length.into())?).unwrap_or("?"))
}

#[cfg(test)]
mod tests {
    use crate::talk::Talk;

    fn frame(kind: u8, channel: u8, body: &[u8]) -> Vec<u8> {
        let size = (body.len() as u32).to_be_bytes();
        [&[kind, 0, channel], &size[..], body, &[0xce]].concat()
    }

    fn method(channel: u8, class: u8, number: u8, arguments: &[u8]) -> Vec<u8> {
        frame(1, channel, &[&[0, class, 0, number], arguments].concat())
    }

    fn short(text: &str) -> Vec<u8> {
        [&[text.len() as u8], text.as_bytes()].concat()
    }

    pub(crate) fn samples() -> Vec<Talk> {
        let declare = [&[0, 0], &short("orders")[..], &[0; 5]].concat();
        let publish = [&[0, 0], &short("shop")[..], &short("user.alice"), &[0]].concat();
        let content = [frame(2, 1, &[0; 14]), frame(3, 1, b"alice")].concat();
        let tag = short("ctag1.a1b2c3");
        let deliver = [&tag, &[0; 9][..], &short("shop"), &short("order.created")].concat();
        let close = [&[1, 148], &short("NOT_FOUND alice")[..], &[0; 4]].concat();
        vec![
            Talk::other()
                .client(b"AMQP\0\0\x09\x01")
                .server(method(0, 10, 10, b"\0\x09"))
                .client(method(0, 10, 11, b"\0\0\0\0"))
                .server(method(0, 10, 30, &[0; 8]))
                .client([method(0, 10, 31, &[0; 8]), method(0, 10, 40, b"\x01/\0\0")].concat())
                .server(method(0, 10, 41, b"\0"))
                .client(method(1, 50, 10, &declare))
                .server(method(1, 50, 11, &[0; 9]))
                .client([method(1, 60, 40, &publish), content.clone()].concat())
                .server([method(1, 60, 60, &deliver), content, frame(8, 0, b"")].concat())
                .client(method(1, 60, 80, &[0; 9]))
                .server(method(1, 20, 40, &close))
                .client(method(1, 20, 41, b"")),
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
        assert_eq!(samples()[0].told(), expected);
    }

    #[test]
    fn a_flow_that_is_joined_later() {
        let talk = Talk::other().client(method(1, 60, 80, &[0; 9])).client(method(2, 90, 10, b""));
        assert_eq!(talk.told(), ["> = basic.ack", "> tx.select #8595832842"]);
        let broken = [1, 0, 1, 0, 0, 0, 4, 0, 60, 0, 80, 0];
        assert_eq!(Talk::other().client(broken).told(), [""; 0]);
    }
}
