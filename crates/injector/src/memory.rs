//! Memory of a process that stands still, by `/proc/PID/mem`: reads and writes also memory that the
//! process itself has no permission to access. A written page of text becomes the process's own
//! copy.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::facts::{self, AuxiliaryVector};
use crate::maps::{self, MemoryRegion, PAGE};
use crate::outcome::Error;
use crate::tuning::{COMMAND_LINE_BYTES, PAGES_AT_ONCE};

/// Memory and facts of a process.
#[derive(Debug)]
pub(crate) struct ProcessMemory {
    process: u32,
    /// Folder in `/proc` of a thread that has the memory. The kernel shows no memory for a first
    /// thread that has ended while others run.
    folder: PathBuf,
    file: File,
}

impl ProcessMemory {
    /// Opens the current memory of a process. Another exec would replace it.
    pub(crate) fn open(process: u32) -> Result<ProcessMemory, Error> {
        let folder = proc_folder(process);
        match OpenOptions::new().read(true).write(true).open(folder.join("mem")) {
            Ok(file) => Ok(ProcessMemory { process, folder, file }),
            Err(source) => Err(Error::Kernel { process, step: "opening its memory", source }),
        }
    }

    /// Whether the memory at an address is readable and equals `expected`.
    pub(crate) fn has_bytes(&self, address: u64, expected: &[u8]) -> bool {
        self.read(address, expected.len()).is_ok_and(|found| found == expected)
    }

    /// Reads `length` bytes at an address.
    pub(crate) fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length];
        self.file
            .read_exact_at(&mut bytes, address)
            .map_err(self.step_error("reading its memory"))?;
        Ok(bytes)
    }

    /// Writes bytes at an address.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all_at(bytes, address).map_err(self.step_error("writing its memory"))
    }

    /// Auxiliary vector of the program.
    pub(crate) fn auxiliary_vector(&self) -> Result<AuxiliaryVector, Error> {
        facts::parse_auxiliary_vector(&self.read_proc_file("auxv")?)
            .ok_or(self.unreadable_file("auxv"))
    }

    /// Auxiliary vector of the program, as raw bytes.
    pub(crate) fn auxiliary_bytes(&self) -> Result<Vec<u8>, Error> {
        self.read_proc_file("auxv")
    }

    /// Arguments of the program, each with a terminating zero. A program may claim gigabytes of
    /// them; anything longer than usual is truncated.
    pub(crate) fn command_line(&self) -> Result<Vec<u8>, Error> {
        const FILE: &str = "cmdline";
        let file = File::open(self.folder.join(FILE)).map_err(self.step_error(FILE))?;
        let mut bytes = Vec::new();
        file.take(COMMAND_LINE_BYTES).read_to_end(&mut bytes).map_err(self.step_error(FILE))?;
        if bytes.len() as u64 == COMMAND_LINE_BYTES {
            bytes.pop();
            bytes.push(0);
        }
        Ok(bytes)
    }

    /// Addresses of the pages of a range that are in use, or of all of them if the kernel does not
    /// report which. Pages that were never written are skipped, however many there are.
    pub(crate) fn pages_in_use(
        &self,
        region: &MemoryRegion,
    ) -> impl Iterator<Item = u64> + use<'_> {
        let known = File::open(self.folder.join("pagemap")).ok();
        let (start, end) = (region.start, region.end);
        let batches = (start..end).step_by(PAGES_AT_ONCE * PAGE as usize);
        batches.flat_map(move |batch| {
            let last = end.min(batch.saturating_add(PAGES_AT_ONCE as u64 * PAGE));
            let mut words = vec![0; ((last - batch) / PAGE) as usize * 8];
            let read = |file: &File| file.read_exact_at(&mut words, batch / PAGE * 8).ok();
            let is_known = known.as_ref().and_then(read).is_some();
            // In memory, or swapped out.
            let is_used = |word: &[u8; 8]| u64::from_le_bytes(*word) >> 62 != 0;
            let used: Vec<bool> = words.as_chunks().0.iter().map(is_used).collect();
            let pages = (batch..last).step_by(PAGE as usize).zip(used);
            pages.filter(move |(_, used)| *used || !is_known).map(|(page, _)| page)
        })
    }

    /// Text of the memory map, as the kernel writes it.
    pub(crate) fn maps_text(&self) -> Result<Vec<u8>, Error> {
        self.read_proc_file("maps")
    }

    /// Reads a number of 8 bytes at an address.
    pub(crate) fn word(&self, address: u64) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.file
            .read_exact_at(&mut bytes, address)
            .map_err(self.step_error("reading its memory"))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Mapped regions.
    pub(crate) fn regions(&self) -> Result<Vec<MemoryRegion>, Error> {
        maps::parse_maps(&self.read_proc_file("maps")?).ok_or(self.unreadable_file("maps"))
    }

    /// Address at which the heap begins.
    pub(crate) fn heap_start(&self) -> Result<u64, Error> {
        let stat = self.read_proc_file("stat")?;
        facts::parse_heap_start(&String::from_utf8_lossy(&stat)).ok_or(self.unreadable_file("stat"))
    }

    /// Linked entry point of the program's file; `None` if it is not a 64-bit program.
    pub(crate) fn linked_entry(&self) -> Result<Option<u64>, Error> {
        let mut header = [0; 64];
        let file =
            File::open(self.folder.join("exe")).map_err(self.step_error("opening its program"))?;
        file.read_exact_at(&mut header, 0).map_err(self.step_error("reading its program"))?;
        Ok(facts::linked_entry(&header))
    }

    fn read_proc_file(&self, file: &'static str) -> Result<Vec<u8>, Error> {
        fs::read(self.folder.join(file)).map_err(self.step_error(file))
    }

    fn unreadable_file(&self, file: &'static str) -> Error {
        Error::Unreadable { process: self.process, file }
    }

    fn step_error(&self, step: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        let process = self.process;
        move |source| Error::Kernel { process, step, source }
    }
}

/// Folder in `/proc` of a thread of a process that has not ended, preferably of its first one.
fn proc_folder(process: u32) -> PathBuf {
    let of = |tid: &str| PathBuf::from(format!("/proc/{process}/task/{tid}"));
    let has_ended = |folder: &PathBuf| {
        let stat = fs::read_to_string(folder.join("stat"));
        stat.ok().is_none_or(|stat| facts::running_since(&stat).is_none())
    };
    let first = of(&process.to_string());
    if !has_ended(&first) {
        return first;
    }
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let mut others = threads.filter_map(|thread| Some(of(thread.ok()?.file_name().to_str()?)));
    others.find(|folder| !has_ended(folder)).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A process can claim to have gigabytes of arguments, and a reader would allocate as much.
    #[test]
    fn long_arguments_are_cut() {
        let long = "x".repeat(100_000);
        let mut command = Command::new("sh");
        command.args(["-c", "echo begun; read line", &long, &long]).stdin(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        // The kernel shows a program's arguments some moments after it has replaced the previous
        // program.
        let mut begun = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut begun).unwrap();
        let memory = ProcessMemory::open(child.id()).unwrap();
        let arguments = memory.command_line().unwrap();
        assert_eq!(arguments.len() as u64, COMMAND_LINE_BYTES);
        assert!(arguments.starts_with(b"sh\0-c\0") && arguments.ends_with(b"x\0"));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn pages_that_were_never_written_are_skipped() {
        let bytes = 4 * PAGE as usize;
        // SAFETY: maps memory of its own.
        let memory = unsafe {
            let rights = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let memory = libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0);
            assert_ne!(memory, libc::MAP_FAILED);
            // A huge page would cover the whole range.
            libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE);
            memory.cast::<u8>().add(2 * PAGE as usize).write(1);
            memory
        };
        let start = memory.addr() as u64;
        let region =
            MemoryRegion { start, end: start + 4 * PAGE, executable: false, shared: false };
        let own = ProcessMemory::open(std::process::id()).unwrap();
        assert_eq!(own.pages_in_use(&region).collect::<Vec<_>>(), [start + 2 * PAGE]);
        // SAFETY: the range was mapped above.
        unsafe { libc::munmap(memory, bytes) };
    }
}
