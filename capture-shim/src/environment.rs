//! What the user chose, and seeing to it that child processes know it too.
//!
//! The choices are read once, at load. A child finds them in its environment: where a program starts another
//! with an environment of its own making, the hooks of `exec` and `spawn` add what is missing, on the stack,
//! since a `vfork` child must leave no allocation behind in its parent.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::ptr;

use crate::raw;
use crate::text::Text;

/// The longest path or name that is taken.
const LONGEST: usize = 4096;

/// The variables of the options, which [`crate::options`] gives their meaning.
pub(crate) const OPTIONS: [&[u8]; 8] = [
    b"SOCKCAP_MAX_BYTES=",
    b"SOCKCAP_WHEN_FULL=",
    b"SOCKCAP_WAITS=",
    b"SOCKCAP_CPU=",
    b"SOCKCAP_FINGERPRINT=",
    b"SOCKCAP_PORTS=",
    b"SOCKCAP_COMMANDS=",
    b"SOCKCAP_CLOCK=",
];

/// The choices, as whole environment strings.
struct Settings {
    /// `SOCKCAP_DIR=`, with the absolute path of the data directory.
    directory: Text<LONGEST>,
    /// `SOCKCAP_HOST=`, with the name of the host.
    host: Text<256>,
    /// `LD_PRELOAD=`, with the path of this library.
    library: Text<LONGEST>,
    /// Those of [`OPTIONS`] that were given; the others are empty.
    options: [Text<1024>; OPTIONS.len()],
}

const DIRECTORY: &[u8] = b"SOCKCAP_DIR=";
const HOST: &[u8] = b"SOCKCAP_HOST=";
const PRELOAD: &[u8] = b"LD_PRELOAD=";

struct Once(UnsafeCell<Settings>);
// SAFETY: written by the constructor alone, before the program has a second thread.
unsafe impl Sync for Once {}

static SETTINGS: Once = Once(UnsafeCell::new(Settings {
    directory: Text::new(),
    host: Text::new(),
    library: Text::new(),
    options: [const { Text::new() }; OPTIONS.len()],
}));

fn settings() -> &'static Settings {
    // SAFETY: nobody writes any more once the constructor has run, and it takes no reference while it writes.
    unsafe { &*SETTINGS.0.get() }
}

unsafe extern "C" {
    static mut environ: *mut *const c_char;
}

/// The program's present environment.
pub(crate) fn present() -> *const *const c_char {
    // SAFETY: a word that the program may change, as libc's own functions read it.
    unsafe { (&raw const environ).read() }
}

/// Reads the choices. False when the data directory's path is too long to be used.
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
    let mut library = Text::new();
    library.push(PRELOAD);
    push_own_path(&mut library);
    let mut options = [const { Text::new() }; OPTIONS.len()];
    for (option, name) in options.iter_mut().zip(OPTIONS) {
        if let Some(value) = find(present(), name) {
            option.push(name).push(value);
        }
    }
    let usable = directory.is_whole();
    // SAFETY: the constructor is alone.
    unsafe { SETTINGS.0.get().write(Settings { directory, host, library, options }) };
    usable
}

fn absolute(to: &mut Text<LONGEST>, path: &[u8]) {
    if path.first() != Some(&b'/') {
        let mut buffer = [0; LONGEST];
        let length = raw::getcwd(&mut buffer).saturating_sub(1);
        to.push(buffer.get(..length).unwrap_or(&[])).push(b"/");
    }
    to.push(path);
}

/// The path of this library, as the dynamic linker knows it.
fn push_own_path(to: &mut Text<LONGEST>) {
    // SAFETY: a struct of pointers may be all zeros.
    let mut info: libc::Dl_info = unsafe { core::mem::zeroed() };
    let own: *const c_void = (&raw const SETTINGS).cast();
    // SAFETY: asks for a live address.
    if unsafe { libc::dladdr(own, &mut info) } != 0 && !info.dli_fname.is_null() {
        // SAFETY: the linker's own text, which lives as long as the library.
        absolute(to, unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes());
    }
}

/// What ticks shall be, by `SOCKCAP_CLOCK`.
pub(crate) enum Clock {
    /// Cycles where the kernel trusts their counter, else nanoseconds.
    Trusted,
    /// Nanoseconds (`monotonic`).
    Monotonic,
    /// Cycles wherever their counter is steady (`cycles`): for tests, since it may be out of step between processors.
    Cycles,
}

/// The choice of the clock.
pub(crate) fn clock() -> Clock {
    match option(7) {
        Some(b"monotonic") => Clock::Monotonic,
        Some(b"cycles") => Clock::Cycles,
        _ => Clock::Trusted,
    }
}

/// The data directory.
pub(crate) fn directory() -> &'static [u8] {
    settings().directory.as_bytes().get(DIRECTORY.len()..).unwrap_or(&[])
}

/// The host's name.
pub(crate) fn host() -> &'static [u8] {
    settings().host.as_bytes().get(HOST.len()..).unwrap_or(&[])
}

/// The value of an option, by its place in [`OPTIONS`]; `None` where it was not given.
pub(crate) fn option(index: usize) -> Option<&'static [u8]> {
    let option = settings().options.get(index)?;
    option.as_bytes().strip_prefix(*OPTIONS.get(index)?)
}

/// The value of the variable that begins with `name` (which ends with `=`).
fn find(strings: *const *const c_char, name: &[u8]) -> Option<&'static [u8]> {
    if strings.is_null() {
        return None;
    }
    for index in 0.. {
        // SAFETY: the array ends with a null pointer, and each string with a zero byte.
        let string = unsafe { *strings.add(index) };
        if string.is_null() {
            return None;
        }
        // SAFETY: as above.
        if let Some(value) = unsafe { CStr::from_ptr(string) }.to_bytes().strip_prefix(name) {
            return Some(value);
        }
    }
    None
}

/// How many variables an environment may have to be completed on the stack.
const MOST: usize = 1020;
/// How many variables [`Complete`] may add, with the null pointer behind them.
const ADDED: usize = 3 + OPTIONS.len() + 1;

/// An environment that has all that a child of a traced program needs.
pub(crate) struct Complete {
    pointers: [*const c_char; MOST + ADDED],
    /// Stands in for [`Complete::pointers`] where there are more: a mapping and its length.
    mapped: Option<(*mut u8, usize)>,
    library: Text<LONGEST>,
}

impl Complete {
    /// Room for one. It is large and belongs on the stack of the call that ends in the kernel.
    pub(crate) const fn new() -> Complete {
        Complete { pointers: [ptr::null(); MOST + ADDED], mapped: None, library: Text::new() }
    }

    /// The environment to be used in place of `given`: the same array where nothing is missing.
    ///
    /// # Safety
    /// `given` is null or an array of strings that ends with a null pointer.
    pub(crate) unsafe fn of(&mut self, given: *const *const c_char) -> *const *const c_char {
        let settings = settings();
        let own = settings.library.as_bytes().get(PRELOAD.len()..).unwrap_or(&[]);
        if own.is_empty() {
            return given;
        }
        let preload = find(given, PRELOAD);
        let is_loaded = preload.is_some_and(|list| contains(list, file_name(own)));
        let is_absolute = find(given, DIRECTORY).is_some_and(|path| path.first() == Some(&b'/'));
        let has_host = find(given, HOST).is_some();
        let missing = |index: &usize| {
            option(*index).is_some() && OPTIONS.get(*index).is_some_and(|name| find(given, name).is_none())
        };
        if is_loaded && is_absolute && has_host && !(0..OPTIONS.len()).any(|index| missing(&index)) {
            return given;
        }
        let count = length(given);
        let Some(pointers) = self.room(count + ADDED) else { return given };
        for (index, place) in pointers.iter_mut().take(count).enumerate() {
            // SAFETY: within the given array.
            *place = unsafe { *given.add(index) };
        }
        let mut list = List { pointers, count };
        if !is_loaded {
            self.library.push(settings.library.as_bytes());
            if let Some(others) = preload.filter(|others| !others.is_empty()) {
                self.library.push(b":").push(others);
            }
            if !self.library.is_whole() {
                return given;
            }
            list.put(PRELOAD, self.library.as_c_str());
        }
        if !is_absolute {
            list.put(DIRECTORY, settings.directory.as_c_str());
        }
        if !has_host {
            list.put(HOST, settings.host.as_c_str());
        }
        for index in (0..OPTIONS.len()).filter(missing) {
            if let (Some(name), Some(text)) = (OPTIONS.get(index), settings.options.get(index)) {
                list.put(name, text.as_c_str());
            }
        }
        list.pointers.as_ptr()
    }

    /// Zeroed room for `length` pointers: the stack's, or where they are too many, a mapping. A `vfork` child whose
    /// `exec` succeeds leaves that to its parent; it happens only to those who clear one that large.
    fn room<'room>(&mut self, length: usize) -> Option<&'room mut [*const c_char]> {
        let start: *mut *const c_char = if length <= self.pointers.len() {
            self.pointers.as_mut_ptr()
        } else {
            let bytes = length * size_of::<*const c_char>();
            let memory = raw::map_anonymous(bytes)?;
            self.mapped = Some((memory, bytes));
            memory.cast()
        };
        // SAFETY: as long as told, zeroed, and of this struct alone, which outlives its use by the kernel.
        Some(unsafe { core::slice::from_raw_parts_mut(start, length) })
    }
}

impl Drop for Complete {
    fn drop(&mut self) {
        if let Some((memory, length)) = self.mapped.take() {
            // SAFETY: the call that was given it has come back.
            unsafe { raw::unmap(memory, length) };
        }
    }
}

/// The environment under construction.
struct List<'room> {
    pointers: &'room mut [*const c_char],
    count: usize,
}

impl List<'_> {
    /// Sets the variable that begins with `name` to `text`, in its old place or behind the last.
    fn put(&mut self, name: &[u8], text: &CStr) {
        let old = self.pointers.iter().take(self.count).position(|pointer| {
            // SAFETY: the first pointers are those of the given array, whose strings end with a zero byte.
            unsafe { CStr::from_ptr(*pointer) }.to_bytes().starts_with(name)
        });
        let index = old.unwrap_or(self.count);
        if let Some(place) = self.pointers.get_mut(index) {
            *place = text.as_ptr();
        }
        if old.is_none() {
            self.count += 1;
        }
    }
}

/// How many variables there are.
fn length(strings: *const *const c_char) -> usize {
    let mut count = 0;
    // SAFETY: null, or an array that ends with a null pointer.
    while !strings.is_null() && unsafe { !(*strings.add(count)).is_null() } {
        count += 1;
    }
    count
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// Puts what is missing into the program's own environment, for the children that libc starts without a hook
/// (`system`, `popen`) and for those that find the data directory only by its absolute path.
pub(crate) fn complete_own() {
    let mut complete = Complete::new();
    // SAFETY: the program's own environment.
    let better = unsafe { complete.of(present()) };
    if better == present() {
        return;
    }
    let variables = length(better) + 1;
    let bytes = variables * size_of::<*const c_char>();
    // Never given back: from now on it is the program's environment. Libc copies it before it changes it.
    let Some(memory) = raw::map_anonymous(bytes + LONGEST) else { return };
    // SAFETY: the mapping is new and as long as what is copied; the pointers are to strings of the program's, to
    // the settings, or to the text that is copied along.
    unsafe {
        let pointers: *mut *const c_char = memory.cast();
        let library: *mut c_char = memory.add(bytes).cast();
        let own = complete.library.as_c_str();
        library.copy_from_nonoverlapping(own.as_ptr(), own.count_bytes() + 1);
        for index in 0..variables {
            let pointer = *better.add(index);
            pointers.add(index).write(if pointer == own.as_ptr() { library } else { pointer });
        }
        (&raw mut environ).write(pointers);
    }
}
