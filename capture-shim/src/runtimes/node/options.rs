//! Option by which Node loads a script before the program: `--require` in `NODE_OPTIONS`.
//!
//! Only this process has it, in its own copy of the environment. The script removes it before the
//! program begins, so neither the program nor its children see it; children that load this library
//! get it in the same way.

use core::ffi::{CStr, c_char};

use crate::platform::environment::{find_variable, present_environment, replace_environment};
use crate::platform::text::BoundedText;
use crate::platform::{arguments, raw};
use crate::state::settings;

/// Variable with Node's options.
const NODE_OPTIONS: &[u8] = b"NODE_OPTIONS=";
/// Endings of the path of this library, and of the script next to it.
const LIBRARY_ENDING: &[u8] = b".so";
const SCRIPT_ENDING: &[u8] = b".cjs";
/// Maximum size of a variable, in bytes.
const MAX_VARIABLE_BYTES: usize = 8192;
/// Options with which Node refuses files and addons, or takes its options from another place.
const RESTRICTING: [&[u8]; 5] = [
    b"--permission",
    b"--experimental-permission",
    b"--no-addons",
    b"--experimental-config-file",
    b"--experimental-default-config-file",
];

/// Strings of the changed environment, in memory that is never unmapped.
#[repr(C)]
struct AddedStrings {
    options: BoundedText<MAX_VARIABLE_BYTES>,
    script: BoundedText<MAX_VARIABLE_BYTES>,
}

/// Adds the script next to this library to the options. Returns false, and changes nothing, if it
/// is missing or would be refused.
pub(super) fn require_script() -> bool {
    let strings = present_environment();
    let present = find_variable(strings, NODE_OPTIONS);
    let is_restricted = |text: &[u8]| RESTRICTING.iter().any(|option| text.starts_with(option));
    let mut parts = present.unwrap_or(b"").split(|byte| *byte == b' ');
    if strings.is_null() || parts.any(is_restricted) || arguments::any_argument(is_restricted) {
        return false;
    }
    let count = (0..).take_while(|index| !entry(strings, *index).is_null()).count();
    let texts = size_of::<AddedStrings>();
    let Some(memory) = raw::map_anonymous(texts + (count + 2) * size_of::<*const c_char>()) else {
        return false;
    };
    // SAFETY: zeroed memory of this size, which are empty texts.
    let added = unsafe { &mut *memory.cast::<AddedStrings>() };
    if !push_script_path(&mut added.script) || !is_readable(added.script.as_c_str()) {
        return false;
    }
    added.options.push(NODE_OPTIONS);
    if let Some(present) = present {
        added.options.push(present).push(b" ");
    }
    added.options.push(b"--require \"").push(added.script.as_bytes()).push(b"\"");
    if !added.options.is_whole() {
        return false;
    }
    let options = added.options.as_c_str().as_ptr();
    // SAFETY: the rest of the memory, of zeros.
    let array = unsafe { memory.add(texts).cast::<*const c_char>() };
    let others =
        (0..count).map(|index| entry(strings, index)).filter(|string| !is_options(*string));
    for (place, string) in others.chain([options]).enumerate() {
        // SAFETY: at most one string more than the environment has, before the final null.
        unsafe { array.add(place).write(string) };
    }
    // SAFETY: the constructor runs before the program has a second thread, and the array with its
    // strings stays.
    unsafe { replace_environment(array) };
    true
}

/// Entry of the environment, null after the last one.
fn entry(strings: *const *const c_char, index: usize) -> *const c_char {
    // SAFETY: callers stop at the null pointer that ends the array.
    unsafe { *strings.add(index) }
}

/// Whether a string of the environment is the variable with Node's options.
fn is_options(string: *const c_char) -> bool {
    // SAFETY: a string of the environment ends with a zero byte.
    !string.is_null() && unsafe { CStr::from_ptr(string) }.to_bytes().starts_with(NODE_OPTIONS)
}

/// Appends the path of the script. Returns false if Node's options cannot contain it.
fn push_script_path(path: &mut BoundedText<MAX_VARIABLE_BYTES>) -> bool {
    let Some(stem) = settings::own_path().strip_suffix(LIBRARY_ENDING) else { return false };
    path.push(stem).push(SCRIPT_ENDING);
    path.is_whole() && !stem.iter().any(|byte| matches!(byte, b'"' | b'\\'))
}

fn is_readable(path: &CStr) -> bool {
    raw::open(path, libc::O_RDONLY | libc::O_CLOEXEC, 0).is_ok()
}
