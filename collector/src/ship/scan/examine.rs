//! One file at a time: pages that the collector does not have are compressed and sent, and a file
//! that nobody will write to any more is done.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use socket_log::layout::state;

use super::{Failed, Scanner};
use crate::page::PAGE;
use crate::ship::event::Event;
use crate::ship::files::{self, Opened};
use crate::ship::outgoing::{Gone, Outgoing, Pages};
use crate::ship::tracked::{Look, Tracked};
use crate::wire::{self, Request, Shortage};
use crate::writers;

impl Scanner<'_> {
    /// Sends the pages of a file that the collector does not have. Returns whether nobody will
    /// write to the file any more.
    pub(super) fn examine(
        &mut self,
        out: &mut Outgoing,
        name: &str,
        look: Look,
    ) -> Result<bool, Failed> {
        let failed = self.failed(name);
        let Some(entry) = self.files.get_mut(name).filter(|entry| !entry.tracked.done) else {
            return Ok(false);
        };
        let tracked = &mut entry.tracked;
        let Some(opened) = Opened::open(&self.directory, name).map_err(&failed)? else {
            return Ok(false);
        };
        if opened.identity != tracked.identity {
            // Since the listing another file has this name; the next scan lists it.
            return Ok(false);
        }
        // Any later change of the file shows as a difference to this stamp.
        entry.stamp = files::stamp(&self.directory.join(name));
        let without_writers = writers::none(&opened.file);
        let boots = [opened.header.boot_id, self.here.boot];
        let other_boot = boots[0] != boots[1] && !boots.contains(&[0; 16]);
        let ended = opened.header.state != state::RUNNING
            || other_boot
            || self.here.has_lost(&opened.header);
        let look = if without_writers == Some(true) || without_writers.is_none() && ended {
            Look::All
        } else {
            look
        };
        let mut changed = false;
        tracked.resize(opened.length);
        for [first, end] in tracked.runs(look, &opened.data(), self.longest) {
            let read =
                opened.read(first, &mut self.buffer[..(end - first) * PAGE]).map_err(&failed)?;
            let differing = differing(tracked, first, read);
            changed |= !differing.is_empty();
            for [from, to] in differing {
                let bytes = &read[from * PAGE..(to * PAGE).min(read.len())];
                let pages = Pages { of: tracked.identity, first: first + from, count: to - from };
                let sent = self
                    .compressor
                    .compress(bytes)
                    .map_err(&failed)
                    .and_then(|compressed| Ok(send(out, name, pages, bytes, &compressed)?));
                if let Err(error) = sent {
                    // No page of the run is known to be there.
                    tracked.lost(first, end - first);
                    return Err(error);
                }
                self.sent += bytes.len() as u64;
                let end = (pages.first * PAGE + bytes.len()) as u64;
                tracked.remote = tracked.remote.map(|remote| remote.max(end));
            }
            out.keep_alive()?;
            if self.stop.load(Relaxed)
                || out.shortage.is_some_and(|shortage| shortage != Shortage::Files)
            {
                return Ok(false);
            }
            if changed {
                self.events.event(&Event::Progress { sent: self.sent, left: out.left });
            }
        }
        if tracked.remote != Some(opened.length) {
            changed = true;
            out.select(name, tracked.identity)?;
            out.length(tracked.identity, opened.length)?;
            tracked.remote = Some(opened.length);
        }
        Ok(match without_writers {
            Some(none) => none,
            // Where the kernel does not tell, the file must not have changed during a scan.
            None => ended && !changed,
        })
    }

    /// Marks a file as done: nobody writes to it any more, all of it was looked at, and everything
    /// is answered.
    pub(super) fn finish(&mut self, name: &str) {
        let path = self.directory.join(name);
        let Some(entry) = self.files.get_mut(name) else { return };
        // A part of it was not stored, or it was written to or replaced since it was looked at.
        if entry.tracked.remote.is_none()
            || entry.stamp.is_none()
            || entry.stamp != files::stamp(&path)
        {
            return;
        }
        entry.tracked.finish();
        // Of two files with one identity it is not sure which one the collector has, so neither is
        // removed.
        if self.twins.contains(&entry.tracked.identity) {
            return;
        }
        if self.remove {
            match path.remove_file() {
                Ok(()) => self.events.event(&Event::Removed { name }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // It stays known as done, so that removing is tried and told once.
                Err(error) => return self.events.event(&Event::NotRemoved { name, error }),
            }
            self.files.remove(name);
        }
    }
}

/// The pages of `read` that the collector does not have, as runs `[from, to)` counted from its
/// beginning, which is page `first` of the file.
fn differing(tracked: &mut Tracked, first: usize, read: &[u8]) -> Vec<[usize; 2]> {
    let mut runs: Vec<[usize; 2]> = Vec::new();
    for (at, content) in read.chunks(PAGE).enumerate() {
        if tracked.differs(first + at, content) {
            match runs.last_mut() {
                Some([_, end]) if *end == at => *end += 1,
                _ => runs.push([at, at + 1]),
            }
        }
    }
    runs
}

/// Sends an extent.
fn send(
    out: &mut Outgoing,
    name: &str,
    pages: Pages,
    bytes: &[u8],
    compressed: &[u8],
) -> Result<(), Gone> {
    out.select(name, pages.of)?;
    let request =
        Request::Extent { offset: (pages.first * PAGE) as u64, length: bytes.len() as u32 };
    let frame = wire::frame_with(&request, compressed).map_err(|_| Gone)?;
    out.extent(pages, frame, bytes.len())
}
