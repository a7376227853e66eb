//! Words that only their own thread and its signal handlers change.

use core::sync::atomic::AtomicUsize;
#[cfg(not(target_arch = "x86_64"))]
use core::sync::atomic::Ordering::Relaxed;

/// Replaces `old` by `new` in a word that only this thread and its signal handlers change, and
/// returns whether the word was `old`.
///
/// The replacement is one instruction, so a handler comes before or after it, never in between. The
/// instruction is not locked, as no other thread changes the word, and takes a fifth of the time of
/// a locked instruction.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn replace_word(word: &AtomicUsize, old: usize, new: usize) -> bool {
    let found: usize;
    // SAFETY: the address of a live, aligned word.
    unsafe {
        core::arch::asm!(
            "cmpxchg qword ptr [{word}], {new}",
            word = in(reg) word.as_ptr(),
            new = in(reg) new,
            inlateout("rax") old => found,
            options(nostack),
        );
    }
    found == old
}

/// Replaces `old` by `new` in a word that only this thread and its signal handlers change, and
/// returns whether the word was `old`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn replace_word(word: &AtomicUsize, old: usize, new: usize) -> bool {
    word.compare_exchange(old, new, Relaxed, Relaxed).is_ok()
}
