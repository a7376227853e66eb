//! Programs with a runtime that is only named, by the path of their file.

use core::ffi::CStr;

/// Program with such a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Name of the runtime, as users know it.
    pub(super) name: &'static [u8],
    /// Release of the runtime, if the path contains it.
    pub(super) release: Option<u32>,
    /// Function for native code that the program exports.
    pub(super) exports: &'static CStr,
}

/// The difference between the numbers of a release of Erlang/OTP and of its virtual machine (ERTS),
/// which has been the same in these versions of the machine.
const RELEASE_OF_MACHINE: u32 = 12;
const KNOWN_MACHINES: core::ops::RangeInclusive<u32> = 11..=17;

/// The program with this path; `None` if it has another name than those with such runtimes.
pub(super) fn recognise(path: &[u8]) -> Option<Program> {
    let file = path.rsplit(|byte| *byte == b'/').next()?;
    let (name, exports): (&[u8], _) = match file {
        b"beam.smp" => (b"Erlang/OTP", c"enif_priv_data"),
        b"deno" => (b"Deno", c"napi_create_function"),
        b"bun" | b"bunx" | b"bun.exe" | b"bunx.exe" => (b"Bun", c"napi_create_function"),
        _ => return None,
    };
    let release = if file == b"beam.smp" { release_of_otp(path) } else { None };
    Some(Program { name, release, exports })
}

/// Release of Erlang/OTP by the folder of its virtual machine, such as `erts-13.1.5`.
fn release_of_otp(path: &[u8]) -> Option<u32> {
    let mut folders = path.split(|byte| *byte == b'/');
    let version = folders.find_map(|folder| folder.strip_prefix(b"erts-"))?;
    let digits = version.iter().take_while(|byte| byte.is_ascii_digit());
    let machine = digits.fold(0u32, |number, digit| {
        number.saturating_mul(10).saturating_add(u32::from(digit - b'0'))
    });
    KNOWN_MACHINES.contains(&machine).then(|| machine + RELEASE_OF_MACHINE)
}
