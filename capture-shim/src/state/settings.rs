//! Settings that the user gave as variables of the environment. They are read once, at load;
//! [`super::inherit`] hands them on to other programs.

use core::ffi::{CStr, c_int};

use socket_log::{RECORDING_BYTES, RecordingId, host_name};

#[cfg(not(feature = "injected"))]
use crate::c_library::objects;
use crate::platform::clock::TickChoice;
use crate::platform::environment::{find, present, separates};
use crate::platform::text::Text;
use crate::platform::{Once, raw};

/// Size of the longest path or name that is taken, in bytes.
const LONGEST: usize = 4096;

/// Variables of the options. [`super::options`] gives them their meaning.
pub(crate) const OPTIONS: [&[u8]; 12] = [
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
];

/// Index of the test clock's variable in [`OPTIONS`].
pub(crate) const TEST_CLOCK: usize = 8;

/// Index of the protocols' variable in [`OPTIONS`].
pub(crate) const PROTOCOLS: usize = 9;

/// Index of the variable with the socket for announcements in [`OPTIONS`].
pub(crate) const INJECTOR: usize = 10;

/// Index of the variable with the id of the recording in [`OPTIONS`].
const RECORDING: usize = 11;

/// Settings, as whole environment strings.
pub(crate) struct Settings {
    /// `SOCKCAP_DIR=`, with the absolute path of the data directory.
    pub(crate) directory: Text<LONGEST>,
    /// `SOCKCAP_HOST=`, with the name of the host.
    pub(crate) host: Text<256>,
    /// Path of the directory of all hosts.
    pub(crate) hosts: Text<{ LONGEST + 8 }>,
    /// Name of the host, as it may be, which its directory has, too.
    pub(crate) host_directory: Text<256>,
    /// `LD_PRELOAD=`, with the path of this library.
    pub(crate) library: Text<LONGEST>,
    /// Variables of [`OPTIONS`]; those that were not given are empty.
    pub(crate) options: [Text<1024>; OPTIONS.len()],
}

/// Beginning of the data directory's variable.
pub(crate) const DIRECTORY: &[u8] = b"SOCKCAP_DIR=";

/// Beginning of the host's variable.
pub(crate) const HOST: &[u8] = b"SOCKCAP_HOST=";

/// Beginning of the preloaded libraries' variable.
pub(crate) const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// Settings of this process.
static SETTINGS: Once<Settings> = Once::new(Settings {
    directory: Text::new(),
    host: Text::new(),
    hosts: Text::new(),
    host_directory: Text::new(),
    library: Text::new(),
    options: [const { Text::new() }; OPTIONS.len()],
});

/// Settings of this process.
pub(crate) fn settings() -> &'static Settings {
    SETTINGS.get()
}

/// Reads the settings. False when there is no path of the data directory, or it is too long to be
/// used.
pub(crate) fn read() -> bool {
    let mut directory = Text::new();
    directory.push(DIRECTORY);
    match find(present(), DIRECTORY).filter(|path| !path.is_empty()) {
        Some(path) => absolute(&mut directory, path),
        None => absolute(&mut directory, b"sockcap.data"),
    }
    let mut host = Text::new();
    host.push(HOST);
    match find(present(), HOST).filter(|name| !name.is_empty()) {
        Some(name) => host.push(name),
        None => {
            let mut name = [0; 64];
            let length = raw::nodename(&mut name);
            host.push(name.get(..length).unwrap_or(b"localhost"))
        }
    };
    let mut host_directory = Text::new();
    for byte in host_name::plain_bytes(host.as_bytes().get(HOST.len()..).unwrap_or(&[])) {
        host_directory.push(core::slice::from_ref(&byte));
    }
    if host_directory.as_bytes().is_empty() {
        host_directory.push(b"_");
    }
    let mut library = Text::new();
    library.push(PRELOAD);
    push_own_path(&mut library);
    let mut options = [const { Text::new() }; OPTIONS.len()];
    for (option, name) in options.iter_mut().zip(OPTIONS) {
        if let Some(value) = find(present(), name) {
            option.push(name).push(value);
        }
    }
    let usable = directory.is_whole() && directory.as_bytes().len() > DIRECTORY.len();
    if !usable {
        directory = Text::new();
    }
    let mut hosts = Text::new();
    hosts.push(directory.as_bytes().get(DIRECTORY.len()..).unwrap_or(&[])).push(b"/hosts");
    // A preload list cannot name every path.
    if !library.is_whole() || library.as_bytes().iter().any(separates) {
        library = Text::new();
    }
    // SAFETY: the constructor is alone.
    unsafe { SETTINGS.set(Settings { directory, host, hosts, host_directory, library, options }) };
    usable
}

/// Appends `path` as an absolute one. Appends nothing where it depends on a working directory that
/// has no path (any more).
fn absolute(to: &mut Text<LONGEST>, path: &[u8]) {
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

/// Appends the path of the library that programs with a dynamic linker load, as the list for that
/// linker has it.
#[cfg(feature = "injected")]
fn push_own_path(to: &mut Text<LONGEST>) {
    let list = find(present(), PRELOAD).unwrap_or(&[]);
    let is_library = |path: &&[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        name.starts_with(b"libsockcap")
    };
    if let Some(path) = list.split(separates).find(is_library) {
        absolute(to, path);
    }
}

/// Appends the path of this library, as the dynamic linker knows it.
#[cfg(not(feature = "injected"))]
fn push_own_path(to: &mut Text<LONGEST>) {
    if let Some(library) = objects::own() {
        absolute(to, library.file().to_bytes());
    }
}

/// Id of the recording that this process is of; zeros where it is of none.
pub(crate) fn recording() -> [u8; RECORDING_BYTES] {
    option(RECORDING).and_then(RecordingId::parse).map(RecordingId::bytes).unwrap_or_default()
}

/// TickChoice of the ticks.
pub(crate) fn clock() -> TickChoice {
    match option(7) {
        Some(b"monotonic") => TickChoice::Monotonic,
        Some(b"cycles") => TickChoice::Cycles,
        _ => TickChoice::Trusted,
    }
}

/// Path of this library; empty where there is none that a preload list can name.
pub(crate) fn own_path() -> &'static [u8] {
    settings().library.as_bytes().get(PRELOAD.len()..).unwrap_or(&[])
}

/// Error of the kernel for which the dynamic linker of a program that begins here could not open
/// this library, or 0. Behind `chroot`, or for another user, its path may lead nowhere, and the
/// linker would tell the user of the program so.
pub(crate) fn refusal() -> c_int {
    let path = &settings().library;
    if path.as_bytes().len() <= PRELOAD.len() {
        return 0;
    }
    // SAFETY: behind the name of the variable, still in front of the zero byte.
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

/// Path of the data directory; empty where it cannot be used.
pub(crate) fn directory() -> &'static [u8] {
    settings().directory.as_bytes().get(DIRECTORY.len()..).unwrap_or(&[])
}

/// Path of the directory of all hosts.
pub(crate) fn hosts() -> &'static CStr {
    settings().hosts.as_c_str()
}

/// Name of the host's directory, in which logs are made.
pub(crate) fn host_directory() -> &'static CStr {
    settings().host_directory.as_c_str()
}

/// Name of the host.
pub(crate) fn host() -> &'static [u8] {
    settings().host_directory.as_bytes()
}

/// Value of an option, by its index in [`OPTIONS`]; `None` where it was not given.
pub(crate) fn option(index: usize) -> Option<&'static [u8]> {
    let option = settings().options.get(index)?;
    option.as_bytes().strip_prefix(*OPTIONS.get(index)?)
}
