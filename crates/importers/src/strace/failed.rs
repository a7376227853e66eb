//! Calls that failed.

use socket_log::encode::{self, Direction};

use super::call::Call;
use super::result::{AGAIN, EBADF, ENOTSOCK};
use super::sockets::SocketId;
use super::world::World;

/// A call failed: that is logged, unless it only has to be made again.
pub(super) fn failed(
    world: &mut World,
    call: Call,
    direction: Direction,
    socket: SocketId,
    fd: i32,
    errno: i32,
) {
    match errno {
        EBADF | ENOTSOCK => world.forget(call.who, fd),
        errno if AGAIN.contains(&errno) => {}
        errno => {
            let who = call.returned();
            let flow = world.flow(who, socket, fd);
            world
                .record(who, &encode::failure(who.at().time.max(0) as u64, flow, direction, errno));
        }
    }
}
