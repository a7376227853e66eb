//! Dispatch of relevant calls to their handlers.

use socket_log::encode::{Direction, FlowRole};

use super::call::StraceCall;
use super::messages::CallPayload;
use super::traced_system::TracedSystem;
use super::transfers::{self, PayloadShape};
use super::{accept, lifecycle, segments};

/// Applies a call on descriptors to the traced system; `None` if the text of the call is not
/// understood.
pub(super) fn handle_call(
    world: &mut TracedSystem,
    payload: &mut CallPayload,
    call: StraceCall,
) -> Option<()> {
    use Direction::{Receive, Send};
    let mut moved = |world: &mut TracedSystem, shape, direction| {
        transfers::handle_transfer(world, payload, call, shape, direction)
    };
    match call.name {
        b"read" | b"pread64" | b"pread" => moved(world, PayloadShape::Text, Receive),
        b"readv" | b"preadv" | b"preadv2" => moved(world, PayloadShape::Vector, Receive),
        b"recvfrom" | b"recv" => moved(world, PayloadShape::Addressed, Receive),
        b"recvmsg" => moved(world, PayloadShape::Message, Receive),
        b"recvmmsg" | b"recvmmsg_time64" => moved(world, PayloadShape::Batch, Receive),
        b"write" | b"pwrite64" | b"pwrite" => moved(world, PayloadShape::Text, Send),
        b"writev" | b"pwritev" | b"pwritev2" => moved(world, PayloadShape::Vector, Send),
        b"sendto" | b"send" => moved(world, PayloadShape::Addressed, Send),
        b"sendmsg" => moved(world, PayloadShape::Message, Send),
        b"sendmmsg" => moved(world, PayloadShape::Batch, Send),
        b"sendfile" | b"sendfile64" => transfers::handle_sendfile(world, payload, call),
        b"splice" | b"tee" => transfers::handle_splice(world, payload, call),
        b"socket" => lifecycle::handle_socket(world, call),
        b"socketpair" => lifecycle::handle_socketpair(world, call),
        b"bind" => lifecycle::handle_bind(world, call, FlowRole::Bind),
        b"listen" => lifecycle::handle_bind(world, call, FlowRole::Listen),
        b"connect" => lifecycle::handle_connect(world, call),
        b"accept" | b"accept4" => accept::handle_accept(world, call),
        b"shutdown" => lifecycle::handle_shutdown(world, call),
        b"setsockopt" | b"getsockopt" => segments::option(world, call),
        b"getsockname" => lifecycle::handle_name(world, call, true),
        b"getpeername" => lifecycle::handle_name(world, call, false),
        b"close" => lifecycle::handle_close(world, call),
        b"close_range" => lifecycle::handle_close_range(world, call),
        b"dup" | b"dup2" => lifecycle::handle_duplicate(world, call, false),
        b"dup3" => {
            let closes = call.arguments().nth_argument(2)?.read_flags().has_flag("O_CLOEXEC");
            lifecycle::handle_duplicate(world, call, closes)
        }
        b"fcntl" | b"fcntl64" => lifecycle::handle_fcntl(world, call),
        b"ioctl" => lifecycle::handle_ioctl(world, call),
        b"io_uring_setup" => {
            world.imported.io_uring += 1;
            Some(())
        }
        _ => Some(()),
    }
}
