//! Inventory of a host's files at the collector: the name of each log, and the disk space that it
//! uses.
//!
//! Files may be removed at any time, for example by an operator who needs space; then the remaining
//! files are counted again.

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
    /// Names that the sender's key is for, if a key was required.
    sender: Option<Vec<String>>,
    /// Name of each log at the collector.
    names: HashMap<LogIdentity, String>,
    /// All names, with the state of each file.
    taken: HashMap<String, InventoryFile>,
    /// Name variants at the collector, by the file's name on the host.
    variants: HashMap<String, NameVariants>,
    /// Disk space of the files when last counted, in bytes.
    used: u64,
}

/// State of a file of the inventory.
#[derive(Debug, Default)]
struct InventoryFile {
    /// Bytes that the file used on the disk when last counted.
    used: u64,
    /// The log in the file, once it has one.
    identity: Option<LogIdentity>,
}

/// Numbers of the files at the collector that have one name on the host.
#[derive(Debug, Default)]
struct NameVariants {
    /// The largest number in use.
    largest: u64,
    /// Numbers of unfinished files without a header, which are continued.
    begun: BTreeSet<u64>,
}

impl Inventory {
    /// Counts the logs in `directory`, which may not exist yet.
    ///
    /// # Errors
    /// Fails if the directory cannot be read or the sender cannot be recorded.
    pub(super) fn open(directory: &DataPath, sender: Option<Vec<String>>) -> io::Result<Inventory> {
        let mut inventory = Inventory {
            directory: directory.to_owned(),
            sender,
            names: HashMap::new(),
            taken: HashMap::new(),
            variants: HashMap::new(),
            used: 0,
        };
        inventory.count_files()?;
        Ok(inventory)
    }

    /// Counts the existing logs.
    fn count_files(&mut self) -> io::Result<()> {
        (self.names, self.taken, self.variants, self.used) = Default::default();
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
                // The name of an entry that is not a file is taken, too; any other error must not
                // make a log look unknown.
                Err(error) if is_no_file(&error) => {
                    claim_name(&mut self.taken, &mut self.variants, &name);
                    continue;
                }
                Err(error) => return Err(error),
            };
            let used = disk_use(&file)?;
            self.used += used;
            let taken = claim_name(&mut self.taken, &mut self.variants, &name);
            taken.used = used;
            match LogIdentity::read_identity(&name, &file) {
                Ok((identity, _)) => {
                    taken.identity = Some(identity);
                    self.names.insert(identity, name);
                }
                Err(OpenError::Io { source, .. }) => return Err(source),
                // A file without a header was begun and never finished.
                Err(_) => {
                    let NumberedName { original, number } = NumberedName::parse(&name);
                    self.variants.entry(original).or_default().begun.insert(number);
                }
            }
        }
        // Entries that another collector did not sync become durable here.
        directory.sync_directory()
    }

    /// Counts the files again. Returns whether a known log is gone.
    ///
    /// # Errors
    /// Fails as [`Inventory::open`] does.
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

    /// Bytes that the files used on the disk when last counted.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Whether a file of this name exists.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.taken.contains_key(name)
    }

    /// Records the sender's key next to the files.
    ///
    /// # Errors
    /// Fails if the record of the key cannot be written.
    pub(super) fn note_sender(&self) -> io::Result<()> {
        sender::write_sender(&self.directory, self.sender.as_deref())
    }

    /// Adds a log that was created or found under this name.
    pub(super) fn add_file(&mut self, identity: LogIdentity, name: String) {
        claim_name(&mut self.taken, &mut self.variants, &name).identity = Some(identity);
        let NumberedName { original, number } = NumberedName::parse(&name);
        if let Some(variants) = self.variants.get_mut(&original) {
            variants.begun.remove(&number);
        }
        self.names.insert(identity, name);
    }

    /// Sets the disk space of a file.
    pub(super) fn set_used(&mut self, name: &str, used: u64) {
        let taken = claim_name(&mut self.taken, &mut self.variants, name);
        let before = std::mem::replace(&mut taken.used, used);
        self.used = self.used.saturating_sub(before).saturating_add(used);
    }

    /// Removes a file from the inventory that no longer exists.
    pub(super) fn remove_file(&mut self, name: &str) {
        let Some(taken) = self.taken.remove(name) else { return };
        self.used = self.used.saturating_sub(taken.used);
        if let Some(identity) = taken.identity
            && self.names.get(&identity).is_some_and(|known| known == name)
        {
            self.names.remove(&identity);
        }
    }

    /// Returns the name of a log at the collector: the name that it already has, or else its name
    /// on the host unless another log has it, or else that name with a number that was never used.
    /// The cost does not depend on the number of files.
    pub(super) fn assign_name(&self, identity: &LogIdentity, name: &str) -> String {
        if let Some(known) = self.names.get(identity) {
            return known.clone();
        }
        let NumberedName { original, number } = NumberedName::parse(name);
        let variants = self.variants.get(&original);
        let is_begun = variants.is_some_and(|variants| variants.begun.contains(&number));
        if is_begun || !self.has_name(name) {
            return name.to_owned();
        }
        let next = variants.map_or(NumberedName::FIRST_NUMBER, |variants| {
            let begun = variants.begun.range(NumberedName::FIRST_NUMBER..).next().copied();
            begun.unwrap_or(variants.largest.saturating_add(1).max(NumberedName::FIRST_NUMBER))
        });
        NumberedName { original, number: next }.file_name()
    }
}

/// Returns the state of the file `name`, and marks the name as taken.
fn claim_name<'a>(
    taken: &'a mut HashMap<String, InventoryFile>,
    variants: &mut HashMap<String, NameVariants>,
    name: &str,
) -> &'a mut InventoryFile {
    if !taken.contains_key(name) {
        let NumberedName { original, number } = NumberedName::parse(name);
        let variants = variants.entry(original).or_default();
        variants.largest = variants.largest.max(number);
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
    fn the_next_name_is_found_without_reading_the_directory() {
        let directory = tempfile::tempdir().unwrap();
        let mut inventory = Inventory::open(&directory.path().into(), None).unwrap();
        // The directory is empty, so looking for files would find every name free.
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
        // A name that is free again is not given to another log, which could be confused with the
        // removed one.
        inventory.remove_file("x+10000.sclog");
        assert_eq!(inventory.assign_name(&identity(9_999), "x.sclog"), "x+10001.sclog");
        assert!(!inventory.has_name("x+10000.sclog") && inventory.files() == 9_999);
    }

    #[test]
    fn unfinished_files_continue_and_numbers_are_restored() {
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
