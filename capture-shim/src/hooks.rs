//! The one list of what is interposed. It drives the exports, their resolution and the types of both.
//!
//! Each line is `name | its other names: (arguments) -> result => handler`. A handler gets libc's own function
//! of the very name that was called, and then the program's arguments. Libc's functions are found when the
//! library is loaded, before the program runs: looking for one later could land in a signal handler, or in an
//! allocator that is not yet ready.

use core::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use libc::{
    epoll_event, fd_set, iovec, loff_t, mmsghdr, msghdr, off_t, pid_t, pollfd, sigset_t, size_t, sockaddr,
    socklen_t, ssize_t, timespec, timeval, uid_t,
};

use crate::{aliases, calls, lifecycle, process, raw, receive, send, syscall, waits};

/// A function of libc's, by name.
pub(crate) struct Function {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Function {
    const fn new(name: &'static CStr) -> Function {
        Function { name, address: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Where it is.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Relaxed);
        if address.is_null() { self.resolve() } else { address }
    }

    /// Finds it. Called by a hook only before this library's constructor ran: another library's did first.
    #[cold]
    fn resolve(&self) -> *mut c_void {
        // SAFETY: the name ends with a zero byte.
        let mut address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if address.is_null() {
            address = missing as *mut c_void;
        }
        self.address.store(address, Relaxed);
        address
    }
}

/// Stands for what this libc does not have.
extern "C" fn missing() -> isize {
    raw::set_errno(libc::ENOSYS);
    -1
}

/// Libc's own function `name`, with its type.
macro_rules! real {
    ($name:ident) => {
        core::mem::transmute::<*mut core::ffi::c_void, crate::hooks::types::$name>(
            crate::hooks::functions::$name.address(),
        )
    };
}
pub(crate) use real;

/// Exports one function.
macro_rules! hook {
    ($name:ident ($($argument:ident: $type:ty),*) -> $result:ty => $handler:path) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the program's own call is handed on as it is.
            unsafe { $handler(real!($name), $($argument),*) }
        }
    };
}

/// The type of a function with these arguments.
macro_rules! function_type {
    (($($argument:ident: $type:ty),*) -> $result:ty) => { unsafe extern "C" fn($($type),*) -> $result };
}

macro_rules! hooks {
    ($($($name:ident)|+: $arguments:tt -> $result:ty => $handler:path;)*) => {
        $($(hook!($name $arguments -> $result => $handler);)+)*

        /// The type of each function.
        #[allow(non_camel_case_types, reason = "called as the functions are")]
        pub(crate) mod types {
            use super::*;
            $($(pub(crate) type $name = function_type!($arguments -> $result);)+)*
        }

        /// Libc's own functions.
        #[allow(non_upper_case_globals, reason = "called as the functions are")]
        pub(crate) mod functions {
            use super::*;
            $($(pub(crate) static $name: Function = Function::new(c_name(concat!(stringify!($name), "\0")));)+)*
            /// Has no handler but a tail jump, see [`crate::process`].
            pub(crate) static vfork: Function = Function::new(c"vfork");
        }

        /// Finds all of them.
        pub(crate) fn resolve_all() {
            $($(functions::$name.address();)+)*
            functions::vfork.address();
        }
    };
}

const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => c"",
    }
}

hooks! {
    // Receiving.
    read | __read: (fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t => calls::read;
    __read_chk: (fd: c_int, buffer: *mut c_void, size: size_t, room: size_t) -> ssize_t => calls::read_chk;
    readv: (fd: c_int, first: *const iovec, count: c_int) -> ssize_t => calls::readv;
    preadv2 | preadv64v2:
        (fd: c_int, first: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t => calls::preadv2;
    recv: (fd: c_int, buffer: *mut c_void, size: size_t, flags: c_int) -> ssize_t => receive::recv;
    __recv_chk:
        (fd: c_int, buffer: *mut c_void, size: size_t, room: size_t, flags: c_int) -> ssize_t
        => receive::recv_chk;
    recvfrom:
        (fd: c_int, buffer: *mut c_void, size: size_t, flags: c_int,
         address: *mut sockaddr, length: *mut socklen_t) -> ssize_t => receive::recvfrom;
    __recvfrom_chk:
        (fd: c_int, buffer: *mut c_void, size: size_t, room: size_t, flags: c_int,
         address: *mut sockaddr, length: *mut socklen_t) -> ssize_t => receive::recvfrom_chk;
    recvmsg: (fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t => receive::recvmsg;
    recvmmsg:
        (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec) -> c_int
        => receive::recvmmsg;

    // Sending.
    write | __write: (fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t => calls::write;
    writev: (fd: c_int, first: *const iovec, count: c_int) -> ssize_t => calls::writev;
    pwritev2 | pwritev64v2:
        (fd: c_int, first: *const iovec, count: c_int, offset: off_t, flags: c_int) -> ssize_t
        => calls::pwritev2;
    send | __send: (fd: c_int, buffer: *const c_void, size: size_t, flags: c_int) -> ssize_t => calls::send;
    sendto:
        (fd: c_int, buffer: *const c_void, size: size_t, flags: c_int,
         address: *const sockaddr, length: socklen_t) -> ssize_t => calls::sendto;
    sendmsg: (fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t => send::sendmsg;
    sendmmsg | __sendmmsg:
        (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int => send::sendmmsg;
    sendfile | sendfile64:
        (to: c_int, from: c_int, offset: *mut off_t, size: size_t) -> ssize_t => send::sendfile;
    splice:
        (from: c_int, from_offset: *mut loff_t, to: c_int, to_offset: *mut loff_t, size: size_t, flags: c_uint)
        -> ssize_t => send::splice;

    // The life of a flow.
    socket: (domain: c_int, kind: c_int, protocol: c_int) -> c_int => lifecycle::socket;
    socketpair:
        (domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int => lifecycle::socketpair;
    bind: (fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int => lifecycle::bind;
    listen: (fd: c_int, backlog: c_int) -> c_int => lifecycle::listen;
    accept: (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int => lifecycle::accept;
    accept4:
        (fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int
        => lifecycle::accept4;
    connect | __connect: (fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int => lifecycle::connect;
    shutdown: (fd: c_int, how: c_int) -> c_int => lifecycle::shutdown;
    close | __close: (fd: c_int) -> c_int => lifecycle::close;
    close_range: (first: c_uint, last: c_uint, flags: c_int) -> c_int => lifecycle::close_range;
    closefrom: (first: c_int) -> () => lifecycle::closefrom;

    // Further descriptors of a flow.
    dup: (fd: c_int) -> c_int => aliases::dup;
    dup2 | __dup2: (old: c_int, new: c_int) -> c_int => aliases::dup2;
    dup3: (old: c_int, new: c_int, flags: c_int) -> c_int => aliases::dup3;
    fcntl | fcntl64 | __fcntl: (fd: c_int, command: c_int, argument: c_long) -> c_int => aliases::fcntl;

    // Waiting.
    poll | __poll: (fds: *mut pollfd, count: c_ulong, timeout: c_int) -> c_int => waits::poll;
    __poll_chk: (fds: *mut pollfd, count: c_ulong, timeout: c_int, room: size_t) -> c_int => waits::poll_chk;
    ppoll:
        (fds: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t) -> c_int
        => waits::ppoll;
    __ppoll_chk:
        (fds: *mut pollfd, count: c_ulong, timeout: *const timespec, mask: *const sigset_t, room: size_t)
        -> c_int => waits::ppoll_chk;
    select | __select:
        (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval)
        -> c_int => waits::select;
    pselect:
        (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec,
         mask: *const sigset_t) -> c_int => waits::pselect;
    epoll_wait:
        (epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int => waits::epoll_wait;
    epoll_pwait:
        (epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int, mask: *const sigset_t) -> c_int
        => waits::epoll_pwait;
    epoll_pwait2:
        (epoll: c_int, events: *mut epoll_event, most: c_int, timeout: *const timespec,
         mask: *const sigset_t) -> c_int => waits::epoll_pwait2;

    // Processes. `vfork`, `execl`, `execlp` and `execle` need hooks of their own making.
    fork | __fork | _Fork: () -> pid_t => process::fork;
    execve:
        (path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
        => process::execve;
    execv: (path: *const c_char, arguments: *const *const c_char) -> c_int => process::execv;
    execvp: (file: *const c_char, arguments: *const *const c_char) -> c_int => process::execvp;
    execvpe:
        (file: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
        => process::execvpe;
    fexecve:
        (fd: c_int, arguments: *const *const c_char, environment: *const *const c_char) -> c_int
        => process::fexecve;
    execveat:
        (directory: c_int, path: *const c_char, arguments: *const *const c_char,
         environment: *const *const c_char, flags: c_int) -> c_int => process::execveat;
    posix_spawn | posix_spawnp:
        (child: *mut pid_t, path: *const c_char, actions: *const c_void, attributes: *const c_void,
         arguments: *const *const c_char, environment: *const *const c_char) -> c_int => process::spawn;
    _exit | _Exit | quick_exit: (status: c_int) -> c_int => process::exit;
    prctl: (option: c_int, a: c_long, b: c_long, c: c_long, d: c_long) -> c_int => process::prctl;
    setuid | seteuid: (user: uid_t) -> c_int => process::setuid;
    setreuid: (user: uid_t, effective: uid_t) -> c_int => process::setreuid;
    setresuid: (user: uid_t, effective: uid_t, saved: uid_t) -> c_int => process::setresuid;

    // Anything, by number.
    syscall:
        (number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long) -> c_long
        => syscall::syscall;
}
