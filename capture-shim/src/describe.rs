//! Making a descriptor's acquaintance: asks the kernel what it is, numbers its flow and logs both.
//!
//! Descriptors arrive from everywhere (inherited, passed by another process, made out of our
//! sight), so this runs for each at its first use, besides at the calls that make sockets.

use core::ffi::c_int;

use socket_log::encode::{self, Connect, Flow, Origin, Role};
use socket_log::layout::lost;

use crate::fds::{self, Entry, Kind};
use crate::log::{self, Writer};
use crate::options::options;
use crate::text::{PATH, Scratch};
use crate::{clock, lifecycle, positions, raw, remembered, start, watch};

/// Asks for the kernel's id of a socket's network namespace, of Linux 5.14 on; before, it is an
/// error without effect.
const SO_NETNS_COOKIE: c_int = 71;

/// A socket's name, as the kernel wrote it.
#[derive(Clone)]
pub(crate) struct Name {
    bytes: [u8; 128],
    length: usize,
}

impl Name {
    /// No name.
    pub(crate) const NONE: Name = Name { bytes: [0; 128], length: 0 };

    /// This end's name.
    pub(crate) fn local(fd: c_int) -> Name {
        let mut name = Name::NONE;
        name.ask(libc::SYS_getsockname, fd);
        name
    }

    /// The other end's name, where the socket is connected.
    pub(crate) fn peer(fd: c_int) -> Name {
        let mut name = Name::NONE;
        name.ask(libc::SYS_getpeername, fd);
        name
    }

    // In its place, since names returned through several functions would lie on the stack as often.
    #[inline(never)]
    fn ask(&mut self, number: core::ffi::c_long, fd: c_int) {
        let length = raw::socket_name(number, fd, &mut self.bytes).unwrap_or(0);
        self.length = length.min(self.bytes.len());
    }

    /// A copy of the name that a caller gave or got.
    ///
    /// # Safety
    /// `address` is null or points to `length` bytes.
    pub(crate) unsafe fn copy(address: *const libc::sockaddr, length: usize) -> Name {
        let mut name = Name::NONE;
        // SAFETY: as the caller says.
        unsafe { name.set(address, length) };
        name
    }

    /// Makes it a copy of the name that a caller gave or got; as it is, where that is null.
    ///
    /// # Safety
    /// As [`Name::copy`].
    pub(crate) unsafe fn set(&mut self, address: *const libc::sockaddr, length: usize) {
        if !address.is_null() {
            self.length = length.min(self.bytes.len());
            // SAFETY: the length is within both.
            unsafe {
                self.bytes.as_mut_ptr().copy_from_nonoverlapping(address.cast(), self.length)
            };
        }
    }

    /// The bytes; empty without a name.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&[])
    }

    /// Whether there is one.
    pub(crate) fn is_known(&self) -> bool {
        self.length >= 2
    }

    /// Whether it is `AF_UNSPEC`: no name, but the wish to have none.
    pub(crate) fn is_unspecified(&self) -> bool {
        self.family() == libc::AF_UNSPEC
    }

    fn family(&self) -> c_int {
        let [low, high, ..] = self.bytes;
        if self.is_known() { c_int::from(u16::from_ne_bytes([low, high])) } else { 0 }
    }

    /// The port of an internet address.
    fn port(&self) -> Option<u16> {
        let [_, _, high, low, ..] = self.bytes;
        matches!(self.family(), libc::AF_INET | libc::AF_INET6)
            .then_some(u16::from_be_bytes([high, low]))
    }

    /// Whether it is the name of a socket that is bound: an internet address without a port is not.
    fn is_bound(&self) -> bool {
        let [_, _, high, low, ..] = self.bytes;
        match self.family() {
            libc::AF_INET | libc::AF_INET6 => high != 0 || low != 0,
            _ => self.length > 2,
        }
    }
}

/// What `entry` of `fd` is, looking now if nobody has.
#[inline(always)]
pub(crate) fn resolve(fd: c_int, entry: Entry) -> Entry {
    if entry.is_doubtful() { verify(fd, entry) } else { entry }
}

/// What `fd` is, which is `entry` as far as the table knows: asks the kernel whether it still is
/// that socket.
///
/// A number that was closed and given out again, both out of sight, looks as before. To ask at each
/// message would cost more than all else, so it is asked where a flow begins, and where bytes come
/// behind a stream's end.
#[cold]
#[inline(never)]
pub(crate) fn verify(fd: c_int, entry: Entry) -> Entry {
    if entry == Entry::UNKNOWN {
        return find(fd);
    }
    if entry.is_other() {
        return entry;
    }
    match raw::socket_option(fd, libc::SO_COOKIE) {
        Ok(cookie) if !entry.is_of(cookie) => {}
        Err(error) if matches!(-error as c_int, libc::EBADF | libc::ENOTSOCK) => {}
        _ => return entry,
    }
    lifecycle::forget(fd);
    find(fd)
}

/// Looks at a descriptor that is used for the first time.
#[cold]
#[inline(never)]
fn find(fd: c_int) -> Entry {
    let nature = match raw::socket_option::<c_int>(fd, libc::SO_TYPE) {
        Ok(_) => Nature::UNKNOWN,
        Err(error) if -error as c_int == libc::EPERM => match remembered::get(fd) {
            Some(nature) => nature,
            None => return Entry::OTHER,
        },
        Err(error) => {
            // Only a descriptor that is open and no socket is worth remembering.
            let state =
                if -error as c_int == libc::ENOTSOCK { log::state_of_table() } else { None };
            let found = state.map(|state| fds::replace(state, fd, Entry::UNKNOWN, Entry::OTHER));
            return found.and_then(Result::err).unwrap_or(Entry::OTHER);
        }
    };
    let Some(writer) = log::writer() else {
        start::miss(fd);
        return Entry::OTHER;
    };
    let entry = adopt(writer, fd, Origin::Found, 0, &nature);
    if !entry.is_other() {
        name_found(writer, fd, entry);
    }
    entry
}

/// Logs what the ends of a socket are called that was found in use.
#[cold]
#[inline(never)]
fn name_found(writer: Writer, fd: c_int, entry: Entry) {
    let (mut local, mut peer) = (Name::local(fd), Name::peer(fd));
    let mut listens = raw::socket_option::<c_int>(fd, libc::SO_ACCEPTCONN).unwrap_or(0) != 0;
    if !local.is_known() {
        listens |= remembered::fill(fd, &mut local, &mut peer);
    }
    let role = match (listens, peer.is_known(), local.is_bound()) {
        (true, _, _) => Role::Listen,
        (_, true, _) => Role::Unknown,
        (_, _, true) => Role::Bind,
        _ => return,
    };
    name(writer, fd, entry, role, &local, &peer);
}

/// Calls `with` for the descriptors that are open, of those that can be remembered, until it
/// returns true; whether it did.
fn any_open(mut with: impl FnMut(c_int) -> bool) -> bool {
    const PIECE: usize = 512;
    const { assert!(PIECE * size_of::<libc::pollfd>() <= PATH) };
    let Some(mut memory) = Scratch::new() else { return (0..remembered::LIMIT as c_int).any(with) };
    let piece = memory.words::<libc::pollfd>(PIECE);
    for first in (0..remembered::LIMIT).step_by(PIECE) {
        for (index, asked) in piece.iter_mut().enumerate() {
            *asked = libc::pollfd { fd: (first + index) as c_int, events: 0, revents: 0 };
        }
        // To ask for each whether it is open would be as many calls.
        let is_told = raw::poll(piece);
        let is_open = |asked: &&libc::pollfd| !is_told || asked.revents & libc::POLLNVAL == 0;
        if piece.iter().filter(is_open).any(|asked| with(asked.fd)) {
            return true;
        }
    }
    false
}

/// Whether the process has a socket of a captured kind.
pub(crate) fn any_socket() -> bool {
    any_open(|fd| {
        fds::get(fd).flow() != 0
            || raw::socket_option::<c_int>(fd, libc::SO_DOMAIN).is_ok_and(fds::is_captured)
    })
}

/// Remembers all sockets that there are, while the kernel can be asked. Whether there are any.
pub(crate) fn remember_all() -> bool {
    let mut any = false;
    any_open(|fd| {
        let ask = |option| raw::socket_option::<c_int>(fd, option);
        if let Ok(domain) = ask(libc::SO_DOMAIN)
            && fds::is_captured(domain)
        {
            any = true;
            remembered::begin();
            if remembered::get(fd).is_none() {
                let ask = |option| ask(option).unwrap_or(0);
                let number = |option| raw::socket_option::<u64>(fd, option).unwrap_or(0);
                let (cookie, namespace) = (number(libc::SO_COOKIE), number(SO_NETNS_COOKIE));
                let (kind, protocol) = (ask(libc::SO_TYPE), ask(libc::SO_PROTOCOL));
                remembered::put(fd, Nature { domain, kind, protocol, cookie, namespace });
                let listens = ask(libc::SO_ACCEPTCONN) != 0;
                remembered::name(fd, &Name::local(fd), &Name::peer(fd), listens);
            }
        }
        false
    });
    // Those that are made later are remembered too.
    remembered::begin();
    any
}

/// What a socket is, as far as its maker says: for where the kernel may not be asked.
#[derive(Clone, Copy)]
pub(crate) struct Nature {
    /// `AF_INET` and the like.
    pub(crate) domain: c_int,
    /// `SOCK_STREAM` and the like.
    pub(crate) kind: c_int,
    /// `IPPROTO_TCP` and the like, 0 for the family's own.
    pub(crate) protocol: c_int,
    /// The kernel's id of it, 0 if unknown.
    pub(crate) cookie: u64,
    /// The kernel's id of its network namespace, 0 if unknown.
    pub(crate) namespace: u64,
}

impl Nature {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Nature =
        Nature { domain: 0, kind: 0, protocol: 0, cookie: 0, namespace: 0 };

    /// Of a socket made with these arguments.
    pub(crate) fn made(domain: c_int, kind: c_int, protocol: c_int) -> Nature {
        let kind = kind & 0xf; // The rest are flags.
        let own = match (domain, kind) {
            (libc::AF_INET | libc::AF_INET6, libc::SOCK_STREAM) => libc::IPPROTO_TCP,
            (libc::AF_INET | libc::AF_INET6, libc::SOCK_DGRAM) => libc::IPPROTO_UDP,
            _ => 0,
        };
        let protocol = if protocol == 0 { own } else { protocol };
        Nature { domain, kind, protocol, ..Nature::UNKNOWN }
    }

    /// Of one that was accepted on a listener.
    pub(crate) fn accepted(listener: Entry) -> Nature {
        let kind = match listener.kind() {
            Kind::Stream => libc::SOCK_STREAM,
            Kind::Datagram => libc::SOCK_SEQPACKET,
            _ => return Nature::UNKNOWN,
        };
        Nature::made(listener.domain(), kind, 0)
    }
}

/// Numbers the flow of a socket that is new to this process, logs it and enters it into the table.
pub(crate) fn adopt(
    writer: Writer,
    fd: c_int,
    origin: Origin,
    listener: u32,
    nature: &Nature,
) -> Entry {
    number_flow(writer, fd, origin, listener, true, nature)
}

/// Numbers another flow of a socket that had one, whose connection has ended. The new one goes
/// without the kernel's id, by which both would pass for the same.
pub(crate) fn adopt_again(writer: Writer, fd: c_int) -> Entry {
    number_flow(writer, fd, Origin::Socket, 0, false, &Nature::UNKNOWN)
}

fn number_flow(
    writer: Writer,
    fd: c_int,
    origin: Origin,
    listener: u32,
    is_first: bool,
    nature: &Nature,
) -> Entry {
    let ask = |option, otherwise| raw::socket_option::<c_int>(fd, option).unwrap_or(otherwise);
    let (domain, kind) = (ask(libc::SO_DOMAIN, nature.domain), ask(libc::SO_TYPE, nature.kind));
    let cookie = raw::socket_option(fd, libc::SO_COOKIE).unwrap_or(nature.cookie);
    let namespace = raw::socket_option(fd, SO_NETNS_COOKIE).unwrap_or(nature.namespace);
    let protocol = ask(libc::SO_PROTOCOL, nature.protocol);
    let entry = match (domain, kind) {
        _ if !is_selected(fd, domain, origin) => Entry::OTHER,
        (libc::AF_UNIX | libc::AF_INET | libc::AF_INET6 | libc::AF_VSOCK, libc::SOCK_STREAM) => {
            let flow = writer.next_flow();
            positions::begin(flow);
            watch::begin(fd, flow, origin == Origin::Found);
            watched(Entry::socket(Kind::Stream, flow))
        }
        (
            libc::AF_UNIX | libc::AF_INET | libc::AF_INET6 | libc::AF_VSOCK,
            libc::SOCK_DGRAM | libc::SOCK_SEQPACKET,
        ) => {
            let entry = watched(Entry::socket(Kind::Datagram, writer.next_flow()));
            if kind == libc::SOCK_SEQPACKET { entry.with_end() } else { entry }
        }
        _ => Entry::OTHER,
    };
    let entry = if entry.is_other() { entry } else { entry.of(cookie).in_domain(domain) };
    if origin == Origin::Found {
        if let Err(other) = fds::replace(writer.state(), fd, Entry::UNKNOWN, entry) {
            return other; // Another thread was first.
        }
    } else if !fds::set(writer.state(), fd, entry) {
        writer.lose(lost::DESCRIPTOR);
        return Entry::OTHER;
    }
    if entry.is_other() {
        return entry;
    }
    remembered::put(fd, Nature { domain, kind, protocol, cookie, namespace });
    let flow = Flow {
        flow: entry.flow(),
        fd,
        domain: domain as u8,
        kind: kind as u8,
        protocol: protocol as u16,
        origin,
        cookie: if is_first { cookie } else { 0 },
        listener,
        namespace,
    };
    let now = clock::now();
    writer.record(&encode::flow(now, &flow), now);
    entry
}

/// The entry with the mark of what more the user wants to know of it.
fn watched(entry: Entry) -> Entry {
    if options().watches(entry.kind()) { entry.watched() } else { entry }
}

/// Whether a socket that is new here may be one that the user wants: of one without ends that
/// decide, it is not known yet.
fn is_selected(fd: c_int, domain: c_int, origin: Origin) -> bool {
    if !options().filters_ports() {
        return true;
    }
    if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
        return false;
    }
    let peer = Name::peer(fd);
    !matches!(origin, Origin::Accept | Origin::Found)
        || !peer.is_known()
        || selects(&Name::local(fd), &peer)
}

fn selects(local: &Name, peer: &Name) -> bool {
    [local, peer].into_iter().filter_map(Name::port).any(|port| options().selects(port))
}

/// Whether a flow of these ends is one that the user wants. One that is not becomes a plain file to
/// the hooks.
pub(crate) fn stays(writer: Writer, fd: c_int, entry: Entry, local: &Name, peer: &Name) -> bool {
    let stays = !options().filters_ports() || selects(local, peer);
    if !stays {
        // Fails when the descriptor was closed meanwhile, and then there is nothing to do.
        let _ = fds::replace(writer.state(), fd, entry, Entry::OTHER);
    }
    stays
}

/// A call to `connect`.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// When it was made, in ticks.
    pub(crate) at: u64,
    /// Whether it returned while the connection was still being made.
    pub(crate) under_way: bool,
}

/// Logs what the ends of `fd`'s flow are called.
pub(crate) fn name(writer: Writer, fd: c_int, entry: Entry, role: Role, local: &Name, peer: &Name) {
    // A stream that is only bound may yet listen or connect.
    if (role != Role::Bind || entry.kind() == Kind::Datagram)
        && !stays(writer, fd, entry, local, peer)
    {
        return;
    }
    log_names(writer, fd, entry, (role, None), local, peer);
}

/// The same of a flow on which a connection was made, or is under way, by a `call` at so many
/// ticks, where that is known.
pub(crate) fn connected(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    call: Option<Call>,
    local: &Name,
    peer: &Name,
) {
    if stays(writer, fd, entry, local, peer) {
        log_names(writer, fd, entry, (Role::Connect, call), local, peer);
    }
}

/// Logs the name of a socket that its first send has bound.
pub(crate) fn bound(writer: Writer, fd: c_int, entry: Entry) {
    log_names(writer, fd, entry, (Role::Bind, None), &Name::local(fd), &Name::NONE);
}

fn log_names(
    writer: Writer,
    fd: c_int,
    entry: Entry,
    (role, call): (Role, Option<Call>),
    local: &Name,
    peer: &Name,
) {
    let of_unix = local.family() == libc::AF_UNIX || peer.family() == libc::AF_UNIX;
    let peer_pid = if of_unix { peer_pid(fd) } else { 0 };
    remembered::name(fd, local, peer, role == Role::Listen);
    let now = clock::now();
    let connect =
        call.map(|Call { at, under_way }| Connect { took: now.saturating_sub(at), under_way });
    let [own, other] = [local, peer].map(Name::as_bytes);
    writer.names(
        encode::endpoints_parts(now, entry.flow(), role, own, other, peer_pid, connect),
        now,
    );
    // Fails when the descriptor was closed or named meanwhile, and then there is nothing to do.
    let _ = fds::replace(writer.state(), fd, entry, entry.named());
}

/// The process at the other end of a unix socket; 0 where there is none.
fn peer_pid(fd: c_int) -> u32 {
    // pid, uid, gid.
    raw::socket_option::<[u32; 3]>(fd, libc::SO_PEERCRED).map_or(0, |[pid, ..]| pid)
}
