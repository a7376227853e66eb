//! Inspects a program before it runs: whether the preloaded library will see what it does.
//!
//! Only facts from the file itself are reported. A file that cannot be read or parsed here is left
//! to the kernel, which reports a better error than a guess.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache, elf};

/// Maximum number of nested interpreters, as in the kernel.
const MAX_INTERPRETERS: usize = 5;

/// A program that will not be recorded, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvisibleProgram {
    program: PathBuf,
    reason: InvisibilityReason,
}

/// The reason why a program will not be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
enum InvisibilityReason {
    /// The program loads no libraries.
    Static,
    /// The program is a Go program, which makes its system calls without libc. `is_static` if it
    /// names no interpreter.
    Go { is_static: bool },
    /// The setuid or setgid bit gives the program rights.
    SetId,
    /// The file's capabilities give the program rights.
    Capabilities,
    /// The program is for this other kind of machine.
    Machine(String),
    /// The interpreter of the script or the program, at this path, does not exist.
    NoInterpreter(PathBuf),
}

impl fmt::Display for InvisibleProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.program.display())?;
        match &self.reason {
            InvisibilityReason::Static => {
                f.write_str("a statically linked program, which loads no library, so it is not \
                             recorded")
            }
            InvisibilityReason::Go { is_static: true } => {
                f.write_str("a Go program, which loads no library, so it is not recorded")
            }
            InvisibilityReason::Go { is_static: false } => {
                f.write_str("a Go program, which calls the kernel past libc, so only what its C parts do is recorded")
            }
            InvisibilityReason::SetId => {
                f.write_str("a setuid or setgid program, for which the system loads no library, so \
                             it is not recorded; run sockcap as that user or group")
            }
            InvisibilityReason::Capabilities => {
                f.write_str("a program with file capabilities, for which the system loads no \
                             library, so it is not recorded; run sockcap as root")
            }
            InvisibilityReason::Machine(machine) => {
                write!(f, "a program for another kind of machine ({machine}) than libsockcap.so, \
                           so it is not recorded")
            }
            InvisibilityReason::NoInterpreter(path) => {
                write!(f, "its interpreter {} is missing, so it cannot run", path.display())
            }
        }
    }
}

impl InvisibleProgram {
    /// The program's file, if `record --inject` can put the library into it.
    pub(crate) fn can_be_injected(&self) -> Option<&Path> {
        let is_able =
            matches!(self.reason, InvisibilityReason::Static | InvisibilityReason::Go { .. });
        (is_able && cfg!(target_arch = "x86_64")).then_some(&self.program)
    }

    /// Whether strace sees what the library does not.
    pub(crate) fn is_visible_to_strace(&self) -> bool {
        matches!(
            self.reason,
            InvisibilityReason::Static
                | InvisibilityReason::Go { .. }
                | InvisibilityReason::Machine(_)
        )
    }
}

/// Inspects the program of a command, and the interpreters that it needs. `None`: it will be
/// recorded, or it cannot be determined.
pub(crate) fn inspect_program(program: &OsStr, arguments: &[OsString]) -> Option<InvisibleProgram> {
    inspect_file(&resolve_program(program)?, arguments, MAX_INTERPRETERS)
}

/// Inspects a program's file, or the interpreter of a script, at most `depth` levels deep.
fn inspect_file(path: &Path, arguments: &[OsString], depth: usize) -> Option<InvisibleProgram> {
    let unseen = |reason| Some(InvisibleProgram { program: path.to_owned(), reason });
    let mut file = File::open(path).ok()?;
    let mut head = [0; 256];
    let length = file.read(&mut head).ok()?;
    let head = head.get(..length)?;
    if let Some(line) = head.strip_prefix(b"#!") {
        // For a script, the kernel uses the rights of the interpreter only.
        let (interpreter, argument) = parse_script(line)?;
        if !interpreter.exists() {
            return unseen(InvisibilityReason::NoInterpreter(interpreter));
        }
        let further = depth.checked_sub(1)?;
        return inspect_file(&interpreter, argument.as_slice(), further);
    }
    if path.file_name() == Some(OsStr::new("env"))
        && let Some(named) = arguments.iter().find(|argument| !argument.as_bytes().contains(&b'='))
        && let Some(program) = resolve_program(named)
        && let Some(further) = depth.checked_sub(1)
        && let Some(unseen) = inspect_file(&program, &[], further)
    {
        return Some(unseen);
    }
    if !head.starts_with(&elf::ELFMAG) {
        return None;
    }
    let cache = ReadCache::new(file);
    let image = match FileKind::parse(&cache).ok()? {
        FileKind::Elf64 => inspect_elf::<elf::FileHeader64<Endianness>>(&cache),
        FileKind::Elf32 => inspect_elf::<elf::FileHeader32<Endianness>>(&cache),
        _ => None,
    }?;
    if let Some(reason) = gains_rights(path) {
        return unseen(reason);
    }
    let own = (cfg!(target_pointer_width = "64"), own_machine());
    if (image.is_64, image.machine) != own {
        return unseen(InvisibilityReason::Machine(machine_name(&image)));
    }
    // The dynamic linker itself has no interpreter, and loads libraries for the program in its
    // arguments.
    let is_linker = path.file_name().is_some_and(|name| name.as_bytes().starts_with(b"ld"));
    match image.interpreter {
        _ if image.is_go => {
            unseen(InvisibilityReason::Go { is_static: image.interpreter.is_none() })
        }
        None if !is_linker => unseen(InvisibilityReason::Static),
        Some(interpreter) if !interpreter.exists() => {
            unseen(InvisibilityReason::NoInterpreter(interpreter))
        }
        _ => None,
    }
}

/// The properties of a program, by its file.
struct ExecutableFacts {
    is_64: bool,
    machine: elf::Machine,
    interpreter: Option<PathBuf>,
    is_go: bool,
}

fn inspect_elf<Elf: FileHeader<Endian = Endianness>>(
    file: &ReadCache<File>,
) -> Option<ExecutableFacts> {
    let header = Elf::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let interpreter = segments.iter().find_map(|segment| segment.interpreter(endian, file).ok()?);
    // Sections may be stripped; a Go program is then treated by its other properties: mostly as
    // static.
    let is_go = header.sections(endian, file).is_ok_and(|sections| {
        sections.iter().any(|section| {
            sections.section_name(endian, section).is_ok_and(|name| name == b".go.buildinfo")
        })
    });
    Some(ExecutableFacts {
        is_64: header.is_class_64(),
        machine: header.e_machine(endian),
        interpreter: interpreter.map(|path| PathBuf::from(OsStr::from_bytes(path))),
        is_go,
    })
}

/// The machine that this program, and the library next to it, was built for.
fn own_machine() -> elf::Machine {
    if cfg!(target_arch = "aarch64") { elf::EM_AARCH64 } else { elf::EM_X86_64 }
}

fn machine_name(image: &ExecutableFacts) -> String {
    let name = match image.machine {
        elf::EM_386 => "i386",
        elf::EM_X86_64 if image.is_64 => "x86-64",
        elf::EM_X86_64 => "x32",
        elf::EM_ARM => "32-bit ARM",
        elf::EM_AARCH64 => "AArch64",
        elf::EM_RISCV => "RISC-V",
        elf::EM_PPC64 => "POWER",
        elf::EM_S390 => "s390",
        other => return format!("ELF machine {}", other.0),
    };
    name.to_owned()
}

/// Whether the kernel would give the program rights that we do not have. The dynamic linker then
/// ignores the user's variables, above all `LD_PRELOAD`.
fn gains_rights(path: &Path) -> Option<InvisibilityReason> {
    const SET_USER: u32 = 0o4000;
    const SET_GROUP: u32 = 0o2000;
    let metadata = fs::metadata(path).ok()?;
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if metadata.mode() & SET_USER != 0 && metadata.uid() != user
        || metadata.mode() & SET_GROUP != 0 && metadata.gid() != group
    {
        return Some(InvisibilityReason::SetId);
    }
    let has_capabilities = || {
        // As many bytes as the kernel's structure has.
        let mut value = [0u8; 24];
        rustix::fs::getxattr(path, "security.capability", &mut value).is_ok_and(|length| length > 0)
    };
    (user != 0 && has_capabilities()).then_some(InvisibilityReason::Capabilities)
}

/// The interpreter and its one argument in the first line of a script, after `#!`.
fn parse_script(line: &[u8]) -> Option<(PathBuf, Vec<OsString>)> {
    let line = line.split(|byte| *byte == b'\n').next()?.trim_ascii();
    let end = line.iter().position(|byte| b" \t".contains(byte)).unwrap_or(line.len());
    let (interpreter, argument) = line.split_at_checked(end)?;
    let argument = argument.trim_ascii();
    let words =
        argument.split(|byte| *byte == b' ').filter(|word| !word.is_empty() && word[0] != b'-');
    let words = words.map(|word| OsString::from_vec(word.to_vec())).collect();
    (!interpreter.is_empty()).then(|| (PathBuf::from(OsStr::from_bytes(interpreter)), words))
}

/// The file that a command names, as a shell would find it.
fn resolve_program(program: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
    };
    if program.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(is_program);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(is_program)
}
