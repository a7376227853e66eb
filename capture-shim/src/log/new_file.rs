//! Makes the file of a new log.

use core::ffi::c_int;

use socket_log::layout::Anchor;

use super::{causes, directory, keep};
use crate::platform::raw::OwnDescriptor;
use crate::platform::text::{BoundedText, PATH};
use crate::platform::{clock, identity};
use crate::state::ProcessState;
use crate::state::options::recording_options;

/// Start time of the process; the current time if the start was not seen.
pub(crate) fn process_start(state: &ProcessState) -> Anchor {
    // SAFETY: nothing writes it once the process has a second thread.
    let birth = unsafe { *state.birth.get() };
    if birth == Anchor::default() { clock::read_anchor() } else { birth }
}

/// Sets `path` to the path of a log of this process, with this `extension`. `None` if the path is
/// too long.
pub(crate) fn set_path(
    path: &mut BoundedText<PATH>,
    state: &ProcessState,
    extension: &[u8],
) -> Option<()> {
    let birth = process_start(state);
    *path = BoundedText::new();
    directory::push_home(path);
    path.push(b"/").push_number(identity::process_id().into()).push(b"-");
    path.push_number(birth.realtime as u64).push(extension);
    path.is_whole().then_some(())
}

/// Flags by which a log is made.
const CREATE_FLAGS: c_int = libc::O_RDWR
    | libc::O_APPEND
    | libc::O_CREAT
    | libc::O_EXCL
    | libc::O_CLOEXEC
    | libc::O_NOFOLLOW;

/// Mode of a log. Snippets may contain data that only the process's own user may read.
fn mode() -> u32 {
    if recording_options().keeps_any_snippets() { 0o600 } else { 0o640 }
}

/// Makes the file `path` in `home`, its parent directory. The error is the kernel's.
pub(crate) fn create_in(
    home: &OwnDescriptor,
    path: &BoundedText<PATH>,
) -> Result<OwnDescriptor, isize> {
    home.open_file(keep::base_name(path.as_c_str()), CREATE_FLAGS, mode())
        .inspect(OwnDescriptor::keep_in_place)
}

/// Makes the file `path`, and its parent directories if they are missing. The error is a cause of
/// [`socket_log::layout::lost`].
pub(crate) fn create_log_file(path: &BoundedText<PATH>) -> Result<OwnDescriptor, usize> {
    let make = || keep::open_file(path.as_c_str(), CREATE_FLAGS, mode());
    let is_missing = |error: &isize| *error == -libc::ENOENT as isize && !directory::is_uprooted();
    let file = make().or_else(|error| {
        if is_missing(&error) {
            directory::make_all();
            return make();
        }
        Err(error)
    });
    file.inspect(OwnDescriptor::keep_in_place).map_err(causes::cause_of_error)
}
