//! Settings that the user gave as environment variables. They are read once, when the library is
//! loaded; [`super::inherit`] passes them to other programs.

use core::ffi::{CStr, c_int};

use socket_log::{RECORDING_BYTES, RecordingId, host_name};

#[cfg(not(feature = "injected"))]
use crate::c_library::objects;
use crate::platform::clock::TickChoice;
use crate::platform::environment::{find_variable, is_list_separator, present_environment};
use crate::platform::text::BoundedText;
use crate::platform::{InitOnce, raw};

/// Maximum size of a path or name, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// Variables of the options. [`super::options`] gives them their meaning.
pub(crate) const OPTIONS: [&[u8]; 15] = [
    b"SOCKCAP_MAX_BYTES=",
    b"SOCKCAP_WHEN_FULL=",
    b"SOCKCAP_WAITS=",
    b"SOCKCAP_CPU=",
    b"SOCKCAP_FINGERPRINT=",
    b"SOCKCAP_PORTS=",
    b"SOCKCAP_COMMANDS=",
    b"SOCKCAP_CLOCK=",
    b"SOCKCAP_TEST_CLOCK=",
    b"SOCKCAP_PROTOCOLS=",
    b"SOCKCAP_INJECTOR=",
    b"SOCKCAP_RECORDING=",
    b"SOCKCAP_WORDS=",
    b"SOCKCAP_WORDS_KEY=",
    b"SOCKCAP_RUNTIMES=",
];

/// Index of the test clock's variable in [`OPTIONS`].
pub(crate) const TEST_CLOCK: usize = 8;

/// Index of the protocols' variable in [`OPTIONS`].
pub(crate) const PROTOCOLS: usize = 9;

/// Index of the variable with the socket for announcements in [`OPTIONS`].
pub(crate) const INJECTOR: usize = 10;

/// Index of the variable with the id of the recording in [`OPTIONS`].
const RECORDING: usize = 11;

/// Index of the variable of rare words in [`OPTIONS`].
pub(crate) const WORDS: usize = 12;

/// Index of the variable with the secret of their hashes in [`OPTIONS`].
const WORDS_KEY: usize = 13;

/// Index of the variable with the runtimes that are followed in [`OPTIONS`].
pub(super) const RUNTIMES: usize = 14;

/// Settings, as whole environment strings.
pub(crate) struct UserSettings {
    /// `SOCKCAP_DIR=`, with the absolute path of the data directory; empty if it cannot be used.
    pub(crate) directory: BoundedText<MAX_PATH_BYTES>,
    /// `SOCKCAP_HOST=`, with the name of the host.
    pub(crate) host: BoundedText<256>,
    /// Path of the directory with a directory for each host, in the data directory.
    pub(crate) hosts: BoundedText<{ MAX_PATH_BYTES + 8 }>,
    /// Name of the host, restricted to valid characters, which is also the name of its directory.
    pub(crate) host_directory: BoundedText<256>,
    /// `LD_PRELOAD=`, with the path of this library.
    pub(crate) library: BoundedText<MAX_PATH_BYTES>,
    /// Variables of [`OPTIONS`]; absent ones are empty.
    pub(crate) options: [BoundedText<1024>; OPTIONS.len()],
}

/// Beginning of the data directory's variable.
pub(crate) const DIRECTORY: &[u8] = b"SOCKCAP_DIR=";

/// Beginning of the host's variable.
pub(crate) const HOST: &[u8] = b"SOCKCAP_HOST=";

/// Beginning of the preloaded libraries' variable.
pub(crate) const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Settings of this process.
static SETTINGS: InitOnce<UserSettings> = InitOnce::new(UserSettings {
    directory: BoundedText::new(),
    host: BoundedText::new(),
    hosts: BoundedText::new(),
    host_directory: BoundedText::new(),
    library: BoundedText::new(),
    options: [const { BoundedText::new() }; OPTIONS.len()],
});

/// Settings of this process.
pub(crate) fn user_settings() -> &'static UserSettings {
    SETTINGS.get()
}

/// Reads the settings. Returns false if the data directory cannot be used: if it has no absolute
/// path, or a path that is too long.
pub(crate) fn read_settings() -> bool {
    let mut directory = BoundedText::new();
    directory.push(DIRECTORY);
    match find_variable(present_environment(), DIRECTORY).filter(|path| !path.is_empty()) {
        Some(path) => push_absolute(&mut directory, path),
        None => push_absolute(&mut directory, b"sockcap.data"),
    }
    let mut host = BoundedText::new();
    host.push(HOST);
    match find_variable(present_environment(), HOST).filter(|name| !name.is_empty()) {
        Some(name) => host.push(name),
        None => {
            let mut name = [0; 64];
            let length = raw::node_name(&mut name);
            host.push(name.get(..length).unwrap_or(b"localhost"))
        }
    };
    let mut host_directory = BoundedText::new();
    for byte in host_name::plain_bytes(host.as_bytes().get(HOST.len()..).unwrap_or(&[])) {
        host_directory.push(core::slice::from_ref(&byte));
    }
    if host_directory.as_bytes().is_empty() {
        host_directory.push(b"_");
    }
    let mut library = BoundedText::new();
    library.push(PRELOAD);
    push_own_path(&mut library);
    let mut options = [const { BoundedText::new() }; OPTIONS.len()];
    for (option, name) in options.iter_mut().zip(OPTIONS) {
        if let Some(value) = find_variable(present_environment(), name) {
            option.push(name).push(value);
        }
    }
    let usable = directory.is_whole() && directory.as_bytes().len() > DIRECTORY.len();
    if !usable {
        directory = BoundedText::new();
    }
    let mut hosts = BoundedText::new();
    hosts.push(directory.as_bytes().get(DIRECTORY.len()..).unwrap_or(&[])).push(b"/hosts");
    // A preload list cannot contain every path.
    if !library.is_whole() || library.as_bytes().iter().any(is_list_separator) {
        library = BoundedText::new();
    }
    // SAFETY: the constructor runs before the program has a second thread.
    unsafe {
        SETTINGS.set(UserSettings { directory, host, hosts, host_directory, library, options })
    };
    usable
}

/// Appends `path` as an absolute path. Appends nothing if `path` is relative, and the working
/// directory has no path or was removed.
fn push_absolute(to: &mut BoundedText<MAX_PATH_BYTES>, path: &[u8]) {
    if path.first() != Some(&b'/') {
        let before = to.as_bytes().len();
        to.push_with(|room| {
            let length = raw::getcwd(room).saturating_sub(1);
            // For a directory outside of the process's root, the kernel puts a word before the
            // path.
            if room.first() == Some(&b'/') { length } else { 0 }
        });
        if to.as_bytes().len() == before {
            return;
        }
        to.push(b"/");
    }
    to.push(path);
}

/// Appends the path of the library that programs with a dynamic linker load, as in the linker's
/// preload list.
#[cfg(feature = "injected")]
fn push_own_path(to: &mut BoundedText<MAX_PATH_BYTES>) {
    let list = find_variable(present_environment(), PRELOAD).unwrap_or(&[]);
    let is_library = |path: &&[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        name.starts_with(b"libsockcap")
    };
    if let Some(path) = list.split(is_list_separator).find(is_library) {
        push_absolute(to, path);
    }
}

/// Appends the path of this library, as the dynamic linker has it.
#[cfg(not(feature = "injected"))]
fn push_own_path(to: &mut BoundedText<MAX_PATH_BYTES>) {
    if let Some(library) = objects::own_object() {
        push_absolute(to, library.file_path().to_bytes());
    }
}

/// Id of the recording that this process belongs to; zeros if there is none.
pub(crate) fn recording_id() -> [u8; RECORDING_BYTES] {
    option_value(RECORDING).and_then(RecordingId::parse).map(RecordingId::bytes).unwrap_or_default()
}

/// Secret of the recording, from which the keys of hashes of words are made: random bytes, written
/// like the recording's id. `None` if it was not given.
pub(crate) fn word_secret() -> Option<[u8; RECORDING_BYTES]> {
    option_value(WORDS_KEY).and_then(RecordingId::parse).map(RecordingId::bytes)
}

/// The user's choice of the clock from which ticks are made (`SOCKCAP_CLOCK`).
pub(crate) fn tick_choice() -> TickChoice {
    match option_value(7) {
        Some(b"monotonic") => TickChoice::Monotonic,
        Some(b"cycles") => TickChoice::Cycles,
        _ => TickChoice::Trusted,
    }
}

/// Path of this library; empty if a preload list cannot contain it.
pub(crate) fn own_path() -> &'static [u8] {
    user_settings().library.as_bytes().get(PRELOAD.len()..).unwrap_or(&[])
}

/// Error (`errno`) with which the dynamic linker of a program that this process starts would fail
/// to open this library, or 0. After `chroot`, or for another user, the library's path may be
/// invalid, and the linker would print a message about it to the program's user.
pub(crate) fn library_open_error() -> c_int {
    let path = &user_settings().library;
    if path.as_bytes().len() <= PRELOAD.len() {
        return 0;
    }
    // SAFETY: after the name of the variable, and before the final zero byte.
    let path = unsafe { CStr::from_ptr(path.as_c_str().as_ptr().add(PRELOAD.len())) };
    match raw::open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0) {
        Ok(_) => 0,
        Err(error) => match error.unsigned_abs() as c_int {
            error @ (libc::ENOENT | libc::EACCES | libc::ENOTDIR | libc::ELOOP) => error,
            // The cause is not known: a filter, or no descriptor left.
            _ => 0,
        },
    }
}

/// Path of the data directory; empty if it cannot be used.
pub(crate) fn data_directory() -> &'static [u8] {
    user_settings().directory.as_bytes().get(DIRECTORY.len()..).unwrap_or(&[])
}

/// Path of the directory with a directory for each host.
pub(crate) fn hosts_directory() -> &'static CStr {
    user_settings().hosts.as_c_str()
}

/// Name of the host's directory, in which logs are made.
pub(crate) fn host_directory() -> &'static CStr {
    user_settings().host_directory.as_c_str()
}

/// Name of the host.
pub(crate) fn host_name() -> &'static [u8] {
    user_settings().host_directory.as_bytes()
}

/// Value of an option, by its index in [`OPTIONS`]; `None` if it was not given.
pub(crate) fn option_value(index: usize) -> Option<&'static [u8]> {
    let option = user_settings().options.get(index)?;
    option.as_bytes().strip_prefix(*OPTIONS.get(index)?)
}
