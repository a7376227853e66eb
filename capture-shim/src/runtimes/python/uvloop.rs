//! uvloop before 0.23: a transport's `write` only queues the transport, and the loop sends at the
//! end of its turn, outside of the writer's context. So the writer's context is noted when the
//! transport is queued, and named for the send.
//!
//! The library of uvloop is recognised by its definition of the module `loop`, as it is loaded. Its
//! own calls of exported functions go through words of its data, which are replaced then:
//!
//! ```text
//!   PySet_Add              queues a transport: its descriptor gets the context (queued.rs)
//!   write, uv_try_write    send what was written to a transport
//! ```
//!
//! If the dynamic linker fills a word only at the first call, that call ends the replacement.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::Relaxed;

use super::{hooks, libraries, queued};
use crate::platform::raw;
use crate::runtimes::contexts;

/// Name of the module, and offset of the name in its definition (`PyModuleDef`), in bytes.
const MODULE: &CStr = c"loop";
const MODULE_NAME: usize = 40;

/// Interpreter's function that a module calls with its definition.
pub(super) static INITIALIZE_MODULE: AtomicUsize = AtomicUsize::new(0);
/// Addresses of functions that the library calls, from [`follow_writes`].
static ADD: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);
static WRITE: AtomicUsize = AtomicUsize::new(0);
static TRY_WRITE: AtomicUsize = AtomicUsize::new(0);
static DESCRIPTOR_OF: AtomicUsize = AtomicUsize::new(0);

/// Initializes a module.
///
/// # Safety
/// As for the interpreter's own function, `PyModuleDef_Init`.
pub(super) unsafe extern "C" fn initialize_module(definition: usize) -> *mut c_void {
    // SAFETY: a definition has a name, which is null or a text.
    unsafe {
        let name: *const c_char = ptr::with_exposed_provenance(read_word(definition + MODULE_NAME));
        if !name.is_null() && CStr::from_ptr(name) == MODULE {
            follow_writes(definition);
        }
    }
    // SAFETY: the function of this name.
    unsafe {
        transmute::<usize, unsafe extern "C" fn(usize) -> *mut c_void>(
            INITIALIZE_MODULE.load(Relaxed),
        )(definition)
    }
}

/// Has the library that contains `address` call the hooks, if it is that of uvloop.
fn follow_writes(address: usize) {
    let Some(library) = libraries::library_at(address) else { return };
    let called: [(&CStr, &AtomicUsize, Option<usize>); 5] = [
        (c"PySet_Add", &ADD, Some(add as unsafe extern "C" fn(_, _) -> _ as usize)),
        (c"write", &WRITE, Some(write as unsafe extern "C" fn(_, _, _) -> _ as usize)),
        (
            c"uv_try_write",
            &TRY_WRITE,
            Some(try_write as unsafe extern "C" fn(_, _, _) -> _ as usize),
        ),
        (c"uv_fileno", &DESCRIPTOR_OF, None),
        (c"PySet_Size", &COUNT, None),
    ];
    let functions = called.map(|(name, ..)| libraries::bound_function(&library, name));
    // A second copy of the library would need functions of its own.
    if functions.contains(&0) || ADD.load(Relaxed) != 0 {
        return;
    }
    for ((name, own, hook), function) in called.into_iter().zip(functions) {
        own.store(function, Relaxed);
        if let Some(hook) = hook {
            libraries::replace_binding(&library, name, hook);
        }
    }
}

/// Adds an object to a set, which queues it if it is a transport.
///
/// # Safety
/// As for the library's own function; likewise for the following ones.
unsafe extern "C" fn add(set: usize, object: usize) -> c_int {
    // SAFETY: the statics have the addresses of `PySet_Add` and `PySet_Size`, and `object` is an
    // object. The interpreter's lock is held.
    unsafe {
        let add: unsafe extern "C" fn(usize, usize) -> c_int = transmute(ADD.load(Relaxed));
        let Some(descriptor) = handle_of(object).and_then(|handle| descriptor_of(handle)) else {
            return add(set, object);
        };
        let count: unsafe extern "C" fn(usize) -> isize = transmute(COUNT.load(Relaxed));
        let before = count(set);
        let result = add(set, object);
        let number = hooks::started_context();
        if before == 0 {
            queued::begin_turn();
        }
        queued::note_writer(descriptor, number, count(set) == before);
        result
    }
}

/// Writes to a descriptor.
unsafe extern "C" fn write(descriptor: c_int, buffer: *const c_void, size: usize) -> isize {
    type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
    // SAFETY: the function of this name.
    let write: Write = unsafe { transmute(WRITE.load(Relaxed)) };
    // SAFETY: the library's own call.
    in_writers_context(descriptor, || unsafe { write(descriptor, buffer, size) })
}

/// Writes to the descriptor of a handle.
unsafe extern "C" fn try_write(handle: usize, buffers: *const c_void, count: c_uint) -> c_int {
    type TryWrite = unsafe extern "C" fn(usize, *const c_void, c_uint) -> c_int;
    // SAFETY: the static has the address of `uv_try_write`, and this is the library's own call.
    unsafe {
        let try_write: TryWrite = transmute(TRY_WRITE.load(Relaxed));
        let call = || try_write(handle, buffers, count);
        match descriptor_of(handle) {
            Some(descriptor) => in_writers_context(descriptor, call),
            None => call(),
        }
    }
}

/// Makes a send in the context that has written to the descriptor's transport.
fn in_writers_context<T>(descriptor: c_int, send: impl FnOnce() -> T) -> T {
    let Some(number) = queued::take_writer(descriptor) else { return send() };
    let previous = contexts::context_entered(number);
    let result = send();
    contexts::context_left(previous);
    result
}

/// Descriptor of a handle (`uv_handle_t`).
///
/// # Safety
/// The handle is valid.
unsafe fn descriptor_of(handle: usize) -> Option<c_int> {
    let mut descriptor = -1;
    // SAFETY: the static has the address of `uv_fileno`, and the handle is valid.
    let error = unsafe {
        let descriptor_of: unsafe extern "C" fn(usize, *mut c_int) -> c_int =
            transmute(DESCRIPTOR_OF.load(Relaxed));
        descriptor_of(handle, &raw mut descriptor)
    };
    (error == 0).then_some(descriptor)
}

/// Offset of the type in an object, of the name in a type, of the handle in a transport, and of the
/// transport in its handle, in bytes.
const OBJECT_TYPE: usize = 8;
const TYPE_NAME: usize = 24;
const TRANSPORT_HANDLE: usize = 24;
const HANDLE_TRANSPORT: usize = 0;

/// Addresses of the types of transports whose layout was checked; 0 for none.
static TYPES: [AtomicUsize; 4] = [const { AtomicUsize::new(0) }; 4];

/// Handle of an object, if it is a transport with an open handle.
///
/// # Safety
/// It is an object of the interpreter.
unsafe fn handle_of(object: usize) -> Option<usize> {
    // SAFETY: an object has a type, and a type has a name.
    unsafe {
        let of = read_word(object + OBJECT_TYPE);
        if !TYPES.iter().any(|known| known.load(Relaxed) == of) {
            let name: *const c_char = ptr::with_exposed_provenance(read_word(of + TYPE_NAME));
            let name = CStr::from_ptr(name).to_bytes();
            let is_transport = name.starts_with(b"uvloop.loop.") && name.ends_with(b"Transport");
            if !is_transport || !is_handle_of(object) {
                return None;
            }
            let free = TYPES.iter().find(|known| known.load(Relaxed) == 0)?;
            free.store(of, Relaxed);
        }
        let handle = read_word(object + TRANSPORT_HANDLE);
        (handle != 0 && read_word(handle + HANDLE_TRANSPORT) == object).then_some(handle)
    }
}

/// Whether a transport has a handle that names the transport, at the expected places.
fn is_handle_of(transport: usize) -> bool {
    let word = |address: usize| {
        let place: *const usize = ptr::with_exposed_provenance(address);
        let is_readable = place.is_aligned() && raw::is_readable(place);
        // SAFETY: it is readable.
        is_readable.then(|| unsafe { place.read() })
    };
    word(transport + TRANSPORT_HANDLE)
        .and_then(|handle| word(handle.wrapping_add(HANDLE_TRANSPORT)))
        == Some(transport)
}

/// Word at an address.
///
/// # Safety
/// It is readable.
unsafe fn read_word(address: usize) -> usize {
    // SAFETY: as the caller guarantees.
    unsafe { ptr::with_exposed_provenance::<usize>(address).read() }
}
