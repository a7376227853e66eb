//! Reading of a file of switches: whole records are returned, and damage in its place.

use std::path::Path;

use data_files::DataPath;

use super::record::{Half, RECORD_BYTES, Raw, Switch, SwitchEvent};
use crate::layout::{HEADER_BYTES, source};
use crate::read::{Bytes, Damage, Fault, Header, OpenError, header_at, read_at};
use crate::tuning::SWITCHES_READ_BYTES;

/// An open file of switches.
#[derive(Debug)]
pub struct SwitchLog {
    bytes: Bytes,
    length: u64,
    header: Header,
}

/// What is in a file of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A record.
    Switch(Switch),
    /// Records that cannot be read: between the record before and the one behind it, nothing is
    /// known of any processor.
    Damaged(Damage),
}

impl SwitchLog {
    /// Opens the file at `path` and reads its header. In a host's directory it is that host's, see
    /// [`Header::host`].
    ///
    /// # Errors
    /// When the file cannot be read, is no file of switches, or is of another version.
    pub fn open(path: impl Into<DataPath>) -> Result<SwitchLog, OpenError> {
        let path = &path.into();
        let io = |source| OpenError::Io { path: path.as_path().to_owned(), source };
        let file = path.open().map_err(io)?;
        let path = path.as_path();
        let length = file.metadata().map_err(io)?.len();
        let mut log = SwitchLog::of(path, Bytes::File(file), length)?;
        log.header.lies_at(path);
        Ok(log)
    }

    /// File of these bytes; `path` is its name in errors.
    ///
    /// # Errors
    /// When they are no file of switches, or one of another version.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<SwitchLog, OpenError> {
        let length = bytes.len() as u64;
        SwitchLog::of(path, Bytes::Memory(bytes), length)
    }

    fn of(path: &Path, bytes: Bytes, length: u64) -> Result<SwitchLog, OpenError> {
        let header = header_at(path, &bytes)?;
        if header.source != source::SWITCHES {
            let why = "its header is that of a log of socket calls";
            return Err(OpenError::NotALog { path: path.to_owned(), why });
        }
        Ok(SwitchLog { bytes, length, header })
    }

    /// Header of the file. Its process is the one that wrote it, and `start` when it began.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Size of the file when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Calls `each` with every whole record and all damage, in the order of the file. A record that
    /// is not all there at its end is still being written, and no damage where the file has not
    /// ended.
    pub fn for_each(&self, mut each: impl FnMut(Found)) {
        let mut reading = Reading { name: None, damage: None, each: &mut each };
        let mut buffer = vec![0; SWITCHES_READ_BYTES];
        let mut offset = HEADER_BYTES as u64;
        while offset < self.length {
            let wanted = buffer.len().min((self.length - offset) as usize);
            let into = buffer.get_mut(..wanted).unwrap_or_default();
            let (read, failed) = match read_at(&self.bytes, into, offset) {
                Ok(read) => (read, false),
                Err(_) => (0, true),
            };
            let whole = read - read % RECORD_BYTES;
            if whole == 0 {
                let left = self.length - offset;
                let fault = if failed { Fault::Unreadable } else { Fault::Truncated };
                if failed || self.header.has_ended() {
                    reading.damaged(Damage { offset, bytes: left, fault });
                }
                break;
            }
            for raw in into.get(..whole).unwrap_or_default().chunks_exact(RECORD_BYTES) {
                let half = Raw::try_from(raw).ok().and_then(|raw| Half::decode(&raw));
                reading.record(offset, half, self.header.start.monotonic);
                offset += RECORD_BYTES as u64;
            }
        }
        reading.end();
    }
}

/// Records on their way out.
struct Reading<'a, F: FnMut(Found)> {
    /// The first half of a name.
    name: Option<(Switch, [u8; 8])>,
    /// Damage that may go on.
    damage: Option<Damage>,
    each: &'a mut F,
}

impl<F: FnMut(Found)> Reading<'_, F> {
    /// The record at `offset`. None is from before the file began.
    fn record(&mut self, offset: u64, half: Option<Half>, begin: i64) {
        let half = half.filter(|half| {
            let (Half::Whole(of) | Half::First(of, _) | Half::Rest(of, _)) = half;
            of.time >= begin
        });
        match half {
            None => {
                let bytes = RECORD_BYTES as u64;
                self.damaged(Damage { offset, bytes, fault: Fault::BadField });
            }
            Some(Half::Whole(switch)) => {
                self.end();
                (self.each)(Found::Switch(switch));
            }
            Some(Half::First(switch, text)) => {
                self.end();
                self.name = Some((switch, text));
            }
            Some(Half::Rest(switch, text)) => match self.name.take() {
                Some((of, first)) if of.thread == switch.thread => {
                    self.named(of, first, text);
                }
                first => {
                    self.name = first;
                    self.end();
                }
            },
        }
    }

    fn named(&mut self, of: Switch, first: [u8; 8], rest: [u8; 8]) {
        let mut name = [0; 16];
        name.iter_mut().zip(first.into_iter().chain(rest)).for_each(|(to, byte)| *to = byte);
        (self.each)(Found::Switch(Switch { event: SwitchEvent::Name(name), ..of }));
    }

    fn damaged(&mut self, more: Damage) {
        self.half_a_name();
        match &mut self.damage {
            Some(damage) if damage.fault == more.fault => damage.bytes += more.bytes,
            _ => {
                self.end();
                self.damage = Some(more);
            }
        }
    }

    /// A name without its end is what there is of it.
    fn half_a_name(&mut self) {
        if let Some((of, first)) = self.name.take() {
            self.named(of, first, [0; 8]);
        }
    }

    /// Tells of what could have gone on.
    fn end(&mut self) {
        self.half_a_name();
        if let Some(damage) = self.damage.take() {
            (self.each)(Found::Damaged(damage));
        }
    }
}
