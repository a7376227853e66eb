//! Announcement of a program that will not load the library, to a recorder that can put it there.
//!
//! The thread that is about to execute the program tells `sockcap record` so, at the socket named
//! in `SOCKCAP_INJECTOR`, and waits for the answer: by then the recorder traces it, up to the exec.
//! The crate `injector` has the other side, and the bytes in its `announced/message.rs`.
//!
//! A `vfork` child may announce as well: nothing is written but its own stack.

use crate::platform::identity;
use crate::platform::raw::{self, Descriptor};
use crate::state::settings;
use crate::tuning::SECONDS_TO_ANNOUNCE;

/// Answer of a recorder that traces the thread.
const TRACED: u8 = b'1';
/// Message of a thread that goes on, since the program could not be executed.
const FAILED: u8 = b'x';
/// Beginning of an announcement.
const MAGIC: [u8; 4] = *b"SCX1";

/// Announcement that a recorder has answered. The connection lasts until the exec, which closes it.
pub(crate) struct Announced(Descriptor);

impl Announced {
    /// Says that the program was not executed, and that the thread goes on. The recorder ends the
    /// connection when it traces the thread no more: the next program may be one that must not be
    /// traced.
    pub(crate) fn failed(self) {
        if self.0.send(&[FAILED]) {
            self.0.receive();
        }
    }
}

/// Announces that the calling thread is about to execute the program at `path`. `None` where no
/// recorder will put the library there.
pub(crate) fn announce(path: &[u8]) -> Option<Announced> {
    let socket = settings::option(settings::INJECTOR).filter(|socket| !socket.is_empty())?;
    let ([a, b, c, d], [e, f, g, h]) = (MAGIC, identity::tid().to_le_bytes());
    let [i, j] = u16::try_from(path.len()).ok()?.to_le_bytes();
    let stream = raw::connect(socket, SECONDS_TO_ANNOUNCE)?;
    stream.let_it_trace();
    let is_traced = stream.send(&[a, b, c, d, e, f, g, h, i, j])
        && stream.send(path)
        && stream.receive() == Some(TRACED);
    is_traced.then_some(Announced(stream))
}
