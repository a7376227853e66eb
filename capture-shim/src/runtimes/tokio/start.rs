//! Function that takes up a started task, `bind_inner` of `OwnedTasks`, which adds the task to the
//! scheduler's list: a jump replaces its first instructions, which are moved elsewhere.
//!
//! ```text
//!   function            page near the program                 library
//!     jmp ------------>   lea r11, 1f; jmp ---------------->  entries::start
//!                       1: what was replaced  <-------------- jmp r11
//!     next  <----------    jmp
//! ```

use core::ptr;

use super::entries;
use super::instructions::{NEAR, movable_length};
use crate::platform::raw::{self, PAGE};

/// Length of a jump to any address, in bytes.
const FAR: usize = 14;
/// Greatest distance from the program at which a page is searched for, in bytes: a near jump
/// reaches twice as far.
const REACH: usize = 1 << 30;
/// Bytes between the addresses that are tried.
const STEP: usize = 1 << 20;

/// Puts a jump at the beginning of the function at `address`, which takes up a started task, if its
/// first instructions can be moved. `extent` is the range of the program's memory.
pub(super) fn hook_starter(address: usize, extent: [usize; 2]) {
    let mut code = [0; 2 * FAR];
    // SAFETY: a function of the program, and none with this purpose is shorter.
    let begins = unsafe { ptr::with_exposed_provenance::<[u8; 2 * FAR]>(address).read() };
    let Some(replaced) = movable_length(&begins) else { return };
    let Some(page) = map_page_near(extent) else { return };
    let base = page.addr();
    // `lea r11, [rip + FAR]`: the replaced instructions follow the far jump.
    code[..7].copy_from_slice(&[0x4c, 0x8d, 0x1d, FAR as u8, 0, 0, 0]);
    code[7..7 + FAR].copy_from_slice(&far_jump(entries::start as unsafe extern "C" fn() as usize));
    let back = far_jump(address + replaced);
    let distance = (base as i64 - (address + NEAR) as i64) as i32;
    let mut jump = [0xe9, 0, 0, 0, 0];
    jump[1..].copy_from_slice(&distance.to_le_bytes());
    let first = address & !(PAGE - 1);
    let length = (address + NEAR).next_multiple_of(PAGE) - first;
    let (code_of, run) = (libc::PROT_READ | libc::PROT_WRITE, libc::PROT_READ | libc::PROT_EXEC);
    // SAFETY: the page was mapped for this code. The program has one thread, which runs here and
    // not in the function.
    unsafe {
        ptr::copy_nonoverlapping(code.as_ptr(), page, 7 + FAR);
        ptr::copy_nonoverlapping(begins.as_ptr(), page.add(7 + FAR), replaced);
        ptr::copy_nonoverlapping(back.as_ptr(), page.add(7 + FAR + replaced), FAR);
        if !raw::protect_pages(base, PAGE, run) || !raw::protect_pages(first, length, code_of) {
            return;
        }
        ptr::copy_nonoverlapping(jump.as_ptr(), ptr::with_exposed_provenance_mut(address), NEAR);
        raw::protect_pages(first, length, run);
    }
}

/// Jump to any address: `jmp [rip]`, and the address.
fn far_jump(to: usize) -> [u8; FAR] {
    let mut code = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    code[6..].copy_from_slice(&to.to_le_bytes());
    code
}

/// Maps a page within reach of a near jump from the program; `None` if there is no free address.
fn map_page_near(extent: [usize; 2]) -> Option<*mut u8> {
    let [start, end] = [extent[0] & !(PAGE - 1), extent[1].next_multiple_of(PAGE)];
    let below = (1..REACH / STEP).filter_map(|step| start.checked_sub(step * STEP));
    let above = (1..REACH / STEP).filter_map(|step| end.checked_add(step * STEP));
    (end - start < REACH).then_some(())?;
    below.chain(above).find_map(raw::map_page_at)
}
