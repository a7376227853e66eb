//! Calls that move bytes: sends and receives of all kinds.
//!
//! A send's time is when it was called, a receive's when it returned, as the library has it; what
//! it leaves out (calls to be made again, `MSG_PEEK` on streams, `MSG_ERRQUEUE`) is left out here.

use std::ops::Range;

use socket_log::encode::{self, Datagram, Direction, datagram_flag};

use super::call::Call;
use super::failed::failed;
use super::messages::{self, Message, Payload};
use super::result::{self, Outcome};
use super::segment_size::Size;
use super::sockets::{SEQUENCE, SocketId};
use super::value::{Cursor, Flags};
use super::world::World;
use super::{address, lifecycle, segments};

/// Where a call has its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `(fd, "...", size, ...)`.
    Text,
    /// `(fd, [{iov_base="...", iov_len=5}], count, ...)`.
    Vector,
    /// `(fd, "...", size, flags, address, ...)`.
    Addressed,
    /// `(fd, {msg_name=..., ...}, flags)`.
    Message,
    /// `(fd, [{msg_hdr={...}, msg_len=5}], count, flags, ...)`.
    Batch,
    /// It is not shown (`sendfile`, `splice`).
    Hidden,
}

impl Shape {
    /// The flags among the arguments, with which a cursor begins.
    fn flags(self, arguments: Cursor) -> Option<Flags> {
        match self {
            Shape::Text | Shape::Vector | Shape::Hidden => None,
            Shape::Addressed | Shape::Batch => arguments.argument(3).map(Cursor::flags),
            Shape::Message => arguments.argument(2).map(Cursor::flags),
        }
    }
}

/// One call on one socket.
#[derive(Clone, Copy)]
struct Moved<'a> {
    call: Call<'a>,
    shape: Shape,
    direction: Direction,
    socket: SocketId,
    fd: i32,
    flow: u32,
    arguments: Cursor<'a>,
    flags: Option<Flags<'a>>,
}

/// A call that moves bytes of its first descriptor. `None` where its text is not understood.
pub(super) fn moved(
    world: &mut World,
    payload: &mut Payload,
    call: Call,
    shape: Shape,
    direction: Direction,
) -> Option<()> {
    on_descriptor(world, payload, call, shape, direction, 0)
}

/// `sendfile(to, from, ...)`.
pub(super) fn sendfile(world: &mut World, payload: &mut Payload, call: Call) -> Option<()> {
    on_descriptor(world, payload, call, Shape::Hidden, Direction::Send, 0)
}

/// `splice(from, offset, to, offset, ...)`: one of the two is a pipe, so at most one is a socket.
pub(super) fn splice(world: &mut World, payload: &mut Payload, call: Call) -> Option<()> {
    on_descriptor(world, payload, call, Shape::Hidden, Direction::Receive, 0)?;
    on_descriptor(world, payload, call, Shape::Hidden, Direction::Send, 2)
}

fn on_descriptor(
    world: &mut World,
    payload: &mut Payload,
    call: Call,
    shape: Shape,
    direction: Direction,
    argument: usize,
) -> Option<()> {
    let arguments = call.arguments();
    let descriptor = arguments.argument(argument)?.descriptor()?;
    let Some(socket) = world.socket(call.who, descriptor) else {
        if descriptor.decoration.is_empty()
            && matches!(shape, Shape::Addressed | Shape::Message | Shape::Batch)
        {
            world.imported.unknown_sockets += 1;
        }
        return Some(());
    };
    let outcome = match result::plain(call.rest) {
        Some(number) => Outcome::Returned(number),
        None => result::outcome(&mut arguments.clone())?,
    };
    let flags = shape.flags(arguments);
    if flags.is_some_and(|flags| flags.has("MSG_ERRQUEUE")) {
        return Some(());
    }
    let is_datagram = world.sockets.get(socket)?.is_datagram();
    let fd = descriptor.number;
    let moved = Moved { call, shape, direction, socket, fd, flow: 0, arguments, flags };
    match outcome {
        Outcome::Unknown => Some(()),
        Outcome::Failed(errno) => {
            failed(world, call, direction, socket, fd, errno);
            fast_open(world, &moved, errno == result::EINPROGRESS)
        }
        // Of no messages there is nothing to be shown: `sendmmsg(3, NULL, 0, 0) = 0`.
        Outcome::Returned(0) if shape == Shape::Batch => Some(()),
        Outcome::Returned(number) if number >= 0 => {
            let moved = Moved { flow: world.flow(call.who, socket, fd), ..moved };
            let number = number as u64;
            match (is_datagram, shape) {
                // The kernel moves no datagrams without their bytes being shown.
                (true, Shape::Hidden) => {}
                (true, Shape::Batch) => batch_of_datagrams(world, payload, &moved, number)?,
                (true, _) => one_datagram(world, payload, &moved, number)?,
                (false, Shape::Batch) => batch_of_transfers(world, &moved, number)?,
                (false, _) => transfer(world, payload, &moved, number)?,
            }
            fast_open(world, &moved, true)
        }
        Outcome::Returned(_) => None,
    }
}

/// A send that connects.
fn fast_open(world: &mut World, moved: &Moved, has_begun: bool) -> Option<()> {
    if !has_begun
        || moved.direction != Direction::Send
        || !moved.flags.is_some_and(|flags| flags.has("MSG_FASTOPEN"))
    {
        return Some(());
    }
    let to = match moved.shape {
        Shape::Addressed => address::sockaddr(moved.arguments.argument(4)?),
        Shape::Message => messages::header(moved.arguments.argument(1)?, &mut Payload::default())
            .map(|message| message.name),
        _ => None,
    };
    lifecycle::connected(world, moved.call.who, moved.socket, moved.fd, to.unwrap_or_default());
    Some(())
}

/// When the call counts: a send when it was called, a receive when it returned; and how long it
/// took.
fn times(world: &mut World, moved: &Moved) -> (super::world::Who, u64) {
    let call = &moved.call;
    let duration = call.end.map_or(0, |end| end.saturating_sub(call.who.time).max(0) as u64);
    if moved.direction == Direction::Send {
        return (call.who, duration);
    }
    if call.end.is_some() {
        return (call.returned(), duration);
    }
    // It returned before the next line was written. One that cannot wait returned at once.
    world.imported.without_end += 1;
    let returns_at_once =
        world.sockets.get(moved.socket).is_some_and(|socket| socket.is_nonblocking)
            || moved.flags.is_some_and(|flags| flags.has("MSG_DONTWAIT"));
    (
        if returns_at_once {
            call.who
        } else {
            call.who.later(call.next.next().max(call.who.time))
        },
        duration,
    )
}

/// Bytes of a stream, or its end.
fn transfer(world: &mut World, payload: &mut Payload, moved: &Moved, bytes: u64) -> Option<()> {
    if moved.flags.is_some_and(|flags| flags.has("MSG_PEEK")) {
        return Some(());
    }
    if moved.shape == Shape::Message && moved.direction == Direction::Receive {
        receive_rights(world, moved);
    }
    let (who, duration) = times(world, moved);
    if bytes > 0 {
        add_transfer(world, who, moved, bytes, duration);
    } else if moved.direction == Direction::Receive && capacity(payload, moved) > 0 {
        world.record(who, &encode::end_of_file(who.at().time.max(0) as u64, moved.flow));
    }
    Some(())
}

fn add_transfer(
    world: &mut World,
    who: super::world::Who,
    moved: &Moved,
    bytes: u64,
    duration: u64,
) {
    world.imported.transfers += 1;
    if let Some(socket) = world.sockets.get(moved.socket) {
        world.unnamed.moved(moved.socket, socket, moved.direction, who.time, bytes);
    }
    if let Some(log) = world.log(who.process) {
        log.transfer(who.at(), moved.direction, moved.flow, bytes, duration);
    }
}

/// The messages of `sendmmsg` and `recvmmsg` on a stream.
fn batch_of_transfers(world: &mut World, moved: &Moved, count: u64) -> Option<()> {
    let mut lengths = Vec::new();
    messages::batch(moved.arguments.argument(1)?, |_, length| lengths.push(length))?;
    lengths.truncate(usize::try_from(count).ok()?);
    world.imported.cut_off += count - lengths.len() as u64;
    let (who, duration) = times(world, moved);
    let is_peek = moved.flags.is_some_and(|flags| flags.has("MSG_PEEK"));
    for length in lengths.into_iter().filter(|length| *length > 0 && !is_peek) {
        add_transfer(world, who, moved, length, duration);
    }
    Some(())
}

/// How many bytes a receive had room for.
fn capacity(payload: &mut Payload, moved: &Moved) -> u64 {
    payload.clear();
    match moved.shape {
        Shape::Text | Shape::Addressed => {
            let room = moved.arguments.argument(2).and_then(|mut size| size.number());
            payload.capacity = room.map_or(0, |room| room.max(0) as u64);
        }
        Shape::Hidden => payload.capacity = 1,
        Shape::Vector => {
            if let Some(vector) = moved.arguments.argument(1) {
                payload.add_vector(vector);
            }
        }
        Shape::Message => {
            let _ =
                moved.arguments.argument(1).and_then(|header| messages::header(header, payload));
        }
        Shape::Batch => {}
    }
    payload.capacity
}

/// What is known of a datagram beside its payload.
#[derive(Debug, Default)]
struct Facts {
    bytes: u64,
    peer: Vec<u8>,
    is_truncated: bool,
    size: Size,
}

fn one_datagram(world: &mut World, payload: &mut Payload, moved: &Moved, bytes: u64) -> Option<()> {
    payload.clear();
    let (mut facts, mut control) = (Facts { bytes, ..Facts::default() }, None);
    let what = moved.arguments.argument(1)?;
    match moved.shape {
        Shape::Text | Shape::Addressed => {
            payload.add_text(what);
            payload.capacity = moved.arguments.argument(2)?.number()?.max(0) as u64;
        }
        Shape::Vector => payload.add_vector(what),
        Shape::Message => {
            if let Some(message) = messages::header(what, payload) {
                (facts.peer, facts.is_truncated) = (message.name, message.is_truncated);
                control = message.control;
            }
            if moved.direction == Direction::Receive {
                receive_rights(world, moved);
            }
        }
        Shape::Batch | Shape::Hidden => return None,
    }
    if moved.shape == Shape::Addressed {
        facts.peer = moved.arguments.argument(4).and_then(address::sockaddr).unwrap_or_default();
    }
    facts.size = size(world, moved, control);
    let (who, duration) = times(world, moved);
    // A read of nothing into nothing says nothing.
    if bytes == 0
        && payload.capacity == 0
        && moved.direction == Direction::Receive
        && moved.flags.is_none()
    {
        return Some(());
    }
    datagram(world, who, duration, payload, moved, &facts);
    Some(())
}

fn batch_of_datagrams(
    world: &mut World,
    payload: &mut Payload,
    moved: &Moved,
    count: u64,
) -> Option<()> {
    let (who, duration) = times(world, moved);
    let mut done = 0;
    messages::batch(moved.arguments.argument(1)?, |header, bytes| {
        if done == count {
            return;
        }
        done += 1;
        payload.clear();
        let message = messages::header(header, payload).unwrap_or_default();
        if let Some(control) = message.control {
            messages::rights(control, |fd| world.forget(who, fd));
        }
        let Message { name: peer, is_truncated, control } = message;
        let facts = Facts { bytes, peer, is_truncated, size: size(world, moved, control) };
        datagram(world, who, duration, payload, moved, &facts);
    })?;
    world.imported.cut_off += count - done;
    Some(())
}

/// Size of the datagrams that a call moved at once.
fn size(world: &World, moved: &Moved, control: Option<Cursor>) -> Size {
    let is_send = moved.direction == Direction::Send;
    let socket = world.sockets.get(moved.socket);
    socket.map_or(Size::One, |socket| segments::size(socket, control, is_send))
}

fn datagram(
    world: &mut World,
    who: super::world::Who,
    duration: u64,
    payload: &Payload,
    moved: &Moved,
    facts: &Facts,
) {
    let is_receive = moved.direction == Direction::Receive;
    let is_peek = is_receive && moved.flags.is_some_and(|flags| flags.has("MSG_PEEK"));
    let is_sequence = world.sockets.get(moved.socket).is_some_and(|socket| socket.kind == SEQUENCE);
    let ticks = who.at().time.max(0) as u64;
    if is_receive && is_sequence && facts.bytes == 0 {
        if !is_peek {
            world.record(who, &encode::end_of_file(ticks, moved.flow));
        }
        return;
    }
    // The kernel says of few calls whether the datagram was larger; one that fills the buffers may
    // have been.
    let fills = is_receive && !is_sequence && facts.bytes >= payload.capacity;
    let is_truncated = facts.is_truncated || fills;
    let received = if is_receive { facts.bytes.min(payload.capacity) } else { facts.bytes };
    let is_last = |piece: &Range<u64>| piece.end > received || piece.end == facts.bytes;
    for piece in facts.size.pieces(facts.bytes) {
        let checksum = payload.checksum(piece.start.min(received)..piece.end.min(received));
        let flags = [
            // What found no room are the last ones.
            (is_truncated && is_last(&piece), datagram_flag::TRUNCATED),
            (is_peek, datagram_flag::PEEKED),
            (checksum.is_none(), datagram_flag::NO_CHECKSUM),
            (facts.size == Size::Unknown, datagram_flag::JOINED),
        ];
        let flags = flags.into_iter().filter(|(holds, _)| *holds);
        world.imported.without_checksum += u64::from(checksum.is_none());
        world.imported.datagrams += 1;
        let datagram = Datagram {
            direction: moved.direction,
            flow: moved.flow,
            ticks,
            duration,
            bytes: piece.end - piece.start,
            checksum: checksum.unwrap_or(0),
            flags: flags.fold(0, |flags, (_, flag)| flags | flag),
            peer: &facts.peer,
        };
        if let Some(log) = world.log(who.process) {
            log.datagram(who.at(), &datagram);
        }
    }
}

/// Descriptors that came with a message: their numbers lead to something else now, which strace
/// shows when they are used.
fn receive_rights(world: &mut World, moved: &Moved) {
    let message = moved
        .arguments
        .argument(1)
        .and_then(|header| messages::header(header, &mut Payload::default()));
    if let Some(control) = message.and_then(|message| message.control) {
        messages::rights(control, |fd| world.forget(moved.call.who, fd));
    }
}
