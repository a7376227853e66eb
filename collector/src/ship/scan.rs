//! The first stage of a shipper: goes through the host's files, finds what the collector does not
//! have, compresses it and hands it on. What it knows lasts over connections, since what was
//! acknowledged stays.

mod ask;
mod examine;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use tracing::debug;

use super::event::{Event, Events};
use super::files::{self, Opened, Stamp};
use super::named::Naming;
use super::outgoing::{Gone, Outgoing, Pages};
use super::tracked::{Look, Tracked};
use crate::identity::Identity;
use crate::link::Stop;
use crate::page::PAGE;
use crate::tuning::ZSTD_LEVEL;
use crate::wire::{EXTENT_LIMIT, Shortage};
use crate::writers::Here;
use message_trace::DataPath;

/// The host's files and what is known of them.
pub(super) struct Scanner<'a> {
    directory: DataPath,
    here: Here,
    /// Whether files that are done are removed.
    remove: bool,
    /// Maximum length of an extent, in pages.
    longest: usize,
    events: &'a dyn Events,
    stop: Stop,
    files: BTreeMap<String, Entry>,
    /// Identities that several files have.
    twins: HashSet<Identity>,
    /// Files that cannot be read, by name.
    pub(super) unreadable: BTreeSet<String>,
    /// Collection that this knowledge is about.
    store: Option<u128>,
    /// Whether acknowledged files may have been removed at the collector.
    unsure: bool,
    naming: Naming,
    buffer: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
    /// Bytes of files sent so far.
    pub(super) sent: u64,
}

struct Entry {
    tracked: Tracked,
    /// Stamp of the file when it was last looked at.
    stamp: Option<Stamp>,
    /// Whether the event was told that it is not sent.
    told: bool,
}

/// Result of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scanned {
    /// Shortage at the collector.
    pub(super) shortage: Option<Shortage>,
    /// Whether the scan ended because the program is to stop.
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
        directory: DataPath,
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
            naming: Naming::default(),
            buffer: vec![0; EXTENT_LIMIT],
            compressor: zstd::bulk::Compressor::new(ZSTD_LEVEL)?,
            sent: 0,
        })
    }

    /// Takes note of a new connection to this collection.
    pub(super) fn connected(&mut self, store: u128) {
        self.unsure = true;
        if self.store.replace(store) != Some(store) {
            self.files.values_mut().for_each(|entry| {
                entry.tracked.forget();
                entry.stamp = None;
            });
        }
    }

    /// Takes note that the collector may not have these pages.
    pub(super) fn lost(&mut self, lost: &[Pages]) {
        for pages in lost {
            for entry in self.files.values_mut().filter(|entry| entry.tracked.identity == pages.of)
            {
                entry.tracked.lost(pages.first, pages.count);
                entry.stamp = None;
            }
        }
    }

    /// Looks at all files once, sends what is missing, and waits for the answers.
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
        move |error| Failed::Io(path.to_path_buf(), error)
    }

    /// The names of the files to send, all of them known from now on.
    fn names(&mut self, out: &mut Outgoing) -> Result<Vec<String>, Failed> {
        let names = files::names(&self.directory).map_err(self.failed(""))?;
        self.naming.update(&self.directory, &names);
        // Beside those logs there may be operations now.
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
                    debug!(name = name.as_str(), first, "a file is a copy");
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

    /// Tells once of a file that cannot be read. It holds up no other.
    fn unreadable(&mut self, name: &str, error: io::Error) {
        if self.unreadable.insert(name.to_owned()) {
            debug!(name, %error, "a file is passed over");
            self.events.event(&Event::Unreadable { name, error });
        }
    }
}
