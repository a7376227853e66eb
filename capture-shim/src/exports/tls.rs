//! Functions of TLS libraries: each hands the place that it is called from to its hook, behind the
//! program's arguments. The hook returns there, so nothing of this stays on the stack.

use core::ffi::c_int;

use libc::ssize_t;

use crate::hooks::tls;

/// Exports functions: `name => hook, register of the argument behind the last one` on x86-64 and on
/// AArch64.
macro_rules! called_from {
    ($($name:ident() $(-> $result:ty)? => $hook:ident, $register:literal, $other:literal;)*) => {$(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() $(-> $result)? {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "jmp {hook}",
                hook = sym tls::$hook,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() $(-> $result)? {
            core::arch::naked_asm!(
                concat!("mov ", $other, ", x30"),
                "b {hook}",
                hook = sym tls::$hook,
            )
        }
    )*};
}

called_from! {
    SSL_read() -> c_int => ssl_read, "rcx", "x3";
    SSL_read_ex() -> c_int => ssl_read_ex, "r8", "x4";
    SSL_peek() -> c_int => ssl_peek, "rcx", "x3";
    SSL_peek_ex() -> c_int => ssl_peek_ex, "r8", "x4";
    SSL_write() -> c_int => ssl_write, "rcx", "x3";
    SSL_write_ex() -> c_int => ssl_write_ex, "r8", "x4";
    SSL_free() => ssl_free, "rsi", "x1";
    gnutls_record_recv() -> ssize_t => gnutls_record_recv, "rcx", "x3";
    gnutls_record_recv_seq() -> ssize_t => gnutls_record_recv_seq, "r8", "x4";
    gnutls_record_send() -> ssize_t => gnutls_record_send, "rcx", "x3";
    gnutls_record_send2() -> ssize_t => gnutls_record_send2, "r9", "x5";
    gnutls_record_send_range() -> ssize_t => gnutls_record_send_range, "r8", "x4";
    gnutls_deinit() => gnutls_deinit, "rsi", "x1";
}
