//! Data directory: the path of each file that a stage writes.

use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use data_files::{DirectoryEntry, FileKind};

use crate::{DataPath, PathError};

/// Name of the file with a host's clock hints.
const CLOCK_HINTS: &str = "clock-hints.csv";

/// Name of the file with the sender of a host's logs.
const SENDER: &str = "sender";

/// A data directory, by default `./sockcap.data`. Every stage finds the output of the previous one
/// there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir(DataPath);

impl DataDir {
    /// Creates the directory at `path`, which need not exist yet.
    pub fn new(path: impl Into<DataPath>) -> DataDir {
        DataDir(path.into())
    }

    /// Returns the path of the data directory, for messages.
    pub fn path(&self) -> &Path {
        self.0.as_path()
    }

    /// Returns the path of the data directory, for opening files in it.
    pub fn root_path(&self) -> &DataPath {
        &self.0
    }

    /// Returns the directory of the hosts' logs: `hosts/NAME/*.sclog`.
    pub fn hosts_dir(&self) -> DataPath {
        self.0.join("hosts")
    }

    /// Returns the directory of imported messages: `imports/NAME/messages.parquet` and
    /// `nodes.parquet`. Reconcile merges them with the messages of the logs. In
    /// `DataDir::spans_dir` it contains imported requests: `requests.parquet`, `steps.parquet` and
    /// `clocks.json`.
    pub fn imports_dir(&self) -> DataPath {
        self.0.join("imports")
    }

    /// Returns the import with this name, which need not exist yet.
    pub fn import_named(&self, name: &str) -> ImportedTrace {
        ImportedTrace { name: name.to_owned(), directory: self.imports_dir().join(name) }
    }

    /// Returns all complete imports of messages, sorted by name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn imported_messages(&self) -> Result<Vec<ImportedTrace>, PathError> {
        self.imports_with(|import| {
            import.messages_path().is_file() && import.nodes_path().is_file()
        })
    }

    /// Returns all complete imports of requests, sorted by name. They are in `DataDir::spans_dir`.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn imported_requests(&self) -> Result<Vec<ImportedTrace>, PathError> {
        self.imports_with(|import| {
            import.requests_path().is_file() && import.steps_path().is_file()
        })
    }

    fn imports_with(
        &self,
        is_complete: impl Fn(&ImportedTrace) -> bool,
    ) -> Result<Vec<ImportedTrace>, PathError> {
        let mut imports: Vec<ImportedTrace> = directory_entries(&self.imports_dir())?
            .into_iter()
            .filter(|entry| entry.kind == FileKind::Directory)
            .filter_map(|entry| {
                let name = entry.path.file_name()?.to_str()?;
                let name = Some(name).filter(|name| !name.starts_with('.'))?.to_owned();
                Some(ImportedTrace { name, directory: entry.path })
            })
            .filter(is_complete)
            .collect();
        imports.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(imports)
    }

    /// Returns the time of the last change of the imports; `None` if there never were any.
    ///
    /// # Errors
    /// If their directory cannot be read.
    pub fn imports_modified(&self) -> Result<Option<SystemTime>, PathError> {
        let (messages, requests) = (self.imported_messages()?, self.imported_requests()?);
        let of_messages =
            messages.iter().flat_map(|import| [import.messages_path(), import.nodes_path()]);
        let of_requests =
            requests.iter().flat_map(|import| [import.requests_path(), import.steps_path()]);
        let tables = of_messages.chain(of_requests);
        // Removing an import changes the directory's own time.
        Ok(tables
            .chain([self.imports_dir()])
            .filter_map(|path| DataDir::modified_time(&path))
            .max())
    }

    /// Returns the path of the messages, written by reconcile.
    pub fn messages_path(&self) -> DataPath {
        self.0.join("messages.parquet")
    }

    /// Returns the path of the nodes of the messages.
    pub fn nodes_path(&self) -> DataPath {
        self.0.join("nodes.parquet")
    }

    /// Returns the path of the clocks of the hosts, as reconcile estimated them.
    pub fn clocks_path(&self) -> DataPath {
        self.0.join("clocks.json")
    }

    /// Returns the path of the summary of reconcile: counts, and unmatched events by cause.
    pub fn reconciliation_path(&self) -> DataPath {
        self.0.join("reconciliation.json")
    }

    /// Returns the path of the aliases: the user's names for addresses, hosts, commands and
    /// endpoints.
    pub fn aliases_path(&self) -> DataPath {
        self.0.join("aliases")
    }

    /// Returns the path of the causes of the messages, if their source records them.
    pub fn causes_path(&self) -> DataPath {
        self.0.join("causes.parquet")
    }

    /// Returns the path of the links, written by analyze.
    pub fn links_path(&self) -> DataPath {
        self.0.join("links.parquet")
    }

    /// Returns the path of the path instances, written by analyze.
    pub fn paths_path(&self) -> DataPath {
        self.0.join("paths.parquet")
    }

    /// Returns the path of the path patterns, written by analyze.
    pub fn patterns_path(&self) -> DataPath {
        self.0.join("patterns.parquet")
    }

    /// Returns the path of the requests, in the form of request flows.
    pub fn requests_path(&self) -> DataPath {
        self.0.join("requests.parquet")
    }

    /// Returns the path of the steps of the requests.
    pub fn steps_path(&self) -> DataPath {
        self.0.join("steps.parquet")
    }

    /// Returns the data directory of tracers' spans: requests by spans, and the messages, paths and
    /// patterns made from them. It is separate from recorded data, since both may be of the same
    /// requests.
    pub fn spans_dir(&self) -> DataDir {
        DataDir(self.0.join("spans"))
    }

    /// Returns the path of the processor time charged to the steps of the requests, if resources
    /// were recorded.
    pub fn charged_path(&self) -> DataPath {
        self.0.join("charged.json")
    }

    /// Returns the path of the options and totals of the last analysis.
    pub fn analysis_path(&self) -> DataPath {
        self.0.join("analysis.json")
    }

    /// Returns the path of the profile of contexts, if it takes long to make.
    pub fn contexts_path(&self) -> DataPath {
        self.0.join("contexts.json")
    }

    /// Returns the path of the HTML report, unless another one is given.
    pub fn html_path(&self) -> DataPath {
        self.0.join("report.html")
    }

    /// Returns the directory of tables of events: `events/NAME.parquet`.
    pub fn events_dir(&self) -> DataPath {
        self.0.join("events")
    }

    /// Returns the path of the table of events with this name.
    pub fn event_table(&self, name: &str) -> DataPath {
        self.events_dir().join(format!("{name}.parquet"))
    }

    /// Returns the path of the events that were recorded with resources, written by reconcile.
    pub fn own_events_path(&self) -> DataPath {
        self.event_table("sockcap")
    }

    /// Returns the path of the hand-offs between threads, written by reconcile: which thread woke
    /// which.
    pub fn handoffs_path(&self) -> DataPath {
        self.0.join("handoffs.parquet")
    }

    /// Returns the path of the operations of messages, written by reconcile if logs contain them.
    pub fn operations_path(&self) -> DataPath {
        self.0.join("operations.parquet")
    }

    /// Returns the path of the rare words of messages, written by reconcile if logs contain them.
    pub fn words_path(&self) -> DataPath {
        self.0.join("words.parquet")
    }

    /// Returns all logs of all hosts, sorted by path. Empty without a `hosts` directory. Entries
    /// that are no regular files are skipped, see [`DataDir::skipped_files`].
    ///
    /// # Errors
    /// If the directory of the hosts cannot be read.
    pub fn log_paths(&self) -> Result<Vec<DataPath>, PathError> {
        Ok(self.host_files(is_log)?.files)
    }

    /// Returns the context-switch files of all hosts, which record when threads had a processor;
    /// sorted by path.
    ///
    /// # Errors
    /// If the directory of the hosts cannot be read.
    pub fn switch_paths(&self) -> Result<Vec<DataPath>, PathError> {
        let is_switches = |path: &DataPath| path.extension().is_some_and(|it| it == "switches");
        Ok(self.host_files(is_switches)?.files)
    }

    /// Returns entries below the directory of the hosts that are never read: links, FIFOs and the
    /// like, which no recording makes, and directories without read permission.
    ///
    /// # Errors
    /// If the directory of the hosts cannot be read.
    pub fn skipped_files(&self) -> Result<Vec<SkippedFile>, PathError> {
        Ok(self.host_files(|_| true)?.left_out)
    }

    /// Returns the files in the directories of the hosts for which `is_wanted` holds, sorted by
    /// path, and the skipped entries.
    fn host_files(&self, is_wanted: impl Fn(&DataPath) -> bool) -> Result<HostFiles, PathError> {
        let mut found = HostFiles::default();
        for host in directory_entries(&self.hosts_dir())? {
            if host.kind != FileKind::Directory {
                found.skip_file(host.path, host.kind.to_string());
                continue;
            }
            // A user who may make a directory here must not be able to make all commands fail with
            // an unreadable one.
            let entries = match host.path.entries() {
                Ok(entries) => entries,
                Err(error) => {
                    found.skip_file(host.path, error.to_string());
                    continue;
                }
            };
            for DirectoryEntry { path, kind } in entries {
                if kind != FileKind::Regular {
                    found.skip_file(path, kind.to_string());
                } else if is_wanted(&path) {
                    found.files.push(path);
                }
            }
        }
        found.files.sort();
        Ok(found)
    }

    /// Returns the path of the timestamps that the host `host` exchanged with the collector
    /// ([`ClockExchange`](crate::ClockExchange)).
    pub fn clock_hints_path(&self, host: &str) -> DataPath {
        self.hosts_dir().join(host).join(CLOCK_HINTS)
    }

    /// Returns the path of the file that identifies the sender of the logs of the host `host`: the
    /// names in the key shown to the collector of this directory, one per line. It does not exist
    /// if no key was required, or if the host's programs were recorded here.
    pub fn sender_path(&self, host: &str) -> DataPath {
        DataDir::sender_path_in(&self.hosts_dir().join(host))
    }

    /// Returns the path of the file that identifies the sender of the logs in a host's directory.
    pub fn sender_path_in(directory: &DataPath) -> DataPath {
        directory.join(SENDER)
    }

    /// Returns all existing clock hints, sorted by path. The directory of each is named after the
    /// host.
    ///
    /// # Errors
    /// If the directory of the hosts cannot be read.
    pub fn all_clock_hints_paths(&self) -> Result<Vec<DataPath>, PathError> {
        let files = directory_entries(&self.hosts_dir())?
            .into_iter()
            .map(|host| host.path.join(CLOCK_HINTS));
        let mut files: Vec<DataPath> = files.filter(|path| path.is_file()).collect();
        files.sort();
        Ok(files)
    }

    /// Returns the time of the last write of `path`; `None` if it does not exist.
    pub fn modified_time(path: &DataPath) -> Option<SystemTime> {
        path.metadata().and_then(|metadata| metadata.modified()).ok()
    }
}

/// A trace that was imported, as messages or as requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedTrace {
    /// Name of the import.
    pub name: String,
    /// Directory of the import's tables.
    pub directory: DataPath,
}

impl ImportedTrace {
    /// Returns the path of the import's messages.
    pub fn messages_path(&self) -> DataPath {
        self.directory.join("messages.parquet")
    }

    /// Returns the path of the nodes of the import's messages.
    pub fn nodes_path(&self) -> DataPath {
        self.directory.join("nodes.parquet")
    }

    /// Returns the path of the import's requests, if it consists of spans.
    pub fn requests_path(&self) -> DataPath {
        self.directory.join("requests.parquet")
    }

    /// Returns the path of the steps of the import's requests.
    pub fn steps_path(&self) -> DataPath {
        self.directory.join("steps.parquet")
    }

    /// Returns the path of the clocks of the import's hosts.
    pub fn clocks_path(&self) -> DataPath {
        self.directory.join("clocks.json")
    }
}

/// The files of all hosts, and the skipped entries among them.
#[derive(Debug, Default)]
struct HostFiles {
    files: Vec<DataPath>,
    left_out: Vec<SkippedFile>,
}

/// An entry below the directory of the hosts that is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// Path of the entry.
    pub path: DataPath,
    /// Reason why the entry is skipped: the kind of entry, or why it cannot be read.
    pub why: String,
}

impl HostFiles {
    fn skip_file(&mut self, path: DataPath, why: String) {
        self.left_out.push(SkippedFile { path, why });
    }
}

/// Returns whether `path` is a log: by its name, or a preallocated one (`*.spare`) that a process
/// has begun.
fn is_log(path: &DataPath) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("sclog") => true,
        Some("spare") => {
            let mut first = [0];
            path.open().and_then(|mut file| file.read_exact(&mut first)).is_ok() && first != [0]
        }
        _ => false,
    }
}

fn directory_entries(directory: &DataPath) -> Result<Vec<DirectoryEntry>, PathError> {
    directory.entries().map_err(|error| PathError::io(directory, error))
}
