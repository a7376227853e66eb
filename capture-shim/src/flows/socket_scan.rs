//! Scans the process's descriptors for sockets, before the process loses the right to ask the
//! kernel about them.

use core::ffi::c_int;

use super::adopt::SO_NETNS_COOKIE;
use crate::descriptors::{RawSocketName, SocketNature, remembered_sockets, table};
use crate::platform::raw;
use crate::platform::text::{PATH, PathScratch};
use crate::tuning::{DESCRIPTORS_POLLED, REMEMBERED_DESCRIPTORS, SURVEYED_DESCRIPTORS};

/// Calls `with` for each open descriptor that can be remembered, until it returns true. Returns
/// whether it did.
fn any_open(mut with: impl FnMut(c_int) -> bool) -> bool {
    const { assert!(DESCRIPTORS_POLLED * size_of::<libc::pollfd>() <= PATH) };
    let Some(mut memory) = PathScratch::new() else {
        return (0..REMEMBERED_DESCRIPTORS as c_int).any(with);
    };
    let polled = memory.zeroed_words::<libc::pollfd>(DESCRIPTORS_POLLED);
    (0..REMEMBERED_DESCRIPTORS as c_int)
        .step_by(DESCRIPTORS_POLLED)
        .any(|first| any_in_range(polled, first, &mut with))
}

/// Calls `with` for each open descriptor from `first` on, as many as fit into `polled`, until it
/// returns true. Returns whether it did.
fn any_in_range(
    polled: &mut [libc::pollfd],
    first: c_int,
    mut with: impl FnMut(c_int) -> bool,
) -> bool {
    for (fd, entry) in (first..).zip(polled.iter_mut()) {
        *entry = libc::pollfd { fd, events: 0, revents: 0 };
    }
    // A single call of `poll`: asking for each descriptor whether it is open would take many calls.
    let is_polled = raw::poll_descriptors(polled);
    let is_open = |entry: &&libc::pollfd| !is_polled || entry.revents & libc::POLLNVAL == 0;
    polled.iter().filter(is_open).any(|entry| with(entry.fd))
}

/// Whether the process has a socket of a captured kind.
pub(crate) fn any_socket() -> bool {
    any_open(is_socket)
}

/// Whether one of the lowest descriptors is a socket of a captured kind. This takes a tenth of the
/// time of [`any_socket`].
pub(crate) fn any_low_socket() -> bool {
    let mut polled = [libc::pollfd { fd: 0, events: 0, revents: 0 }; SURVEYED_DESCRIPTORS as usize];
    any_in_range(&mut polled, 0, is_socket)
}

/// Whether `fd` is a socket of a captured kind. For a descriptor that was used, the table has the
/// answer.
fn is_socket(fd: c_int) -> bool {
    let entry = table::get_entry(fd);
    !entry.is_uncaptured()
        && (entry.flow() != 0
            || raw::socket_option::<c_int>(fd, libc::SO_DOMAIN).is_ok_and(table::is_captured))
}

/// Remembers all sockets of the process. Returns whether there are any.
pub(crate) fn remember_all() -> bool {
    let mut any = false;
    any_open(|fd| {
        let ask = |option| raw::socket_option::<c_int>(fd, option);
        if let Ok(domain) = ask(libc::SO_DOMAIN)
            && table::is_captured(domain)
        {
            any = true;
            remembered_sockets::start_remembering();
            if remembered_sockets::nature_of(fd).is_none() {
                let ask = |option| ask(option).unwrap_or(0);
                let number = |option| raw::socket_option::<u64>(fd, option).unwrap_or(0);
                let (cookie, namespace) = (number(libc::SO_COOKIE), number(SO_NETNS_COOKIE));
                let (kind, protocol) = (ask(libc::SO_TYPE), ask(libc::SO_PROTOCOL));
                remembered_sockets::remember_socket(
                    fd,
                    SocketNature { domain, kind, protocol, cookie, namespace },
                );
                let listens = ask(libc::SO_ACCEPTCONN) != 0;
                remembered_sockets::remember_names(
                    fd,
                    &RawSocketName::local_name(fd),
                    &RawSocketName::peer_name(fd),
                    listens,
                );
            }
        }
        false
    });
    // Sockets that are made later are remembered too.
    remembered_sockets::start_remembering();
    any
}
