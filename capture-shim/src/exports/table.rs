//! Exported symbols that are plain functions. Each passes libc's own function, or a closure that
//! makes the program's call, to its hook.

use core::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};

use libc::{
    FILE, epoll_event, fd_set, iovec, loff_t, mmsghdr, msghdr, off_t, pid_t, pollfd, rlimit,
    sigset_t, size_t, sockaddr, socklen_t, ssize_t, termios, timespec, timeval, uid_t, winsize,
};
#[cfg(feature = "resources")]
use libc::{clockid_t, useconds_t};
use socket_log::api::Api;

use crate::c_library::interposed;
#[cfg(feature = "resources")]
use crate::c_library::interposed_for_resources;
use crate::c_library::real;
use crate::c_library::types::VaList;
use crate::hooks::{
    close, dup, hidden, lifecycle, new_descriptors, processes, programs, read_write, receive,
    receive_messages, rights, send, signals, stdio, syscall, threads, tls, waits,
};
#[cfg(feature = "resources")]
use crate::hooks::{conditions, epolls, eventfds, files, locks, meetings, semaphores, sleeps};

/// Exports one function, with a hook that receives the program's call as a closure.
macro_rules! export_wrapped {
    ($name:ident ($($argument:ident: $type:ty),*) -> $result:ty
        => $module:ident::$around:ident($($about:expr)?)) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the program's own call.
            $module::$around($($about,)? || unsafe { real!($name)($($argument),*) })
        }
    };
}

/// Exports one function, with a hook that receives the program's arguments.
macro_rules! export_handled {
    ($name:ident ($($argument:ident: $type:ty),*) -> $result:ty => $handler:path) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the program's own call is passed on unchanged.
            unsafe { $handler(real!($name), $($argument),*) }
        }
    };
}

/// Exports each function in the list. The jumped ones are written by hand.
macro_rules! export {
    (
        handled { $($($name:ident)|+: $arguments:tt -> $result:ty => $handler:path;)* }
        wrapped { $(
            $($other:ident)|+: $with:tt -> $outcome:ty => $module:ident::$around:ident $about:tt;
        )* }
        jumped { $($jumped:ident)* }
    ) => {
        $($(export_handled!($name $arguments -> $result => $handler);)+)*
        $($(export_wrapped!($other $with -> $outcome => $module::$around $about);)+)*
    };
}

interposed! { export }

#[cfg(feature = "resources")]
interposed_for_resources! { export }
