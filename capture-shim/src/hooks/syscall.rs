//! `syscall`: the function by which some libraries call the kernel past libc's other functions
//! (libuv closes sockets and sends batches by it). Calls about sockets take the same path as the
//! functions of libc with their names.

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};

use libc::{
    iovec, loff_t, mmsghdr, msghdr, off_t, pid_t, rlimit, size_t, sockaddr, socklen_t, ssize_t,
    timespec, uid_t,
};

#[cfg(feature = "resources")]
use super::futexes;
use super::{
    close, dup, lifecycle, new_descriptors, processes, programs, read_write, receive,
    receive_messages, rights, rings, send, signals, waits,
};
use crate::c_library::{real, types};

/// Function by which hooks call the kernel. A call that is known at compile time is inlined into
/// the hook: if the library is injected, each avoided return saves 10 ns, since after a system call
/// the processor has forgotten its return predictions.
pub(crate) trait SyscallRoute {
    /// Makes a system call, as libc's `syscall` does.
    ///
    /// # Safety
    /// As for the system call.
    unsafe fn call(
        number: c_long,
        a: c_long,
        b: c_long,
        c: c_long,
        d: c_long,
        e: c_long,
        f: c_long,
    ) -> c_long;
}

/// Calls the kernel by libc's `syscall`.
struct LibcRoute;

impl SyscallRoute for LibcRoute {
    #[inline(always)]
    unsafe fn call(
        number: c_long,
        a: c_long,
        b: c_long,
        c: c_long,
        d: c_long,
        e: c_long,
        f: c_long,
    ) -> c_long {
        // SAFETY: the caller's call.
        unsafe { real!(syscall)(number, a, b, c, d, e, f) }
    }
}

/// Defines functions with the types of libc's functions, which call the kernel by number.
macro_rules! forwarded {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty = $number:ident;)*) => {
        /// Functions with the types of libc's, which call the kernel by number.
        mod by_number {
            use super::*;
            $(
                #[inline(always)]
                pub(super) unsafe extern "C" fn $name<Route: SyscallRoute>(
                    $($argument: $type),*
                ) -> $result {
                    let mut words = [0; 6];
                    for (word, argument) in words.iter_mut().zip([$($argument as c_long),*]) {
                        *word = argument;
                    }
                    let [a, b, c, d, e, f] = words;
                    // SAFETY: the program's own call.
                    unsafe { Route::call(libc::$number, a, b, c, d, e, f) as $result }
                }
            )*
        }
    };
}

forwarded! {
    fn read(fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t = SYS_read;
    fn write(fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t = SYS_write;
    fn readv(fd: c_int, first: *const iovec, count: c_int) -> ssize_t = SYS_readv;
    fn writev(fd: c_int, first: *const iovec, count: c_int) -> ssize_t = SYS_writev;
    fn sendto(
        fd: c_int, buffer: *const c_void, size: size_t, flags: c_int, address: *const sockaddr,
        length: socklen_t
    ) -> ssize_t = SYS_sendto;
    fn recvfrom(
        fd: c_int, buffer: *mut c_void, size: size_t, flags: c_int, address: *mut sockaddr,
        length: *mut socklen_t
    ) -> ssize_t = SYS_recvfrom;
    fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t = SYS_sendmsg;
    fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t = SYS_recvmsg;
    fn sendmmsg(
        fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int
    ) -> c_int = SYS_sendmmsg;
    fn recvmmsg(
        fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec
    ) -> c_int = SYS_recvmmsg;
    fn sendfile(to: c_int, from: c_int, offset: *mut off_t, size: size_t) -> ssize_t = SYS_sendfile;
    fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int = SYS_socket;
    fn socketpair(
        domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int
    ) -> c_int = SYS_socketpair;
    fn bind(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int = SYS_bind;
    fn listen(fd: c_int, backlog: c_int) -> c_int = SYS_listen;
    fn connect(fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int = SYS_connect;
    fn accept(fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int = SYS_accept;
    fn accept4(
        fd: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int
    ) -> c_int = SYS_accept4;
    fn setsockopt(
        fd: c_int, level: c_int, option: c_int, value: *const c_void, length: socklen_t
    ) -> c_int = SYS_setsockopt;
    fn shutdown(fd: c_int, how: c_int) -> c_int = SYS_shutdown;
    fn close(fd: c_int) -> c_int = SYS_close;
    fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int = SYS_close_range;
    fn dup(fd: c_int) -> c_int = SYS_dup;
    fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int = SYS_dup3;
    fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int = SYS_fcntl;
    fn execve(
        path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char
    ) -> c_int = SYS_execve;
    fn execveat(
        directory: c_int, path: *const c_char, arguments: *const *const c_char,
        environment: *const *const c_char, flags: c_int
    ) -> c_int = SYS_execveat;
    fn exit(status: c_int) -> c_int = SYS_exit_group;
    fn splice(
        from: c_int, from_offset: *mut loff_t, to: c_int, to_offset: *mut loff_t, size: size_t,
        flags: c_uint
    ) -> ssize_t = SYS_splice;
    fn pipe2(fds: *mut c_int, flags: c_int) -> c_int = SYS_pipe2;
    fn setuid(user: uid_t) -> c_int = SYS_setuid;
    fn chroot(path: *const c_char) -> c_int = SYS_chroot;
    fn pivot_root(path: *const c_char, old: *const c_char) -> c_int = SYS_pivot_root;
    fn unshare(flags: c_int) -> c_int = SYS_unshare;
    fn setns(fd: c_int, kind: c_int) -> c_int = SYS_setns;
    fn prlimit(
        process: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit
    ) -> c_int = SYS_prlimit64;
    fn prctl(option: c_int, a: c_long, b: c_long, c: c_long, d: c_long) -> c_int = SYS_prctl;
    fn setreuid(user: uid_t, effective: uid_t) -> c_int = SYS_setreuid;
    fn setresuid(user: uid_t, effective: uid_t, saved: uid_t) -> c_int = SYS_setresuid;
}

/// Makes a system call by number, with the hook of libc's function for it.
///
/// # Safety
/// As for `syscall`. It is variadic, but on all Linux architectures a call with six words is the
/// same as one with fewer.
#[expect(clippy::too_many_arguments, reason = "as many as libc's function has, and that function")]
#[cfg_attr(feature = "injected", expect(dead_code, reason = "there is no libc to call it"))]
pub(crate) unsafe fn syscall(
    _: types::syscall,
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: the program's own call.
    unsafe { dispatch_call::<LibcRoute>(number, a, b, c, d, e, f) }
}

/// Makes a system call, with the hook for its number.
///
/// # Safety
/// As for [`syscall`].
#[inline(always)]
pub(crate) unsafe fn dispatch_call<Route: SyscallRoute>(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: the program's own call; the words are the arguments of the system call of that
    // number.
    unsafe {
        match number {
            libc::SYS_read => {
                read_write::read(by_number::read::<Route>, a as _, b as _, c as _) as c_long
            }
            libc::SYS_write => {
                read_write::write(by_number::write::<Route>, a as _, b as _, c as _) as c_long
            }
            libc::SYS_readv => {
                read_write::readv(by_number::readv::<Route>, a as _, b as _, c as _) as c_long
            }
            libc::SYS_writev => {
                read_write::writev(by_number::writev::<Route>, a as _, b as _, c as _) as c_long
            }
            libc::SYS_sendto => read_write::sendto(
                by_number::sendto::<Route>,
                a as _,
                b as _,
                c as _,
                d as _,
                e as _,
                f as _,
            ) as c_long,
            libc::SYS_recvfrom => receive::recvfrom(
                by_number::recvfrom::<Route>,
                a as _,
                b as _,
                c as _,
                d as _,
                e as _,
                f as _,
            ) as c_long,
            libc::SYS_sendmsg => {
                send::sendmsg(by_number::sendmsg::<Route>, a as _, b as _, c as _) as c_long
            }
            libc::SYS_recvmsg => {
                receive_messages::recvmsg(by_number::recvmsg::<Route>, a as _, b as _, c as _)
                    as c_long
            }
            libc::SYS_sendmmsg => {
                send::sendmmsg(by_number::sendmmsg::<Route>, a as _, b as _, c as _, d as _).into()
            }
            libc::SYS_recvmmsg => receive_messages::recvmmsg(
                by_number::recvmmsg::<Route>,
                a as _,
                b as _,
                c as _,
                d as _,
                e as _,
            )
            .into(),
            libc::SYS_sendfile => {
                send::sendfile(by_number::sendfile::<Route>, a as _, b as _, c as _, d as _)
                    as c_long
            }
            libc::SYS_socket => {
                lifecycle::socket(by_number::socket::<Route>, a as _, b as _, c as _).into()
            }
            libc::SYS_socketpair => lifecycle::socketpair(
                by_number::socketpair::<Route>,
                a as _,
                b as _,
                c as _,
                d as _,
            )
            .into(),
            libc::SYS_bind => {
                lifecycle::bind(by_number::bind::<Route>, a as _, b as _, c as _).into()
            }
            libc::SYS_listen => {
                lifecycle::listen(by_number::listen::<Route>, a as _, b as _).into()
            }
            libc::SYS_connect => {
                lifecycle::connect(by_number::connect::<Route>, a as _, b as _, c as _).into()
            }
            libc::SYS_accept => {
                lifecycle::accept(by_number::accept::<Route>, a as _, b as _, c as _).into()
            }
            libc::SYS_accept4 => {
                lifecycle::accept4(by_number::accept4::<Route>, a as _, b as _, c as _, d as _)
                    .into()
            }
            libc::SYS_setsockopt => lifecycle::setsockopt(
                by_number::setsockopt::<Route>,
                a as _,
                b as _,
                c as _,
                d as _,
                e as _,
            )
            .into(),
            libc::SYS_shutdown => {
                close::shutdown(by_number::shutdown::<Route>, a as _, b as _).into()
            }
            libc::SYS_close => close::close(by_number::close::<Route>, a as _).into(),
            libc::SYS_close_range => {
                close::close_range(by_number::close_range::<Route>, a as _, b as _, c as _).into()
            }
            libc::SYS_dup => dup::dup(by_number::dup::<Route>, a as _).into(),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_dup2 => dup::dup2(real!(dup2), a as _, b as _).into(),
            libc::SYS_dup3 => dup::dup3(by_number::dup3::<Route>, a as _, b as _, c as _).into(),
            libc::SYS_fcntl => dup::fcntl(by_number::fcntl::<Route>, a as _, b as _, c as _).into(),
            libc::SYS_execve => {
                programs::execve(by_number::execve::<Route>, a as _, b as _, c as _).into()
            }
            libc::SYS_execveat => programs::execveat(
                by_number::execveat::<Route>,
                a as _,
                b as _,
                c as _,
                d as _,
                e as _,
            )
            .into(),
            libc::SYS_splice => send::splice(
                by_number::splice::<Route>,
                a as _,
                b as _,
                c as _,
                d as _,
                e as _,
                f as _,
            ) as c_long,
            // The offset is passed in two words, so these calls have six arguments.
            libc::SYS_preadv2 => read_write::receive_vector(a as _, b as _, c as _, || {
                Route::call(number, a, b, c, d, e, f) as ssize_t
            }) as c_long,
            libc::SYS_pwritev2 => read_write::send_vector(a as _, b as _, c as _, || {
                Route::call(number, a, b, c, d, e, f) as ssize_t
            }) as c_long,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open
            | libc::SYS_creat
            | libc::SYS_eventfd
            | libc::SYS_epoll_create
            | libc::SYS_inotify_init
            | libc::SYS_signalfd => {
                new_descriptors::open(|| Route::call(number, a, b, c, d, e, f) as c_int).into()
            }
            libc::SYS_openat
            | libc::SYS_openat2
            | libc::SYS_eventfd2
            | libc::SYS_epoll_create1
            | libc::SYS_timerfd_create
            | libc::SYS_signalfd4
            | libc::SYS_inotify_init1
            | libc::SYS_memfd_create
            | libc::SYS_pidfd_open
            | libc::SYS_pidfd_getfd
            | libc::SYS_userfaultfd => {
                new_descriptors::open(|| Route::call(number, a, b, c, d, e, f) as c_int).into()
            }
            libc::SYS_io_uring_setup => {
                rings::log_new_ring(|| Route::call(number, a, b, c, d, e, f) as c_int).into()
            }
            libc::SYS_pipe2 => {
                new_descriptors::pipe2(by_number::pipe2::<Route>, a as _, b as _).into()
            }
            libc::SYS_setuid => rights::setuid(by_number::setuid::<Route>, a as _).into(),
            libc::SYS_setreuid => {
                rights::setreuid(by_number::setreuid::<Route>, a as _, b as _).into()
            }
            libc::SYS_setresuid => {
                rights::setresuid(by_number::setresuid::<Route>, a as _, b as _, c as _).into()
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll | libc::SYS_select | libc::SYS_epoll_wait => {
                waits::by_number(number, [a, b, c, d, e, f], || {
                    Route::call(number, a, b, c, d, e, f)
                })
            }
            libc::SYS_ppoll
            | libc::SYS_pselect6
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2 => waits::by_number(number, [a, b, c, d, e, f], || {
                Route::call(number, a, b, c, d, e, f)
            }),
            #[cfg(feature = "resources")]
            libc::SYS_futex => {
                futexes::by_number([a, b, c], || Route::call(number, a, b, c, d, e, f))
            }
            libc::SYS_chroot => rights::chroot(by_number::chroot::<Route>, a as _).into(),
            libc::SYS_pivot_root => {
                rights::pivot_root(by_number::pivot_root::<Route>, a as _, b as _).into()
            }
            libc::SYS_unshare => rights::unshare(by_number::unshare::<Route>, a as _).into(),
            // The child returns here as well.
            libc::SYS_clone => {
                processes::prepare_clone(a as _);
                Route::call(number, a, b, c, d, e, f)
            }
            libc::SYS_clone3 => {
                processes::prepare_clone(processes::clone3_flags(a));
                Route::call(number, a, b, c, d, e, f)
            }
            libc::SYS_setns => rights::setns(by_number::setns::<Route>, a as _, b as _).into(),
            libc::SYS_prlimit64 => {
                rights::prlimit(by_number::prlimit::<Route>, a as _, b as _, c as _, d as _).into()
            }
            libc::SYS_prctl => rights::prctl(by_number::prctl::<Route>, a as _, b, c, d, e).into(),
            libc::SYS_seccomp => {
                rights::handle_seccomp(a, b, c, || Route::call(number, a, b, c, d, e, f))
            }
            libc::SYS_landlock_restrict_self => {
                rights::restrict_files(|| Route::call(number, a, b, c, d, e, f))
            }
            libc::SYS_rt_sigaction => {
                signals::by_number(a as _, b, c, || Route::call(number, a, b, c, d, e, f))
            }
            libc::SYS_exit_group => processes::exit(by_number::exit::<Route>, a as _).into(),
            _ => Route::call(number, a, b, c, d, e, f),
        }
    }
}
