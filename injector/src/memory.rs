//! Memory of a process that stands still, by `/proc/PID/mem`: reads and writes what the process
//! itself may not, text too, which becomes the process's own copy.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

use crate::facts::{self, Told};
use crate::maps::{self, Region};
use crate::outcome::Error;

/// Memory and facts of a process.
#[derive(Debug)]
pub(crate) struct Memory {
    process: u32,
    file: File,
}

impl Memory {
    /// Opens the memory that a process has now. Another exec would take it away.
    pub(crate) fn open(process: u32) -> Result<Memory, Error> {
        let file = OpenOptions::new().read(true).write(true).open(format!("/proc/{process}/mem"));
        match file {
            Ok(file) => Ok(Memory { process, file }),
            Err(source) => Err(Error::Kernel { process, step: "opening its memory", source }),
        }
    }

    /// Bytes at an address.
    pub(crate) fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, address).map_err(self.failed("reading its memory"))?;
        Ok(bytes)
    }

    /// Puts bytes at an address.
    pub(crate) fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all_at(bytes, address).map_err(self.failed("writing its memory"))
    }

    /// What the kernel told the program.
    pub(crate) fn told(&self) -> Result<Told, Error> {
        facts::told(&self.text("auxv")?).ok_or(self.unreadable("auxv"))
    }

    /// What the kernel told the program, as it is.
    pub(crate) fn vector(&self) -> Result<Vec<u8>, Error> {
        self.text("auxv")
    }

    /// Arguments of the program, each with a zero behind it.
    pub(crate) fn command_line(&self) -> Result<Vec<u8>, Error> {
        self.text("cmdline")
    }

    /// What is mapped, as the kernel writes it.
    pub(crate) fn maps(&self) -> Result<Vec<u8>, Error> {
        self.text("maps")
    }

    /// Number at an address.
    pub(crate) fn word(&self, address: u64) -> Result<u64, Error> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, address).map_err(self.failed("reading its memory"))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// What is mapped.
    pub(crate) fn regions(&self) -> Result<Vec<Region>, Error> {
        maps::parse(&self.text("maps")?).ok_or(self.unreadable("maps"))
    }

    /// Address at which the heap begins.
    pub(crate) fn heap(&self) -> Result<u64, Error> {
        let stat = self.text("stat")?;
        facts::heap(&String::from_utf8_lossy(&stat)).ok_or(self.unreadable("stat"))
    }

    /// Entry of the program's file, as linked; `None` where it is no 64-bit program.
    pub(crate) fn linked_entry(&self) -> Result<Option<u64>, Error> {
        let mut header = [0; 64];
        let path = format!("/proc/{}/exe", self.process);
        let file = File::open(path).map_err(self.failed("opening its program"))?;
        file.read_exact_at(&mut header, 0).map_err(self.failed("reading its program"))?;
        Ok(facts::linked_entry(&header))
    }

    fn text(&self, file: &'static str) -> Result<Vec<u8>, Error> {
        std::fs::read(format!("/proc/{}/{file}", self.process)).map_err(self.failed(file))
    }

    fn unreadable(&self, file: &'static str) -> Error {
        Error::Unreadable { process: self.process, file }
    }

    fn failed(&self, step: &'static str) -> impl FnOnce(io::Error) -> Error + use<> {
        let process = self.process;
        move |source| Error::Kernel { process, step, source }
    }
}
