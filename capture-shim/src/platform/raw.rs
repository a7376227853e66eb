//! System calls made without libc, since libc's own `write` and `close` lead back to the hooks.
//!
//! Each function returns the kernel's result, an error as its negative number, and does not change
//! `errno`. So no hook has to save `errno` around its own work.

mod call;
mod counts;
mod files;
mod memory;
mod own_process;
mod signals;
mod sockets;
mod stream;

pub(crate) use call::PAGE;
#[cfg(feature = "injected")]
pub(crate) use call::repeat_call;
pub(crate) use counts::{bytes_received, bytes_sent, bytes_unread, is_fresh_stream};
pub(crate) use files::*;
pub(crate) use memory::*;
pub(crate) use own_process::*;
pub(crate) use signals::*;
pub(crate) use sockets::*;
pub(crate) use stream::{connect_datagrams, connect_unix, hand_stream};

socket_log::without_std! {
    pub(crate) use call::abort_process;
}
