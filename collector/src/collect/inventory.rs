//! Inventory of a host's files at the collector: the name of each log, and what it takes on the
//! disk.
//!
//! Files may be removed at any time, as by somebody who makes room; then what there is is counted
//! anew.

use std::collections::HashMap;
use std::fs::File;
use std::io;

use socket_log::OpenError;

use super::sender;
use super::stored_file::{disk_use, existing, is_no_file};
use message_trace::DataPath;

use crate::identity::Identity;
use socket_log::names;

/// Logs of one host in its directory.
#[derive(Debug)]
pub(super) struct Inventory {
    directory: DataPath,
    /// Names that the sender's key is for, if it had to show one.
    sender: Option<Vec<String>>,
    /// Name of each log at the collector.
    names: HashMap<Identity, String>,
    /// All names, with what each file took on the disk when that was last counted.
    taken: HashMap<String, u64>,
    /// Sum of what the files took then, in bytes.
    used: u64,
}

impl Inventory {
    /// Counts the logs in `directory`, which need not be there.
    ///
    /// # Errors
    /// When it cannot be read, or the sender not be noted.
    pub(super) fn open(directory: &DataPath, sender: Option<Vec<String>>) -> io::Result<Inventory> {
        let mut inventory = Inventory {
            directory: directory.to_owned(),
            sender,
            names: HashMap::new(),
            taken: HashMap::new(),
            used: 0,
        };
        inventory.count()?;
        Ok(inventory)
    }

    /// Counts the logs that are there now.
    fn count(&mut self) -> io::Result<()> {
        (self.names, self.taken, self.used) = Default::default();
        let directory = &self.directory;
        if !directory.exists() {
            return Ok(());
        }
        let entries = directory.entries()?;
        sender::note(directory, self.sender.as_deref())?;
        for entry in entries {
            let Some(name) = entry.path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let name = name.to_owned();
            if names::log_name(&names::original(&name)).is_err() {
                continue;
            }
            let file = match existing(&directory.join(&name)) {
                Ok(file) => file,
                // What is no file has its name taken all the same; any other error must not make a
                // log look unknown.
                Err(error) if is_no_file(&error) => {
                    self.taken.insert(name, 0);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let used = disk_use(&file)?;
            self.used += used;
            self.taken.insert(name.clone(), used);
            match Identity::read(&name, &file) {
                Ok((identity, _)) => drop(self.names.insert(identity, name)),
                Err(OpenError::Io { source, .. }) => return Err(source),
                Err(_) => {}
            }
        }
        // What another collector left unsaid is durable from here on.
        directory.sync_directory()
    }

    /// Counts once more. Whether a log that there was is gone.
    ///
    /// # Errors
    /// As for [`Inventory::open`].
    pub(super) fn recount(&mut self) -> io::Result<bool> {
        let before = std::mem::take(&mut self.names);
        self.count()?;
        Ok(before.keys().any(|identity| !self.names.contains_key(identity)))
    }

    /// The host's directory.
    pub(super) fn directory(&self) -> &DataPath {
        &self.directory
    }

    /// Number of files.
    pub(super) fn files(&self) -> u64 {
        self.taken.len() as u64
    }

    /// Bytes that the files took on the disk when they were last counted.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Whether there is a file of this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.taken.contains_key(name)
    }

    /// Notes whose key the sender has, beside the files.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn note_sender(&self) -> io::Result<()> {
        sender::note(&self.directory, self.sender.as_deref())
    }

    /// A log was made, or is there, under this name.
    pub(super) fn add(&mut self, identity: Identity, name: String) {
        self.taken.entry(name.clone()).or_default();
        self.names.insert(identity, name);
    }

    /// A file takes `used` bytes on the disk now.
    pub(super) fn measured(&mut self, name: String, used: u64) {
        let before = self.taken.insert(name, used).unwrap_or(0);
        self.used = self.used.saturating_sub(before).saturating_add(used);
    }

    /// A file that there was is gone.
    pub(super) fn remove(&mut self, name: &str) {
        self.names.retain(|_, known| known != name);
        self.used = self.used.saturating_sub(self.taken.remove(name).unwrap_or(0));
    }

    /// Name of a log at the collector: the one that it has, or else the one that it has on its
    /// host, unless that is another log's.
    pub(super) fn name_of(&self, identity: &Identity, name: &str) -> String {
        if let Some(known) = self.names.get(identity) {
            return known.clone();
        }
        let is_free = |name: &str| {
            let path = self.directory.join(name);
            // One without a header has been begun and never finished, and is gone on with.
            let is_begun = |file: &File| {
                matches!(
                    Identity::read(name, file),
                    Err(OpenError::NotALog { .. } | OpenError::Version { .. })
                )
            };
            !self.has(name) || existing(&path).is_ok_and(|file| is_begun(&file))
        };
        if is_free(name) {
            return name.to_owned();
        }
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let numbered =
            (2..).map(|number: u64| format!("{stem}{}{number}.{extension}", names::AGAIN));
        numbered.into_iter().find(|name| is_free(name)).unwrap_or_else(|| name.to_owned())
    }
}
