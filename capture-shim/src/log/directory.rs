//! Directory of the host, in which logs are made, and whether it can still be reached by its path.

use core::ffi::c_int;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use crate::platform::raw::{self, OwnDescriptor};
use crate::platform::text::{BoundedText, PATH, PathScratch};
use crate::state::settings;

/// Flag that the paths known to the process may lead elsewhere now. A child inherits it.
static UPROOTED: AtomicBool = AtomicBool::new(false);

/// Whether the data directory may no longer be at its old path.
pub(crate) fn is_uprooted() -> bool {
    UPROOTED.load(Relaxed)
}

/// Notes that the data directory may no longer be at its old path.
pub(crate) fn set_uprooted() {
    UPROOTED.store(true, Relaxed);
}

/// Appends the path of the host's directory.
pub(crate) fn push_home(path: &mut BoundedText<PATH>) {
    path.push(settings::data_directory()).push(b"/hosts/");
    path.push(settings::host_directory().to_bytes());
}

/// Flags for opening a directory below the data directory, where others may have put links.
const DIRECTORY_FLAGS: c_int =
    libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// Opens the host's directory without following links below the data directory.
#[cold]
#[inline(never)]
pub(crate) fn open_directory() -> Result<OwnDescriptor, isize> {
    raw::open(settings::hosts_directory(), DIRECTORY_FLAGS, 0)?.open_file(
        settings::host_directory(),
        DIRECTORY_FLAGS,
        0,
    )
}

/// Makes the host's directory and its parents.
pub(crate) fn make_all() {
    let Some(mut memory) = PathScratch::new() else { return };
    let path: &mut BoundedText<PATH> = memory.as_text();
    // All directories on the path are made. An existing directory is no error.
    for (index, byte) in settings::data_directory().iter().enumerate() {
        if *byte == b'/' && index > 0 {
            raw::mkdir(path.as_c_str(), 0o777);
        }
        path.push(&[*byte]);
    }
    let is_root = raw::geteuid() == 0;
    if raw::mkdir(path.as_c_str(), 0o755) == 0 && is_root {
        raw::chmod(path.as_c_str(), 0o755);
    }
    let hosts = settings::hosts_directory();
    if raw::mkdir(hosts, 0o755) == 0 && is_root {
        raw::chmod(hosts, 0o755);
    }
    let Ok(hosts) = raw::open(hosts, DIRECTORY_FLAGS, 0) else { return };
    // A server that drops its rights makes logs in it as another user, too. Such a user may neither
    // list nor remove the files of others. A process without root rights is the only user.
    let (host, mode) = (settings::host_directory(), if is_root { 0o1733 } else { 0o750 });
    if hosts.make_directory(host, mode) == 0 && is_root {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        if let Ok(directory) = hosts.open_file(host, flags, 0) {
            // The mode is set again, regardless of the process's umask.
            directory.set_mode(mode);
        }
    }
}
