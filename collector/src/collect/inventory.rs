//! Inventory of a host's files at the collector: the name of each log, and what it takes on the
//! disk.
//!
//! Files may be removed at any time, as by somebody who makes room; then what there is is counted
//! anew.

use std::collections::{BTreeSet, HashMap};
use std::io;

use socket_log::OpenError;

use super::sender;
use super::stored_file::{disk_use, is_no_file, open_existing};
use message_trace::DataPath;

use crate::identity::LogIdentity;
use socket_log::names;

mod numbered_name;

use numbered_name::NumberedName;

/// Logs of one host in its directory.
#[derive(Debug)]
pub(super) struct Inventory {
    directory: DataPath,
    /// Names that the sender's key is for, if it had to show one.
    sender: Option<Vec<String>>,
    /// Name of each log at the collector.
    names: HashMap<LogIdentity, String>,
    /// All names, with what is known of each file.
    taken: HashMap<String, InventoryFile>,
    /// Names that files of one name on the host have here, by that name.
    alike: HashMap<String, NameVariants>,
    /// Sum of what the files took then, in bytes.
    used: u64,
}

/// What is known of a file.
#[derive(Debug, Default)]
struct InventoryFile {
    /// Bytes that it took on the disk when that was last counted.
    used: u64,
    /// The log in it, once it has one.
    identity: Option<LogIdentity>,
}

/// Files of one name on the host.
#[derive(Debug, Default)]
struct NameVariants {
    /// The largest number of one of them.
    largest: u64,
    /// Numbers of those that were begun and have no header: they are gone on with.
    begun: BTreeSet<u64>,
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
            alike: HashMap::new(),
            used: 0,
        };
        inventory.count_files()?;
        Ok(inventory)
    }

    /// Counts the logs that are there now.
    fn count_files(&mut self) -> io::Result<()> {
        (self.names, self.taken, self.alike, self.used) = Default::default();
        let directory = &self.directory;
        if !directory.exists() {
            return Ok(());
        }
        let entries = directory.entries()?;
        sender::write_sender(directory, self.sender.as_deref())?;
        for entry in entries {
            let Some(name) = entry.path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            let name = name.to_owned();
            if names::check_log_name(&names::original_name(&name)).is_err() {
                continue;
            }
            let file = match open_existing(&directory.join(&name)) {
                Ok(file) => file,
                // What is no file has its name taken all the same; any other error must not make a
                // log look unknown.
                Err(error) if is_no_file(&error) => {
                    claim_name(&mut self.taken, &mut self.alike, &name);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let used = disk_use(&file)?;
            self.used += used;
            let taken = claim_name(&mut self.taken, &mut self.alike, &name);
            taken.used = used;
            match LogIdentity::read_identity(&name, &file) {
                Ok((identity, _)) => {
                    taken.identity = Some(identity);
                    self.names.insert(identity, name);
                }
                Err(OpenError::Io { source, .. }) => return Err(source),
                // One without a header has been begun and never finished.
                Err(_) => {
                    let NumberedName { original, number } = NumberedName::parse(&name);
                    self.alike.entry(original).or_default().begun.insert(number);
                }
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
        self.count_files()?;
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
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.taken.contains_key(name)
    }

    /// Notes whose key the sender has, beside the files.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn note_sender(&self) -> io::Result<()> {
        sender::write_sender(&self.directory, self.sender.as_deref())
    }

    /// A log was made, or is there, under this name.
    pub(super) fn add_file(&mut self, identity: LogIdentity, name: String) {
        claim_name(&mut self.taken, &mut self.alike, &name).identity = Some(identity);
        let NumberedName { original, number } = NumberedName::parse(&name);
        if let Some(alike) = self.alike.get_mut(&original) {
            alike.begun.remove(&number);
        }
        self.names.insert(identity, name);
    }

    /// A file takes `used` bytes on the disk now.
    pub(super) fn set_used(&mut self, name: &str, used: u64) {
        let taken = claim_name(&mut self.taken, &mut self.alike, name);
        let before = std::mem::replace(&mut taken.used, used);
        self.used = self.used.saturating_sub(before).saturating_add(used);
    }

    /// A file that there was is gone.
    pub(super) fn remove_file(&mut self, name: &str) {
        let Some(taken) = self.taken.remove(name) else { return };
        self.used = self.used.saturating_sub(taken.used);
        if let Some(identity) = taken.identity
            && self.names.get(&identity).is_some_and(|known| known == name)
        {
            self.names.remove(&identity);
        }
    }

    /// Name of a log at the collector: the one that it has, or else the one that it has on its
    /// host, unless that is another log's; then one with a number that no file has had. However
    /// many files there are, this looks at none of them.
    pub(super) fn assign_name(&self, identity: &LogIdentity, name: &str) -> String {
        if let Some(known) = self.names.get(identity) {
            return known.clone();
        }
        let NumberedName { original, number } = NumberedName::parse(name);
        let alike = self.alike.get(&original);
        let is_begun = alike.is_some_and(|alike| alike.begun.contains(&number));
        if is_begun || !self.has_name(name) {
            return name.to_owned();
        }
        let next = alike.map_or(NumberedName::FIRST, |alike| {
            let begun = alike.begun.range(NumberedName::FIRST..).next().copied();
            begun.unwrap_or(alike.largest.saturating_add(1).max(NumberedName::FIRST))
        });
        NumberedName { original, number: next }.file_name()
    }
}

/// What is known of the file `name`, whose name is taken from here on.
fn claim_name<'a>(
    taken: &'a mut HashMap<String, InventoryFile>,
    alike: &mut HashMap<String, NameVariants>,
    name: &str,
) -> &'a mut InventoryFile {
    if !taken.contains_key(name) {
        let NumberedName { original, number } = NumberedName::parse(name);
        let alike = alike.entry(original).or_default();
        alike.largest = alike.largest.max(number);
    }
    taken.entry(name.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn identity(pid: u32) -> LogIdentity {
        LogIdentity { boot: [1; 16], pid, ticks: 1, start: 1, name: 7 }
    }

    #[test]
    fn the_next_name_is_found_without_a_look_at_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let mut inventory = Inventory::open(&directory.path().into(), None).unwrap();
        // The directory is empty: a search by file would take every name for free.
        for pid in 0..10_000 {
            let name = inventory.assign_name(&identity(pid), "x.sclog");
            let number = u64::from(pid) + 1;
            let expected =
                if pid == 0 { "x.sclog".to_owned() } else { format!("x+{number}.sclog") };
            assert_eq!(name, expected);
            inventory.add_file(identity(pid), name);
        }
        assert_eq!(inventory.assign_name(&identity(17), "other.sclog"), "x+18.sclog");
        assert_eq!(inventory.assign_name(&identity(10_000), "x+3.sclog"), "x+10001.sclog");
        // A name that is free again is not given to another log, which could be taken for it.
        inventory.remove_file("x+10000.sclog");
        assert_eq!(inventory.assign_name(&identity(9_999), "x.sclog"), "x+10001.sclog");
        assert!(!inventory.has_name("x+10000.sclog") && inventory.files() == 9_999);
    }

    #[test]
    fn what_was_begun_is_gone_on_with_and_numbers_are_found_again() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["x.sclog", "x+2.sclog", "x+7.sclog", "y.sclog", "x+99999999999999.sclog"] {
            fs::write(directory.path().join(name), "no header").unwrap();
        }
        fs::create_dir(directory.path().join("z.sclog")).unwrap();
        let mut inventory = Inventory::open(&directory.path().into(), None).unwrap();
        assert_eq!(inventory.assign_name(&identity(1), "x.sclog"), "x.sclog");
        inventory.add_file(identity(1), "x.sclog".into());
        assert_eq!(inventory.assign_name(&identity(2), "x.sclog"), "x+2.sclog");
        inventory.add_file(identity(2), "x+2.sclog".into());
        assert_eq!(inventory.assign_name(&identity(3), "x.sclog"), "x+7.sclog");
        inventory.add_file(identity(3), "x+7.sclog".into());
        assert_eq!(inventory.assign_name(&identity(4), "x.sclog"), "x+8.sclog");
        assert_eq!(inventory.assign_name(&identity(5), "z.sclog"), "z+2.sclog");
    }
}
