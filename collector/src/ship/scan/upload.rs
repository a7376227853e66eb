//! Upload of one file at a time: pages that the collector does not have are compressed and sent,
//! and a file without further writers is finished.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use socket_log::layout::state;

use super::{LogScanner, ScanError};
use crate::page::PAGE;
use crate::ship::event::ShipEvent;
use crate::ship::files::{self, OpenedLog};
use crate::ship::outgoing::{DialogEnded, OutgoingData, PageRange};
use crate::ship::tracked::{PageSelection, TrackedLog};
use crate::wire::{self, ShipperRequest, StorageShortage};
use crate::writers;

impl LogScanner<'_> {
    /// Sends the pages of a file that the collector does not have. Returns whether no process will
    /// write to the file any more.
    pub(super) fn send_changed_pages(
        &mut self,
        out: &mut OutgoingData,
        name: &str,
        look: PageSelection,
    ) -> Result<bool, ScanError> {
        let failed = self.io_error(name);
        let Some(entry) = self.files.get_mut(name).filter(|entry| !entry.tracked.done) else {
            return Ok(false);
        };
        let tracked = &mut entry.tracked;
        let Some(opened) = OpenedLog::open(&self.directory, name).map_err(&failed)? else {
            return Ok(false);
        };
        if opened.identity != tracked.identity {
            // Another file has this name since the listing; the next scan lists it.
            return Ok(false);
        }
        // Any later change of the file shows as a difference to this stamp.
        entry.stamp = files::file_stamp(&self.directory.join(name));
        let without_writers = writers::has_no_writer(&opened.file);
        let boots = [opened.header.boot_id, self.here.boot];
        let other_boot = boots[0] != boots[1] && !boots.contains(&[0; 16]);
        let ended = opened.header.state != state::RUNNING
            || other_boot
            || self.here.is_process_gone(&opened.header);
        let look = if without_writers == Some(true) || without_writers.is_none() && ended {
            PageSelection::All
        } else {
            look
        };
        let mut changed = false;
        tracked.resize_pages(opened.length);
        for [first, end] in tracked.select_runs(look, &opened.content_runs(), self.longest) {
            let read = opened
                .read_pages(first, &mut self.buffer[..(end - first) * PAGE])
                .map_err(&failed)?;
            let differing = changed_runs(tracked, first, read);
            changed |= !differing.is_empty();
            for [from, to] in differing {
                let bytes = &read[from * PAGE..(to * PAGE).min(read.len())];
                let pages =
                    PageRange { of: tracked.identity, first: first + from, count: to - from };
                let sent =
                    self.compressor.compress(bytes).map_err(&failed).and_then(|compressed| {
                        Ok(send_extent(out, name, pages, bytes, &compressed)?)
                    });
                if let Err(error) = sent {
                    // No page of the run is known to be stored.
                    tracked.mark_unknown(first, end - first);
                    return Err(error);
                }
                self.sent += bytes.len() as u64;
                let end = (pages.first * PAGE + bytes.len()) as u64;
                tracked.remote = tracked.remote.map(|remote| remote.max(end));
            }
            out.keep_alive()?;
            if self.stop.load(Relaxed)
                || out.shortage.is_some_and(|shortage| shortage != StorageShortage::Files)
            {
                return Ok(false);
            }
            if changed {
                self.events.on_event(&ShipEvent::Progress { sent: self.sent, left: out.left });
            }
        }
        if tracked.remote != Some(opened.length) {
            changed = true;
            out.select_file(name, tracked.identity)?;
            out.send_length(tracked.identity, opened.length)?;
            tracked.remote = Some(opened.length);
        }
        Ok(match without_writers {
            Some(none) => none,
            // If the kernel does not report writers, the file must not have changed during a scan.
            None => ended && !changed,
        })
    }

    /// Marks a file as finished: no process writes to it any more, all of it was scanned, and
    /// everything is acknowledged.
    pub(super) fn finish_log(&mut self, name: &str) {
        let path = self.directory.join(name);
        let Some(entry) = self.files.get_mut(name) else { return };
        // A part of the file was not stored, or it was written to or replaced since the scan.
        if entry.tracked.remote.is_none()
            || entry.stamp.is_none()
            || entry.stamp != files::file_stamp(&path)
        {
            return;
        }
        entry.tracked.release_memory();
        // Of two files with one identity it is not certain which one the collector has, so neither
        // is removed.
        if self.twins.contains(&entry.tracked.identity) {
            return;
        }
        if self.remove {
            match path.remove_file() {
                Ok(()) => self.events.on_event(&ShipEvent::Removed { name }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // The file stays known as finished, so that removal is tried and reported once.
                Err(error) => return self.events.on_event(&ShipEvent::NotRemoved { name, error }),
            }
            self.files.remove(name);
        }
    }
}

/// The pages of `read` that the collector does not have, as runs `[from, to)` counted from its
/// beginning, which is page `first` of the file.
fn changed_runs(tracked: &mut TrackedLog, first: usize, read: &[u8]) -> Vec<[usize; 2]> {
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for (at, content) in read.chunks(PAGE).enumerate() {
        if tracked.update_checksum(first + at, content) {
            match runs.last_mut() {
                Some([_, end]) if *end == at => *end += 1,
                _ => runs.push([at, at + 1]),
            }
        }
    }
    runs
}

/// Sends an extent.
fn send_extent(
    out: &mut OutgoingData,
    name: &str,
    pages: PageRange,
    bytes: &[u8],
    compressed: &[u8],
) -> Result<(), DialogEnded> {
    out.select_file(name, pages.of)?;
    let request =
        ShipperRequest::Extent { offset: (pages.first * PAGE) as u64, length: bytes.len() as u32 };
    let frame = wire::encode_frame_with(&request, compressed).map_err(|_| DialogEnded)?;
    out.send_extent(pages, frame, bytes.len())
}
