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

/// The choices, as whole environment strings.
struct Settings {
    /// `SOCKCAP_DIR=`, with the absolute path of the data directory.
    directory: Text<LONGEST>,
    /// `SOCKCAP_HOST=`, with the name of the host.
    host: Text<256>,
    /// `LD_PRELOAD=`, with the path of this library.
    library: Text<LONGEST>,
}

const DIRECTORY: &[u8] = b"SOCKCAP_DIR=";
const HOST: &[u8] = b"SOCKCAP_HOST=";
const PRELOAD: &[u8] = b"LD_PRELOAD=";

struct Once(UnsafeCell<Settings>);
// SAFETY: written by the constructor alone, before the program has a second thread.
unsafe impl Sync for Once {}

static SETTINGS: Once =
    Once(UnsafeCell::new(Settings { directory: Text::new(), host: Text::new(), library: Text::new() }));

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
    let usable = directory.is_whole();
    // SAFETY: the constructor is alone.
    unsafe { SETTINGS.0.get().write(Settings { directory, host, library }) };
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

/// The data directory.
pub(crate) fn directory() -> &'static [u8] {
    settings().directory.as_bytes().get(DIRECTORY.len()..).unwrap_or(&[])
}

/// The host's name.
pub(crate) fn host() -> &'static [u8] {
    settings().host.as_bytes().get(HOST.len()..).unwrap_or(&[])
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

/// How many variables an environment may have that [`Complete`] can add to.
const MOST: usize = 1020;

/// An environment that has all that a child of a traced program needs.
pub(crate) struct Complete {
    pointers: [*const c_char; MOST + 4],
    library: Text<LONGEST>,
}

impl Complete {
    /// Room for one. It is large and belongs on the stack of the call that ends in the kernel.
    pub(crate) const fn new() -> Complete {
        Complete { pointers: [ptr::null(); MOST + 4], library: Text::new() }
    }

    /// The environment to be used in place of `given`: the same array where nothing is missing, or where there
    /// are too many variables to add one.
    ///
    /// # Safety
    /// `given` is null or an array of strings that ends with a null pointer.
    pub(crate) unsafe fn of(&mut self, given: *const *const c_char) -> *const *const c_char {
        let settings = settings();
        let own = settings.library.as_bytes().get(PRELOAD.len()..).unwrap_or(&[]);
        if own.is_empty() || crate::state::current().is_none() {
            return given;
        }
        let preload = find(given, PRELOAD);
        let is_loaded = preload.is_some_and(|list| contains(list, file_name(own)));
        let is_absolute = find(given, DIRECTORY).is_some_and(|path| path.first() == Some(&b'/'));
        let has_host = find(given, HOST).is_some();
        if is_loaded && is_absolute && has_host {
            return given;
        }
        let mut count = 0;
        if !given.is_null() {
            // SAFETY: ends with a null pointer.
            while let string = unsafe { *given.add(count) }
                && !string.is_null()
            {
                let Some(place) = self.pointers.get_mut(count).filter(|_| count < MOST) else { return given };
                *place = string;
                count += 1;
            }
        }
        if !is_loaded {
            self.library.push(settings.library.as_bytes());
            if let Some(list) = preload.filter(|list| !list.is_empty()) {
                self.library.push(b":").push(list);
            }
            if !self.library.is_whole() {
                return given;
            }
            let text = self.library.as_c_str().as_ptr();
            self.put(&mut count, PRELOAD, text);
        }
        if !is_absolute {
            self.put(&mut count, DIRECTORY, settings.directory.as_c_str().as_ptr());
        }
        if !has_host {
            self.put(&mut count, HOST, settings.host.as_c_str().as_ptr());
        }
        self.pointers.as_ptr()
    }

    /// Sets the variable that begins with `name` to `string`, in its old place or behind the last.
    fn put(&mut self, count: &mut usize, name: &[u8], string: *const c_char) {
        let old = self.pointers.iter().take(*count).position(|pointer| {
            // SAFETY: the first pointers are those of the given array, whose strings end with a zero byte.
            unsafe { CStr::from_ptr(*pointer) }.to_bytes().starts_with(name)
        });
        let index = old.unwrap_or(*count);
        if let Some(place) = self.pointers.get_mut(index) {
            *place = string;
        }
        if old.is_none() {
            *count += 1;
        }
    }
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
    let length = size_of_val(&complete.pointers);
    // Never given back: from now on it is the program's environment. Libc copies it before it changes it.
    let Some(memory) = raw::map_anonymous(length + LONGEST) else { return };
    // SAFETY: the mapping is new and as long as what is copied; the pointers are to strings of the program's, to
    // the settings, or to the text that is copied along.
    unsafe {
        let pointers: *mut *const c_char = memory.cast();
        let library: *mut c_char = memory.add(length).cast();
        let own = complete.library.as_c_str();
        library.copy_from_nonoverlapping(own.as_ptr(), own.count_bytes() + 1);
        for (index, pointer) in complete.pointers.iter().enumerate() {
            let is_library = *pointer == own.as_ptr();
            pointers.add(index).write(if is_library { library } else { *pointer });
        }
        (&raw mut environ).write(pointers);
    }
}
