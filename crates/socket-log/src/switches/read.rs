//! Reading of a file of switches: returns complete records, and damage in its place.

use std::path::Path;

use data_files::DataPath;

use super::record::{RECORD_BYTES, RawSwitch, SwitchEvent, SwitchRecord, ThreadSwitch};
use crate::layout::{HEADER_BYTES, source};
use crate::read::{DamageKind, LogBytes, LogDamage, LogHeader, OpenError, read_at, read_header};
use crate::tuning::SWITCHES_READ_BYTES;

/// An open file of switches.
#[derive(Debug)]
pub struct SwitchLog {
    bytes: LogBytes,
    length: u64,
    header: LogHeader,
}

/// Item of a file of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SwitchEntry {
    /// A record.
    Switch(ThreadSwitch),
    /// Unreadable records: between the previous and the next record, nothing is known about any
    /// processor.
    Damaged(LogDamage),
}

impl SwitchLog {
    /// Opens the file at `path` and reads its header. A file in a host's directory belongs to the
    /// host of the directory, see [`LogHeader::host`].
    ///
    /// # Errors
    /// If the file cannot be read, is not a file of switches, or is of another version.
    pub fn open(path: impl Into<DataPath>) -> Result<SwitchLog, OpenError> {
        let path = &path.into();
        let io = |source| OpenError::Io { path: path.as_path().to_owned(), source };
        let file = path.open().map_err(io)?;
        let path = path.as_path();
        let length = file.metadata().map_err(io)?.len();
        let mut log = SwitchLog::with_source(path, LogBytes::File(file), length)?;
        log.header.set_host_from_path(path);
        Ok(log)
    }

    /// File of these bytes; `path` is its name in errors.
    ///
    /// # Errors
    /// If the bytes are not a file of switches, or of another version.
    pub fn from_bytes(path: &Path, bytes: Vec<u8>) -> Result<SwitchLog, OpenError> {
        let length = bytes.len() as u64;
        SwitchLog::with_source(path, LogBytes::Memory(bytes), length)
    }

    fn with_source(path: &Path, bytes: LogBytes, length: u64) -> Result<SwitchLog, OpenError> {
        let header = read_header(path, &bytes)?;
        if header.source != source::SWITCHES {
            let why = "its header belongs to a log of socket calls";
            return Err(OpenError::NotALog { path: path.to_owned(), why });
        }
        Ok(SwitchLog { bytes, length, header })
    }

    /// Header of the file. Its process is the one that wrote it, and `start` is when the file
    /// began.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// Size of the file when it was opened, in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Calls `each` with every complete record and all damage, in file order. An incomplete record
    /// at the end is still being written, and is not damage unless the file has ended.
    pub fn for_each(&self, mut each: impl FnMut(SwitchEntry)) {
        let mut reading = SwitchAssembler { name: None, damage: None, each: &mut each };
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
                let fault = if failed { DamageKind::Unreadable } else { DamageKind::Truncated };
                if failed || self.header.has_ended() {
                    reading.add_damage(LogDamage { offset, bytes: left, fault });
                }
                break;
            }
            for raw in into.get(..whole).unwrap_or_default().chunks_exact(RECORD_BYTES) {
                let half = RawSwitch::try_from(raw).ok().and_then(|raw| SwitchRecord::decode(&raw));
                reading.add_record(offset, half, self.header.start.monotonic);
                offset += RECORD_BYTES as u64;
            }
        }
        reading.flush_pending();
    }
}

/// Joins the two halves of a name, and adjacent damage, before they are returned.
struct SwitchAssembler<'a, F: FnMut(SwitchEntry)> {
    /// The first half of a name.
    name: Option<(ThreadSwitch, [u8; 8])>,
    /// Damage that the next records may continue.
    damage: Option<LogDamage>,
    each: &'a mut F,
}

impl<F: FnMut(SwitchEntry)> SwitchAssembler<'_, F> {
    /// Adds the record at `offset`; `None` if it was unreadable. A record from before the file's
    /// `begin` is damage.
    fn add_record(&mut self, offset: u64, half: Option<SwitchRecord>, begin: i64) {
        let half = half.filter(|half| {
            let (SwitchRecord::Whole(of) | SwitchRecord::First(of, _) | SwitchRecord::Rest(of, _)) =
                half;
            of.time >= begin
        });
        match half {
            None => {
                let bytes = RECORD_BYTES as u64;
                self.add_damage(LogDamage { offset, bytes, fault: DamageKind::BadField });
            }
            Some(SwitchRecord::Whole(switch)) => {
                self.flush_pending();
                (self.each)(SwitchEntry::Switch(switch));
            }
            Some(SwitchRecord::First(switch, text)) => {
                self.flush_pending();
                self.name = Some((switch, text));
            }
            Some(SwitchRecord::Rest(switch, text)) => match self.name.take() {
                Some((of, first)) if of.thread == switch.thread => {
                    self.emit_name(of, first, text);
                }
                first => {
                    self.name = first;
                    self.flush_pending();
                }
            },
        }
    }

    /// Returns a name with both halves to the caller.
    fn emit_name(&mut self, of: ThreadSwitch, first: [u8; 8], rest: [u8; 8]) {
        let mut name = [0; 16];
        name.iter_mut().zip(first.into_iter().chain(rest)).for_each(|(to, byte)| *to = byte);
        (self.each)(SwitchEntry::Switch(ThreadSwitch { event: SwitchEvent::Name(name), ..of }));
    }

    /// Adds damage, which continues the pending damage if it is of the same kind.
    fn add_damage(&mut self, more: LogDamage) {
        self.emit_half_name();
        match &mut self.damage {
            Some(damage) if damage.fault == more.fault => damage.bytes += more.bytes,
            _ => {
                self.flush_pending();
                self.damage = Some(more);
            }
        }
    }

    /// Emits the pending first half of a name, if there is one, with zeros for the second half.
    fn emit_half_name(&mut self) {
        if let Some((of, first)) = self.name.take() {
            self.emit_name(of, first, [0; 8]);
        }
    }

    /// Emits the pending half of a name and the pending damage, which the next record does not
    /// continue.
    fn flush_pending(&mut self) {
        self.emit_half_name();
        if let Some(damage) = self.damage.take() {
            (self.each)(SwitchEntry::Damaged(damage));
        }
    }
}
