//! Survey of the process's sockets, while the kernel can be asked for them.

use core::ffi::c_int;

use super::adopt::SO_NETNS_COOKIE;
use crate::descriptors::{Name, Nature, remembered, table};
use crate::platform::raw;
use crate::platform::text::{PATH, Scratch};
use crate::tuning::{DESCRIPTORS_POLLED, REMEMBERED_DESCRIPTORS};

/// Calls `with` for each open descriptor that can be remembered, until it returns true. Tells
/// whether it did.
fn any_open(mut with: impl FnMut(c_int) -> bool) -> bool {
    const { assert!(DESCRIPTORS_POLLED * size_of::<libc::pollfd>() <= PATH) };
    let Some(mut memory) = Scratch::new() else {
        return (0..REMEMBERED_DESCRIPTORS as c_int).any(with);
    };
    let piece = memory.words::<libc::pollfd>(DESCRIPTORS_POLLED);
    for first in (0..REMEMBERED_DESCRIPTORS).step_by(DESCRIPTORS_POLLED) {
        for (index, asked) in piece.iter_mut().enumerate() {
            *asked = libc::pollfd { fd: (first + index) as c_int, events: 0, revents: 0 };
        }
        // One call: to ask for each descriptor whether it is open would be many.
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
        table::get(fd).flow() != 0
            || raw::socket_option::<c_int>(fd, libc::SO_DOMAIN).is_ok_and(table::is_captured)
    })
}

/// Remembers all sockets of the process. Tells whether there are any.
pub(crate) fn remember_all() -> bool {
    let mut any = false;
    any_open(|fd| {
        let ask = |option| raw::socket_option::<c_int>(fd, option);
        if let Ok(domain) = ask(libc::SO_DOMAIN)
            && table::is_captured(domain)
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
    // Sockets that are made later are remembered too.
    remembered::begin();
    any
}
