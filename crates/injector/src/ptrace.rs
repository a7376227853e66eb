//! Requests of ptrace(2), each as a function. A request must come from the tracing thread, and all
//! but `seize` and `interrupt` require a stopped thread.

use std::io;
use std::mem::{MaybeUninit, offset_of, size_of};
use std::ptr::{from_mut, from_ref};

use libc::{c_int, c_uint, iovec, ptrace_syscall_info, user_regs_struct};

/// Thread id of the kernel.
pub(crate) type Tid = c_int;

/// General registers of a thread.
pub(crate) type Registers = user_regs_struct;

/// How a thread continues.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ResumeMode {
    /// To the next event or signal.
    On,
    /// To the next beginning or end of a system call.
    ToCall,
    /// The thread stays stopped, like its whole process (SIGSTOP), until the process continues.
    Listen,
}

/// Note type of all vector registers (`NT_X86_XSTATE`).
const XSTATE: usize = 0x202;
/// Size that suffices for the vector registers of any current processor, in bytes: AMX has a little
/// more than 8 KiB.
const XSTATE_BYTES: usize = 32 << 10;

/// Makes the `ptrace` request `what` for a thread.
fn ptrace_request(what: c_uint, tid: Tid, address: usize, data: usize) -> io::Result<()> {
    // SAFETY: this function is called only for requests that take numbers, or with `data` pointing
    // at memory that the callers below lend for the call and that is as large as the kernel
    // requires.
    let result = unsafe { libc::ptrace(what, tid, address, data) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Begins to trace a thread, which continues to run. If the tracing thread ends, the traced thread
/// runs on.
pub(crate) fn seize_thread(tid: Tid) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;
    ptrace_request(libc::PTRACE_SEIZE, tid, 0, options as usize)
}

/// Begins to trace a thread as [`seize_thread`] does, and the next child that the thread makes by
/// `vfork` from the child's beginning.
pub(crate) fn seize_spawning(tid: Tid) -> io::Result<()> {
    let options = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;
    let options = options | libc::PTRACE_O_TRACEVFORK;
    ptrace_request(libc::PTRACE_SEIZE, tid, 0, options as usize)
}

/// Child of a thread that stands at its vfork event.
pub(crate) fn vfork_child(tid: Tid) -> io::Result<Tid> {
    let mut message: libc::c_ulong = 0;
    ptrace_request(libc::PTRACE_GETEVENTMSG, tid, 0, from_mut(&mut message) as usize)?;
    Tid::try_from(message).map_err(|_| io::ErrorKind::NotFound.into())
}

/// Makes a thread stop soon.
pub(crate) fn interrupt_thread(tid: Tid) -> io::Result<()> {
    ptrace_request(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

/// Resumes a thread, with a signal unless it is 0.
pub(crate) fn resume_thread(tid: Tid, how: ResumeMode, signal: c_int) -> io::Result<()> {
    let what = match how {
        ResumeMode::On => libc::PTRACE_CONT,
        ResumeMode::ToCall => libc::PTRACE_SYSCALL,
        ResumeMode::Listen => libc::PTRACE_LISTEN,
    };
    ptrace_request(what, tid, 0, signal as usize)
}

/// Ends the trace of a thread, which runs on.
pub(crate) fn detach_thread(tid: Tid, signal: c_int) -> io::Result<()> {
    ptrace_request(libc::PTRACE_DETACH, tid, 0, signal as usize)
}

/// Reads the general registers.
pub(crate) fn get_registers(tid: Tid) -> io::Result<Registers> {
    let mut registers = MaybeUninit::<Registers>::zeroed();
    ptrace_request(libc::PTRACE_GETREGS, tid, 0, registers.as_mut_ptr() as usize)?;
    // SAFETY: the structure consists of numbers, so zeros are valid, and the kernel has filled it.
    Ok(unsafe { registers.assume_init() })
}

/// Sets the general registers.
pub(crate) fn set_registers(tid: Tid, registers: &Registers) -> io::Result<()> {
    ptrace_request(libc::PTRACE_SETREGS, tid, 0, from_ref(registers) as usize)
}

/// Sets the GS base, and no other register.
pub(crate) fn set_gs_base(tid: Tid, address: u64) -> io::Result<()> {
    ptrace_request(libc::PTRACE_POKEUSER, tid, offset_of!(Registers, gs_base), address as usize)
}

/// Reads the vector registers, in the processor's layout.
pub(crate) fn get_vectors(tid: Tid) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0u8; XSTATE_BYTES];
    let mut lent = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    ptrace_request(libc::PTRACE_GETREGSET, tid, XSTATE, from_mut(&mut lent) as usize)?;
    bytes.truncate(lent.iov_len);
    Ok(bytes)
}

/// Sets the vector registers to bytes from [`get_vectors`].
pub(crate) fn set_vectors(tid: Tid, bytes: &mut [u8]) -> io::Result<()> {
    let mut lent = iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    ptrace_request(libc::PTRACE_SETREGSET, tid, XSTATE, from_mut(&mut lent) as usize)
}

/// Signals that a thread blocks, one bit each.
pub(crate) fn blocked_signals(tid: Tid) -> io::Result<u64> {
    let mut mask = 0u64;
    ptrace_request(libc::PTRACE_GETSIGMASK, tid, size_of::<u64>(), from_mut(&mut mask) as usize)?;
    Ok(mask)
}

/// Sets the signals that a thread blocks.
pub(crate) fn set_blocked_signals(tid: Tid, mask: u64) -> io::Result<()> {
    ptrace_request(libc::PTRACE_SETSIGMASK, tid, size_of::<u64>(), from_ref(&mask) as usize)
}

/// Position of a thread relative to a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SyscallPosition {
    /// At the beginning of a system call, with the address after its instruction.
    Beginning(u64),
    /// At the end of a system call.
    End,
    /// Elsewhere.
    Elsewhere,
}

/// Position of a thread.
pub(crate) fn syscall_position(tid: Tid) -> io::Result<SyscallPosition> {
    const BEGINNING: u8 = 1;
    const END: u8 = 2;
    let mut info = MaybeUninit::<ptrace_syscall_info>::zeroed();
    let size = size_of::<ptrace_syscall_info>();
    ptrace_request(libc::PTRACE_GET_SYSCALL_INFO as c_uint, tid, size, info.as_mut_ptr() as usize)?;
    // SAFETY: the structure consists of numbers, so zeros are valid where the kernel wrote nothing.
    let info = unsafe { info.assume_init() };
    Ok(match info.op {
        BEGINNING => SyscallPosition::Beginning(info.instruction_pointer),
        END => SyscallPosition::End,
        _ => SyscallPosition::Elsewhere,
    })
}

/// Report of the kernel on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitReport {
    /// The thread stopped.
    Stopped {
        /// Thread id.
        tid: Tid,
        /// Signal in the low 8 bits, event in the next 8.
        status: c_int,
    },
    /// The thread ended.
    Ended,
}

/// Next report on a thread that this one traces, if there is one, or on the thread `only`. Ends are
/// reported if `ends` is set, and otherwise left for the parent of a process. `NotFound` if nothing
/// is traced.
pub(crate) fn next_report(ends: bool, only: Option<Tid>) -> io::Result<Option<WaitReport>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WSTOPPED | libc::WNOHANG | libc::__WALL | libc::__WNOTHREAD;
    let options = options | if ends { libc::WEXITED } else { 0 };
    let (of, number) = only.map_or((libc::P_ALL, 0), |tid| (libc::P_PID, tid.cast_unsigned()));
    // SAFETY: the kernel writes one structure of this type, which lives for the whole call.
    if unsafe { libc::waitid(of, number, info.as_mut_ptr(), options) } == -1 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ECHILD) => Err(io::ErrorKind::NotFound.into()),
            Some(libc::EINTR) => Ok(None),
            _ => Err(error),
        };
    }
    // SAFETY: zeros are a valid structure, and the kernel has filled in the fields of a stop. Its
    // numeric fields are valid with any value.
    let (tid, status, code) = unsafe {
        let info = info.assume_init();
        (info.si_pid(), info.si_status(), info.si_code)
    };
    Ok(match (tid, code) {
        (0, _) => None,
        (_, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) => Some(WaitReport::Ended),
        _ => Some(WaitReport::Stopped { tid, status }),
    })
}

/// Lets the calling process be traced by any process of its user, if the kernel's module Yama
/// requires that; otherwise it changes nothing.
pub(crate) fn allow_tracer(tracer: Tid) {
    // SAFETY: this call takes numbers and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, tracer as libc::c_ulong, 0, 0, 0) };
}
