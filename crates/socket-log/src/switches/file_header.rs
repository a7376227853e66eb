//! Header of a file of switches: the header of a log, so that tools which gather logs can identify
//! its host.

use std::mem::offset_of;

use crate::layout::{Anchor, CHUNK_BYTES, FileHeader, HEADER_BYTES, MAGIC, VERSION, source, tick};
use crate::recording::RecordingId;

/// Contents of the header of a file of switches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchFileHeader {
    /// Name of the host.
    pub host: String,
    /// Id of the process that writes the file.
    pub pid: u32,
    /// Inode of the namespace of the thread and process ids; 0 if it is not known.
    pub pid_namespace: u64,
    /// The kernel's random id of this boot; zeros if it is not known.
    pub boot_id: [u8; 16],
    /// Recording that the file belongs to, if there is one.
    pub recording: Option<RecordingId>,
    /// Beginning of the file, `CLOCK_MONOTONIC` in nanoseconds.
    pub monotonic: i64,
    /// Beginning of the file, in nanoseconds since the Unix epoch.
    pub realtime: i64,
}

impl SwitchFileHeader {
    /// The header page.
    pub(super) fn header_page(&self) -> Vec<u8> {
        let mut page = vec![0; HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| {
            let to = page.iter_mut().skip(at);
            to.zip(bytes).for_each(|(to, byte)| *to = *byte);
        };
        let anchor = offset_of!(FileHeader, start);
        let ticks = anchor + offset_of!(Anchor, ticks);
        put(offset_of!(FileHeader, magic), &MAGIC.to_le_bytes());
        put(offset_of!(FileHeader, version), &VERSION.to_le_bytes());
        put(offset_of!(FileHeader, header_bytes), &(HEADER_BYTES as u32).to_le_bytes());
        put(offset_of!(FileHeader, chunk_bytes), &(CHUNK_BYTES as u32).to_le_bytes());
        put(offset_of!(FileHeader, tick_clock), &tick::MONOTONIC.to_le_bytes());
        put(offset_of!(FileHeader, pid), &self.pid.to_le_bytes());
        put(ticks, &self.monotonic.to_le_bytes());
        put(anchor + offset_of!(Anchor, monotonic), &self.monotonic.to_le_bytes());
        put(anchor + offset_of!(Anchor, realtime), &self.realtime.to_le_bytes());
        put(offset_of!(FileHeader, boot_id), &self.boot_id);
        let recording = self.recording.map(RecordingId::bytes).unwrap_or_default();
        put(offset_of!(FileHeader, recording), &recording);
        put(offset_of!(FileHeader, source), &source::SWITCHES.to_le_bytes());
        put(offset_of!(FileHeader, pid_namespace), &self.pid_namespace.to_le_bytes());
        // The last byte of the field stays zero.
        let host = self.host.as_bytes();
        put(offset_of!(FileHeader, host), host.get(..127).unwrap_or(host));
        page
    }
}
