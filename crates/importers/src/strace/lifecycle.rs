//! Calls that create, name, connect, duplicate and close sockets.

use socket_log::encode::{self, Direction, FlowOrigin, FlowRole};

use super::arguments::ArgumentCursor;
use super::call::StraceCall;
use super::failed_calls::log_failed_call;
use super::result::{self, CallResult, EINPROGRESS, EINTR};
use super::sockets::{DATAGRAM, SEQUENCE, STREAM, SocketId, SocketSpec};
use super::tables::DescriptorEntry;
use super::traced_system::{StraceCaller, TracedSystem};
use super::{address, descriptor};

/// Result of a call, and a cursor after the number of the result; `None` if the text of the call is
/// not understood.
pub(super) fn call_result(call: StraceCall) -> Option<(CallResult, ArgumentCursor)> {
    let mut cursor = call.arguments();
    Some((result::parse_result(&mut cursor)?, cursor))
}

/// Descriptor that a call has returned; `Some(None)` if the call returned none, `None` if its text
/// is not understood.
pub(super) fn returned_descriptor(
    call: StraceCall,
) -> Option<Option<descriptor::DecoratedDescriptor>> {
    let mut cursor = call.arguments();
    while cursor.next_argument().is_some() {}
    match call_result(call)?.0 {
        CallResult::Returned(number) if number >= 0 => {
            cursor.eat_token(b")");
            cursor.skip_spaces();
            cursor.eat_token(b"= ");
            cursor.read_descriptor().map(Some)
        }
        _ => Some(None),
    }
}

/// Parses family, type and protocol from the first three arguments; `Some(None)` for sockets that
/// are not captured, `None` if the arguments are not understood.
fn parse_socket_spec(call: StraceCall, origin: FlowOrigin, pid: u32) -> Option<Option<SocketSpec>> {
    let mut arguments = call.arguments();
    let domain = address::parse_family(arguments.read_word());
    let kind = arguments.nth_argument(1)?.read_flags();
    let mut protocol = arguments.nth_argument(2)?;
    let protocol = match protocol.read_word() {
        b"IPPROTO_TCP" => 6,
        b"IPPROTO_UDP" => 17,
        b"IPPROTO_UDPLITE" => 136,
        b"IPPROTO_MPTCP" => 262,
        b"IPPROTO_SCTP" => 132,
        word => ArgumentCursor::new(word)
            .read_number()
            .and_then(|number| u16::try_from(number).ok())
            .unwrap_or(0),
    };
    let has = |name: &str, number: i64| {
        kind.has_flag(name)
            || arguments
                .nth_argument(1)
                .and_then(|mut kind| kind.read_number())
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
    let is_nonblocking = kind.has_flag("SOCK_NONBLOCK");
    Some(captured.map(|(domain, kind)| SocketSpec {
        domain,
        kind,
        protocol,
        origin,
        pid,
        is_nonblocking,
    }))
}

/// `socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_IP) = 3<TCP:[77]>`.
pub(super) fn handle_socket(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    let Some(fd) = returned_descriptor(call)? else { return Some(()) };
    let caller = call.caller_at_return();
    let Some(made) =
        parse_socket_spec(call, FlowOrigin::Socket, world.pid_of_process(caller.process))?
    else {
        world.forget_descriptor(caller, fd.number);
        return Some(());
    };
    let closes = call.arguments().nth_argument(1)?.read_flags().has_flag("SOCK_CLOEXEC");
    add_socket(world, caller, made, fd, closes);
    Some(())
}

/// Adds a new socket to which `fd` refers.
pub(super) fn add_socket(
    world: &mut TracedSystem,
    caller: StraceCaller,
    made: SocketSpec,
    fd: descriptor::DecoratedDescriptor,
    closes_on_exec: bool,
) -> SocketId {
    let socket = world.sockets.add_socket(made);
    world.set_descriptor(caller, fd.number, socket, closes_on_exec);
    apply_decoration(world, socket, fd.decoration);
    if made.origin != FlowOrigin::Accept {
        world.flow_of_socket(caller, socket, fd.number);
    }
    socket
}

/// Applies strace's decoration of a socket that was just created.
fn apply_decoration(world: &mut TracedSystem, socket: SocketId, decoration: &[u8]) {
    if let Some(seen) = descriptor::parse_socket(decoration) {
        world.sockets.apply_decoration(socket, decoration, &seen);
    }
}

/// `socketpair(AF_UNIX, SOCK_STREAM, 0, [3<UNIX-STREAM:[1->2]>, 4<UNIX-STREAM:[2->1]>]) = 0`.
pub(super) fn handle_socketpair(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    if call_result(call)?.0 != CallResult::Returned(0) {
        return Some(());
    }
    let caller = call.caller_at_return();
    let mut fds = Vec::new();
    call.arguments()
        .nth_argument(3)?
        .for_each_field(|_, mut fd| fds.extend(fd.read_descriptor()))?;
    let &[first, second] = fds.as_slice() else { return None };
    let Some(made) =
        parse_socket_spec(call, FlowOrigin::Pair, world.pid_of_process(caller.process))?
    else {
        [first, second].into_iter().for_each(|fd| world.forget_descriptor(caller, fd.number));
        return Some(());
    };
    let closes = call.arguments().nth_argument(1)?.read_flags().has_flag("SOCK_CLOEXEC");
    let [one, other] = [first, second].map(|fd| add_socket(world, caller, made, fd, closes));
    world.sockets.pair_sockets(one, other);
    let flows = (
        world.flow_of_socket(caller, one, first.number),
        world.flow_of_socket(caller, other, second.number),
    );
    world.write_record(
        caller,
        &encode::socket_pair_record(caller.to_stamp().time.max(0) as u64, flows.0, flows.1),
    );
    Some(())
}

/// Socket to which a call's first argument refers, and its descriptor; `Some(None)` if the
/// descriptor is not a socket, `None` if the argument is not understood.
pub(super) fn first_socket(
    world: &mut TracedSystem,
    call: StraceCall,
) -> Option<Option<(SocketId, i32)>> {
    let descriptor = call.arguments().read_descriptor()?;
    Some(
        world
            .socket_of_descriptor(call.caller, descriptor)
            .map(|socket| (socket, descriptor.number)),
    )
}

/// `bind` and, without an address, `listen`.
pub(super) fn handle_bind(
    world: &mut TracedSystem,
    call: StraceCall,
    role: FlowRole,
) -> Option<()> {
    let Some((id, fd)) = first_socket(world, call)? else { return Some(()) };
    if call_result(call)?.0 != CallResult::Returned(0) {
        return Some(());
    }
    let name = if role == FlowRole::Bind {
        call.arguments().nth_argument(1).and_then(address::parse_sockaddr)
    } else {
        None
    };
    if let Some(socket) = world.sockets.get_mut(id) {
        if let Some(name) = name {
            socket.local = name;
        }
        socket.role = role;
        // A name without a port is recorded when the kernel has chosen one.
        socket.version += u32::from(socket.has_name());
    }
    world.flow_of_socket(call.caller_at_return(), id, fd);
    Some(())
}

/// `connect(4<TCP:[77]>, {...}, 16) = 0`.
pub(super) fn handle_connect(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    let name = call.arguments().nth_argument(1).and_then(address::parse_sockaddr);
    let Some((id, fd)) = first_socket(world, call)? else {
        // The kind of a socket is unknown if its creation is not in the file.
        let is_captured = name.is_some_and(|name| !address::is_unspecified(&name));
        world.imported.unknown_sockets += u64::from(is_captured);
        return Some(());
    };
    let name = name.unwrap_or_default();
    match call_result(call)?.0 {
        CallResult::Returned(0) => {
            end_previous_connection(world, id, &name);
            mark_connected(world, call.caller, id, fd, name);
        }
        // The connect continues in the kernel.
        CallResult::Failed(EINPROGRESS | EINTR) => mark_connected(world, call.caller, id, fd, name),
        CallResult::Failed(errno) => log_failed_call(world, call, Direction::Send, id, fd, errno),
        _ => {}
    }
    Some(())
}

/// Ends the previous connection of a socket if a successful `connect` to `name` does so: the socket
/// then begins another flow.
fn end_previous_connection(world: &mut TracedSystem, id: SocketId, name: &[u8]) {
    let Some(socket) = world.sockets.get_mut(id) else { return };
    let was_connected = socket.role == FlowRole::Connect && !socket.peer.is_empty();
    let ends = match socket.kind {
        STREAM => address::is_unspecified(name),
        DATAGRAM => !address::names_agree(&socket.peer, name),
        _ => false,
    };
    if was_connected && ends {
        socket.connection += 1;
        socket.peer.clear();
        if socket.kind == STREAM {
            (socket.role, socket.local) = (FlowRole::Unknown, Vec::new());
        }
    }
}

/// Marks a socket as connected to `name`, or about to be.
pub(super) fn mark_connected(
    world: &mut TracedSystem,
    caller: StraceCaller,
    id: SocketId,
    fd: i32,
    name: Vec<u8>,
) {
    let pid = world.pid_of_process(caller.process);
    let Some(socket) = world.sockets.get_mut(id) else { return };
    // A stream that was disconnected may be connected again later.
    let says_nothing = name.is_empty() || (address::is_unspecified(&name) && socket.kind == STREAM);
    if !says_nothing {
        socket.peer = if address::is_unspecified(&name) { Vec::new() } else { name };
        socket.role = FlowRole::Connect;
        socket.pid = pid;
        if socket.domain == address::UNIX && socket.local.is_empty() {
            socket.local = vec![address::UNIX, 0];
        }
        socket.version += 1;
        world.set_own_name(caller, caller.time, id, fd, false);
    }
    world.flow_of_socket(caller, id, fd);
}

/// `shutdown(4<...>, SHUT_WR) = 0`.
pub(super) fn handle_shutdown(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    let Some((id, fd)) = first_socket(world, call)? else { return Some(()) };
    if call_result(call)?.0 == CallResult::Returned(0) {
        let how = match call.arguments().nth_argument(1)?.read_word() {
            b"SHUT_RD" => 0,
            b"SHUT_WR" => 1,
            b"SHUT_RDWR" => 2,
            word => ArgumentCursor::new(word)
                .read_number()
                .and_then(|number| i32::try_from(number).ok())?,
        };
        let flow = world.flow_of_socket(call.caller, id, fd);
        world.write_record(
            call.caller,
            &encode::shutdown_record(call.caller.to_stamp().time.max(0) as u64, flow, how),
        );
    }
    Some(())
}

/// `getsockname` and `getpeername`: they show a name in traces without `-yy`.
pub(super) fn handle_name(
    world: &mut TracedSystem,
    call: StraceCall,
    is_local: bool,
) -> Option<()> {
    let Some((id, fd)) = first_socket(world, call)? else { return Some(()) };
    let name = call.arguments().nth_argument(1).and_then(address::parse_sockaddr);
    if let (CallResult::Returned(0), Some(name), Some(socket)) =
        (call_result(call)?.0, name, world.sockets.get_mut(id))
    {
        let place = if is_local { &mut socket.local } else { &mut socket.peer };
        if *place != name && address::inet_address(&name).is_some_and(|name| name.port() != 0) {
            *place = name;
            socket.version += 1;
            world.flow_of_socket(call.caller, id, fd);
        }
    }
    Some(())
}

/// `close(4<...>) = 0`, applied at the time of the call: at the time of the return another thread
/// may have got the number.
pub(super) fn handle_close(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    let descriptor = call.arguments().read_descriptor()?;
    // The last decoration of a closed descriptor may be the only record of the socket's names.
    if let Some(id) = world.socket_of_descriptor(call.caller, descriptor)
        && world.is_known(call.caller, id)
    {
        world.flow_of_socket(call.caller, id, descriptor.number);
    }
    world.forget_descriptor(call.caller, descriptor.number);
    Some(())
}

/// `close_range(3, 9, 0) = 0`.
pub(super) fn handle_close_range(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    if call_result(call)?.0 != CallResult::Returned(0) {
        return Some(());
    }
    let bound = |number: usize| {
        call.arguments().nth_argument(number).and_then(|mut value| value.read_number())
    };
    let (first, last) = (bound(0)?, bound(1)?);
    let flags = call.arguments().nth_argument(2)?.read_flags();
    if flags.has_flag("CLOSE_RANGE_UNSHARE") {
        world.unshare_table(call.caller.process);
    }
    let table = world.table_of_process(call.caller.process);
    for fd in world.tables.descriptors_where(table, |fd, _| (first..=last).contains(&i64::from(fd)))
    {
        if flags.has_flag("CLOSE_RANGE_CLOEXEC") {
            world.tables.set_closes_on_exec(table, fd, true);
        } else {
            world.forget_descriptor(call.caller, fd);
        }
    }
    Some(())
}

/// `dup(4<...>) = 7<...>`, `dup2(4<...>, 7)`, `dup3(4<...>, 7, O_CLOEXEC)`, and `fcntl(4<...>,
/// F_DUPFD, 0)`.
pub(super) fn handle_duplicate(
    world: &mut TracedSystem,
    call: StraceCall,
    closes_on_exec: bool,
) -> Option<()> {
    let former = first_socket(world, call)?;
    let Some(fd) = returned_descriptor(call)? else { return Some(()) };
    let caller = call.caller_at_return();
    match former {
        // A descriptor may be duplicated to itself.
        Some((_, old)) if old == fd.number => {}
        Some((id, old)) => {
            world.flow_of_socket(caller, id, old);
            world.set_descriptor(caller, fd.number, id, closes_on_exec);
            world.flow_of_socket(caller, id, fd.number);
        }
        None => world.forget_descriptor(caller, fd.number),
    }
    Some(())
}

/// `fcntl(4<...>, F_DUPFD, 0) = 7<...>`, and commands that set the flags of a descriptor and a
/// socket.
pub(super) fn handle_fcntl(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    match call.arguments().nth_argument(1)?.read_word() {
        b"F_DUPFD" => handle_duplicate(world, call, false),
        b"F_DUPFD_CLOEXEC" => handle_duplicate(world, call, true),
        b"F_SETFD" => {
            let closes = call.arguments().nth_argument(2)?.read_flags().has_flag("FD_CLOEXEC");
            let fd = call.arguments().read_descriptor()?.number;
            world.tables.set_closes_on_exec(
                world.table_of_process(call.caller.process),
                fd,
                closes,
            );
            Some(())
        }
        b"F_SETFL" => {
            let is_nonblocking =
                call.arguments().nth_argument(2)?.read_flags().has_flag("O_NONBLOCK");
            set_nonblocking(world, call, is_nonblocking)
        }
        _ => Some(()),
    }
}

/// `ioctl(4<...>, FIONBIO, [1])` and `FIOCLEX`.
pub(super) fn handle_ioctl(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    match call.arguments().nth_argument(1)?.read_word() {
        b"FIONBIO" => {
            let mut value = call.arguments().nth_argument(2)?;
            value.eat_token(b"[");
            let is_nonblocking = value.read_number() != Some(0);
            set_nonblocking(world, call, is_nonblocking)
        }
        request @ (b"FIOCLEX" | b"FIONCLEX") => {
            let fd = call.arguments().read_descriptor()?.number;
            world.tables.set_closes_on_exec(
                world.table_of_process(call.caller.process),
                fd,
                request == b"FIOCLEX",
            );
            Some(())
        }
        _ => Some(()),
    }
}

fn set_nonblocking(world: &mut TracedSystem, call: StraceCall, is_nonblocking: bool) -> Option<()> {
    if let Some((id, _)) = first_socket(world, call)?
        && let Some(socket) = world.sockets.get_mut(id)
    {
        socket.is_nonblocking = is_nonblocking;
    }
    Some(())
}

impl TracedSystem {
    /// Whether the process's log has the socket already. A socket that the log would first mention
    /// as it is closed is left out.
    fn is_known(&self, caller: StraceCaller, socket: SocketId) -> bool {
        let log = self.processes.get(&caller.process).and_then(|process| process.log.as_ref());
        log.is_some_and(|log| log.known_flow_or_zero(socket) != 0)
    }

    /// Ends the sharing of the process's descriptor table.
    pub(super) fn unshare_table(&mut self, process: super::traced_system::ProcessId) {
        let table = self.table_of_process(process);
        if self.tables.is_shared(table) {
            let copy = self.tables.copy_table(table, &mut self.sockets);
            self.tables.leave_table(table, &mut self.sockets);
            if let Some(process) = self.processes.get_mut(&process) {
                process.table = copy;
            }
        }
    }

    /// Closes the descriptors that an exec closes.
    pub(super) fn close_on_exec(&mut self, process: super::traced_system::ProcessId) {
        let table = self.table_of_process(process);
        for fd in
            self.tables.descriptors_where(table, |_, entry: DescriptorEntry| entry.closes_on_exec)
        {
            if let Some(entry) = self.tables.remove(table, fd) {
                self.sockets.drop_reference(entry.socket);
            }
        }
    }
}
