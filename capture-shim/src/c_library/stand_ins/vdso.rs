//! The clock of the kernel's own shared object, which every process has in its memory.
//!
//! A program that has given up the system call can still ask that object, and it costs a tenth.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::Relaxed;

use libc::{Elf64_Ehdr, Elf64_Shdr, Elf64_Sym, clockid_t, timespec};

/// Type of the function.
type ClockGetTime = unsafe extern "C" fn(clockid_t, *mut timespec) -> c_int;

/// Address of the kernel's function; null where it has none.
static CLOCK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Kind of the section with the object's symbols (`SHT_DYNSYM`).
const SYMBOLS: u32 = 11;

/// Looks for the function in the kernel's object at `base`; 0 for none.
pub(super) fn find(base: usize) {
    if base == 0 {
        return;
    }
    let at = |offset: u64| ptr::with_exposed_provenance::<u8>(base.wrapping_add(offset as usize));
    // SAFETY: the kernel maps the whole file of its object, with its table of sections, and all of
    // it is as the format says. Tables are aligned as their entries are.
    unsafe {
        let header: *const Elf64_Ehdr = at(0).cast();
        let sections: *const Elf64_Shdr = at((*header).e_shoff).cast();
        for place in 0..usize::from((*header).e_shnum) {
            let section = sections.add(place);
            if (*section).sh_type != SYMBOLS {
                continue;
            }
            let names = at((*sections.add((*section).sh_link as usize)).sh_offset);
            let symbols: *const Elf64_Sym = at((*section).sh_offset).cast();
            for place in 0..(*section).sh_size as usize / size_of::<Elf64_Sym>() {
                let symbol = symbols.add(place);
                let name: *const c_char = names.add((*symbol).st_name as usize).cast();
                if CStr::from_ptr(name) == c"__vdso_clock_gettime" && (*symbol).st_value != 0 {
                    CLOCK.store(at((*symbol).st_value).cast_mut().cast(), Relaxed);
                }
            }
        }
    }
}

/// Time of a clock, by the kernel's function or else by the system call.
///
/// # Safety
/// As `clock_gettime`.
pub(super) unsafe fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let function = CLOCK.load(Relaxed);
    if !function.is_null() {
        // SAFETY: the function's type as documented, and the caller's arguments.
        return unsafe { core::mem::transmute::<*mut c_void, ClockGetTime>(function)(clock, time) };
    }
    let result: isize;
    // SAFETY: the kernel fills the struct.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_clock_gettime as isize => result,
            in("rdi") clock as isize,
            in("rsi") time,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result as c_int
}
