//! Which calls matter, and who looks after each.

use socket_log::encode::{Direction, Role};

use super::call::Call;
use super::messages::Payload;
use super::moves::{self, Shape};
use super::world::World;
use super::{accept, lifecycle, segments};

/// Does what a call on descriptors did. `None` where its text is not understood.
pub(super) fn call(world: &mut World, payload: &mut Payload, call: Call) -> Option<()> {
    use Direction::{Receive, Send};
    let mut moved =
        |world: &mut World, shape, direction| moves::moved(world, payload, call, shape, direction);
    match call.name {
        b"read" | b"pread64" | b"pread" => moved(world, Shape::Text, Receive),
        b"readv" | b"preadv" | b"preadv2" => moved(world, Shape::Vector, Receive),
        b"recvfrom" | b"recv" => moved(world, Shape::Addressed, Receive),
        b"recvmsg" => moved(world, Shape::Message, Receive),
        b"recvmmsg" | b"recvmmsg_time64" => moved(world, Shape::Batch, Receive),
        b"write" | b"pwrite64" | b"pwrite" => moved(world, Shape::Text, Send),
        b"writev" | b"pwritev" | b"pwritev2" => moved(world, Shape::Vector, Send),
        b"sendto" | b"send" => moved(world, Shape::Addressed, Send),
        b"sendmsg" => moved(world, Shape::Message, Send),
        b"sendmmsg" => moved(world, Shape::Batch, Send),
        b"sendfile" | b"sendfile64" => moves::sendfile(world, payload, call),
        b"splice" | b"tee" => moves::splice(world, payload, call),
        b"socket" => lifecycle::socket(world, call),
        b"socketpair" => lifecycle::socketpair(world, call),
        b"bind" => lifecycle::bind(world, call, Role::Bind),
        b"listen" => lifecycle::bind(world, call, Role::Listen),
        b"connect" => lifecycle::connect(world, call),
        b"accept" | b"accept4" => accept::accept(world, call),
        b"shutdown" => lifecycle::shutdown(world, call),
        b"setsockopt" | b"getsockopt" => segments::option(world, call),
        b"getsockname" => lifecycle::name(world, call, true),
        b"getpeername" => lifecycle::name(world, call, false),
        b"close" => lifecycle::close(world, call),
        b"close_range" => lifecycle::close_range(world, call),
        b"dup" | b"dup2" => lifecycle::duplicate(world, call, false),
        b"dup3" => {
            let closes = call.arguments().argument(2)?.flags().has("O_CLOEXEC");
            lifecycle::duplicate(world, call, closes)
        }
        b"fcntl" | b"fcntl64" => lifecycle::fcntl(world, call),
        b"ioctl" => lifecycle::ioctl(world, call),
        b"io_uring_setup" => {
            world.imported.io_uring += 1;
            Some(())
        }
        _ => Some(()),
    }
}
