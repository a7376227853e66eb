//! The first stage of a shipper: goes through the host's files, finds what the collector does not
//! have, compresses it and hands it on. What it knows lasts over connections, since what was
//! acknowledged stays.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use socket_log::layout::state;

use super::event::{Event, Events};
use super::files::{self, Opened, Stamp};
use super::outgoing::{Gone, Outgoing, Pages};
use super::tracked::{Look, Tracked};
use crate::identity::Identity;
use crate::link::Stop;
use crate::page::PAGE;
use crate::tuning::{MAX_ASKED_FILES, MAX_ASKED_PAGES, ZSTD_LEVEL};
use crate::wire::{self, EXTENT_LIMIT, Request, Shortage};
use crate::writers::{self, Here};

/// The host's files and what is known of them.
pub(super) struct Scanner<'a> {
    directory: PathBuf,
    here: Here,
    /// Files that are done are removed.
    remove: bool,
    /// The most that one extent holds, in pages.
    longest: usize,
    events: &'a dyn Events,
    stop: Stop,
    files: BTreeMap<String, Entry>,
    /// What there are several files of.
    twins: HashSet<Identity>,
    /// Files that cannot be read, by name.
    pub(super) unreadable: BTreeSet<String>,
    /// The collection that this knowledge is about.
    store: Option<u128>,
    /// Some of what was acknowledged may have been taken away there.
    unsure: bool,
    buffer: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
    /// Bytes of files sent so far.
    pub(super) sent: u64,
}

struct Entry {
    tracked: Tracked,
    /// What it was like when it was last looked at.
    stamp: Option<Stamp>,
    /// The event that it is not sent was told.
    told: bool,
}

/// What a scan came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Of what there was too little at the collector.
    pub(super) shortage: Option<Shortage>,
    /// The program is to stop.
    pub(super) stopped: bool,
}

/// Why a scan ended early.
#[derive(Debug)]
pub(super) enum Failed {
    Gone(Gone),
    Io(PathBuf, io::Error),
}

impl From<Gone> for Failed {
    fn from(gone: Gone) -> Failed {
        Failed::Gone(gone)
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn new(
        directory: PathBuf,
        boot: [u8; 16],
        remove: bool,
        limit: Option<u64>,
        events: &'a dyn Events,
        stop: Stop,
    ) -> io::Result<Scanner<'a>> {
        // A frame must come to its end in time however little may be sent.
        let longest =
            limit.map_or(EXTENT_LIMIT, |rate| EXTENT_LIMIT.min((rate as usize).saturating_mul(4)));
        Ok(Scanner {
            directory,
            here: Here::new(boot),
            remove,
            longest: (longest / PAGE).max(1),
            events,
            stop,
            files: BTreeMap::new(),
            twins: HashSet::new(),
            unreadable: BTreeSet::new(),
            store: None,
            unsure: false,
            buffer: vec![0; EXTENT_LIMIT],
            compressor: zstd::bulk::Compressor::new(ZSTD_LEVEL)?,
            sent: 0,
        })
    }

    /// A connection is there, to this collection.
    pub(super) fn connected(&mut self, store: u128) {
        self.unsure = true;
        if self.store.replace(store) != Some(store) {
            self.files.values_mut().for_each(|entry| {
                entry.tracked.forget();
                entry.stamp = None;
            });
        }
    }

    /// It is not known whether the collector has these pages.
    pub(super) fn lost(&mut self, lost: &[Pages]) {
        for pages in lost {
            for entry in self.files.values_mut().filter(|entry| entry.tracked.identity == pages.of)
            {
                entry.tracked.lost(pages.first, pages.count);
                entry.stamp = None;
            }
        }
    }

    /// One look at all files, and what the collector says to it.
    pub(super) fn scan(&mut self, out: &mut Outgoing, look: Look) -> Result<Scanned, Failed> {
        let names = self.names(out)?;
        if std::mem::take(&mut self.unsure) {
            self.look_whether_there(out, &names)?;
        }
        self.ask(out, &names)?;
        out.left = self.left(out, &names)?;
        self.events.event(&Event::Progress { sent: self.sent, left: out.left });
        let mut finished = Vec::new();
        for name in &names {
            if self.stop.load(Relaxed) {
                out.drain()?;
                return Ok(Scanned { stopped: true, ..self.settle(out) });
            }
            // What the collector has no room for need not be sent to it. Where it only wants no
            // more files, others go on.
            if out.shortage.is_some_and(|shortage| shortage != Shortage::Files) {
                break;
            }
            match self.examine(out, name, look) {
                Ok(true) => finished.push(name),
                Ok(false) => {}
                Err(Failed::Io(_, error)) => self.unreadable(name, error),
                Err(gone) => return Err(gone),
            }
            out.keep_alive()?;
        }
        out.left = 0;
        out.drain()?;
        let scanned = self.settle(out);
        for name in finished {
            self.finish(name);
        }
        self.events.event(&Event::Progress { sent: self.sent, left: 0 });
        Ok(scanned)
    }

    /// Takes note of what was not stored.
    fn settle(&mut self, out: &mut Outgoing) -> Scanned {
        let lost = std::mem::take(&mut out.lost);
        self.lost(&lost);
        // Whoever makes room may do so by taking away what is there.
        self.unsure |= out.shortage.is_some();
        Scanned { shortage: out.shortage.take(), stopped: false }
    }

    fn failed(&self, name: &str) -> impl Fn(io::Error) -> Failed + use<> {
        let path = self.directory.join(name);
        move |error| Failed::Io(path.clone(), error)
    }

    /// The names of the files to send, all of them known from now on.
    fn names(&mut self, out: &mut Outgoing) -> Result<Vec<String>, Failed> {
        let names = files::names(&self.directory).map_err(self.failed(""))?;
        let mut former = std::mem::take(&mut self.files);
        let mut seen: HashMap<Identity, String> = HashMap::new();
        self.twins.clear();
        for name in names {
            out.keep_alive()?;
            let known = former.remove(&name);
            let stamp = files::stamp(&self.directory.join(&name));
            let mut entry = match known {
                Some(entry) if entry.tracked.done && entry.stamp == stamp => entry,
                known => {
                    let opened = match Opened::open(&self.directory, &name) {
                        Ok(Some(opened)) => opened,
                        Ok(None) => continue,
                        Err(error) => {
                            self.unreadable(&name, error);
                            continue;
                        }
                    };
                    match known {
                        Some(mut entry) if entry.tracked.identity == opened.identity => {
                            // Somebody has written to what was done.
                            if entry.tracked.done {
                                entry.tracked.forget();
                            }
                            entry
                        }
                        _ => Entry {
                            tracked: Tracked::new(opened.identity),
                            stamp: None,
                            told: false,
                        },
                    }
                }
            };
            if let Some(first) = seen.get(&entry.tracked.identity) {
                self.twins.insert(entry.tracked.identity);
                if !std::mem::replace(&mut entry.told, true) {
                    self.events.event(&Event::Twin { name: &name, first });
                }
            } else {
                seen.insert(entry.tracked.identity, name.clone());
            }
            self.files.insert(name, entry);
        }
        let mut names: Vec<String> = seen.into_values().collect();
        names.sort();
        Ok(names)
    }

    /// A file that cannot be read holds up no other. That is told once.
    fn unreadable(&mut self, name: &str, error: io::Error) {
        if self.unreadable.insert(name.to_owned()) {
            self.events.event(&Event::Unreadable { name, error });
        }
    }

    /// Asks whether the collector still has the files that are not done. What was taken away there
    /// is sent again.
    fn look_whether_there(&mut self, out: &mut Outgoing, names: &[String]) -> Result<(), Failed> {
        let known = |name: &&String| {
            self.files.get(*name).is_some_and(|entry| entry.tracked.asked && !entry.tracked.done)
        };
        let known: Vec<&String> = names.iter().filter(known).collect();
        for group in known.chunks(MAX_ASKED_FILES) {
            for name in group {
                let Some(entry) = self.files.get(*name) else { continue };
                out.select(name, entry.tracked.identity)?;
                out.ask(0, 1)?;
            }
            for (name, (length, sums)) in group.iter().zip(out.answers()?) {
                let Some(entry) = self.files.get_mut(*name) else { continue };
                if !entry.tracked.is_there(length, sums.first().copied()) {
                    entry.tracked.forget();
                    entry.stamp = None;
                }
            }
        }
        Ok(())
    }

    /// Asks what the collector has of the files of which that is not known.
    fn ask(&mut self, out: &mut Outgoing, names: &[String]) -> Result<(), Failed> {
        let asked = |entry: &Entry| entry.tracked.asked;
        let unknown: Vec<&String> =
            names.iter().filter(|name| !self.files.get(*name).is_none_or(asked)).collect();
        for group in unknown.chunks(MAX_ASKED_FILES) {
            for name in group {
                let Some(entry) = self.files.get(*name) else { continue };
                out.select(name, entry.tracked.identity)?;
                out.ask(0, MAX_ASKED_PAGES)?;
            }
            let answers = out.answers()?;
            for (name, (length, sums)) in group.iter().zip(answers) {
                let Some(entry) = self.files.get_mut(*name) else { continue };
                let tracked = &mut entry.tracked;
                let mut known = sums.len();
                tracked.has(0, &sums);
                while (known as u64 * PAGE as u64) < length {
                    out.select(name, tracked.identity)?;
                    out.ask(known, MAX_ASKED_PAGES)?;
                    let Some((_, sums)) =
                        out.answers()?.pop_front().filter(|(_, sums)| !sums.is_empty())
                    else {
                        return Err(Gone.into());
                    };
                    tracked.has(known, &sums);
                    known += sums.len();
                }
                tracked.remote = Some(length);
                tracked.asked = true;
            }
        }
        Ok(())
    }

    /// How many bytes of content there are that the collector does not have, about.
    fn left(&self, out: &mut Outgoing, names: &[String]) -> Result<u64, Gone> {
        let mut left = 0;
        for name in names {
            out.keep_alive()?;
            let Some(entry) = self.files.get(name).filter(|entry| !entry.tracked.done) else {
                continue;
            };
            let Ok(Some(opened)) = Opened::open(&self.directory, name) else { continue };
            let content: usize = opened.data().iter().map(|[first, end]| end - first).sum();
            left += ((content * PAGE) as u64).saturating_sub(entry.tracked.known());
        }
        Ok(left)
    }

    /// Sends what the collector does not have of a file. Whether nobody will write to it any more.
    fn examine(&mut self, out: &mut Outgoing, name: &str, look: Look) -> Result<bool, Failed> {
        let failed = self.failed(name);
        let Some(entry) = self.files.get_mut(name).filter(|entry| !entry.tracked.done) else {
            return Ok(false);
        };
        let tracked = &mut entry.tracked;
        let Some(opened) = Opened::open(&self.directory, name).map_err(&failed)? else {
            return Ok(false);
        };
        if opened.identity != tracked.identity {
            // Another file under this name since it was listed; the next scan knows.
            return Ok(false);
        }
        // What happens to the file from here on is seen when it is held against this.
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
                    // None of the run can be told to be there.
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
            // Where the kernel does not tell, it has to have stayed the same for a scan.
            None => ended && !changed,
        })
    }

    /// A file to which nobody writes any more has been looked at in full, and all is answered.
    fn finish(&mut self, name: &str) {
        let path = self.directory.join(name);
        let Some(entry) = self.files.get_mut(name) else { return };
        // Something of it was not stored, or somebody has written to it or taken its name since it
        // was looked at.
        if entry.tracked.remote.is_none()
            || entry.stamp.is_none()
            || entry.stamp != files::stamp(&path)
        {
            return;
        }
        entry.tracked.finish();
        // Which of two with one identity the collector has is not sure enough to remove either.
        if self.twins.contains(&entry.tracked.identity) {
            return;
        }
        if self.remove {
            match std::fs::remove_file(&path) {
                Ok(()) => self.events.event(&Event::Removed { name }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // It stays known as done, so that this is told and tried once.
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
