//! Programs that are incompatible with a library because of how they use the stacks or registers of
//! their threads.
//!
//! They are recognised by texts that any build of their runtime contains, stripped or not. Each
//! takes more than one text, as a program that mentions another program may contain its name.
//! Programs that set the GS base themselves are recognised by their instructions.

use memchr::memmem;

use crate::patching::image::ElfImage;
use crate::patching::incompatible::IncompatibleProgram;

/// Texts that together identify a runtime, and its incompatibility.
struct KnownRuntime {
    texts: &'static [&'static [u8]],
    incompatibility: IncompatibleProgram,
}

const fn collector_runtime(
    collector: &'static str,
    texts: &'static [&'static [u8]],
) -> KnownRuntime {
    KnownRuntime { texts, incompatibility: IncompatibleProgram::StopsThreads { collector } }
}

const fn runs_others(program: &'static str, texts: &'static [&'static [u8]]) -> KnownRuntime {
    KnownRuntime { texts, incompatibility: IncompatibleProgram::RunsOthers { program } }
}

/// Environment variables that the runtimes read, and their messages. Crystal, and optionally Nim,
/// use Boehm's collector.
const KNOWN_RUNTIMES: [KnownRuntime; 10] = [
    collector_runtime("Boehm's", &[b"GC_INITIAL_HEAP_SIZE\0", b"GC_FREE_SPACE_DIVISOR\0"]),
    collector_runtime("D's", &[b"Unable to suspend thread", b"core.thread"]),
    collector_runtime("Mono's", &[b"MONO_GC_PARAMS\0", b"MONO_GC_DEBUG\0"]),
    collector_runtime("SBCL's", &[b"fatal error encountered in SBCL", b"SBCL_HOME\0"]),
    runs_others("QEMU", &[b"QEMU_LD_PREFIX\0", b"QEMU_STRACE\0"]),
    runs_others("Box64", &[b"BOX64_LD_LIBRARY_PATH\0", b"BOX64_LOG\0"]),
    runs_others("FEX", &[b"FEX_ROOTFS", b"FEX_APP_CONFIG"]),
    runs_others("Valgrind", &[b"VALGRIND_LAUNCHER\0", b"VALGRIND_LIB\0"]),
    runs_others("Wine", &[b"WINEPRELOADRESERVE", b"WINELOADER"]),
    KnownRuntime {
        incompatibility: GVISOR,
        texts: &[b"gvisor.dev/gvisor/pkg/sentry/platform", b"runsc"],
    },
];

/// The sandbox that is written in Go.
const GVISOR: IncompatibleProgram = IncompatibleProgram::RunsOthers { program: "gVisor" };

/// Names of shared libraries, without their version, that make a program incompatible.
const LIBRARIES: [(&str, &str); 6] = [
    ("libgc.so", "Boehm's"),
    ("libphobos2-ldc", "D's"),
    ("libphobos2.so", "D's"),
    ("libdruntime-ldc", "D's"),
    ("libgphobos.so", "D's"),
    ("libmonosgen-2.0.so", "Mono's"),
];

/// Reason why no library must be put into a program with these bytes, if there is any. The bytes
/// may come from any file.
#[must_use]
pub fn incompatible_by_texts(bytes: &[u8]) -> Option<IncompatibleProgram> {
    let has = |text: &&[u8]| memmem::find(bytes, text).is_some();
    KNOWN_RUNTIMES
        .iter()
        .find(|known| known.texts.iter().all(has))
        .map(|known| known.incompatibility)
}

/// Reason why no library must be put into a program that has loaded a shared library with this file
/// name, if there is any.
#[must_use]
pub fn incompatible_by_library(name: &str) -> Option<IncompatibleProgram> {
    let known = LIBRARIES.iter().find(|(begin, _)| name.starts_with(begin));
    known.map(|(_, collector)| IncompatibleProgram::StopsThreads { collector })
}

/// Reason why no library must be put into an image that loads no library, if there is any.
pub(crate) fn incompatible_image(image: &ElfImage) -> Option<IncompatibleProgram> {
    let segments = || image.segments.iter();
    // A text may be in any of them, and the texts of one runtime in several.
    let has = |text: &&[u8]| segments().any(|part| memmem::find(part.bytes, text).is_some());
    // Go's runtime is not one of those written in C.
    let is_go = image.go_version().is_some();
    let may_be = |known: &&KnownRuntime| is_go == (known.incompatibility == GVISOR);
    let by_texts = KNOWN_RUNTIMES.iter().filter(may_be).find(|known| known.texts.iter().all(has));
    let by_texts = by_texts.map(|known| known.incompatibility);
    let sets_gs = || segments().filter(|part| part.is_code).any(|part| sets_gs(part.bytes));
    by_texts.or_else(|| (!is_go && sets_gs()).then_some(IncompatibleProgram::SetsGs))
}

/// Whether code sets the GS base: by `wrgsbase`, or by `arch_prctl`. A C library's function for
/// `arch_prctl`, which nearly all programs have, proves nothing, so this searches for a caller that
/// passes it `ARCH_SET_GS`.
fn sets_gs(code: &[u8]) -> bool {
    let by_instruction = memmem::find_iter(code, &[0x0f, 0xae]).any(|at| {
        let is_register = code.get(at + 2).is_some_and(|last| last & 0xf8 == 0xd8);
        let before = at.checked_sub(2).and_then(|from| code.get(from..at));
        // `wrgsbase` of a whole register: a prefix, and another one for 64 bits.
        is_register && before.is_some_and(|before| before[0] == 0xf3 && before[1] & 0xf8 == 0x48)
    });
    by_instruction || GS_BASE_REQUESTS.iter().any(|asking| asking.occurs_in(code))
}

/// Instructions that request another GS base from the kernel.
struct GsBaseRequest {
    /// Instruction that puts `ARCH_SET_GS` into a register.
    what: [u8; 5],
    /// Instruction that puts the number of the system call into a register; `None` if a called
    /// function does so.
    number: Option<[u8; 5]>,
}

/// Maximum distance between these instructions, in bytes.
const MAX_DISTANCE: usize = 32;

/// Forms of the request: by a function for the call, by the system call, and by a function for any
/// system call.
const GS_BASE_REQUESTS: [GsBaseRequest; 3] = [
    // mov edi, ARCH_SET_GS
    GsBaseRequest { what: [0xbf, 0x01, 0x10, 0, 0], number: None },
    // mov edi, ARCH_SET_GS; mov eax, SYS_arch_prctl
    GsBaseRequest { what: [0xbf, 0x01, 0x10, 0, 0], number: Some([0xb8, 0x9e, 0, 0, 0]) },
    // mov esi, ARCH_SET_GS; mov edi, SYS_arch_prctl
    GsBaseRequest { what: [0xbe, 0x01, 0x10, 0, 0], number: Some([0xbf, 0x9e, 0, 0, 0]) },
];

impl GsBaseRequest {
    /// Whether code contains the request.
    fn occurs_in(&self, code: &[u8]) -> bool {
        memmem::find_iter(code, &self.what).any(|at| {
            let after = code.get(at + self.what.len()..).unwrap_or_default();
            let after = after.get(..MAX_DISTANCE).unwrap_or(after);
            let before = code.get(at.saturating_sub(MAX_DISTANCE)..at).unwrap_or_default();
            match self.number {
                Some(number) => {
                    [before, after].iter().any(|part| memmem::find(part, &number).is_some())
                }
                None => {
                    let first = at + self.what.len();
                    (first..first + after.len()).any(|call| calls_arch_prctl(code, call))
                }
            }
        })
    }
}

/// Whether there is a call, at this index, of a function that sets a segment's base.
fn calls_arch_prctl(code: &[u8], call: usize) -> bool {
    const CALL: u8 = 0xe8;
    /// mov eax, SYS_arch_prctl; syscall
    const BODY: &[u8] = &[0xb8, 0x9e, 0, 0, 0, 0x0f, 0x05];
    /// Number of bytes at a function's beginning that contain the body.
    const BEGINNING: usize = 24;
    let Some([CALL, distance @ ..]) = code.get(call..).and_then(|code| code.first_chunk::<5>())
    else {
        return false;
    };
    let target = (call + 5).checked_add_signed(i32::from_le_bytes(*distance) as isize);
    let function = target.and_then(|target| code.get(target..)).unwrap_or_default();
    let beginning = function.get(..BEGINNING).unwrap_or(function);
    memmem::find(beginning, BODY).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_alone_proves_nothing() {
        let boehm = Some(IncompatibleProgram::StopsThreads { collector: "Boehm's" });
        let texts = b"..GC_FREE_SPACE_DIVISOR\0..GC_INITIAL_HEAP_SIZE\0..";
        assert_eq!(incompatible_by_texts(texts), boehm);
        assert_eq!(incompatible_by_texts(b"set GC_INITIAL_HEAP_SIZE\0 for more"), None);
        assert_eq!(incompatible_by_texts(b""), None);
        assert_eq!(incompatible_by_library("libgc.so.1.5.1"), boehm);
        assert_eq!(incompatible_by_library("libgcc_s.so.1"), None);
    }

    #[test]
    fn code_that_sets_the_gs_base_is_known() {
        // xor esi, esi; mov edi, 0x1001; call of the following; mov eax, 158; syscall
        let of_function = |number| {
            [
                &[0x31, 0xf6, 0xbf, 0x01, 0x10, 0, 0, 0xe8, 40, 0, 0, 0][..],
                &[0x90; 40],
                &[0xb8, number, 0, 0, 0, 0x0f, 0x05],
            ]
            .concat()
        };
        assert!(sets_gs(&of_function(0x9e)));
        assert!(!sets_gs(&of_function(0x09)), "another function that is given the number");
        // mov edi, 0x1001; mov eax, 158; syscall
        assert!(sets_gs(&[0xbf, 0x01, 0x10, 0, 0, 0xb8, 0x9e, 0, 0, 0, 0x0f, 0x05]));
        // mov esi, 0x1001; mov edi, 158; call
        assert!(sets_gs(&[0xbe, 0x01, 0x10, 0, 0, 0xbf, 0x9e, 0, 0, 0, 0xe8, 0, 0, 0, 0]));
        // mov edi, 0x1002; mov eax, 158; syscall: the FS base.
        assert!(!sets_gs(&[0xbf, 0x02, 0x10, 0, 0, 0xb8, 0x9e, 0, 0, 0, 0x0f, 0x05]));
        // wrgsbase rax, and wrfsbase rax.
        assert!(sets_gs(&[0x90, 0xf3, 0x48, 0x0f, 0xae, 0xd8]));
        assert!(!sets_gs(&[0x90, 0xf3, 0x48, 0x0f, 0xae, 0xd0]));
        assert!(!sets_gs(&[0xbf, 0x01, 0x10, 0, 0, 0xc3]));
    }
}
