//! Calls that accept connections.

use socket_log::encode::{Direction, FlowOrigin, FlowRole};

use super::arguments::{ArgumentCursor, FlagWords};
use super::call::StraceCall;
use super::failed_calls::log_failed_call;
use super::lifecycle::{add_socket, call_result, first_socket, returned_descriptor};
use super::result::CallResult;
use super::sockets::{STREAM, SocketId, SocketSpec};
use super::traced_system::TracedSystem;
use super::{address, descriptor};

/// Socket on which a connection is accepted, and its descriptor. If the socket's creation is not in
/// the file, it is a stream socket of the family of the client's name. `Some(None)` if the socket
/// cannot be determined, `None` if the text of the call is not understood.
fn find_listener(world: &mut TracedSystem, call: StraceCall) -> Option<Option<(SocketId, i32)>> {
    let known = first_socket(world, call)?;
    let peer = call.arguments().nth_argument(1).and_then(address::parse_sockaddr);
    let domain = peer.and_then(|peer| peer.first().copied()).filter(|domain| *domain != 0);
    let (None, Some(domain), Some(_)) = (known, domain, returned_descriptor(call)?) else {
        return Some(known);
    };
    world.imported.unknown_sockets += 1;
    let fd = call.arguments().read_descriptor()?;
    let made = SocketSpec {
        domain,
        kind: STREAM,
        protocol: 0,
        origin: FlowOrigin::Found,
        pid: world.pid_of_process(call.caller.process),
        is_nonblocking: false,
    };
    let listener = world.sockets.add_socket(made);
    world.set_descriptor(call.caller, fd.number, listener, false);
    Some(Some((listener, fd.number)))
}

/// `accept4(3<TCP:[10.0.0.1:80]>, {...}, [16], SOCK_CLOEXEC) =
/// 5<TCP:[10.0.0.1:80->10.0.0.2:5000]>`.
pub(super) fn handle_accept(world: &mut TracedSystem, call: StraceCall) -> Option<()> {
    let Some((listener, listening)) = find_listener(world, call)? else { return Some(()) };
    let Some(fd) = returned_descriptor(call)? else {
        if let CallResult::Failed(errno) = call_result(call)?.0 {
            log_failed_call(world, call, Direction::Receive, listener, listening, errno);
        }
        return Some(());
    };
    let caller = call.caller_at_return();
    let flags = call.arguments().nth_argument(3).map(ArgumentCursor::read_flags);
    let has = |name: &str| flags.is_some_and(|flags: FlagWords| flags.has_flag(name));
    let by = world.sockets.get(listener)?;
    let (domain, kind, protocol, local) = (by.domain, by.kind, by.protocol, by.local.clone());
    let pid = world.pid_of_process(caller.process);
    let made = SocketSpec {
        domain,
        kind,
        protocol,
        origin: FlowOrigin::Accept,
        pid,
        is_nonblocking: has("SOCK_NONBLOCK"),
    };
    world.flow_of_socket(caller, listener, listening);
    let id = add_socket(world, caller, made, fd, has("SOCK_CLOEXEC"));
    let client = descriptor::parse_socket(fd.decoration)
        .and_then(|seen| world.sockets.socket_of_inode(seen.peer_inode?));
    let client = client.and_then(|client| world.sockets.get(client)).map_or(0, |client| client.pid);
    let socket = world.sockets.get_mut(id)?;
    if socket.local.is_empty() || domain == address::UNIX {
        socket.local = local;
    }
    if socket.peer.is_empty()
        && let Some(peer) = call.arguments().nth_argument(1).and_then(address::parse_sockaddr)
    {
        socket.peer = peer;
    }
    (socket.role, socket.listener, socket.peer_pid) = (FlowRole::Accept, Some(listener), client);
    socket.version += 1;
    world.set_own_name(call.caller, caller.time, id, fd.number, true);
    world.flow_of_socket(caller, id, fd.number);
    Some(())
}
