//! Announcement of a program that will not load the library, to a recorder that can inject it.
//!
//! The thread that is about to execute the program sends a message to `sockcap record`, at the
//! socket named in `SOCKCAP_INJECTOR`, and waits for the answer: by then the recorder traces the
//! thread, up to the exec. The crate `injector` has the other side, and the bytes in its
//! `exec_announcement/message.rs`.
//!
//! In a process that has changed its root directory, or its view of the files, no path leads to the
//! socket. Such a process keeps another socket of the recorder ([`crate::log::keep`]), and passes
//! one end of a socket pair over it, which the recorder treats as a connection.
//!
//! A `vfork` child may announce as well, since an announcement writes to no memory but the stack of
//! the child. A thread in which libc makes the child and executes the program (`posix_spawn`)
//! announces the child instead: the recorder then follows the next child that the thread makes by
//! `vfork`.

use crate::log::keep;
use crate::platform::identity;
use crate::platform::raw::{self, OwnDescriptor};
use crate::state::settings;
use crate::tuning::SECONDS_TO_ANNOUNCE;

/// Answer of a recorder that traces the thread.
const TRACED: u8 = b'1';
/// Message of a thread that continues, since the program could not be executed.
const FAILED: u8 = b'x';

/// Which thread will execute the program. Its value is the first word of the announcement.
#[derive(Clone, Copy)]
pub(crate) enum AnnouncedExecutor {
    /// The thread that announces it.
    Itself = u32::from_le_bytes(*b"SCX1") as isize,
    /// A child that libc makes in the next call.
    Child = u32::from_le_bytes(*b"SCX2") as isize,
}

/// Announcement that a recorder has answered. The connection lasts until the exec, which closes it.
pub(crate) struct AcceptedAnnouncement(OwnDescriptor);

impl AcceptedAnnouncement {
    /// Reports that the program was not executed, and that the thread continues. The recorder ends
    /// the connection once it no longer traces the thread: the next program may be one that must
    /// not be traced.
    pub(crate) fn report_failure(self) {
        if self.0.send_all(&[FAILED]) {
            self.0.receive_byte();
        }
    }
}

/// Socket of a recorder, if there is one.
pub(crate) fn recorder_socket() -> Option<&'static [u8]> {
    settings::option_value(settings::INJECTOR).filter(|socket| !socket.is_empty())
}

/// Whether a recorder injects the library into programs that cannot load it because they run in
/// another root directory. `refused` is the error for which they cannot open the library, or 0.
pub(crate) fn is_injected_in_other_root(refused: core::ffi::c_int) -> bool {
    refused != 0 && keep::kept_recorder().is_some()
}

/// Announces that the program at `path` is about to be executed, and waits for the recorder's
/// answer. Returns `None` if no recorder will inject the library.
pub(crate) fn announce_exec(
    executor: AnnouncedExecutor,
    path: &[u8],
) -> Option<AcceptedAnnouncement> {
    let socket = recorder_socket()?;
    let ([a, b, c, d], [e, f, g, h]) =
        ((executor as u32).to_le_bytes(), identity::thread_id().to_le_bytes());
    let [i, j] = u16::try_from(path.len()).ok()?.to_le_bytes();
    let handed = keep::kept_recorder().and_then(|to| raw::hand_stream(&to, SECONDS_TO_ANNOUNCE));
    let stream = match handed {
        Some(stream) => stream,
        None => {
            let stream = raw::connect_unix(socket, SECONDS_TO_ANNOUNCE)?;
            stream.allow_tracing();
            stream
        }
    };
    let is_traced = stream.send_all(&[a, b, c, d, e, f, g, h, i, j])
        && stream.send_all(path)
        && stream.receive_byte() == Some(TRACED);
    is_traced.then_some(AcceptedAnnouncement(stream))
}
