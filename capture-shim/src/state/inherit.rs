//! Environment of the programs that this one starts, so that they are recorded too.
//!
//! The started programs find the user's options in their environment. If a program gives another
//! program a new environment, the hooks of `exec` and `spawn` add the missing variables.

use core::ffi::{CStr, c_char, c_int};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

use super::child_birth;
use super::lineage::{self, ANCESTORS};
use super::preload_list::{is_loaded, names_own, others_list, preload_list};
use super::settings::{
    DIRECTORY, HOST, OPTIONS, PRELOAD, data_directory, host_name, option_value, own_path,
    user_settings,
};
use super::thread;
use crate::platform::environment::{environ, find_variable, present_environment};
use crate::platform::inherited_filters::{self, FILTERS_VARIABLE};
use crate::platform::{identity, raw};

/// Maximum number of variables that [`CompleteEnvironment`] adds, including the final null pointer.
const MAX_ADDED: usize = 5 + OPTIONS.len() + 1;

/// Environment with everything that a started program needs to be recorded: the environment that
/// the program gives, or one that is made in a mapping of its own. It is not on the stack, where
/// the program may have left little room (a handler on its alternate stack, for example).
///
/// A `vfork` child with a successful `exec` leaves its mapping to its parent. The state of the
/// thread, which both share, has the mapping's address, and [`reclaim_mapping`] unmaps it.
pub(crate) struct CompleteEnvironment(Option<*mut EnvironmentMapping>);

/// Beginning of a mapping; the pointers follow, and then the text of `LD_PRELOAD`.
#[repr(C)]
struct EnvironmentMapping {
    /// Length of the mapping, in bytes.
    length: usize,
    /// Id of the thread that made the mapping.
    tid: u32,
}

impl CompleteEnvironment {
    /// No mapping yet.
    pub(crate) const fn new() -> CompleteEnvironment {
        CompleteEnvironment(None)
    }

    /// Environment to be used in place of `given`: the same array if nothing is missing. `refused`
    /// is the error if the dynamic linker cannot load the library, or 0. After an error, the
    /// environment does not request the library, and has everything else only if
    /// `can_be_injected`: if a recorder can inject the library into the program.
    ///
    /// # Safety
    /// `given` is null or an array of strings that ends with a null pointer.
    pub(crate) unsafe fn completed(
        &mut self,
        given: *const *const c_char,
        refused: c_int,
        can_be_injected: bool,
    ) -> *const *const c_char {
        if !given.is_null() && !raw::is_readable(given) {
            return given;
        }
        child_birth::complete_birth();
        let better = match refused {
            0 if has_library(given) && is_complete(given) => None,
            0 => self.build_complete(given, false),
            _ if can_be_injected && !is_complete(given) => self.build_complete(given, true),
            _ if !asks_for_own(given) => None,
            _ => self.without_library(given),
        };
        better.unwrap_or(given)
    }

    /// The given environment with a preload list of the other libraries only, or without a list if
    /// there are none. `None` if memory is lacking.
    #[cold]
    #[inline(never)]
    fn without_library(&mut self, given: *const *const c_char) -> Option<*const *const c_char> {
        let count = string_count(given);
        let pointers = (count + 1) * size_of::<*const c_char>();
        let others = find_variable(given, PRELOAD).unwrap_or(&[]);
        let start = self.map_array(
            size_of::<EnvironmentMapping>() + pointers + PRELOAD.len() + others.len() + 1,
        )?;
        // SAFETY: the mapping is new, zeroed, long enough, and outlives its use by the kernel.
        let (places, text) = unsafe {
            let places = start.add(size_of::<EnvironmentMapping>());
            (
                core::slice::from_raw_parts_mut(places.cast::<*const c_char>(), count + 1),
                core::slice::from_raw_parts_mut(
                    places.add(pointers),
                    PRELOAD.len() + others.len() + 1,
                ),
            )
        };
        let has_others = others_list(text, others);
        let list = CStr::from_bytes_until_nul(text).ok()?;
        let mut places = places.iter_mut();
        for index in 0..count {
            // SAFETY: within the given array, in which strings end with a zero byte.
            let string = unsafe { *given.add(index) };
            // SAFETY: a string of the given array ends with a zero byte.
            let is_list = unsafe { CStr::from_ptr(string) }.to_bytes().starts_with(PRELOAD);
            let string = if is_list { list.as_ptr() } else { string };
            if (has_others || !is_list)
                && let Some(place) = places.next()
            {
                *place = string;
            }
        }
        // SAFETY: the beginning of the places.
        Some(
            unsafe { start.add(size_of::<EnvironmentMapping>()) }
                .cast::<*const c_char>()
                .cast_const(),
        )
    }

    /// The given environment with all missing variables; without this library in its preload list
    /// if the library is refused. `None` if memory is lacking.
    #[cold]
    #[inline(never)]
    fn build_complete(
        &mut self,
        given: *const *const c_char,
        is_refused: bool,
    ) -> Option<*const *const c_char> {
        let settings = user_settings();
        let count = string_count(given);
        let pointers = (count + MAX_ADDED) * size_of::<*const c_char>();
        // Space for the list preceded by this library, or with this library's path in place of each
        // entry.
        let others = find_variable(given, PRELOAD).unwrap_or(&[]);
        let text = settings.library.as_bytes().len() * (others.len() / 2 + 2) + others.len() + 2;
        let of_filters = inherited_filters::variable_length();
        let start =
            self.map_array(size_of::<EnvironmentMapping>() + pointers + text + of_filters)?;
        // SAFETY: the mapping is new, zeroed, long enough, and outlives its use by the kernel.
        let (places, text, filters) = unsafe {
            let places = start.add(size_of::<EnvironmentMapping>());
            (
                core::slice::from_raw_parts_mut(places.cast::<*const c_char>(), count + MAX_ADDED),
                core::slice::from_raw_parts_mut(places.add(pointers), text),
                core::slice::from_raw_parts_mut(places.add(pointers + text), of_filters),
            )
        };
        for (index, place) in places.iter_mut().take(count).enumerate() {
            // SAFETY: within the given array.
            *place = unsafe { *given.add(index) };
        }
        let mut list = EnvironmentBuilder { pointers: places, count };
        if is_refused && asks_for_own(given) {
            if others_list(text, others) {
                list.put_variable(PRELOAD, CStr::from_bytes_until_nul(text).ok()?);
            } else {
                list.remove(PRELOAD);
            }
        } else if !is_refused && !has_library(given) {
            preload_list(text, others);
            list.put_variable(PRELOAD, CStr::from_bytes_until_nul(text).ok()?);
        }
        if !has_directory(given) {
            list.put_variable(DIRECTORY, settings.directory.as_c_str());
        }
        if !has_host(given) {
            list.put_variable(HOST, settings.host.as_c_str());
        }
        if !lineage::is_in_environment(given) {
            list.put_variable(ANCESTORS, lineage::lineage_variable());
        }
        if of_filters > 0 {
            inherited_filters::write_variable(filters);
            list.put_variable(FILTERS_VARIABLE, CStr::from_bytes_until_nul(filters).ok()?);
        }
        for (index, (name, text)) in OPTIONS.iter().zip(&settings.options).enumerate() {
            if is_missing(given, index) {
                list.put_variable(name, text.as_c_str());
            }
        }
        Some(list.pointers.as_ptr())
    }

    /// Maps `length` bytes for an environment, and notes the mapping for its removal. `None` if
    /// memory is lacking.
    fn map_array(&mut self, length: usize) -> Option<*mut u8> {
        let memory = raw::map_anonymous(length)?;
        let mapping: *mut EnvironmentMapping = memory.cast();
        // SAFETY: the mapping is new and long enough.
        unsafe { mapping.write(EnvironmentMapping { length, tid: identity::thread_id() }) };
        self.0 = Some(mapping);
        let child_mapping = &thread::current_thread().child_mapping;
        // One place is enough: `reclaim_mapping` ran before the `vfork`.
        let _ = child_mapping.compare_exchange(ptr::null_mut(), memory, Relaxed, Relaxed);
        Some(memory)
    }
}

impl Drop for CompleteEnvironment {
    fn drop(&mut self) {
        if let Some(mapping) = self.0.take() {
            let _ = thread::current_thread().child_mapping.compare_exchange(
                mapping.cast(),
                ptr::null_mut(),
                Relaxed,
                Relaxed,
            );
            // SAFETY: the call that received the environment has returned.
            unsafe { raw::unmap_memory(mapping.cast(), (*mapping).length) };
        }
    }
}

/// Unmaps the mapping that a `vfork` child left to the calling thread, unless the calling thread is
/// that child.
pub(crate) fn reclaim_mapping() {
    let child_mapping = &thread::current_thread().child_mapping;
    let mapping: *mut EnvironmentMapping = child_mapping.load(Relaxed).cast();
    // A mapping with this thread's own id is in use: the caller is a signal handler that
    // interrupted the call which made it.
    // SAFETY: null or a mapping that only this thread removes.
    if !mapping.is_null() && unsafe { (*mapping).tid } != identity::thread_id() {
        child_mapping.store(ptr::null_mut(), Relaxed);
        // SAFETY: the `vfork` child that made it has executed another program or ended, as its
        // parent's thread runs again.
        unsafe { raw::unmap_memory(mapping.cast(), (*mapping).length) };
    }
}

/// Whether an environment requests this library.
fn asks_for_own(given: *const *const c_char) -> bool {
    find_variable(given, PRELOAD).is_some_and(names_own)
}

/// Whether an environment has all variables, except possibly the preload list.
fn is_complete(given: *const *const c_char) -> bool {
    has_directory(given)
        && has_host(given)
        && lineage::is_in_environment(given)
        && has_filters(given)
        && !(0..OPTIONS.len()).any(|index| is_missing(given, index))
}

/// Whether an environment loads this library, from any working directory.
fn has_library(given: *const *const c_char) -> bool {
    own_path().is_empty() || find_variable(given, PRELOAD).is_some_and(is_loaded)
}

/// Whether an environment contains the host's name.
fn has_host(given: *const *const c_char) -> bool {
    host_name().is_empty() || find_variable(given, HOST).is_some()
}

/// Whether an environment contains the data directory in a form that does not depend on the working
/// directory.
fn has_directory(given: *const *const c_char) -> bool {
    data_directory().is_empty()
        || find_variable(given, DIRECTORY).is_some_and(|path| path.first() == Some(&b'/'))
}

/// Whether an environment contains all active seccomp filters. Filters are only ever added, so the
/// length of the variable shows this.
fn has_filters(given: *const *const c_char) -> bool {
    let length = inherited_filters::variable_length();
    length == 0
        || find_variable(given, FILTERS_VARIABLE)
            .is_some_and(|text| FILTERS_VARIABLE.len() + text.len() + 1 == length)
}

/// Whether an option was given to this process but is missing in an environment.
fn is_missing(given: *const *const c_char, index: usize) -> bool {
    option_value(index).is_some()
        && OPTIONS.get(index).is_some_and(|name| find_variable(given, name).is_none())
}

/// Environment under construction.
struct EnvironmentBuilder<'room> {
    pointers: &'room mut [*const c_char],
    count: usize,
}

impl EnvironmentBuilder<'_> {
    /// Removes the variable that begins with `name`.
    fn remove(&mut self, name: &[u8]) {
        if let Some(index) = self.position(name) {
            self.pointers.copy_within(index + 1..self.count, index);
            self.count -= 1;
            if let Some(place) = self.pointers.get_mut(self.count) {
                *place = ptr::null();
            }
        }
    }

    /// Index of the variable that begins with `name`; `None` if there is none.
    fn position(&self, name: &[u8]) -> Option<usize> {
        self.pointers.iter().take(self.count).position(|pointer| {
            // SAFETY: the first pointers come from the given array, in which strings end with a
            // zero byte.
            unsafe { CStr::from_ptr(*pointer) }.to_bytes().starts_with(name)
        })
    }

    /// Sets the variable that begins with `name` to `text`, in its old place or after the last.
    fn put_variable(&mut self, name: &[u8], text: &CStr) {
        let old = self.position(name);
        let index = old.unwrap_or(self.count);
        if let Some(place) = self.pointers.get_mut(index) {
            *place = text.as_ptr();
        }
        if old.is_none() {
            self.count += 1;
        }
    }
}

/// Number of strings in the array.
fn string_count(strings: *const *const c_char) -> usize {
    let mut count = 0;
    // SAFETY: null, or an array that ends with a null pointer.
    while !strings.is_null() && unsafe { !(*strings.add(count)).is_null() } {
        count += 1;
    }
    count
}

/// Adds the missing variables to the program's own environment. Children that libc starts without a
/// hook (`system`, `popen`) find them there, and so do children that would search for a relative
/// path of the data directory.
pub(crate) fn complete_own() {
    let mut complete = CompleteEnvironment::new();
    // SAFETY: the program's own environment.
    let better = unsafe { complete.completed(present_environment(), 0, false) };
    if better == present_environment() {
        return;
    }
    // The mapping is never unmapped: from now on it is the program's environment. Libc copies it
    // before it changes it.
    thread::current_thread().child_mapping.store(ptr::null_mut(), Relaxed);
    core::mem::forget(complete);
    // SAFETY: the constructor runs before the program has a second thread.
    unsafe { (&raw mut environ).write(better.cast_mut()) };
}
