//! Memory functions that compiled code calls by name.
//!
//! They are written so that the compiler does not turn them into calls of themselves: copies by a
//! processor instruction, searches by volatile reads.

use core::ffi::{c_char, c_int, c_void};

/// Copies `length` bytes between regions that do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    // SAFETY: as the caller guarantees; the direction flag is clear wherever Rust code runs.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rcx") length => _,
            inout("rdi") to => _,
            inout("rsi") from => _,
            options(nostack, preserves_flags),
        );
    }
    to
}

/// Copies `length` bytes between regions that may overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void {
    if to.addr().wrapping_sub(from.addr()) >= length {
        // SAFETY: forwards, no byte is written before it is read.
        return unsafe { memcpy(to, from, length) };
    }
    // SAFETY: as the caller guarantees. It copies backwards from the last byte, and then clears the
    // flag again.
    unsafe {
        core::arch::asm!(
            "std",
            "rep movsb",
            "cld",
            inout("rcx") length => _,
            inout("rdi") to.byte_add(length).byte_sub(1) => _,
            inout("rsi") from.byte_add(length).byte_sub(1) => _,
            options(nostack),
        );
    }
    to
}

/// Sets `length` bytes to one value.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut c_void, value: c_int, length: usize) -> *mut c_void {
    // SAFETY: as the caller guarantees.
    unsafe {
        core::arch::asm!(
            "rep stosb",
            inout("rcx") length => _,
            inout("rdi") to => _,
            in("al") value as u8,
            options(nostack, preserves_flags),
        );
    }
    to
}

/// Compares bytes: negative, 0 or positive if the first differing byte is smaller or greater.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    let (one, other): (*const u8, *const u8) = (one.cast(), other.cast());
    for place in 0..length {
        // SAFETY: within both, as the caller guarantees.
        let (one, other) =
            unsafe { (one.add(place).read_volatile(), other.add(place).read_volatile()) };
        if one != other {
            return c_int::from(one) - c_int::from(other);
        }
    }
    0
}

/// Compares bytes: 0 if they are equal.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const c_void, other: *const c_void, length: usize) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe { memcmp(one, other, length) }
}

/// Length of a string that ends with a zero byte.
#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: the string extends to its zero byte.
    while unsafe { text.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}

/// Address of the first occurrence of a byte, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn memchr(text: *const c_void, byte: c_int, length: usize) -> *mut c_void {
    let text: *const u8 = text.cast();
    for place in 0..length {
        // SAFETY: within the text, as the caller guarantees.
        let here = unsafe { text.add(place) };
        // SAFETY: the byte is within the text.
        if unsafe { here.read_volatile() } == byte as u8 {
            return here.cast_mut().cast();
        }
    }
    core::ptr::null_mut()
}
