//! Calls that make, name, connect, duplicate and close sockets.

use socket_log::encode::{self, Direction, Origin, Role};

use super::call::Call;
use super::failed::failed;
use super::result::{self, EINPROGRESS, EINTR, Outcome};
use super::sockets::{DATAGRAM, Made, SEQUENCE, STREAM, SocketId};
use super::tables::Entry;
use super::value::Cursor;
use super::world::{Who, World};
use super::{address, descriptor};

/// The result of a call, and a cursor behind its number.
pub(super) fn outcome(call: Call) -> Option<(Outcome, Cursor)> {
    let mut cursor = call.arguments();
    Some((result::outcome(&mut cursor)?, cursor))
}

/// The descriptor that a call has given.
pub(super) fn given(call: Call) -> Option<Option<descriptor::Descriptor>> {
    let mut cursor = call.arguments();
    while cursor.next().is_some() {}
    match outcome(call)?.0 {
        Outcome::Returned(number) if number >= 0 => {
            cursor.eat(b")");
            cursor.spaces();
            cursor.eat(b"= ");
            cursor.descriptor().map(Some)
        }
        _ => Some(None),
    }
}

/// Family, type and protocol among the first three arguments. `Some(None)` for sockets that are not
/// captured.
fn made(call: Call, origin: Origin, pid: u32) -> Option<Option<Made>> {
    let mut arguments = call.arguments();
    let domain = address::family(arguments.word());
    let kind = arguments.argument(1)?.flags();
    let mut protocol = arguments.argument(2)?;
    let protocol = match protocol.word() {
        b"IPPROTO_TCP" => 6,
        b"IPPROTO_UDP" => 17,
        b"IPPROTO_UDPLITE" => 136,
        b"IPPROTO_MPTCP" => 262,
        b"IPPROTO_SCTP" => 132,
        word => {
            Cursor::new(word).number().and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
        }
    };
    let has = |name: &str, number: i64| {
        kind.has(name)
            || arguments
                .argument(1)
                .and_then(|mut kind| kind.number())
                .is_some_and(|kind| kind & 0xf == number)
    };
    let kind_of = [("SOCK_STREAM", STREAM), ("SOCK_DGRAM", DATAGRAM), ("SOCK_SEQPACKET", SEQUENCE)];
    let kind_of = kind_of
        .into_iter()
        .find(|(name, number)| has(name, i64::from(*number)))
        .map(|(_, number)| number);
    let captured = domain
        .filter(|domain| [address::UNIX, address::INET, address::INET6].contains(domain))
        .zip(kind_of);
    let captured = captured.filter(|(domain, kind)| *kind != SEQUENCE || *domain == address::UNIX);
    let is_nonblocking = kind.has("SOCK_NONBLOCK");
    Some(captured.map(|(domain, kind)| Made {
        domain,
        kind,
        protocol,
        origin,
        pid,
        is_nonblocking,
    }))
}

/// `socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3<TCP:[77]>`.
pub(super) fn socket(world: &mut World, call: Call) -> Option<()> {
    let Some(fd) = given(call)? else { return Some(()) };
    let who = call.returned();
    let Some(made) = made(call, Origin::Socket, world.pid(who.process))? else {
        world.forget(who, fd.number);
        return Some(());
    };
    let closes = call.arguments().argument(1)?.flags().has("SOCK_CLOEXEC");
    make(world, who, made, fd, closes);
    Some(())
}

/// A new socket, which `fd` leads to.
pub(super) fn make(
    world: &mut World,
    who: Who,
    made: Made,
    fd: descriptor::Descriptor,
    closes_on_exec: bool,
) -> SocketId {
    let socket = world.sockets.make(made);
    world.give(who, fd.number, socket, closes_on_exec);
    show(world, socket, fd.decoration);
    if made.origin != Origin::Accept {
        world.flow(who, socket, fd.number);
    }
    socket
}

/// Takes over what strace shows of a socket that was just made.
fn show(world: &mut World, socket: SocketId, decoration: &[u8]) {
    if let Some(seen) = descriptor::socket(decoration) {
        world.sockets.show(socket, decoration, &seen);
    }
}

/// `socketpair(AF_UNIX, SOCK_STREAM, 0, [3<UNIX-STREAM:[1->2]>, 4<UNIX-STREAM:[2->1]>]) = 0`.
pub(super) fn socketpair(world: &mut World, call: Call) -> Option<()> {
    if outcome(call)?.0 != Outcome::Returned(0) {
        return Some(());
    }
    let who = call.returned();
    let mut fds = Vec::new();
    call.arguments().argument(3)?.fields(|_, mut fd| fds.extend(fd.descriptor()))?;
    let &[first, second] = fds.as_slice() else { return None };
    let Some(made) = made(call, Origin::Pair, world.pid(who.process))? else {
        [first, second].into_iter().for_each(|fd| world.forget(who, fd.number));
        return Some(());
    };
    let closes = call.arguments().argument(1)?.flags().has("SOCK_CLOEXEC");
    let [one, other] = [first, second].map(|fd| make(world, who, made, fd, closes));
    world.sockets.pair(one, other);
    let flows = (world.flow(who, one, first.number), world.flow(who, other, second.number));
    world.record(who, &encode::pair(who.at().time.max(0) as u64, flows.0, flows.1));
    Some(())
}

/// The socket that a call's first argument leads to.
pub(super) fn first(world: &mut World, call: Call) -> Option<Option<(SocketId, i32)>> {
    let descriptor = call.arguments().descriptor()?;
    Some(world.socket(call.who, descriptor).map(|socket| (socket, descriptor.number)))
}

/// `bind` and, without an address, `listen`.
pub(super) fn bind(world: &mut World, call: Call, role: Role) -> Option<()> {
    let Some((id, fd)) = first(world, call)? else { return Some(()) };
    if outcome(call)?.0 != Outcome::Returned(0) {
        return Some(());
    }
    let name = if role == Role::Bind {
        call.arguments().argument(1).and_then(address::sockaddr)
    } else {
        None
    };
    if let Some(socket) = world.sockets.get_mut(id) {
        if let Some(name) = name {
            socket.local = name;
        }
        socket.role = role;
        // A name without a port is told when the kernel has chosen one.
        socket.version += u32::from(socket.has_name());
    }
    world.flow(call.returned(), id, fd);
    Some(())
}

/// `connect(4<TCP:[77]>, {...}, 16) = 0`.
pub(super) fn connect(world: &mut World, call: Call) -> Option<()> {
    let name = call.arguments().argument(1).and_then(address::sockaddr);
    let Some((id, fd)) = first(world, call)? else {
        // Of a socket whose making is not in the file it is not known of what kind it is.
        let is_captured = name.is_some_and(|name| !address::is_unspecified(&name));
        world.imported.unknown_sockets += u64::from(is_captured);
        return Some(());
    };
    let name = name.unwrap_or_default();
    match outcome(call)?.0 {
        Outcome::Returned(0) => {
            ends_connection(world, id, &name);
            connected(world, call.who, id, fd, name);
        }
        // It goes on in the kernel.
        Outcome::Failed(EINPROGRESS | EINTR) => connected(world, call.who, id, fd, name),
        Outcome::Failed(errno) => failed(world, call, Direction::Send, id, fd, errno),
        _ => {}
    }
    Some(())
}

/// A call that succeeded may have ended what was connected before: then it begins another flow.
fn ends_connection(world: &mut World, id: SocketId, name: &[u8]) {
    let Some(socket) = world.sockets.get_mut(id) else { return };
    let was_connected = socket.role == Role::Connect && !socket.peer.is_empty();
    let ends = match socket.kind {
        STREAM => address::is_unspecified(name),
        DATAGRAM => !address::agree(&socket.peer, name),
        _ => false,
    };
    if was_connected && ends {
        socket.connection += 1;
        socket.peer.clear();
        if socket.kind == STREAM {
            (socket.role, socket.local) = (Role::Unknown, Vec::new());
        }
    }
}

/// A socket is connected to `name`, or about to be.
pub(super) fn connected(world: &mut World, who: Who, id: SocketId, fd: i32, name: Vec<u8>) {
    let pid = world.pid(who.process);
    let Some(socket) = world.sockets.get_mut(id) else { return };
    // A stream without a peer may be connected anew, or not.
    let says_nothing = name.is_empty() || (address::is_unspecified(&name) && socket.kind == STREAM);
    if !says_nothing {
        socket.peer = if address::is_unspecified(&name) { Vec::new() } else { name };
        socket.role = Role::Connect;
        socket.pid = pid;
        if socket.domain == address::UNIX && socket.local.is_empty() {
            socket.local = vec![address::UNIX, 0];
        }
        socket.version += 1;
        world.named(who, who.time, id, fd, false);
    }
    world.flow(who, id, fd);
}

/// `shutdown(4<...>, SHUT_WR) = 0`.
pub(super) fn shutdown(world: &mut World, call: Call) -> Option<()> {
    let Some((id, fd)) = first(world, call)? else { return Some(()) };
    if outcome(call)?.0 == Outcome::Returned(0) {
        let how = match call.arguments().argument(1)?.word() {
            b"SHUT_RD" => 0,
            b"SHUT_WR" => 1,
            b"SHUT_RDWR" => 2,
            word => Cursor::new(word).number().and_then(|number| i32::try_from(number).ok())?,
        };
        let flow = world.flow(call.who, id, fd);
        world.record(call.who, &encode::shutdown(call.who.at().time.max(0) as u64, flow, how));
    }
    Some(())
}

/// `getsockname` and `getpeername`: what a name is, for those who trace without `-yy`.
pub(super) fn name(world: &mut World, call: Call, is_local: bool) -> Option<()> {
    let Some((id, fd)) = first(world, call)? else { return Some(()) };
    let name = call.arguments().argument(1).and_then(address::sockaddr);
    if let (Outcome::Returned(0), Some(name), Some(socket)) =
        (outcome(call)?.0, name, world.sockets.get_mut(id))
    {
        let place = if is_local { &mut socket.local } else { &mut socket.peer };
        if *place != name && address::inet(&name).is_some_and(|name| name.port() != 0) {
            *place = name;
            socket.version += 1;
            world.flow(call.who, id, fd);
        }
    }
    Some(())
}

/// `close(4<...>) = 0`, at its call: behind it another thread may have been given the number.
pub(super) fn close(world: &mut World, call: Call) -> Option<()> {
    let descriptor = call.arguments().descriptor()?;
    // What it shows last may be the only word of the socket's names.
    if let Some(id) = world.socket(call.who, descriptor)
        && world.is_known(call.who, id)
    {
        world.flow(call.who, id, descriptor.number);
    }
    world.forget(call.who, descriptor.number);
    Some(())
}

/// `close_range(3, 9, 0) = 0`.
pub(super) fn close_range(world: &mut World, call: Call) -> Option<()> {
    if outcome(call)?.0 != Outcome::Returned(0) {
        return Some(());
    }
    let bound =
        |number: usize| call.arguments().argument(number).and_then(|mut value| value.number());
    let (first, last) = (bound(0)?, bound(1)?);
    let flags = call.arguments().argument(2)?.flags();
    if flags.has("CLOSE_RANGE_UNSHARE") {
        world.unshare(call.who.process);
    }
    let table = world.table(call.who.process);
    for fd in world.tables.descriptors(table, |fd, _| (first..=last).contains(&i64::from(fd))) {
        if flags.has("CLOSE_RANGE_CLOEXEC") {
            world.tables.set_closes_on_exec(table, fd, true);
        } else {
            world.forget(call.who, fd);
        }
    }
    Some(())
}

/// `dup(4<...>) = 7<...>`, `dup2(4<...>, 7)`, `dup3(4<...>, 7, O_CLOEXEC)`, and `fcntl(4<...>,
/// F_DUPFD, 0)`.
pub(super) fn duplicate(world: &mut World, call: Call, closes_on_exec: bool) -> Option<()> {
    let former = first(world, call)?;
    let Some(fd) = given(call)? else { return Some(()) };
    let who = call.returned();
    match former {
        // A descriptor may be put in its own place.
        Some((_, old)) if old == fd.number => {}
        Some((id, old)) => {
            world.flow(who, id, old);
            world.give(who, fd.number, id, closes_on_exec);
            world.flow(who, id, fd.number);
        }
        None => world.forget(who, fd.number),
    }
    Some(())
}

/// `fcntl(4<...>, F_DUPFD, 0) = 7<...>`, and what sets a descriptor's and a socket's flags.
pub(super) fn fcntl(world: &mut World, call: Call) -> Option<()> {
    match call.arguments().argument(1)?.word() {
        b"F_DUPFD" => duplicate(world, call, false),
        b"F_DUPFD_CLOEXEC" => duplicate(world, call, true),
        b"F_SETFD" => {
            let closes = call.arguments().argument(2)?.flags().has("FD_CLOEXEC");
            let fd = call.arguments().descriptor()?.number;
            world.tables.set_closes_on_exec(world.table(call.who.process), fd, closes);
            Some(())
        }
        b"F_SETFL" => {
            let is_nonblocking = call.arguments().argument(2)?.flags().has("O_NONBLOCK");
            set_nonblocking(world, call, is_nonblocking)
        }
        _ => Some(()),
    }
}

/// `ioctl(4<...>, FIONBIO, [1])` and `FIOCLEX`.
pub(super) fn ioctl(world: &mut World, call: Call) -> Option<()> {
    match call.arguments().argument(1)?.word() {
        b"FIONBIO" => {
            let mut value = call.arguments().argument(2)?;
            value.eat(b"[");
            let is_nonblocking = value.number() != Some(0);
            set_nonblocking(world, call, is_nonblocking)
        }
        request @ (b"FIOCLEX" | b"FIONCLEX") => {
            let fd = call.arguments().descriptor()?.number;
            world.tables.set_closes_on_exec(
                world.table(call.who.process),
                fd,
                request == b"FIOCLEX",
            );
            Some(())
        }
        _ => Some(()),
    }
}

fn set_nonblocking(world: &mut World, call: Call, is_nonblocking: bool) -> Option<()> {
    if let Some((id, _)) = first(world, call)?
        && let Some(socket) = world.sockets.get_mut(id)
    {
        socket.is_nonblocking = is_nonblocking;
    }
    Some(())
}

impl World {
    /// Whether the process's log knows of the socket, or would have to be told of it only as it is
    /// closed.
    fn is_known(&self, who: Who, socket: SocketId) -> bool {
        let log = self.processes.get(&who.process).and_then(|process| process.log.as_ref());
        log.is_some_and(|log| log.known_flow(socket) != 0)
    }

    /// The process shares its table of descriptors no more.
    pub(super) fn unshare(&mut self, process: super::world::ProcessId) {
        let table = self.table(process);
        if self.tables.is_shared(table) {
            let copy = self.tables.copy(table, &mut self.sockets);
            self.tables.leave(table, &mut self.sockets);
            if let Some(process) = self.processes.get_mut(&process) {
                process.table = copy;
            }
        }
    }

    /// Closes what is closed when another program begins.
    pub(super) fn close_on_exec(&mut self, process: super::world::ProcessId) {
        let table = self.table(process);
        for fd in self.tables.descriptors(table, |_, entry: Entry| entry.closes_on_exec) {
            if let Some(entry) = self.tables.remove(table, fd) {
                self.sockets.release(entry.socket);
            }
        }
    }
}
