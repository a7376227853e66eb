//! Context switches of the command's threads, as the kernel reports them without any rights: when
//! each had a processor, and whether it gave it away.
//!
//! A dummy event is opened on this thread for each processor, disabled. The command inherits it as
//! this thread's child, and so does everything that it starts; the first `exec` enables it there,
//! and never here. A thread of sockcap empties the kernel's queues into
//! `hosts/HOST/PID-TIME.switches` until the command has ended. Processes that outlive the command
//! continue unrecorded.

mod kernel_record;
mod refused;
mod rings;
mod tally;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::JoinHandle;

use message_trace::{DataDir, DataPath};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::setpriority_process;
use rustix::time::{ClockId, Timespec, clock_gettime};
use socket_log::RecordingId;
use socket_log::switches::{EXTENSION, SwitchFileHeader, SwitchWriter};

use super::folders;
use crate::tuning::{
    RECORDER_NICE, SWITCHES_EMPTIED_AFTER_NS, SWITCHES_LATE_NS, SWITCHES_MARKED_AFTER_NS,
};
pub(super) use refused::refusal_line;
use rings::PerfRings;
pub(super) use tally::SwitchTally;

/// The recording of switches.
pub(super) struct SwitchRecording {
    thread: JoinHandle<SwitchTally>,
    stop: OwnedFd,
    path: DataPath,
}

impl SwitchRecording {
    /// Begins to record the children that this thread starts from now on.
    ///
    /// # Errors
    /// When the kernel refuses, or no file can be made.
    pub(super) fn begin_switches(
        directory: &Path,
        host: &str,
        recording: RecordingId,
    ) -> io::Result<SwitchRecording> {
        let rings = PerfRings::open_rings()?;
        let (writer, path) = create_file(directory, host, recording)?;
        let stop = eventfd(0, EventfdFlags::CLOEXEC)?;
        let stop_copy = stop.try_clone()?;
        let work = move || {
            SwitchRecorder { rings, writer, tally: SwitchTally::default(), marked: 0 }
                .record_until(&stop_copy)
        };
        let thread = std::thread::Builder::new().name("switches".to_owned()).spawn(work);
        match thread {
            Ok(thread) => Ok(SwitchRecording { thread, stop, path }),
            Err(error) => {
                let _ = path.remove_file();
                Err(error)
            }
        }
    }

    /// Ends the recording of a command that could not be started, and leaves no file.
    pub(super) fn abandon_recording(self) {
        let path = self.path.clone();
        self.finish_recording();
        let _ = path.remove_file();
    }

    /// Ends the recording, with all events until now.
    pub(super) fn finish_recording(self) -> SwitchTally {
        let written = rustix::io::write(&self.stop, &1u64.to_ne_bytes());
        let failed = written.err().map(io::Error::from);
        match failed {
            Some(failed) => SwitchTally { failed: Some(failed), ..SwitchTally::default() },
            None => self.thread.join().unwrap_or_default(),
        }
    }
}

/// Makes the file, and the folders that it is in.
fn create_file(
    directory: &Path,
    host: &str,
    recording: RecordingId,
) -> io::Result<(SwitchWriter, DataPath)> {
    folders::make_host_folder(directory, host)?;
    let realtime = to_nanoseconds(clock_gettime(ClockId::Realtime));
    let about = SwitchFileHeader {
        host: host.to_owned(),
        pid: std::process::id(),
        pid_namespace: fs::metadata("/proc/self/ns/pid").map_or(0, |status| status.ino()),
        boot_id: boot_id().unwrap_or_default(),
        recording: Some(recording),
        monotonic: monotonic_time(),
        realtime,
    };
    let name = format!("{}-{realtime}.{EXTENSION}", about.pid);
    let path = DataDir::new(directory).hosts_dir().join(folders::folder_name(host)).join(name);
    Ok((SwitchWriter::create(&path, &about)?, path))
}

/// The kernel's id of this boot, in the form that the library writes: the digits two by two.
fn boot_id() -> Option<[u8; 16]> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let mut id = [0; 16];
    let pairs = digits.chunks_exact(2);
    if pairs.len() != id.len() {
        return None;
    }
    for (byte, pair) in id.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(id)
}

/// Present time of `CLOCK_MONOTONIC`, in nanoseconds.
fn monotonic_time() -> i64 {
    to_nanoseconds(clock_gettime(ClockId::Monotonic))
}

fn to_nanoseconds(time: Timespec) -> i64 {
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// The data of the recording thread.
struct SwitchRecorder {
    rings: PerfRings,
    writer: SwitchWriter,
    tally: SwitchTally,
    /// The time, in nanoseconds of the monotonic clock, of the last record that states up to when
    /// the file is complete.
    marked: i64,
}

impl SwitchRecorder {
    /// Records until `stop` can be read.
    fn record_until(mut self, stop: &OwnedFd) -> SwitchTally {
        // Sets the priority of this thread only. Without the right to raise it, the priority stays
        // as it is.
        let _ = setpriority_process(None, RECORDER_NICE);
        let stopped = loop {
            match self.wait_for_records(stop) {
                Ok(false) => self.drain_queues(false),
                Ok(true) => break None,
                Err(error) => break Some(error),
            }
        };
        self.drain_queues(true);
        let SwitchRecorder { mut tally, writer, .. } = self;
        tally.lost += writer.lost_records();
        if let Err(error) = writer.finish(monotonic_time()) {
            tally.failed.get_or_insert(error);
        }
        tally.failed = tally.failed.or(stopped);
        tally
    }

    /// Waits until a queue is half full, or for a while. Returns whether the recording shall end.
    fn wait_for_records(&self, stop: &OwnedFd) -> io::Result<bool> {
        let mut polled = vec![PollFd::new(stop, PollFlags::IN)];
        let rings = self.rings.descriptors();
        polled.extend(rings.map(|ring| PollFd::from_borrowed_fd(ring, PollFlags::IN)));
        let timeout = Timespec { tv_sec: 0, tv_nsec: SWITCHES_EMPTIED_AFTER_NS };
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(polled.first().is_some_and(|stop| stop.revents().contains(PollFlags::IN)))
    }

    /// Writes the contents of the queues. The last time it records that they are complete.
    fn drain_queues(&mut self, is_last: bool) {
        let began = monotonic_time();
        let SwitchRecorder { rings, writer, tally, marked } = self;
        rings.drain_rings(|switch| {
            tally.count_switch(&switch);
            writer.push(&switch);
        });
        // At the end, all recorded threads have ended or are no longer recorded.
        let late = if is_last { 0 } else { SWITCHES_LATE_NS };
        let until = began.saturating_sub(late);
        if is_last || writer.pending_bytes() > 0 || until - *marked >= SWITCHES_MARKED_AFTER_NS {
            writer.push(&rings::completion_record(until));
            *marked = until;
        }
        if let Err(error) = writer.flush(monotonic_time()) {
            tally.failed.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_id_is_the_same_as_in_logs() {
        let id = boot_id().unwrap();
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, text.trim().replace('-', ""));
    }
}
