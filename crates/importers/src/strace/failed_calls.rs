//! Calls that failed.

use socket_log::encode::{self, Direction};

use super::call::StraceCall;
use super::result::{AGAIN, EBADF, ENOTSOCK};
use super::sockets::SocketId;
use super::traced_system::TracedSystem;

/// Logs a failed call, unless it only has to be repeated.
pub(super) fn log_failed_call(
    world: &mut TracedSystem,
    call: StraceCall,
    direction: Direction,
    socket: SocketId,
    fd: i32,
    errno: i32,
) {
    match errno {
        EBADF | ENOTSOCK => world.forget_descriptor(call.caller, fd),
        errno if AGAIN.contains(&errno) => {}
        errno => {
            let caller = call.caller_at_return();
            let flow = world.flow_of_socket(caller, socket, fd);
            world.write_record(
                caller,
                &encode::failure_record(
                    caller.to_stamp().time.max(0) as u64,
                    flow,
                    direction,
                    errno,
                ),
            );
        }
    }
}
