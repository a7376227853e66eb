//! Transfers on streams, which are most calls on sockets: they use no coroutine.
//!
//! Before the call, only the descriptor and the clock are read, and both are kept in the frame,
//! which waits like the frame of any hook. After the call the frame is passed to [`log_in_thread`].
//! Only there are the vector registers saved, and the program's other registers are still
//! unchanged.

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use libc::iovec;
use socket_log::encode::Direction;

use super::frame::Frame;
use super::{coroutine, goroutines, short_path};
use crate::c_library::errno;
use crate::descriptors::table::DescriptorWord;
use crate::flows::{CallBuffers, transfer};
use crate::hooks::read_write;
use crate::log::{self, RecordWriter};
use crate::platform::clock;
use crate::state::goroutine::Goroutine;
use crate::state::options::recording_options;
use crate::state::slot;

/// Numbers of calls that send, a bit each.
const SENDS: u64 = short_path::bit_set([libc::SYS_write, libc::SYS_writev, libc::SYS_sendto]);

/// Numbers of calls that receive, a bit each.
const RECEIVES: u64 = short_path::bit_set([libc::SYS_read, libc::SYS_readv, libc::SYS_recvfrom]);

/// Numbers of calls with a vector of buffers, a bit each.
const VECTORS: u64 = short_path::bit_set([libc::SYS_readv, libc::SYS_writev]);

/// Flags with which `sendto` and `recvfrom` have the effect of `write` and `read` on a stream.
pub(super) const USUAL_FLAGS: c_int =
    libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT | libc::MSG_WAITALL | libc::MSG_MORE;

/// Calls that take this path, a bit each: none if ticks do not come from the cycle counter, or if
/// more is recorded than messages and words.
#[unsafe(link_section = ".data.often_read")]
pub(super) static CALLS: AtomicU64 = AtomicU64::new(0);

/// Values of [`Frame::has_left`] for a transfer of C code, and for a transfer at which `r14` holds
/// the goroutine.
pub(super) const OF_THREAD: u64 = 1;
pub(super) const OF_GOROUTINE: u64 = 2;

/// Enables this path, once the clock is chosen, unless more is recorded of streams than their
/// messages and rare words.
pub(super) fn allow_transfers() {
    let options = recording_options();
    let is_plain = options.watches_words_alone || !options.watches_streams();
    if is_plain && clock::counts_cycles() {
        CALLS.store(SENDS | RECEIVES, Relaxed);
    }
}

/// Instructions after those that push the program's registers: with the frame at the stack pointer,
/// and the program's stack pointer in `r11`. They go back to the program, or continue at label 20
/// if the call is not a transfer on a stream.
macro_rules! leave_for_transfer {
    () => {
        concat!(
            // Below a waiting frame, a hook may lack stack space.
            "cmp qword ptr gs:[{waiting}], 0\n",
            "jne 20f\n",
            "cmp rax, {last_transfer}\n",
            "ja 20f\n",
            "mov r9, [rip + {calls}]\n",
            "bt r9, rax\n",
            "jnc 20f\n",
            "cmp rdi, {limit}\n",
            "jae 20f\n",
            "mov r9, [rip + {table}]\n",
            "test r9, r9\n",
            "jz 20f\n",
            "mov r9, [r9 + rdi * 8]\n",
            "mov edx, r9d\n",
            "and edx, {plain_stream_bits}\n",
            "cmp edx, {plain_stream}\n",
            "jne 20f\n",
            "cmp rax, {first_with_flags}\n",
            "jae 22f\n",
            "21:\n",
            "mov [rsp + {entry}], r9\n",
            "mov qword ptr [rsp + {has_left}], {attribution}\n",
            "mov qword ptr [rsp + {before}], 0\n",
            "mov [rsp + {stopped_at}], rsp\n",
            "rdtsc\n",
            "mov [rsp + {begin}], eax\n",
            "mov [rsp + {begin} + 4], edx\n",
            // From here on the frame waits.
            "mov gs:[{waiting}], rsp\n",
            "lea rax, [rsp - 64]\n",
            "and rax, -64\n",
            "mov gs:[{floor}], rax\n",
            "mov rax, [rsp + {number}]\n",
            "mov rdx, [rsp + {arguments} + 24]\n",
            "mov r9, [rsp + {arguments}]\n",
            "mov rsp, r11\n",
            "jmp rcx\n",
            "20:\n",
        )
    };
}
pub(super) use leave_for_transfer;

/// Out-of-line part of `leave_for_transfer`, for calls with flags.
macro_rules! leave_for_transfer_apart {
    () => {
        concat!("22:\n", "test r10d, {unusual_flags}\n", "jnz 20b\n", "jmp 21b\n",)
    };
}
pub(super) use leave_for_transfer_apart;

/// Instructions after the call of a transfer on a stream: with its frame, which no longer waits, at
/// the stack pointer.
macro_rules! go_on_with_transfer {
    () => {
        concat!(
            // A call that only has to be repeated is not recorded, since Go's runtime makes one
            // before each wait.
            "cmp rax, {again}\n",
            "je 21f\n",
            "cmp qword ptr [rsp + {has_left}], {of_goroutine}\n",
            "jne 20f\n",
            // While Go's code has the goroutine in a register, it uses no vector register but the
            // one that holds zero.
            "movaps [rsp + {scratch}], xmm15\n",
            "mov rdi, rsp\n",
            "mov rsi, rax\n",
            "call {log_in_goroutine}\n",
            "movaps xmm15, [rsp + {scratch}]\n",
            "21:\n",
            "add rsp, {arguments}\n",
            pop_all!(),
        )
    };
}
pub(super) use go_on_with_transfer;

/// Out-of-line part of `go_on_with_transfer`, for a transfer of C code.
macro_rules! go_on_with_transfer_apart {
    () => {
        concat!(
            "20:\n",
            store_vectors!(),
            "mov rdi, rsp\n",
            "mov rsi, rax\n",
            "call {log_in_thread}\n",
            load_vectors!("rsp"),
            "jmp 21b\n",
        )
    };
}
pub(super) use go_on_with_transfer_apart;

/// Logs a transfer of C code that has ended with this result, and returns the result.
#[unsafe(link_section = ".text.often_run")]
pub(super) unsafe extern "C" fn log_in_thread(frame: &mut Frame, result: i64) -> i64 {
    // SAFETY: as the caller guarantees.
    unsafe { log_transfer(frame, result, Goroutine { number: 0, creator: 0 }) }
}

/// Logs a transfer that has ended with this result, if `r14` in the frame holds the goroutine, and
/// returns the result.
#[unsafe(link_section = ".text.often_run")]
pub(super) unsafe extern "C" fn log_in_goroutine(frame: &mut Frame, result: i64) -> i64 {
    let [_, r14, ..] = frame.registers;
    // SAFETY: the register holds a goroutine; the rest as the caller guarantees.
    unsafe { log_transfer(frame, result, goroutines::goroutine_at(r14 as usize)) }
}

/// Logs a transfer of a goroutine, in nearly all cases immediately and by as few instructions as
/// possible: after a system call no instruction is in the processor's first-level cache.
///
/// # Safety
/// The frame belongs to a transfer of the program, which has just ended with this result.
#[inline(always)]
unsafe fn log_transfer(frame: &mut Frame, result: i64, goroutine: Goroutine) -> i64 {
    let end = clock::ticks_by_counter();
    let slot = slot::current_slot();
    slot.running.store(ptr::from_mut(frame).cast(), Relaxed);
    slot.set_goroutine(goroutine);
    slot.replenish_ready();
    coroutine::record_skipped(slot);
    let Some(writer) = log::current_writer() else { return result };
    let begin = clock::ticks_of_counter(frame.begin);
    let (direction, ticks) = match is_in(SENDS, frame) {
        true => (Direction::Send, begin),
        false => (Direction::Receive, end),
    };
    let entry = DescriptorWord::from_word(frame.entry);
    let flow = entry.flow();
    let is_short = result > 0 && !entry.is_watched();
    if !is_short || !writer.transfer_fast(direction, flow, ticks, result as u64, end - begin) {
        // SAFETY: as the caller guarantees.
        unsafe { log_transfer_slow(writer, frame, result, end) };
    }
    result
}

/// Logs a transfer with its rare words or in a longer form, the end of a stream, or a failed
/// transfer.
///
/// # Safety
/// As for [`log_transfer`].
#[inline(never)]
unsafe fn log_transfer_slow(writer: RecordWriter, frame: &Frame, result: i64, end: u64) {
    if result < 0 {
        errno::set_errno(-result as i32);
    }
    let begin = clock::ticks_of_counter(frame.begin);
    let [.., size, start, fd] = frame.arguments;
    let (fd, entry) = (fd as c_int, DescriptorWord::from_word(frame.entry));
    let start = ptr::with_exposed_provenance_mut(start as usize);
    let single = iovec { iov_base: start, iov_len: size as usize };
    let buffers = match is_in(VECTORS, frame) {
        true => read_write::call_buffers(start.cast_const().cast(), size as c_int),
        false => CallBuffers { first: &raw const single, count: 1 },
    };
    let moved = result as isize;
    // SAFETY: the buffers were just used by the call.
    unsafe {
        if is_in(SENDS, frame) {
            transfer::log_sent(writer, fd, entry, moved, || buffers, begin, end);
        } else {
            transfer::log_received(writer, fd, entry, moved, buffers, begin, end);
        }
    }
}

/// Whether the frame's call is in the set `numbers`.
#[inline(always)]
fn is_in(numbers: u64, frame: &Frame) -> bool {
    numbers >> frame.number & 1 != 0
}
