//! Interface for native code (JNI). Its indices are those of `JNINativeInterface_`.
//!
//! All functions are called with the environment of the calling thread. None leaves an exception.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use super::interfaces::{Interface, Reference, function};

const GET_VERSION: usize = 4;
const DEFINE_CLASS: usize = 5;
const FIND_CLASS: usize = 6;
const EXCEPTION_CLEAR: usize = 17;
const DELETE_LOCAL_REF: usize = 23;
const GET_FIELD_ID: usize = 94;
const GET_LONG_FIELD: usize = 101;
const GET_STATIC_METHOD_ID: usize = 113;
const CALL_STATIC_OBJECT_METHOD_A: usize = 116;
const NEW_STRING_UTF: usize = 167;
const REGISTER_NATIVES: usize = 215;

/// Place of a field.
pub(super) type FieldId = *const c_void;

/// Native method of a class (`JNINativeMethod`).
#[repr(C)]
pub(super) struct NativeMethod {
    pub(super) name: *const c_char,
    pub(super) signature: *const c_char,
    pub(super) function: *const c_void,
}

/// Version of the interface: Java's own in the upper 16 bits.
///
/// # Safety
/// The environment is the calling thread's; likewise for the following functions.
pub(super) unsafe fn version(environment: Interface) -> c_int {
    type GetVersion = unsafe extern "C" fn(Interface) -> c_int;
    // SAFETY: as the caller guarantees.
    unsafe { function::<GetVersion>(environment, GET_VERSION)(environment) }
}

/// Argument of a method (`jvalue`).
#[repr(C)]
union Argument {
    flag: u8,
    object: Reference,
}

/// Class of this name, after its initialization; null if there is none. It is to be
/// [released](release).
pub(super) unsafe fn find_class(environment: Interface, name: &CStr) -> Reference {
    type FindClass = unsafe extern "C" fn(Interface, *const c_char) -> Reference;
    // SAFETY: as the caller guarantees.
    unsafe {
        let class = function::<FindClass>(environment, FIND_CLASS)(environment, name.as_ptr());
        cleared(environment, class)
    }
}

/// Class of this name, with dots, among Java's own, whether it was initialized or not; null if
/// there is none. It is to be [released](release).
pub(super) unsafe fn find_uninitialized_class(environment: Interface, name: &CStr) -> Reference {
    type NewString = unsafe extern "C" fn(Interface, *const c_char) -> Reference;
    type GetMethodId =
        unsafe extern "C" fn(Interface, Reference, *const c_char, *const c_char) -> *const c_void;
    type CallMethod =
        unsafe extern "C" fn(Interface, Reference, *const c_void, *const Argument) -> Reference;
    let signature = c"(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
    // SAFETY: as the caller guarantees. The arguments are those of the signature.
    unsafe {
        let class = find_class(environment, c"java/lang/Class");
        let get = function::<GetMethodId>(environment, GET_STATIC_METHOD_ID);
        let text = function::<NewString>(environment, NEW_STRING_UTF)(environment, name.as_ptr());
        let mut found = ptr::null();
        if !class.is_null() && !text.is_null() {
            let method = get(environment, class, c"forName".as_ptr(), signature.as_ptr());
            if !cleared(environment, method).is_null() {
                let null = Argument { object: ptr::null() };
                let arguments = [Argument { object: text }, Argument { flag: 0 }, null];
                let call = function::<CallMethod>(environment, CALL_STATIC_OBJECT_METHOD_A);
                found = call(environment, class, method, arguments.as_ptr());
            }
        }
        // A machine that checks native code warns if exceptions of a call are not handled.
        clear_exception(environment);
        release(environment, text);
        release(environment, class);
        found
    }
}

/// New class of this name among Java's own; null if it is refused. It is to be [released](release).
pub(super) unsafe fn define_class(environment: Interface, name: &CStr, file: &[u8]) -> Reference {
    type DefineClass =
        unsafe extern "C" fn(Interface, *const c_char, Reference, *const u8, c_int) -> Reference;
    let (name, length) = (name.as_ptr(), file.len() as c_int);
    // SAFETY: as the caller guarantees.
    unsafe {
        let define = function::<DefineClass>(environment, DEFINE_CLASS);
        cleared(environment, define(environment, name, ptr::null(), file.as_ptr(), length))
    }
}

/// Binds a native method. Returns whether the class has it.
pub(super) unsafe fn bind_method(
    environment: Interface,
    class: Reference,
    method: &NativeMethod,
) -> bool {
    type RegisterNatives =
        unsafe extern "C" fn(Interface, Reference, *const NativeMethod, c_int) -> c_int;
    // SAFETY: as the caller guarantees.
    unsafe {
        let register = function::<RegisterNatives>(environment, REGISTER_NATIVES);
        let is_bound = register(environment, class, method, 1) == 0;
        if !is_bound {
            clear_exception(environment);
        }
        is_bound
    }
}

/// Place of a field of type `long`; null if there is none.
pub(super) unsafe fn long_field(environment: Interface, class: Reference, name: &CStr) -> FieldId {
    type GetFieldId =
        unsafe extern "C" fn(Interface, Reference, *const c_char, *const c_char) -> FieldId;
    // SAFETY: as the caller guarantees.
    unsafe {
        let get = function::<GetFieldId>(environment, GET_FIELD_ID);
        cleared(environment, get(environment, class, name.as_ptr(), c"J".as_ptr()))
    }
}

/// Value of an object's field of type `long`.
#[inline]
pub(super) unsafe fn long_value(environment: Interface, object: Reference, field: FieldId) -> i64 {
    type GetLongField = unsafe extern "C" fn(Interface, Reference, FieldId) -> i64;
    // SAFETY: as the caller guarantees.
    unsafe { function::<GetLongField>(environment, GET_LONG_FIELD)(environment, object, field) }
}

/// Releases a reference, which may be null.
pub(super) unsafe fn release(environment: Interface, object: Reference) {
    type DeleteLocalRef = unsafe extern "C" fn(Interface, Reference);
    // SAFETY: as the caller guarantees.
    unsafe { function::<DeleteLocalRef>(environment, DELETE_LOCAL_REF)(environment, object) };
}

/// The result of a call. If it is null, the exception that the call has raised is cleared.
unsafe fn cleared(environment: Interface, result: *const c_void) -> *const c_void {
    if result.is_null() {
        // SAFETY: as the caller guarantees.
        unsafe { clear_exception(environment) };
    }
    result
}

/// Clears the exception of the calling thread, if there is one.
unsafe fn clear_exception(environment: Interface) {
    type ExceptionClear = unsafe extern "C" fn(Interface);
    // SAFETY: as the caller guarantees.
    unsafe { function::<ExceptionClear>(environment, EXCEPTION_CLEAR)(environment) };
}
