//! Connections that are accepted.

use socket_log::encode::{Direction, Origin, Role};

use super::call::Call;
use super::failed::failed;
use super::lifecycle::{first, given, make, outcome};
use super::result::Outcome;
use super::sockets::{Made, STREAM, SocketId};
use super::value::{Cursor, Flags};
use super::world::World;
use super::{address, descriptor};

/// The socket that a connection is accepted on. One whose making is not in the file is one for
/// streams, of the family that the client's name is of.
fn listener(world: &mut World, call: Call) -> Option<Option<(SocketId, i32)>> {
    let known = first(world, call)?;
    let peer = call.arguments().argument(1).and_then(address::sockaddr);
    let domain = peer.and_then(|peer| peer.first().copied()).filter(|domain| *domain != 0);
    let (None, Some(domain), Some(_)) = (known, domain, given(call)?) else {
        return Some(known);
    };
    world.imported.unknown_sockets += 1;
    let fd = call.arguments().descriptor()?;
    let made = Made {
        domain,
        kind: STREAM,
        protocol: 0,
        origin: Origin::Found,
        pid: world.pid(call.who.process),
        is_nonblocking: false,
    };
    let listener = world.sockets.make(made);
    world.give(call.who, fd.number, listener, false);
    Some(Some((listener, fd.number)))
}

/// `accept4(3<TCP:[10.0.0.1:80]>, {...}, [16], SOCK_CLOEXEC) =
/// 5<TCP:[10.0.0.1:80->10.0.0.2:5000]>`.
pub(super) fn accept(world: &mut World, call: Call) -> Option<()> {
    let Some((listener, listening)) = listener(world, call)? else { return Some(()) };
    let Some(fd) = given(call)? else {
        if let Outcome::Failed(errno) = outcome(call)?.0 {
            failed(world, call, Direction::Receive, listener, listening, errno);
        }
        return Some(());
    };
    let who = call.returned();
    let flags = call.arguments().argument(3).map(Cursor::flags);
    let has = |name: &str| flags.is_some_and(|flags: Flags| flags.has(name));
    let by = world.sockets.get(listener)?;
    let (domain, kind, protocol, local) = (by.domain, by.kind, by.protocol, by.local.clone());
    let pid = world.pid(who.process);
    let made = Made {
        domain,
        kind,
        protocol,
        origin: Origin::Accept,
        pid,
        is_nonblocking: has("SOCK_NONBLOCK"),
    };
    world.flow(who, listener, listening);
    let id = make(world, who, made, fd, has("SOCK_CLOEXEC"));
    let client =
        descriptor::socket(fd.decoration).and_then(|seen| world.sockets.of_inode(seen.peer_inode?));
    let client = client.and_then(|client| world.sockets.get(client)).map_or(0, |client| client.pid);
    let socket = world.sockets.get_mut(id)?;
    if socket.local.is_empty() || domain == address::UNIX {
        socket.local = local;
    }
    if socket.peer.is_empty()
        && let Some(peer) = call.arguments().argument(1).and_then(address::sockaddr)
    {
        socket.peer = peer;
    }
    (socket.role, socket.listener, socket.peer_pid) = (Role::Accept, Some(listener), client);
    socket.version += 1;
    world.named(call.who, who.time, id, fd.number, true);
    world.flow(who, id, fd.number);
    Some(())
}
