//! Preload lists (`LD_PRELOAD`): whether a list loads this library, and lists with and without it.

use super::settings::{PRELOAD, own_path};
use crate::platform::environment::is_list_separator;
use crate::platform::text::file_name;

/// Whether an entry of a preload list names this library.
fn is_own(entry: &[u8]) -> bool {
    file_name(entry) == file_name(own_path())
}

/// Whether an entry depends on the working directory. A bare name does not: the dynamic linker has
/// its own search path.
fn is_relative(entry: &[u8]) -> bool {
    entry.first() != Some(&b'/') && entry.contains(&b'/')
}

/// Whether a preload list loads this library, whatever the working directory is.
pub(super) fn is_loaded(list: &[u8]) -> bool {
    let mut own = list.split(is_list_separator).filter(|entry| is_own(entry)).peekable();
    own.peek().is_some() && !own.any(is_relative)
}

/// Whether a preload list names this library.
pub(super) fn names_own(list: &[u8]) -> bool {
    list.split(is_list_separator).any(is_own)
}

/// Writes `LD_PRELOAD=` and the entries of `list` that are not this library into `text`, which is
/// zeroed and large enough. Returns whether there are any such entries.
pub(super) fn others_list(text: &mut [u8], list: &[u8]) -> bool {
    let mut places = text.iter_mut();
    let mut push = |bytes: &[u8]| {
        for (byte, place) in bytes.iter().zip(places.by_ref()) {
            *place = *byte;
        }
    };
    push(PRELOAD);
    let mut has_others = false;
    for entry in list.split(is_list_separator).filter(|entry| !entry.is_empty() && !is_own(entry)) {
        if has_others {
            push(b":");
        }
        push(entry);
        has_others = true;
    }
    has_others
}

/// Writes `LD_PRELOAD=` and a list that loads this library next to `others` into `text`, which is
/// zeroed and large enough.
pub(super) fn preload_list(text: &mut [u8], others: &[u8]) {
    let mut places = text.iter_mut();
    let mut push = |bytes: &[u8]| {
        // The bytes are zipped first: the other order would consume one place too many.
        for (byte, place) in bytes.iter().zip(places.by_ref()) {
            *place = *byte;
        }
    };
    push(PRELOAD);
    let mut separator: &[u8] = b"";
    if !others.split(is_list_separator).any(is_own) {
        push(own_path());
        separator = b":";
    }
    for entry in others.split(is_list_separator).filter(|entry| !entry.is_empty()) {
        push(separator);
        push(if is_own(entry) && is_relative(entry) { own_path() } else { entry });
        separator = b":";
    }
}
