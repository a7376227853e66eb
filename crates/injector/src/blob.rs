//! Input of an injection as plain data: the code that is put into a program, and the patches of the
//! program's text that lead to it.

use std::error::Error;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Code that is put into programs: a flat image that runs at any address.
#[derive(Clone, Debug, Default)]
pub struct Blob {
    /// Bytes of the image, code and data.
    pub image: Vec<u8>,
    /// Size in memory, in bytes, at least the length of the image. Bytes after the image are zero.
    pub memory: u64,
    /// Offsets of the code, whole pages of 4 KiB. Code is not writable, and everything else is not
    /// executable.
    pub code: Range<u64>,
    /// Offset of a function that is called once in the process, before any other code of the blob,
    /// with the System V calling convention and [`Injection::argument`]. A result (`int`) other
    /// than 0 means that the program must run without the blob.
    pub initialise: Option<u64>,
    /// Offset to which the GS base is to point.
    pub null_slot: u64,
    /// How the blob is taken out of a program again; `None` if it cannot be.
    pub ending: Option<DetachInfo>,
}

/// How a blob is taken out of a running program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetachInfo {
    /// Offset of a function that is called once, while all threads stand still. Its argument has no
    /// meaning. Code of the blob that runs after it must change nothing.
    pub function: u64,
    /// How hooks wait for the program's system calls.
    pub waiting: HookOffsets,
    /// Offset of two words: the address of a list, and the number of ranges in it, each of two
    /// words: an address and a number of bytes. The blob has mapped this memory itself; it is
    /// unmapped once no code of the blob runs any more. `None` for a blob that maps nothing.
    pub mapped: Option<u64>,
    /// Offset of the words of a [`KillSwitch`], by which hooks are disabled while the process runs
    /// if the blob cannot be taken out. `None` for a blob without a switch.
    pub switch: Option<u64>,
}

/// Words by which a blob's hooks are switched off from outside, without a call in the process. All
/// of them except the second are constant.
///
/// Hooks do nothing while the word at `state` is 0. Its value is moved to `kept` first, where the
/// blob's last function finds it. The value is the address of a structure that has, at `header`,
/// the address of a second structure or 0. The second structure has, at `progress`, a number of
/// four bytes which becomes `left`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KillSwitch {
    /// Address of the word that hooks check.
    pub state: u64,
    /// Address of the word that keeps the previous value of the word at `state` once hooks are
    /// switched off.
    pub kept: u64,
    /// Offset of the second structure's address in the first structure.
    pub header: u64,
    /// Offset of the number in the second structure.
    pub progress: u64,
    /// New value of the number at `progress`.
    pub left: u64,
}

impl KillSwitch {
    /// Number of words.
    pub(crate) const WORDS: usize = 5;
    /// Offset of [`KillSwitch::kept`], in bytes.
    pub(crate) const KEPT: u64 = 8;

    /// Creates the switch from its words.
    pub(crate) fn from_words(
        [state, kept, header, progress, left]: [u64; KillSwitch::WORDS],
    ) -> KillSwitch {
        KillSwitch { state, kept, header, progress, left }
    }
}

/// Offsets, in bytes, by which waiting hooks are found: in the slot that a thread's GS base leads
/// to, and in the frame of a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookOffsets {
    /// In the slot: FS base of the owning thread.
    pub owner: u64,
    /// In the slot: address of the newest waiting frame, or 0.
    pub newest: u64,
    /// In the slot: address below which the next frame is placed.
    pub floor: u64,
    /// In the slot: end of the stack that hooks run on.
    pub stack_end: u64,
    /// In the slot: length of the stack that hooks run on, in bytes.
    pub stack_length: u64,
    /// In the slot: beginning of the thread's alternate stack for signals.
    pub alternate: u64,
    /// In the slot: length of the alternate stack in bytes, or 0.
    pub alternate_length: u64,
    /// In a frame: the program's stack pointer.
    pub stack: u64,
    /// In a frame: address of the frame that waited before, or 0.
    pub before: u64,
    /// In a frame: the program's `r15`, `r14`, `r13`, `r12`, `rbp`, `rbx`.
    pub registers: u64,
    /// In a frame: the program's `r9`, `r8`, `r10`, `rdx`, `rsi`, `rdi`.
    pub arguments: u64,
    /// In a frame: the number of the program's call.
    pub number: u64,
    /// Length of a frame, in bytes.
    pub length: u64,
}

impl HookOffsets {
    /// Number of words that encode the offsets.
    pub(crate) const WORDS: usize = 13;

    /// Returns the offsets in the order of the fields.
    pub(crate) fn words(&self) -> [u64; HookOffsets::WORDS] {
        [
            self.owner,
            self.newest,
            self.floor,
            self.stack_end,
            self.stack_length,
            self.alternate,
            self.alternate_length,
            self.stack,
            self.before,
            self.registers,
            self.arguments,
            self.number,
            self.length,
        ]
    }

    /// Creates the offsets from words in the order of the fields.
    pub(crate) fn from_words(words: [u64; HookOffsets::WORDS]) -> HookOffsets {
        let [
            owner,
            newest,
            floor,
            stack_end,
            stack_length,
            alternate,
            alternate_length,
            frame @ ..,
        ] = words;
        let [stack, before, registers, arguments, number, length] = frame;
        HookOffsets {
            owner,
            newest,
            floor,
            stack_end,
            stack_length,
            alternate,
            alternate_length,
            stack,
            before,
            registers,
            arguments,
            number,
            length,
        }
    }
}

/// Program that has just been executed, or a file of code in a running process.
#[derive(Clone, Debug)]
pub struct InjectionTarget {
    /// Process id.
    pub process: u32,
    /// File of the code; for a program `/proc/PID/exe`, which can be read even if its own path is
    /// gone.
    pub executable: PathBuf,
    /// Path of the file of code as the kernel reports it.
    pub path: PathBuf,
    /// Load address minus linked address, in bytes, modulo 2^64.
    pub bias: u64,
    /// Whether the target is a program with an interpreter (the dynamic linker, which loads
    /// libraries).
    pub interpreted: bool,
    /// Whether the blob will be taken out while the program runs. If so, no function of the program
    /// may return to an address of the blob.
    pub is_left_again: bool,
}

/// Addresses of the parts of an injection in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedAddresses {
    /// Address of the blob's first byte.
    pub blob: u64,
    /// Address of the stubs' first byte, within 2 GB of the program's text.
    pub stubs: u64,
    /// Load address minus linked address of the program, in bytes, modulo 2^64.
    pub bias: u64,
}

/// Patch of the program's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPatch {
    /// Address in the process.
    pub address: u64,
    /// Bytes that must be at the address. Otherwise no patch of the program is written.
    pub old: Vec<u8>,
    /// Replacement, as long as `old`.
    pub new: Vec<u8>,
    /// Address in the process of the system call that the patch is for.
    pub call: u64,
}

impl TextPatch {
    /// Whether the patch is after its system call, where a hook continues that began before it.
    pub(crate) fn is_after_call(&self) -> bool {
        self.address == self.call.wrapping_add(2)
    }
}

/// All patches of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InjectionPatches {
    /// Code that the patches jump to, for [`PlacedAddresses::stubs`].
    pub stubs: Vec<u8>,
    /// The patches, which do not overlap.
    pub patches: Vec<TextPatch>,
}

/// Error of an implementation of [`Prepare`].
pub type PrepareError = Box<dyn Error + Send + Sync>;

/// Function that assembles the patches of a program once the addresses are known.
pub type AssemblePatches =
    Box<dyn FnOnce(&PlacedAddresses) -> Result<InjectionPatches, PrepareError> + Send>;

/// Argument of a blob's first function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryArgument {
    /// Address of the program's initial stack, as made by the kernel: the number of arguments, the
    /// arguments, the environment, and the auxiliary vector.
    Stack,
    /// Address of a copy of these bytes, which stays in the process, readable and writable.
    Bytes(Vec<u8>),
}

/// Injection into one program.
pub struct Injection {
    /// The code.
    pub blob: Arc<Blob>,
    /// Argument of the blob's first function.
    pub argument: EntryArgument,
    /// Maximum size of the stubs, in bytes.
    pub stubs_room: u64,
    /// Descriptors that the blob is handed if the process cannot open them by path; `None` for
    /// nothing.
    pub handed: Option<Arc<HandedDescriptors>>,
    /// Assembles the stubs and patches.
    pub assemble: AssemblePatches,
}

/// Decides what is injected into a program.
pub trait Prepare: Send + Sync {
    /// Returns the injection for a program, which waits meanwhile; `None` to leave the program
    /// unchanged.
    ///
    /// # Errors
    /// Returns a reason for having no injection, which is reported; the program runs unchanged.
    fn prepare(&self, target: &InjectionTarget) -> Result<Option<Injection>, PrepareError>;
}

impl<F> Prepare for F
where
    F: Fn(&InjectionTarget) -> Result<Option<Injection>, PrepareError> + Send + Sync,
{
    fn prepare(&self, target: &InjectionTarget) -> Result<Option<Injection>, PrepareError> {
        self(target)
    }
}

/// Descriptors for a blob in a process that cannot open them by path.
#[derive(Debug)]
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "what traces is compiled for x86-64 alone")
)]
pub struct HandedDescriptors {
    /// Offset in the blob of two words of four bytes: the descriptors of the directory and of the
    /// socket, 0 for none.
    pub(crate) place: u64,
    /// Directory in which the process creates its logs.
    pub(crate) directory: PathBuf,
    /// `directory`, opened when it is needed first.
    pub(crate) opened: OnceLock<OwnedFd>,
    /// Socket on which the recorder accepts announcements.
    pub(crate) socket: PathBuf,
}

impl HandedDescriptors {
    /// Size of the words in the blob, in bytes.
    pub(crate) const BYTES: usize = 8;

    /// Creates the descriptors for a blob with its words at offset `place`.
    pub(crate) fn new(place: u64, directory: PathBuf, socket: PathBuf) -> HandedDescriptors {
        HandedDescriptors { place, directory, opened: OnceLock::new(), socket }
    }
}

/// Path of the socket to which processes send connections if they cannot reach the connection
/// socket by its path, from which this path is derived.
#[cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code, reason = "what traces is compiled for x86-64 alone")
)]
pub(crate) fn far_path(connections: &Path) -> PathBuf {
    let mut path = connections.as_os_str().to_owned();
    path.push(".far");
    PathBuf::from(path)
}
