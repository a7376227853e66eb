//! Directory of the host, in which logs are made, and whether it can still be reached by its path.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use crate::platform::raw;
use crate::platform::text::{PATH, Scratch, Text};
use crate::state::settings;

/// Mark that the paths which the process knew may lead elsewhere now. A child inherits both.
static UPROOTED: AtomicBool = AtomicBool::new(false);

/// Whether the data directory may no longer be where it was.
pub(crate) fn is_uprooted() -> bool {
    UPROOTED.load(Relaxed)
}

/// Notes that the data directory may no longer be where it was.
pub(crate) fn set_uprooted() {
    UPROOTED.store(true, Relaxed);
}

/// Appends the path of the host's directory.
pub(crate) fn push_home(path: &mut Text<PATH>) {
    path.push(settings::directory()).push(b"/hosts/");
    for byte in settings::host() {
        path.push(if *byte == b'/' { b"_" } else { core::slice::from_ref(byte) });
    }
}

/// Makes the host's directory and those above it.
pub(crate) fn make_all() {
    let Some(mut memory) = Scratch::new() else { return };
    let path: &mut Text<PATH> = memory.text();
    // All directories on the way. One that is there already is no error.
    for (index, byte) in settings::directory().iter().enumerate() {
        if *byte == b'/' && index > 0 {
            raw::mkdir(path.as_c_str(), 0o777);
        }
        path.push(&[*byte]);
    }
    make(path, 0o755);
    // Processes of other users, such as a server that gives up its rights, put their logs there
    // too, and those of other hosts' names make directories.
    path.push(b"/hosts");
    make(path, 0o1777);
    *path = Text::new();
    push_home(path);
    make(path, 0o1777);
}

/// Makes one directory with exactly this mode, whatever the process's mask.
fn make(path: &Text<PATH>, mode: u32) {
    if raw::mkdir(path.as_c_str(), mode) == 0 {
        raw::chmod(path.as_c_str(), mode);
    }
}
