//! Lifecycle of a flow (a socket as this process sees it) up to its end: made, named, connected,
//! accepted.

use core::ffi::{c_int, c_void};

use libc::{sockaddr, socklen_t};
use socket_log::encode::{self, Direction, FlowOrigin, FlowRole};

use crate::c_library::{errno, types};
use crate::descriptors::table::{self, DescriptorKind, DescriptorWord};
use crate::descriptors::{RawSocketName, SocketNature};
use crate::flows::{adopt, closing, duplicates, names, resolve, segments, transfer, uncaptured};
use crate::log::{self, RecordWriter};
use crate::platform::{clock, raw};
use crate::state::thread;

/// # Safety
/// As for `socket`.
pub(crate) unsafe fn socket(
    real: types::socket,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    let fd = unsafe { real(domain, kind, protocol) };
    if fd >= 0 && !table::is_captured(domain) {
        uncaptured::note_new_socket(fd, &SocketNature::for_new_socket(domain, kind, protocol));
    } else if fd >= 0
        && let Some(writer) = log::current_writer()
    {
        let nature = SocketNature::for_new_socket(domain, kind, protocol);
        let entry = adopt::adopt_socket(writer, fd, FlowOrigin::Socket, 0, &nature);
        writer.recent_sockets().note_made(fd, entry.flow());
    }
    fd
}

/// # Safety
/// As for `socketpair`.
pub(crate) unsafe fn socketpair(
    real: types::socketpair,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
    fds: *mut c_int,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { real(domain, kind, protocol, fds) };
    if result == 0
        && let Some(writer) = log::current_writer()
    {
        let nature = SocketNature::for_new_socket(domain, kind, protocol);
        // SAFETY: the kernel wrote two descriptors.
        let both = unsafe { [*fds, *fds.add(1)] };
        let [first, second] =
            both.map(|fd| adopt::adopt_socket(writer, fd, FlowOrigin::Pair, 0, &nature));
        if !first.is_uncaptured() && !second.is_uncaptured() {
            let now = clock::current_ticks();
            writer.record(&encode::socket_pair_record(now, first.flow(), second.flow()), now);
        }
    }
    result
}

/// # Safety
/// As for `bind`.
pub(crate) unsafe fn bind(
    real: types::bind,
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> c_int {
    // A new socket is no longer known to be unbound, see `connect`.
    thread::current_thread().recent.note_used();
    let entry = resolve::verify_entry(fd, table::get_entry(fd));
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, address, length) };
    if result == 0 {
        log_local_name(fd, entry, FlowRole::Bind);
    }
    result
}

/// # Safety
/// As for `listen`.
pub(crate) unsafe fn listen(real: types::listen, fd: c_int, backlog: c_int) -> c_int {
    let entry = resolve::verify_entry(fd, table::get_entry(fd));
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, backlog) };
    if result == 0 {
        log_local_name(fd, entry, FlowRole::Listen);
    }
    result
}

/// # Safety
/// As for `setsockopt`.
pub(crate) unsafe fn setsockopt(
    real: types::setsockopt,
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    // An option may give a unix socket a name at its connection (`SO_PASSCRED`).
    thread::current_thread().recent.note_used();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, level, option, value, length) };
    if result == 0 {
        segments::note_option_set(fd, level, option);
    }
    result
}

/// Logs the local name of a socket, after a call in this `role`.
fn log_local_name(fd: c_int, entry: DescriptorWord, role: FlowRole) {
    if !entry.is_uncaptured()
        && let Some(writer) = log::current_writer()
    {
        names::log_endpoint_names(
            writer,
            fd,
            entry,
            role,
            &RawSocketName::local_name(fd),
            &RawSocketName::NONE,
        );
    }
}

/// # Safety
/// As for `connect`.
pub(crate) unsafe fn connect(
    real: types::connect,
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> c_int {
    let entry = table::get_entry(fd);
    // A socket that this thread has just made is certainly that of its entry in the table, and is
    // not bound.
    let is_unused = thread::current_thread().recent.take_unused(fd, entry.flow());
    let entry = if is_unused { entry } else { resolve::verify_entry(fd, entry) };
    let previous_peer =
        if entry.is_named() { RawSocketName::peer_name(fd) } else { RawSocketName::NONE };
    let called = clock::current_ticks();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, address, length) };
    if result == 0 && entry.is_named() {
        // SAFETY: the kernel has taken the program's address.
        let target = unsafe { RawSocketName::copy_from(address, length as usize) };
        if ends_flow(fd, entry, &previous_peer, &target) {
            restart_flow(fd, entry);
        }
    }
    let call = ConnectHook { called, is_unused };
    // SAFETY: the program's own address.
    unsafe { log_connection(fd, result == 0, address, length, Some(call)) };
    if result < 0
        && !entry.is_uncaptured()
        && let Some(writer) = log::current_writer()
    {
        transfer::log_failure(writer, fd, entry, Direction::Send, clock::current_ticks());
    }
    result
}

/// Whether a successful `connect` has ended the previous connection: whether it dissolved a
/// socket's association with its peer, or changed the peer. (A second call for a connection under
/// way does neither.) `previous_peer` is the peer's name before the call, if known.
fn ends_flow(
    fd: c_int,
    entry: DescriptorWord,
    previous_peer: &RawSocketName,
    target: &RawSocketName,
) -> bool {
    match entry.kind() {
        DescriptorKind::Stream => target.is_unspecified(),
        DescriptorKind::Datagram => {
            previous_peer.is_known()
                && RawSocketName::peer_name(fd).as_bytes() != previous_peer.as_bytes()
        }
        _ => false,
    }
}

/// Begins another flow for a socket whose connection has ended: forgets all descriptors of the flow
/// in `old`, and logs them anew.
fn restart_flow(fd: c_int, old: DescriptorWord) {
    let Some(writer) = log::current_writer() else { return };
    closing::forget_descriptor(fd);
    adopt::adopt_again(writer, fd);
    let known = writer.state().descriptors.load(core::sync::atomic::Ordering::Relaxed);
    for other in (0..known as c_int).filter(|other| *other != fd) {
        if table::get_entry(other).flow() == old.flow() {
            closing::forget_descriptor(other);
            duplicates::log_duplicated(fd, other);
        }
    }
}

/// Facts that the hook of `connect` finds before it makes the program's call.
pub(crate) struct ConnectHook {
    /// Time of the call, in ticks.
    called: u64,
    /// Whether the socket was made just before, and is not bound.
    is_unused: bool,
}

/// Logs the names of both ends of a flow on which a connection was made, or is under way, by
/// `connect` (`call`), or by a send that connects (`None`).
///
/// # Safety
/// `address` is null or points to `length` bytes; `errno` is the call's, unless it was a success.
#[inline(never)]
pub(crate) unsafe fn log_connection(
    fd: c_int,
    success: bool,
    address: *const sockaddr,
    length: socklen_t,
    call: Option<ConnectHook>,
) {
    let entry = table::get_entry(fd);
    if entry.is_uncaptured() || entry == DescriptorWord::UNKNOWN || address.is_null() {
        return;
    }
    // An interrupted connect continues in the kernel.
    if !success && !matches!(errno::get_errno(), libc::EINPROGRESS | libc::EINTR) {
        return;
    }
    let Some(writer) = log::current_writer() else { return };
    let mut peer = RawSocketName::peer_name(fd);
    if !peer.is_known() {
        // The address is set in place, as another name would lie on the stack as well.
        // SAFETY: as the caller guarantees.
        unsafe { peer.set_from(address, length as usize) };
        if peer.is_unspecified() && entry.kind() == DescriptorKind::Stream {
            return; // It may be connected anew, or not.
        }
        if peer.is_unspecified() {
            peer = RawSocketName::NONE; // The association of a datagram socket was dissolved.
        }
    }
    // A call that was interrupted and is repeated may find the connection made. The first record
    // has its start time.
    let is_unbound = call.as_ref().is_some_and(|call| call.is_unused) && !entry.is_named();
    let local = if is_unbound && entry.domain() == libc::AF_UNIX {
        RawSocketName::unbound_unix()
    } else {
        RawSocketName::local_name(fd)
    };
    let call = call.map(|call| names::ConnectCall { at: call.called, under_way: !success });
    names::log_connected(writer, fd, entry, call, &local, &peer);
}

/// # Safety
/// As for `accept`.
pub(crate) unsafe fn accept(
    real: types::accept,
    listener: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { log_accepted(listener, (address, length), || real(listener, address, length)) }
}

/// # Safety
/// As for `accept4`.
pub(crate) unsafe fn accept4(
    real: types::accept4,
    listener: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { log_accepted(listener, (address, length), || real(listener, address, length, flags)) }
}

/// Accepts a connection by `call`, and logs the new flow with the names of its ends.
///
/// # Safety
/// `call` writes the peer's name to `address` and its length to `length`, unless they are null.
unsafe fn log_accepted(
    listener: c_int,
    (address, length): (*mut sockaddr, *mut socklen_t),
    call: impl FnOnce() -> c_int,
) -> c_int {
    let by = resolve::resolve_entry(listener, table::get_entry(listener));
    // The peer's name is taken from the program's buffer, if it fits.
    let is_given = !address.is_null() && raw::is_readable(length);
    // SAFETY: just found readable.
    let room = if is_given { unsafe { *length } } else { 0 };
    let fd = call();
    let Some(writer) = log::current_writer() else { return fd };
    if fd >= 0 {
        let entry = adopt::adopt_socket(
            writer,
            fd,
            FlowOrigin::Accept,
            by.flow(),
            &SocketNature::for_accepted(by),
        );
        if !entry.is_uncaptured() {
            // SAFETY: as this function's caller guarantees.
            unsafe { name_accepted(writer, fd, (by, entry), (address, length), room) };
        }
    } else if !by.is_uncaptured() {
        transfer::log_failure(writer, listener, by, Direction::Receive, clock::current_ticks());
    }
    fd
}

/// Logs the names of both ends of the connection `fd`, which was accepted on `listener`.
///
/// # Safety
/// The kernel has written the peer's name to `address`, cut to `room` bytes, and its full length to
/// `length`; `room` is 0 if there is no such buffer.
#[inline(never)]
unsafe fn name_accepted(
    writer: RecordWriter,
    fd: c_int,
    (listener, entry): (DescriptorWord, DescriptorWord),
    (address, length): (*mut sockaddr, *mut socklen_t),
    room: socklen_t,
) {
    let (mut local, mut peer) = (RawSocketName::NONE, RawSocketName::NONE);
    // A unix socket has the name of its listener, which never changes. An internet socket may have
    // another, even if its listener is bound to an address.
    let recent = writer.recent_sockets();
    let is_unix = entry.domain() == libc::AF_UNIX;
    if is_unix {
        local.fill_with(|name| recent.copy_listener_name(listener.flow(), name));
    }
    if !local.is_known() {
        local.ask_local(fd);
        if is_unix {
            recent.note_listener_name(listener.flow(), local.as_bytes());
        }
    }
    // SAFETY: as the caller guarantees.
    let given = if room > 0 { unsafe { *length } } else { 0 };
    if given == 0 || given > room {
        peer.ask_peer(fd);
    }
    if !peer.is_known() && room > 0 {
        // SAFETY: as the caller guarantees.
        unsafe { peer.set_from(address, given.min(room) as usize) };
    }
    names::log_endpoint_names(writer, fd, entry, FlowRole::Accept, &local, &peer);
}
