//! Types of libc's interposed functions, each under the function's name.

#![allow(non_camel_case_types, reason = "called as the functions are")]

use core::ffi::{c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};

use libc::{
    FILE, epoll_event, fd_set, iovec, loff_t, mmsghdr, msghdr, off_t, pid_t, pollfd, rlimit,
    sigset_t, size_t, sockaddr, socklen_t, ssize_t, termios, timespec, timeval, uid_t, winsize,
};
#[cfg(feature = "resources")]
use libc::{clockid_t, useconds_t};

use super::interposed::interposed;
#[cfg(feature = "resources")]
use super::interposed_for_resources::interposed_for_resources;

/// `va_list` as an argument: an address, on all Linux architectures that pass one by reference or
/// as an array.
pub(crate) type VaList = *mut c_void;

/// Type of a function with these arguments.
macro_rules! function_type {
    (($($argument:ident: $type:ty),*) -> $result:ty) => {
        unsafe extern "C" fn($($type),*) -> $result
    };
}

/// Defines the type of each function in the list.
macro_rules! define_types {
    (
        handled { $($($name:ident)|+: $arguments:tt -> $result:ty => $handler:path;)* }
        wrapped { $(
            $($other:ident)|+: $with:tt -> $outcome:ty => $module:ident::$around:ident $about:tt;
        )* }
        jumped { $($jumped:ident)* }
    ) => {
        $($(pub(crate) type $name = function_type!($arguments -> $result);)+)*
        $($(pub(crate) type $other = function_type!($with -> $outcome);)+)*
    };
}

interposed! { define_types }

#[cfg(feature = "resources")]
interposed_for_resources! { define_types }
