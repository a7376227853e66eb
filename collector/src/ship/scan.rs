//! The first stage of a shipper: goes through the host's files, finds the data that the collector
//! does not have, compresses it and passes it on. Its state outlives connections, since
//! acknowledged data stays at the collector.

mod queries;
mod upload;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use tracing::debug;

use super::event::{ShipEvent, ShipListener};
use super::files::{self, FileStamp, OpenedLog};
use super::operations::OperationsUpdater;
use super::outgoing::{DialogEnded, OutgoingData, PageRange};
use super::tracked::{PageSelection, TrackedLog};
use crate::identity::LogIdentity;
use crate::link::StopFlag;
use crate::page::PAGE;
use crate::tuning::ZSTD_LEVEL;
use crate::wire::{EXTENT_LIMIT, StorageShortage};
use crate::writers::ProcessScope;
use message_trace::DataPath;

/// Files of the host and their state.
pub(super) struct LogScanner<'a> {
    directory: DataPath,
    here: ProcessScope,
    /// Whether finished files are removed.
    remove: bool,
    /// Maximum length of an extent, in pages.
    longest: usize,
    events: &'a dyn ShipListener,
    stop: StopFlag,
    files: BTreeMap<String, ScannedLog>,
    /// Identities that several files share.
    twins: HashSet<LogIdentity>,
    /// Files that cannot be read, by name.
    pub(super) unreadable: BTreeSet<String>,
    /// Id of the collection that this state is about.
    store: Option<u128>,
    /// Whether acknowledged files may have been removed at the collector.
    unsure: bool,
    operations: OperationsUpdater,
    buffer: Vec<u8>,
    compressor: zstd::bulk::Compressor<'static>,
    /// Bytes of files sent so far.
    pub(super) sent: u64,
}

struct ScannedLog {
    tracked: TrackedLog,
    /// Metadata of the file when it was last scanned, by which a change is noticed.
    stamp: Option<FileStamp>,
    /// Whether an event has reported that the file is not sent.
    is_reported: bool,
}

/// Result of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ScanResult {
    /// Shortage at the collector.
    pub(super) shortage: Option<StorageShortage>,
    /// Whether the scan ended because the program is to stop.
    pub(super) stopped: bool,
}

/// Reason for the early end of a scan.
#[derive(Debug)]
pub(super) enum ScanError {
    /// The connection has ended.
    Gone(DialogEnded),
    /// This file or directory could not be read.
    Io(PathBuf, io::Error),
}

impl From<DialogEnded> for ScanError {
    fn from(gone: DialogEnded) -> ScanError {
        ScanError::Gone(gone)
    }
}

impl<'a> LogScanner<'a> {
    pub(super) fn new(
        directory: DataPath,
        boot: [u8; 16],
        remove: bool,
        limit: Option<u64>,
        events: &'a dyn ShipListener,
        stop: StopFlag,
    ) -> io::Result<LogScanner<'a>> {
        // A frame must end in time even with a low rate limit.
        let longest =
            limit.map_or(EXTENT_LIMIT, |rate| EXTENT_LIMIT.min((rate as usize).saturating_mul(4)));
        Ok(LogScanner {
            directory,
            here: ProcessScope::new(boot),
            remove,
            longest: (longest / PAGE).max(1),
            events,
            stop,
            files: BTreeMap::new(),
            twins: HashSet::new(),
            unreadable: BTreeSet::new(),
            store: None,
            unsure: false,
            operations: OperationsUpdater::default(),
            buffer: vec![0; EXTENT_LIMIT],
            compressor: zstd::bulk::Compressor::new(ZSTD_LEVEL)?,
            sent: 0,
        })
    }

    /// Records a new connection to the collection `store`.
    pub(super) fn start_connection(&mut self, store: u128) {
        self.unsure = true;
        if self.store.replace(store) != Some(store) {
            self.files.values_mut().for_each(|entry| {
                entry.tracked.forget_remote();
                entry.stamp = None;
            });
        }
    }

    /// Records that the collector may not have these pages.
    pub(super) fn mark_lost(&mut self, lost: &[PageRange]) {
        for pages in lost {
            for entry in self.files.values_mut().filter(|entry| entry.tracked.identity == pages.of)
            {
                entry.tracked.mark_unknown(pages.first, pages.count);
                entry.stamp = None;
            }
        }
    }

    /// Scans all files once, sends missing data, and waits for the answers.
    pub(super) fn scan_files(
        &mut self,
        out: &mut OutgoingData,
        look: PageSelection,
    ) -> Result<ScanResult, ScanError> {
        let names = self.list_names(out)?;
        if std::mem::take(&mut self.unsure) {
            self.find_removed(out, &names)?;
        }
        self.query_checksums(out, &names)?;
        out.left = self.estimate_left(out, &names)?;
        self.events.on_event(&ShipEvent::Progress { sent: self.sent, left: out.left });
        let mut finished = Vec::new();
        for name in &names {
            if self.stop.load(Relaxed) {
                out.drain_batches()?;
                return Ok(ScanResult { stopped: true, ..self.finish_scan(out) });
            }
            // Data for which the collector has no space need not be sent. If only its number of
            // files is exhausted, existing files continue.
            if out.shortage.is_some_and(|shortage| shortage != StorageShortage::Files) {
                break;
            }
            match self.send_changed_pages(out, name, look) {
                Ok(true) => finished.push(name),
                Ok(false) => {}
                Err(ScanError::Io(_, error)) => self.report_unreadable(name, error),
                Err(gone) => return Err(gone),
            }
            out.keep_alive()?;
        }
        out.left = 0;
        out.drain_batches()?;
        let scanned = self.finish_scan(out);
        for name in finished {
            self.finish_log(name);
        }
        self.events.on_event(&ShipEvent::Progress { sent: self.sent, left: 0 });
        Ok(scanned)
    }

    /// Records the data that was not stored.
    fn finish_scan(&mut self, out: &mut OutgoingData) -> ScanResult {
        let lost = std::mem::take(&mut out.lost);
        self.mark_lost(&lost);
        // An operator may free space at the collector by removing existing files.
        self.unsure |= out.shortage.is_some();
        ScanResult { shortage: out.shortage.take(), stopped: false }
    }

    fn io_error(&self, name: &str) -> impl Fn(io::Error) -> ScanError + use<> {
        let path = self.directory.join(name);
        move |error| ScanError::Io(path.to_path_buf(), error)
    }

    /// Names of the files to send, which are all in `files` from now on.
    fn list_names(&mut self, out: &mut OutgoingData) -> Result<Vec<String>, ScanError> {
        let names = files::log_names(&self.directory).map_err(self.io_error(""))?;
        self.operations.update_operations(&self.directory, &names);
        // Operation files may have been added next to the logs.
        let names = files::log_names(&self.directory).map_err(self.io_error(""))?;
        let mut former = std::mem::take(&mut self.files);
        let mut seen: HashMap<LogIdentity, String> = HashMap::new();
        self.twins.clear();
        for name in names {
            out.keep_alive()?;
            let known = former.remove(&name);
            let stamp = files::file_stamp(&self.directory.join(&name));
            let mut entry = match known {
                Some(entry) if entry.tracked.done && entry.stamp == stamp => entry,
                known => {
                    let opened = match OpenedLog::open(&self.directory, &name) {
                        Ok(Some(opened)) => opened,
                        Ok(None) => continue,
                        Err(error) => {
                            self.report_unreadable(&name, error);
                            continue;
                        }
                    };
                    match known {
                        Some(mut entry) if entry.tracked.identity == opened.identity => {
                            // A finished file was written to.
                            if entry.tracked.done {
                                entry.tracked.forget_remote();
                            }
                            entry
                        }
                        _ => ScannedLog {
                            tracked: TrackedLog::new(opened.identity),
                            stamp: None,
                            is_reported: false,
                        },
                    }
                }
            };
            if let Some(first) = seen.get(&entry.tracked.identity) {
                self.twins.insert(entry.tracked.identity);
                if !std::mem::replace(&mut entry.is_reported, true) {
                    debug!(name = name.as_str(), first, "a file is a copy");
                    self.events.on_event(&ShipEvent::Twin { name: &name, first });
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

    /// Reports once that a file cannot be read. The others are still sent.
    fn report_unreadable(&mut self, name: &str, error: io::Error) {
        if self.unreadable.insert(name.to_owned()) {
            debug!(name, %error, "a file is skipped");
            self.events.on_event(&ShipEvent::Unreadable { name, error });
        }
    }
}
