//! Life of a flow up to its end: made, named, connected, accepted.

use core::ffi::{c_int, c_void};

use libc::{sockaddr, socklen_t};
use socket_log::encode::{self, Direction, Origin, Role};

use crate::c_library::{errno, types};
use crate::descriptors::table::{self, Entry, Kind};
use crate::descriptors::{Name, Nature};
use crate::flows::{adopt, closing, duplicates, find, names, segments, transfer, uncaptured};
use crate::log::{self, Writer};
use crate::platform::{clock, raw};

/// # Safety
/// As `socket`.
pub(crate) unsafe fn socket(
    real: types::socket,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    let fd = unsafe { real(domain, kind, protocol) };
    if fd >= 0 && !table::is_captured(domain) {
        uncaptured::made(fd, &Nature::made(domain, kind, protocol));
    } else if fd >= 0
        && let Some(writer) = log::writer()
    {
        adopt::adopt(writer, fd, Origin::Socket, 0, &Nature::made(domain, kind, protocol));
    }
    fd
}

/// # Safety
/// As `socketpair`.
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
        && let Some(writer) = log::writer()
    {
        let nature = Nature::made(domain, kind, protocol);
        // SAFETY: the kernel wrote two descriptors.
        let both = unsafe { [*fds, *fds.add(1)] };
        let [first, second] = both.map(|fd| adopt::adopt(writer, fd, Origin::Pair, 0, &nature));
        if !first.is_other() && !second.is_other() {
            let now = clock::now();
            writer.record(&encode::pair(now, first.flow(), second.flow()), now);
        }
    }
    result
}

/// # Safety
/// As `bind`.
pub(crate) unsafe fn bind(
    real: types::bind,
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> c_int {
    let entry = find::verify(fd, table::get(fd));
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, address, length) };
    if result == 0 {
        name(fd, entry, Role::Bind);
    }
    result
}

/// # Safety
/// As `listen`.
pub(crate) unsafe fn listen(real: types::listen, fd: c_int, backlog: c_int) -> c_int {
    let entry = find::verify(fd, table::get(fd));
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, backlog) };
    if result == 0 {
        name(fd, entry, Role::Listen);
    }
    result
}

/// # Safety
/// As `setsockopt`.
pub(crate) unsafe fn setsockopt(
    real: types::setsockopt,
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    length: socklen_t,
) -> c_int {
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, level, option, value, length) };
    if result == 0 {
        segments::option_set(fd, level, option);
    }
    result
}

/// Logs the name of this end of a socket.
fn name(fd: c_int, entry: Entry, role: Role) {
    if !entry.is_other()
        && let Some(writer) = log::writer()
    {
        names::name(writer, fd, entry, role, &Name::local(fd), &Name::NONE);
    }
}

/// # Safety
/// As `connect`.
pub(crate) unsafe fn connect(
    real: types::connect,
    fd: c_int,
    address: *const sockaddr,
    length: socklen_t,
) -> c_int {
    let entry = find::verify(fd, table::get(fd));
    let before = if entry.is_named() { Name::peer(fd) } else { Name::NONE };
    let called = clock::now();
    // SAFETY: the program's own call.
    let result = unsafe { real(fd, address, length) };
    if result == 0 && entry.is_named() {
        // SAFETY: the kernel has taken the program's address.
        let asked = unsafe { Name::copy(address, length as usize) };
        if ends_flow(fd, entry, &before, &asked) {
            begin_again(fd, entry);
        }
    }
    // SAFETY: the program's own address.
    unsafe { connected(fd, result == 0, address, length, Some(called)) };
    if result < 0
        && !entry.is_other()
        && let Some(writer) = log::writer()
    {
        transfer::fail(writer, fd, entry, Direction::Send, clock::now());
    }
    result
}

/// Whether a `connect` that succeeded has ended what was connected before: it took a socket from
/// its peer, or gave it another one. (A second call for one connection under way does neither.)
fn ends_flow(fd: c_int, entry: Entry, before: &Name, asked: &Name) -> bool {
    match entry.kind() {
        Kind::Stream => asked.is_unspecified(),
        Kind::Datagram => before.is_known() && Name::peer(fd).as_bytes() != before.as_bytes(),
        _ => false,
    }
}

/// Begins another flow of the socket, under all of its descriptors.
fn begin_again(fd: c_int, old: Entry) {
    let Some(writer) = log::writer() else { return };
    closing::forget(fd);
    adopt::adopt_again(writer, fd);
    let known = writer.state().descriptors.load(core::sync::atomic::Ordering::Relaxed);
    for other in (0..known as c_int).filter(|other| *other != fd) {
        if table::get(other).flow() == old.flow() {
            closing::forget(other);
            duplicates::duplicated(fd, other);
        }
    }
}

/// Logs the ends of a flow on which a connection was made, or is under way, by a call at `called`
/// ticks, where that is known.
///
/// # Safety
/// `address` is null or as long as told; `errno` is that of the call unless it was a success.
#[inline(never)]
pub(crate) unsafe fn connected(
    fd: c_int,
    success: bool,
    address: *const sockaddr,
    length: socklen_t,
    called: Option<u64>,
) {
    let entry = table::get(fd);
    if entry.is_other() || entry == Entry::UNKNOWN || address.is_null() {
        return;
    }
    // An interrupted connect goes on in the kernel.
    if !success && !matches!(errno::get(), libc::EINPROGRESS | libc::EINTR) {
        return;
    }
    let Some(writer) = log::writer() else { return };
    let mut peer = Name::peer(fd);
    if !peer.is_known() {
        // The address is set in place, as another name would lie on the stack as well.
        // SAFETY: as the caller says.
        unsafe { peer.set(address, length as usize) };
        if peer.is_unspecified() && entry.kind() == Kind::Stream {
            return; // It may be connected anew, or not.
        }
        if peer.is_unspecified() {
            peer = Name::NONE; // A datagram socket taken from its peer again.
        }
    }
    // A call that was interrupted and is made again may find the connection made. The first record
    // has when that began.
    let call = called.map(|at| names::ConnectCall { at, under_way: !success });
    names::connected(writer, fd, entry, call, &Name::local(fd), &peer);
}

/// # Safety
/// As `accept`.
pub(crate) unsafe fn accept(
    real: types::accept,
    listener: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { accepted(listener, (address, length), || real(listener, address, length)) }
}

/// # Safety
/// As `accept4`.
pub(crate) unsafe fn accept4(
    real: types::accept4,
    listener: c_int,
    address: *mut sockaddr,
    length: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe { accepted(listener, (address, length), || real(listener, address, length, flags)) }
}

/// # Safety
/// `call` writes the peer's name to `place`, unless that is null.
unsafe fn accepted(
    listener: c_int,
    (address, length): (*mut sockaddr, *mut socklen_t),
    call: impl FnOnce() -> c_int,
) -> c_int {
    let by = find::resolve(listener, table::get(listener));
    // The peer's name that the program gets is taken, where there is room for it.
    let is_given = !address.is_null() && raw::is_readable(length);
    // SAFETY: just found readable.
    let room = if is_given { unsafe { *length } } else { 0 };
    let fd = call();
    let Some(writer) = log::writer() else { return fd };
    if fd >= 0 {
        let entry = adopt::adopt(writer, fd, Origin::Accept, by.flow(), &Nature::accepted(by));
        if !entry.is_other() {
            // SAFETY: as this function's caller says.
            unsafe { name_accepted(writer, fd, entry, (address, length), room) };
        }
    } else if !by.is_other() {
        transfer::fail(writer, listener, by, Direction::Receive, clock::now());
    }
    fd
}

/// Logs the ends of a connection that was accepted.
///
/// # Safety
/// The kernel has written the peer's name to `place`, where there is some `room`.
#[inline(never)]
unsafe fn name_accepted(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    (address, length): (*mut sockaddr, *mut socklen_t),
    room: socklen_t,
) {
    let (local, mut peer) = (Name::local(fd), Name::NONE);
    // SAFETY: as the caller says.
    let given = if room > 0 { unsafe { *length } } else { 0 };
    if given == 0 || given > room {
        peer.ask_peer(fd);
    }
    if !peer.is_known() && room > 0 {
        // SAFETY: as the caller says.
        unsafe { peer.set(address, given.min(room) as usize) };
    }
    names::name(writer, fd, entry, Role::Accept, &local, &peer);
}
