//! Starts of virtual threads: which thread has started which virtual thread. The machine has no
//! event that the starting thread runs, so one call in the method by which each virtual thread is
//! started leads to classes of this library, before the program begins (class_file.rs).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::slice;

use super::class_file::{self, Output};
use super::interfaces::{Interface, Reference};
use super::native::{self, NativeMethod};
use super::{thread_number, tool};
use crate::platform::text::BoundedText;
use crate::runtimes::contexts;

/// Class of virtual threads.
const VIRTUAL_THREAD: &CStr = c"java.lang.VirtualThread";
/// Maximum size of an added class file, in bytes.
const LARGEST_ADDED: usize = 512;

impl Output for BoundedText<LARGEST_ADDED> {
    fn append(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }
}

/// Memory for a class file, and the number of bytes written to it.
struct Memory<'memory> {
    bytes: &'memory mut [u8],
    length: usize,
}

impl Output for Memory<'_> {
    fn append(&mut self, bytes: &[u8]) {
        if let Some(to) = self.bytes.get_mut(self.length..self.length + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        self.length += bytes.len();
    }
}

/// Has each start of a virtual thread recorded. A machine whose classes have another form stays as
/// it is.
///
/// # Safety
/// The environments are a tool's and the calling thread's. The program has not begun.
pub(super) unsafe fn follow_starts(tool: Interface, environment: Interface) {
    // SAFETY: as the caller guarantees.
    unsafe {
        if !tool::add_capabilities(tool, &tool::CHANGED_CLASSES) {
            return;
        }
        let class = native::find_uninitialized_class(environment, VIRTUAL_THREAD);
        if class.is_null() {
            return;
        }
        if add_classes(environment) {
            tool::transform_class(tool, class, redirect_call);
        }
        native::release(environment, class);
    }
}

/// Adds the classes that lead to the hook. Returns whether they were added.
///
/// # Safety
/// As for [`follow_starts`].
unsafe fn add_classes(environment: Interface) -> bool {
    let hook = started as unsafe extern "C" fn(_, _, _) as *const c_void;
    let method = NativeMethod {
        name: class_file::STARTED.as_ptr(),
        signature: class_file::STARTED_TYPE.as_ptr(),
        function: hook,
    };
    let mut file = BoundedText::<LARGEST_ADDED>::new();
    class_file::write_native_class(&mut file);
    // SAFETY: as the caller guarantees.
    unsafe {
        let class = native::define_class(environment, class_file::NATIVE, file.as_bytes());
        let is_bound = !class.is_null() && native::bind_method(environment, class, &method);
        native::release(environment, class);
        if !is_bound {
            return false;
        }
        file.clear();
        class_file::write_called_class(&mut file);
        let class = native::define_class(environment, class_file::CALLED, file.as_bytes());
        native::release(environment, class);
        !class.is_null()
    }
}

/// Changes the class of virtual threads.
///
/// # Safety
/// The machine calls this when a class is loaded or changed.
unsafe extern "C" fn redirect_call(
    tool: Interface,
    _: Interface,
    changed: Reference,
    _: Reference,
    _: *const c_char,
    _: Reference,
    length: c_int,
    file: *const u8,
    new_length: *mut c_int,
    new_file: *mut *mut u8,
) {
    // Only the class of virtual threads is changed while this event is on.
    if changed.is_null() || file.is_null() {
        return;
    }
    // SAFETY: as the machine guarantees.
    let class = unsafe { slice::from_raw_parts(file, usize::try_from(length).unwrap_or_default()) };
    let mut size = class_file::Length::default();
    if class_file::write_redirected_class(class, &mut size).is_none() {
        return;
    }
    // SAFETY: the memory has this size, and the places are for these results.
    unsafe {
        let memory = tool::allocate(tool, size.0);
        if memory.is_null() {
            return;
        }
        memory.write_bytes(0, size.0);
        let bytes = slice::from_raw_parts_mut(memory, size.0);
        class_file::write_redirected_class(class, &mut Memory { bytes, length: 0 });
        new_length.write(size.0 as c_int);
        new_file.write(memory);
    }
}

/// Records that the calling thread starts a virtual thread.
///
/// # Safety
/// The added class calls this with itself and a thread.
unsafe extern "C" fn started(environment: Interface, _: Reference, thread: Reference) {
    // SAFETY: as the caller guarantees.
    contexts::context_started_by_current(unsafe {
        thread_number::context_number(environment, thread)
    });
}
