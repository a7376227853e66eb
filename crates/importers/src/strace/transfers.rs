//! Calls that transfer bytes: sends and receives of all kinds.
//!
//! A send has the time of its call, a receive the time of its return, as in the library; calls that
//! the library leaves out (calls to be repeated, `MSG_PEEK` on streams, `MSG_ERRQUEUE`) are left
//! out here, too.

use std::ops::Range;

use socket_log::encode::{self, DatagramRecord, Direction, datagram_flag};

use super::arguments::{ArgumentCursor, FlagWords};
use super::call::StraceCall;
use super::failed_calls::log_failed_call;
use super::messages::{self, CallPayload, MessageHeader};
use super::result::{self, CallResult};
use super::segment_size::Size;
use super::sockets::{SEQUENCE, SocketId};
use super::traced_system::TracedSystem;
use super::{address, lifecycle, segments};

/// Position of a call's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PayloadShape {
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
    /// Not shown (`sendfile`, `splice`).
    Hidden,
}

impl PayloadShape {
    /// Reads the flags from the arguments, given a cursor at the first one.
    fn read_flags(self, arguments: ArgumentCursor) -> Option<FlagWords> {
        match self {
            PayloadShape::Text | PayloadShape::Vector | PayloadShape::Hidden => None,
            PayloadShape::Addressed | PayloadShape::Batch => {
                arguments.nth_argument(3).map(ArgumentCursor::read_flags)
            }
            PayloadShape::Message => arguments.nth_argument(2).map(ArgumentCursor::read_flags),
        }
    }
}

/// A call that transfers bytes on one socket.
#[derive(Clone, Copy)]
struct TransferCall<'a> {
    call: StraceCall<'a>,
    shape: PayloadShape,
    direction: Direction,
    socket: SocketId,
    fd: i32,
    /// Flow of the socket in the process's log; 0 if it is not known yet.
    flow: u32,
    arguments: ArgumentCursor<'a>,
    flags: Option<FlagWords<'a>>,
}

/// Handles a call that transfers bytes of its first descriptor. `None` if its text is not
/// understood.
pub(super) fn handle_transfer(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    call: StraceCall,
    shape: PayloadShape,
    direction: Direction,
) -> Option<()> {
    handle_descriptor(world, payload, call, shape, direction, 0)
}

/// `sendfile(to, from, ...)`.
pub(super) fn handle_sendfile(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    call: StraceCall,
) -> Option<()> {
    handle_descriptor(world, payload, call, PayloadShape::Hidden, Direction::Send, 0)
}

/// `splice(from, offset, to, offset, ...)`: one of the two is a pipe, so at most one is a socket.
pub(super) fn handle_splice(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    call: StraceCall,
) -> Option<()> {
    handle_descriptor(world, payload, call, PayloadShape::Hidden, Direction::Receive, 0)?;
    handle_descriptor(world, payload, call, PayloadShape::Hidden, Direction::Send, 2)
}

fn handle_descriptor(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    call: StraceCall,
    shape: PayloadShape,
    direction: Direction,
    argument: usize,
) -> Option<()> {
    let arguments = call.arguments();
    let descriptor = arguments.nth_argument(argument)?.read_descriptor()?;
    let Some(socket) = world.socket_of_descriptor(call.caller, descriptor) else {
        if descriptor.decoration.is_empty()
            && matches!(
                shape,
                PayloadShape::Addressed | PayloadShape::Message | PayloadShape::Batch
            )
        {
            world.imported.unknown_sockets += 1;
        }
        return Some(());
    };
    let outcome = match result::plain_result(call.rest) {
        Some(number) => CallResult::Returned(number),
        None => result::parse_result(&mut arguments.clone())?,
    };
    let flags = shape.read_flags(arguments);
    if flags.is_some_and(|flags| flags.has_flag("MSG_ERRQUEUE")) {
        return Some(());
    }
    let is_datagram = world.sockets.get(socket)?.is_datagram();
    let fd = descriptor.number;
    let moved = TransferCall { call, shape, direction, socket, fd, flow: 0, arguments, flags };
    match outcome {
        CallResult::Unknown => Some(()),
        CallResult::Failed(errno) => {
            log_failed_call(world, call, direction, socket, fd, errno);
            fast_open(world, &moved, errno == result::EINPROGRESS)
        }
        // A batch without messages transfers nothing: `sendmmsg(3, NULL, 0, 0) = 0`.
        CallResult::Returned(0) if shape == PayloadShape::Batch => Some(()),
        CallResult::Returned(number) if number >= 0 => {
            let moved =
                TransferCall { flow: world.flow_of_socket(call.caller, socket, fd), ..moved };
            let number = number as u64;
            match (is_datagram, shape) {
                // Calls with hidden payload do not transfer datagrams.
                (true, PayloadShape::Hidden) => {}
                (true, PayloadShape::Batch) => batch_of_datagrams(world, payload, &moved, number)?,
                (true, _) => one_datagram(world, payload, &moved, number)?,
                (false, PayloadShape::Batch) => batch_of_transfers(world, &moved, number)?,
                (false, _) => log_transfer(world, payload, &moved, number)?,
            }
            fast_open(world, &moved, true)
        }
        CallResult::Returned(_) => None,
    }
}

/// Handles a send that also connects the socket (`MSG_FASTOPEN`).
fn fast_open(world: &mut TracedSystem, moved: &TransferCall, has_begun: bool) -> Option<()> {
    if !has_begun
        || moved.direction != Direction::Send
        || !moved.flags.is_some_and(|flags| flags.has_flag("MSG_FASTOPEN"))
    {
        return Some(());
    }
    let to = match moved.shape {
        PayloadShape::Addressed => address::parse_sockaddr(moved.arguments.nth_argument(4)?),
        PayloadShape::Message => {
            messages::parse_header(moved.arguments.nth_argument(1)?, &mut CallPayload::default())
                .map(|message| message.name)
        }
        _ => None,
    };
    lifecycle::mark_connected(
        world,
        moved.call.caller,
        moved.socket,
        moved.fd,
        to.unwrap_or_default(),
    );
    Some(())
}

/// Time of the call in the log: its begin for a send, its return for a receive; and its duration.
fn effective_time(
    world: &mut TracedSystem,
    moved: &TransferCall,
) -> (super::traced_system::StraceCaller, u64) {
    let call = &moved.call;
    let duration = call.end.map_or(0, |end| end.saturating_sub(call.caller.time).max(0) as u64);
    if moved.direction == Direction::Send {
        return (call.caller, duration);
    }
    if call.end.is_some() {
        return (call.caller_at_return(), duration);
    }
    // The call returned before the next line was written. A non-blocking call returned immediately.
    world.imported.without_end += 1;
    let returns_at_once =
        world.sockets.get(moved.socket).is_some_and(|socket| socket.is_nonblocking)
            || moved.flags.is_some_and(|flags| flags.has_flag("MSG_DONTWAIT"));
    (
        if returns_at_once {
            call.caller
        } else {
            call.caller.at_time(call.next.next_time().max(call.caller.time))
        },
        duration,
    )
}

/// Logs a transfer of stream bytes, or the end of the stream.
fn log_transfer(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    moved: &TransferCall,
    bytes: u64,
) -> Option<()> {
    if moved.flags.is_some_and(|flags| flags.has_flag("MSG_PEEK")) {
        return Some(());
    }
    if moved.shape == PayloadShape::Message && moved.direction == Direction::Receive {
        receive_rights(world, moved);
    }
    let (caller, duration) = effective_time(world, moved);
    if bytes > 0 {
        add_transfer(world, caller, moved, bytes, duration);
    } else if moved.direction == Direction::Receive && receive_capacity(payload, moved) > 0 {
        world.write_record(
            caller,
            &encode::end_of_file_record(caller.to_stamp().time.max(0) as u64, moved.flow),
        );
    }
    Some(())
}

fn add_transfer(
    world: &mut TracedSystem,
    caller: super::traced_system::StraceCaller,
    moved: &TransferCall,
    bytes: u64,
    duration: u64,
) {
    world.imported.transfers += 1;
    if let Some(socket) = world.sockets.get(moved.socket) {
        world.unnamed.add_bytes(moved.socket, socket, moved.direction, caller.time, bytes);
    }
    if let Some(log) = world.log_of_process(caller.process) {
        log.write_transfer(caller.to_stamp(), moved.direction, moved.flow, bytes, duration);
    }
}

/// Logs the messages of `sendmmsg` and `recvmmsg` on a stream.
fn batch_of_transfers(world: &mut TracedSystem, moved: &TransferCall, count: u64) -> Option<()> {
    let mut lengths = Vec::new();
    messages::for_each_header(moved.arguments.nth_argument(1)?, |_, length| lengths.push(length))?;
    lengths.truncate(usize::try_from(count).ok()?);
    world.imported.cut_off += count - lengths.len() as u64;
    let (caller, duration) = effective_time(world, moved);
    let is_peek = moved.flags.is_some_and(|flags| flags.has_flag("MSG_PEEK"));
    for length in lengths.into_iter().filter(|length| *length > 0 && !is_peek) {
        add_transfer(world, caller, moved, length, duration);
    }
    Some(())
}

/// Buffer size of a receive, in bytes.
fn receive_capacity(payload: &mut CallPayload, moved: &TransferCall) -> u64 {
    payload.clear();
    match moved.shape {
        PayloadShape::Text | PayloadShape::Addressed => {
            let room = moved.arguments.nth_argument(2).and_then(|mut size| size.read_number());
            payload.capacity = room.map_or(0, |room| room.max(0) as u64);
        }
        PayloadShape::Hidden => payload.capacity = 1,
        PayloadShape::Vector => {
            if let Some(vector) = moved.arguments.nth_argument(1) {
                payload.add_vector(vector);
            }
        }
        PayloadShape::Message => {
            let _ = moved
                .arguments
                .nth_argument(1)
                .and_then(|header| messages::parse_header(header, payload));
        }
        PayloadShape::Batch => {}
    }
    payload.capacity
}

/// Facts about a datagram in addition to its payload.
#[derive(Debug, Default)]
struct DatagramFacts {
    bytes: u64,
    peer: Vec<u8>,
    is_truncated: bool,
    size: Size,
}

fn one_datagram(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    moved: &TransferCall,
    bytes: u64,
) -> Option<()> {
    payload.clear();
    let (mut facts, mut control) = (DatagramFacts { bytes, ..DatagramFacts::default() }, None);
    let what = moved.arguments.nth_argument(1)?;
    match moved.shape {
        PayloadShape::Text | PayloadShape::Addressed => {
            payload.add_text(what);
            payload.capacity = moved.arguments.nth_argument(2)?.read_number()?.max(0) as u64;
        }
        PayloadShape::Vector => payload.add_vector(what),
        PayloadShape::Message => {
            if let Some(message) = messages::parse_header(what, payload) {
                (facts.peer, facts.is_truncated) = (message.name, message.is_truncated);
                control = message.control;
            }
            if moved.direction == Direction::Receive {
                receive_rights(world, moved);
            }
        }
        PayloadShape::Batch | PayloadShape::Hidden => return None,
    }
    if moved.shape == PayloadShape::Addressed {
        facts.peer =
            moved.arguments.nth_argument(4).and_then(address::parse_sockaddr).unwrap_or_default();
    }
    facts.size = size(world, moved, control);
    let (caller, duration) = effective_time(world, moved);
    // A read of no bytes into an empty buffer receives no datagram.
    if bytes == 0
        && payload.capacity == 0
        && moved.direction == Direction::Receive
        && moved.flags.is_none()
    {
        return Some(());
    }
    log_datagram(world, caller, duration, payload, moved, &facts);
    Some(())
}

fn batch_of_datagrams(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    moved: &TransferCall,
    count: u64,
) -> Option<()> {
    let (caller, duration) = effective_time(world, moved);
    let mut done = 0;
    messages::for_each_header(moved.arguments.nth_argument(1)?, |header, bytes| {
        if done == count {
            return;
        }
        done += 1;
        payload.clear();
        let message = messages::parse_header(header, payload).unwrap_or_default();
        if let Some(control) = message.control {
            messages::for_each_right(control, |fd| world.forget_descriptor(caller, fd));
        }
        let MessageHeader { name: peer, is_truncated, control } = message;
        let facts = DatagramFacts { bytes, peer, is_truncated, size: size(world, moved, control) };
        log_datagram(world, caller, duration, payload, moved, &facts);
    })?;
    world.imported.cut_off += count - done;
    Some(())
}

/// Size of the datagrams that a call transferred together.
fn size(world: &TracedSystem, moved: &TransferCall, control: Option<ArgumentCursor>) -> Size {
    let is_send = moved.direction == Direction::Send;
    let socket = world.sockets.get(moved.socket);
    socket.map_or(Size::One, |socket| segments::size(socket, control, is_send))
}

fn log_datagram(
    world: &mut TracedSystem,
    caller: super::traced_system::StraceCaller,
    duration: u64,
    payload: &CallPayload,
    moved: &TransferCall,
    facts: &DatagramFacts,
) {
    let is_receive = moved.direction == Direction::Receive;
    let is_peek = is_receive && moved.flags.is_some_and(|flags| flags.has_flag("MSG_PEEK"));
    let is_sequence = world.sockets.get(moved.socket).is_some_and(|socket| socket.kind == SEQUENCE);
    let ticks = caller.to_stamp().time.max(0) as u64;
    if is_receive && is_sequence && facts.bytes == 0 {
        if !is_peek {
            world.write_record(caller, &encode::end_of_file_record(ticks, moved.flow));
        }
        return;
    }
    // Few calls show whether the datagram was larger than the buffers; a datagram that fills them
    // may have been.
    let fills = is_receive && !is_sequence && facts.bytes >= payload.capacity;
    let is_truncated = facts.is_truncated || fills;
    let received = if is_receive { facts.bytes.min(payload.capacity) } else { facts.bytes };
    let is_last = |range: &Range<u64>| range.end > received || range.end == facts.bytes;
    for range in facts.size.datagram_ranges(facts.bytes) {
        let checksum = payload.checksum(range.start.min(received)..range.end.min(received));
        let flags = [
            // The bytes that did not fit are at the end.
            (is_truncated && is_last(&range), datagram_flag::TRUNCATED),
            (is_peek, datagram_flag::PEEKED),
            (checksum.is_none(), datagram_flag::NO_CHECKSUM),
            (facts.size == Size::Unknown, datagram_flag::JOINED),
        ];
        let flags = flags.into_iter().filter(|(holds, _)| *holds);
        world.imported.without_checksum += u64::from(checksum.is_none());
        world.imported.datagrams += 1;
        let datagram = DatagramRecord {
            direction: moved.direction,
            flow: moved.flow,
            ticks,
            duration,
            bytes: range.end - range.start,
            checksum: checksum.unwrap_or(0),
            flags: flags.fold(0, |flags, (_, flag)| flags | flag),
            peer: &facts.peer,
        };
        if let Some(log) = world.log_of_process(caller.process) {
            log.write_datagram(caller.to_stamp(), &datagram);
        }
    }
}

/// Handles descriptors that came with a message: their numbers refer to other files now, which
/// strace shows when they are used.
fn receive_rights(world: &mut TracedSystem, moved: &TransferCall) {
    let message = moved
        .arguments
        .nth_argument(1)
        .and_then(|header| messages::parse_header(header, &mut CallPayload::default()));
    if let Some(control) = message.and_then(|message| message.control) {
        messages::for_each_right(control, |fd| world.forget_descriptor(moved.call.caller, fd));
    }
}
