//! Functions of TLS libraries: each passes its return address to its hook, after the program's
//! arguments. The hook returns to the program directly, so no frame of this function stays on the
//! stack.

use core::ffi::c_int;

use libc::ssize_t;

use crate::hooks::{nss, tls};

/// Exports functions: `name => file::hook, register of the argument after the last one` on x86-64
/// and on AArch64.
macro_rules! called_from {
    ($(
        $name:ident() $(-> $result:ty)? => $file:ident::$hook:ident,
            $register:literal, $other:literal;
    )*) => {$(
        #[cfg(target_arch = "x86_64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() $(-> $result)? {
            core::arch::naked_asm!(
                concat!("mov ", $register, ", [rsp]"),
                "jmp {hook}",
                hook = sym $file::$hook,
            )
        }

        #[cfg(target_arch = "aarch64")]
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name() $(-> $result)? {
            core::arch::naked_asm!(
                concat!("mov ", $other, ", x30"),
                "b {hook}",
                hook = sym $file::$hook,
            )
        }
    )*};
}

called_from! {
    SSL_read() -> c_int => tls::ssl_read, "rcx", "x3";
    SSL_read_ex() -> c_int => tls::ssl_read_ex, "r8", "x4";
    SSL_peek() -> c_int => tls::ssl_peek, "rcx", "x3";
    SSL_peek_ex() -> c_int => tls::ssl_peek_ex, "r8", "x4";
    SSL_write() -> c_int => tls::ssl_write, "rcx", "x3";
    SSL_write_ex() -> c_int => tls::ssl_write_ex, "r8", "x4";
    SSL_free() => tls::ssl_free, "rsi", "x1";
    gnutls_record_recv() -> ssize_t => tls::gnutls_record_recv, "rcx", "x3";
    gnutls_record_recv_seq() -> ssize_t => tls::gnutls_record_recv_seq, "r8", "x4";
    gnutls_record_send() -> ssize_t => tls::gnutls_record_send, "rcx", "x3";
    gnutls_record_send2() -> ssize_t => tls::gnutls_record_send2, "r9", "x5";
    gnutls_record_send_range() -> ssize_t => tls::gnutls_record_send_range, "r8", "x4";
    gnutls_deinit() => tls::gnutls_deinit, "rsi", "x1";
    PR_Read() -> i32 => nss::read, "rcx", "x3";
    PR_Write() -> i32 => nss::write, "rcx", "x3";
    PR_Recv() -> i32 => nss::recv, "r9", "x5";
    PR_Send() -> i32 => nss::send, "r9", "x5";
    PR_Writev() -> i32 => nss::writev, "r8", "x4";
    PR_Close() -> c_int => nss::close, "rsi", "x1";
}
