//! Header of a made log: its fields, each as set by the maker.

use std::mem::offset_of;

use super::LogWriter;
use crate::layout::{FileHeader, left_out};
use crate::recording::RECORDING_BYTES;

impl LogWriter {
    /// Sets the arguments, the program's name first.
    pub fn set_arguments(&mut self, arguments: &[&str]) -> &mut LogWriter {
        let text: String = arguments.iter().map(|argument| format!("{argument}\0")).collect();
        self.put_bytes(offset_of!(FileHeader, arguments), text.as_bytes());
        self
    }

    /// Sets the kernel's id of the boot to 16 bytes `boot`; by default all logs are of one boot.
    pub fn set_boot(&mut self, boot: u8) -> &mut LogWriter {
        self.set_boot_id([boot; 16])
    }

    /// Sets the kernel's id of the boot.
    pub fn set_boot_id(&mut self, id: [u8; 16]) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, boot_id), &id);
        self
    }

    /// Sets the parent's process id, 1 by default.
    pub fn set_parent(&mut self, pid: u32) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, parent_pid), &pid.to_le_bytes());
        self
    }

    /// Sets the ancestors of this process, in the header's form.
    #[cfg(test)]
    pub(crate) fn set_ancestors(&mut self, line: &str) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, ancestors), line.as_bytes());
        self
    }

    /// Sets the source of the log, one of [`source`](crate::layout::source); by default the
    /// library.
    pub fn set_source(&mut self, source: u32) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, source), &source.to_le_bytes());
        self
    }

    /// Sets the inode of the network namespace, 0 (not known) by default.
    pub fn set_namespace(&mut self, inode: u64) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, namespace), &inode.to_le_bytes());
        self
    }

    /// Sets the control groups, in the form of `/proc/self/cgroup`; none (not known) by default.
    #[cfg(test)]
    pub(crate) fn set_cgroup(&mut self, text: &str) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, cgroup), text.as_bytes());
        self
    }

    /// Sets the inode of the pid namespace of the process, 0 (not known) by default.
    pub fn set_pid_namespace(&mut self, inode: u64) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, pid_namespace), &inode.to_le_bytes());
        self
    }

    /// Sets the wall-clock time at tick 0, in nanoseconds since the Unix epoch, for the header and
    /// all further records.
    pub fn set_epoch(&mut self, epoch: i64) -> &mut LogWriter {
        self.epoch = epoch;
        self.put_start()
    }

    /// Sets the beginning of the log, in ticks; 0 by default.
    pub fn set_start(&mut self, ticks: u64) -> &mut LogWriter {
        self.start = ticks;
        self.put_start()
    }

    /// Writes the anchor of the log's beginning into the header.
    fn put_start(&mut self) -> &mut LogWriter {
        let anchor = self.anchor_at(self.start);
        let words = [anchor.ticks, anchor.monotonic as u64, anchor.realtime as u64];
        for (index, word) in words.iter().enumerate() {
            self.put_bytes(offset_of!(FileHeader, start) + 8 * index, &word.to_le_bytes());
        }
        self
    }

    /// Sets the end of the process, one of [`state`](crate::layout::state).
    pub fn set_state(&mut self, state: u32) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, state), &state.to_le_bytes());
        self
    }

    /// Sets the number of records lost for `cause`, see [`lost`](crate::layout::lost).
    pub fn set_lost(&mut self, cause: usize, records: u64) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, lost) + 8 * cause, &records.to_le_bytes());
        self
    }

    /// Marks the log as one in which resources are recorded in addition to messages.
    pub fn set_resources(&mut self) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, resources), &1u32.to_le_bytes());
        self
    }

    /// Marks the log as one in which snippets of messages are recorded.
    pub fn set_snippets(&mut self) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, heads), &1u32.to_le_bytes());
        self
    }

    /// Marks the log as one of a recording in which the user had rare words left out.
    pub fn set_words_left_out(&mut self) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, left_out), &left_out::WORDS.to_le_bytes());
        self
    }

    /// Sets the id of the recording, zeros (none) by default.
    pub fn set_recording(&mut self, id: [u8; RECORDING_BYTES]) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, recording), &id);
        self
    }

    /// Sets the number of children that used sockets and found no space for a log.
    pub fn set_without_log(&mut self, children: u64) -> &mut LogWriter {
        self.put_bytes(offset_of!(FileHeader, without_log), &children.to_le_bytes());
        self
    }

    /// Writes bytes to an offset of the header page.
    pub(super) fn put_bytes(&mut self, at: usize, bytes: &[u8]) {
        for (slot, byte) in self.header.iter_mut().skip(at).zip(bytes) {
            *slot = *byte;
        }
    }
}
