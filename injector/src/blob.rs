//! Input of an injection as plain data: the code that is put into a program, and the changes of the
//! program's text that lead there.

use std::error::Error;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Code that is put into programs: a flat image that runs at any address.
#[derive(Clone, Debug, Default)]
pub struct Blob {
    /// The bytes from its beginning, code and data.
    pub image: Vec<u8>,
    /// Bytes that it has in memory, at least those of the image. Those behind the image are zero.
    pub memory: u64,
    /// Offsets of what is code, whole pages of 4 KiB. Code is not writable, and all else is not
    /// executable.
    pub code: Range<u64>,
    /// Offset of a function that is called once in the process, before anything else of the blob,
    /// by the rules of System V, with [`Injection::argument`]. A result (`int`) other than 0 says
    /// that the program must run without the blob.
    pub initialise: Option<u64>,
    /// Offset of what the GS base is to point at.
    pub null_slot: u64,
}

/// Program that has just been executed and has not run an instruction.
#[derive(Clone, Debug)]
pub struct Target {
    /// Number of the process.
    pub process: u32,
    /// File of the program: `/proc/PID/exe`, which can be read when its own path is gone, too.
    pub executable: PathBuf,
    /// Path of that file as the kernel tells it.
    pub path: PathBuf,
    /// Load address minus linked address, in bytes, modulo 2^64.
    pub bias: u64,
    /// Whether the program has an interpreter: the dynamic linker, which loads libraries.
    pub interpreted: bool,
}

/// Addresses in the process at which the parts of an injection lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Address of the blob's first byte.
    pub blob: u64,
    /// Address of the stubs' first byte, within 2 GB of the program's text.
    pub stubs: u64,
    /// Load address minus linked address of the program, in bytes, modulo 2^64.
    pub bias: u64,
}

/// Change of the program's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Address in the process.
    pub address: u64,
    /// Bytes that must be there. Otherwise nothing is written at all.
    pub old: Vec<u8>,
    /// Bytes that come there, as many.
    pub new: Vec<u8>,
}

/// All changes of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Patches {
    /// Code that the changes lead to, for [`Placed::stubs`].
    pub stubs: Vec<u8>,
    /// The changes, which do not overlap.
    pub patches: Vec<Patch>,
}

/// Error of whoever prepares an injection.
pub type Reason = Box<dyn Error + Send + Sync>;

/// Function that makes the changes of a program once the addresses are known.
pub type Assemble = Box<dyn FnOnce(&Placed) -> Result<Patches, Reason> + Send>;

/// Argument of a blob's first function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Address of the program's stack, as the kernel made it: the number of arguments, the
    /// arguments, the environment, and what the kernel tells.
    Stack,
    /// Address of these bytes. They stay in the process, readable and writable.
    Bytes(Vec<u8>),
}

/// What is put into one program.
pub struct Injection {
    /// The code.
    pub blob: Arc<Blob>,
    /// What the blob's first function is told.
    pub argument: Argument,
    /// Maximum number of bytes of the stubs.
    pub stubs_room: u64,
    /// Makes the stubs and patches.
    pub assemble: Assemble,
}

/// Who says what is put into a program.
pub trait Prepare: Send + Sync {
    /// Injection for a program, which waits meanwhile. `None` leaves it as it is.
    ///
    /// # Errors
    /// A reason why there is none, which is reported; the program runs as it is.
    fn prepare(&self, target: &Target) -> Result<Option<Injection>, Reason>;
}

impl<F> Prepare for F
where
    F: Fn(&Target) -> Result<Option<Injection>, Reason> + Send + Sync,
{
    fn prepare(&self, target: &Target) -> Result<Option<Injection>, Reason> {
        self(target)
    }
}
