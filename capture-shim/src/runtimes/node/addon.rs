//! Addon: functions that the script calls in this library, by Node-API, whose functions have the
//! same form in all versions of Node.
//!
//! Node finds the addon by the symbol `napi_register_module_v1` when the script opens the library.

use core::ffi::{CStr, c_char, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicUsize};

use crate::c_library::objects::LoadedObject;
use crate::runtimes::contexts;
use crate::state::thread;

/// Values of Node-API are opaque pointers, and a status of 0 is success.
type Value = *mut c_void;
type Status = i32;
type Callback = unsafe extern "C" fn(Value, Value) -> Value;
type CreateFunction =
    unsafe extern "C" fn(Value, *const c_char, usize, Callback, *mut c_void, *mut Value) -> Status;
type CreateExternalArrayBuffer = unsafe extern "C" fn(
    Value,
    *mut c_void,
    usize,
    *const c_void,
    *const c_void,
    *mut Value,
) -> Status;
type SetNamedProperty = unsafe extern "C" fn(Value, Value, *const c_char, Value) -> Status;
type CreateUint32 = unsafe extern "C" fn(Value, u32, *mut Value) -> Status;

/// Functions of Node-API, and their addresses.
static FUNCTIONS: [(&CStr, AtomicUsize); 4] = [
    (c"napi_create_function", AtomicUsize::new(0)),
    (c"napi_create_external_arraybuffer", AtomicUsize::new(0)),
    (c"napi_set_named_property", AtomicUsize::new(0)),
    (c"napi_create_uint32", AtomicUsize::new(0)),
];
const CREATE_FUNCTION: usize = 0;
const CREATE_EXTERNAL_ARRAYBUFFER: usize = 1;
const SET_NAMED_PROPERTY: usize = 2;
const CREATE_UINT32: usize = 3;

/// Number of the latest context.
static LATEST: AtomicU32 = AtomicU32::new(0);
/// Largest number of a context: readers use 30 bits.
const MAX_NUMBER: u32 = (1 << 30) - 1;

/// Notes the functions of Node-API that `object` defines. Returns whether it defines all.
pub(super) fn find_functions(object: &LoadedObject) -> bool {
    FUNCTIONS.iter().all(|(name, place)| {
        let address = object.find_symbol(name).addr();
        place.store(address, Relaxed);
        address != 0
    })
}

/// Address of one of [`FUNCTIONS`], or `None` if this process has not been prepared.
fn address_of(function: usize) -> Option<*const c_void> {
    let address = FUNCTIONS.get(function)?.1.load(Relaxed);
    (address != 0).then(|| ptr::with_exposed_provenance(address))
}

/// Version of Node-API that the addon needs.
#[unsafe(no_mangle)]
extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    1
}

/// Gives the script the number of the thread's context as an array, and the function that begins a
/// context.
///
/// # Safety
/// Node calls this with an environment and an object of its own.
#[unsafe(no_mangle)]
unsafe extern "C" fn napi_register_module_v1(environment: Value, exports: Value) -> Value {
    // SAFETY: as the caller guarantees.
    unsafe { fill_exports(environment, exports) };
    exports
}

/// Writes the array and the function into `exports`. Returns `None` if this process was not
/// prepared.
unsafe fn fill_exports(environment: Value, exports: Value) -> Option<()> {
    let context = &raw const thread::current_thread().context;
    let mut memory = ptr::null_mut();
    let mut function = ptr::null_mut();
    // SAFETY: these are Node's functions, found by their names. The number is in the thread's own
    // memory, which outlives everything that the thread runs.
    unsafe {
        let create_buffer: CreateExternalArrayBuffer =
            transmute(address_of(CREATE_EXTERNAL_ARRAYBUFFER)?);
        let create_function: CreateFunction = transmute(address_of(CREATE_FUNCTION)?);
        let set: SetNamedProperty = transmute(address_of(SET_NAMED_PROPERTY)?);
        let bytes = size_of::<AtomicU32>();
        let none = ptr::null();
        let place = context.cast_mut().cast();
        // Builds of V8 without external memory return an error.
        if create_buffer(environment, place, bytes, none, none, &raw mut memory) == 0 {
            set(environment, exports, c"memory".as_ptr(), memory);
        }
        let name = c"begin";
        let length = name.count_bytes();
        let data = ptr::null_mut();
        if create_function(environment, name.as_ptr(), length, begin, data, &raw mut function) == 0
        {
            set(environment, exports, name.as_ptr(), function);
        }
    }
    Some(())
}

/// Begins a context for what the thread has just received, and returns its number.
unsafe extern "C" fn begin(environment: Value, _arguments: Value) -> Value {
    let number = LATEST.fetch_add(1, Relaxed) % MAX_NUMBER + 1;
    contexts::context_started_by_current(number);
    let mut value = ptr::null_mut();
    if let Some(create) = address_of(CREATE_UINT32) {
        // SAFETY: this is Node's function, found by its name.
        unsafe {
            let create: CreateUint32 = transmute(create);
            create(environment, number, &raw mut value);
        }
    }
    value
}
