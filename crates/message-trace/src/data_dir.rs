//! Data directory: the path of each file that a stage writes.

use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use data_files::{DirectoryEntry, FileKind};

use crate::{DataPath, PathError};

/// The name of the file with a host's clock hints.
const CLOCK_HINTS: &str = "clock-hints.csv";

/// The name of the file that says who sends a host's logs.
const SENDER: &str = "sender";

/// A data directory, by default `./sockcap.data`. Every stage finds there what the former one
/// wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir(DataPath);

impl DataDir {
    /// The directory at `path`, which need not exist yet.
    pub fn new(path: impl Into<DataPath>) -> DataDir {
        DataDir(path.into())
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        self.0.as_path()
    }

    /// Its path as one that is opened.
    pub fn root_path(&self) -> &DataPath {
        &self.0
    }

    /// Directory of the hosts' logs: `hosts/NAME/*.sclog`.
    pub fn hosts_dir(&self) -> DataPath {
        self.0.join("hosts")
    }

    /// Directory of traces that are messages already: `imports/NAME/messages.parquet` and
    /// `nodes.parquet`. Reconcile puts them together with what the logs give. In
    /// `DataDir::spans_dir` it has traces that are requests: `requests.parquet`, `steps.parquet`
    /// and `clocks.json`.
    pub fn imports_dir(&self) -> DataPath {
        self.0.join("imports")
    }

    /// The import of that name, which need not exist yet.
    pub fn import_named(&self, name: &str) -> ImportedTrace {
        ImportedTrace { name: name.to_owned(), directory: self.imports_dir().join(name) }
    }

    /// All imports of messages that are whole, sorted by name.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn imported_messages(&self) -> Result<Vec<ImportedTrace>, PathError> {
        self.imports_with(|import| {
            import.messages_path().is_file() && import.nodes_path().is_file()
        })
    }

    /// All imports of requests that are whole, sorted by name. They are in `DataDir::spans_dir`.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn imported_requests(&self) -> Result<Vec<ImportedTrace>, PathError> {
        self.imports_with(|import| {
            import.requests_path().is_file() && import.steps_path().is_file()
        })
    }

    fn imports_with(
        &self,
        is_whole: impl Fn(&ImportedTrace) -> bool,
    ) -> Result<Vec<ImportedTrace>, PathError> {
        let mut imports: Vec<ImportedTrace> = directory_entries(&self.imports_dir())?
            .into_iter()
            .filter(|entry| entry.kind == FileKind::Directory)
            .filter_map(|entry| {
                let name = entry.path.file_name()?.to_str()?;
                let name = Some(name).filter(|name| !name.starts_with('.'))?.to_owned();
                Some(ImportedTrace { name, directory: entry.path })
            })
            .filter(is_whole)
            .collect();
        imports.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(imports)
    }

    /// Time of the last change of the imports; `None` when there never were any.
    ///
    /// # Errors
    /// When their directory cannot be read.
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

    /// The messages, written by reconcile.
    pub fn messages_path(&self) -> DataPath {
        self.0.join("messages.parquet")
    }

    /// The nodes that the messages name.
    pub fn nodes_path(&self) -> DataPath {
        self.0.join("nodes.parquet")
    }

    /// Clocks of the hosts, as reconcile estimated them.
    pub fn clocks_path(&self) -> DataPath {
        self.0.join("clocks.json")
    }

    /// Summary of reconcile: counts, and what could not be matched, by cause.
    pub fn reconciliation_path(&self) -> DataPath {
        self.0.join("reconciliation.json")
    }

    /// Aliases: the user's names for addresses, hosts, commands and endpoints.
    pub fn aliases_path(&self) -> DataPath {
        self.0.join("aliases")
    }

    /// The causes of the messages, where their source tells them.
    pub fn causes_path(&self) -> DataPath {
        self.0.join("causes.parquet")
    }

    /// The links, written by analyze.
    pub fn links_path(&self) -> DataPath {
        self.0.join("links.parquet")
    }

    /// The path instances, written by analyze.
    pub fn paths_path(&self) -> DataPath {
        self.0.join("paths.parquet")
    }

    /// The path patterns, written by analyze.
    pub fn patterns_path(&self) -> DataPath {
        self.0.join("patterns.parquet")
    }

    /// The requests, in the form of request flows.
    pub fn requests_path(&self) -> DataPath {
        self.0.join("requests.parquet")
    }

    /// The steps of the requests.
    pub fn steps_path(&self) -> DataPath {
        self.0.join("steps.parquet")
    }

    /// The data directory of what tracers wrote down: requests by spans, and the messages, paths
    /// and patterns that are made of them. It lies apart from what was recorded, as both may be of
    /// the same requests.
    pub fn spans_dir(&self) -> DataDir {
        DataDir(self.0.join("spans"))
    }

    /// How much processor time was charged to the steps of the requests, where resources were
    /// recorded.
    pub fn charged_path(&self) -> DataPath {
        self.0.join("charged.json")
    }

    /// The options and totals of the last analysis.
    pub fn analysis_path(&self) -> DataPath {
        self.0.join("analysis.json")
    }

    /// The profile of contexts, where it takes long to make.
    pub fn contexts_path(&self) -> DataPath {
        self.0.join("contexts.json")
    }

    /// The HTML report, where no other place is named.
    pub fn html_path(&self) -> DataPath {
        self.0.join("report.html")
    }

    /// Directory of tables of events: `events/NAME.parquet`.
    pub fn events_dir(&self) -> DataPath {
        self.0.join("events")
    }

    /// The table of events of that name.
    pub fn event_table(&self, name: &str) -> DataPath {
        self.events_dir().join(format!("{name}.parquet"))
    }

    /// The events of what was recorded with resources, written by reconcile.
    pub fn own_events_path(&self) -> DataPath {
        self.event_table("sockcap")
    }

    /// The hand-offs between threads, written by reconcile: who let whom go on.
    pub fn handoffs_path(&self) -> DataPath {
        self.0.join("handoffs.parquet")
    }

    /// What messages say they do, written by reconcile where logs tell it.
    pub fn operations_path(&self) -> DataPath {
        self.0.join("operations.parquet")
    }

    /// All logs of all hosts, sorted by path. None where there is no `hosts` directory. What others
    /// put there and is no regular file is left out, see [`DataDir::skipped_files`].
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn log_paths(&self) -> Result<Vec<DataPath>, PathError> {
        Ok(self.host_files(is_log)?.files)
    }

    /// All files of switches of all hosts, which tell when threads had a processor; sorted by path.
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn switch_paths(&self) -> Result<Vec<DataPath>, PathError> {
        let is_switches = |path: &DataPath| path.extension().is_some_and(|it| it == "switches");
        Ok(self.host_files(is_switches)?.files)
    }

    /// Entries below the directory of the hosts that nothing reads: links, FIFOs and the like,
    /// which no recording makes, and directories that may not be read.
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn skipped_files(&self) -> Result<Vec<SkippedFile>, PathError> {
        Ok(self.host_files(|_| true)?.left_out)
    }

    /// The files in the directories of the hosts for which `is` holds, sorted by path.
    fn host_files(&self, is: impl Fn(&DataPath) -> bool) -> Result<HostFiles, PathError> {
        let mut found = HostFiles::default();
        for host in directory_entries(&self.hosts_dir())? {
            if host.kind != FileKind::Directory {
                found.skip_file(host.path, host.kind.to_string());
                continue;
            }
            // Whoever may make a directory here must not make all commands fail by it.
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
                } else if is(&path) {
                    found.files.push(path);
                }
            }
        }
        found.files.sort();
        Ok(found)
    }

    /// File of the timestamps that the host `host` exchanged with the collector
    /// ([`ClockExchange`](crate::ClockExchange)).
    pub fn clock_hints_path(&self, host: &str) -> DataPath {
        self.hosts_dir().join(host).join(CLOCK_HINTS)
    }

    /// File that says who sends the logs of the host `host` to the collector that gathers into this
    /// directory: the names that its key is for, a line each. There is none where nobody had to
    /// show a key, and where the host's programs were recorded.
    pub fn sender_path(&self, host: &str) -> DataPath {
        DataDir::sender_path_in(&self.hosts_dir().join(host))
    }

    /// File that says who sends the logs of the host whose directory this is.
    pub fn sender_path_in(directory: &DataPath) -> DataPath {
        directory.join(SENDER)
    }

    /// All clock hints that there are, sorted by path. The directory of each is named after the
    /// host.
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn all_clock_hints_paths(&self) -> Result<Vec<DataPath>, PathError> {
        let files = directory_entries(&self.hosts_dir())?
            .into_iter()
            .map(|host| host.path.join(CLOCK_HINTS));
        let mut files: Vec<DataPath> = files.filter(|path| path.is_file()).collect();
        files.sort();
        Ok(files)
    }

    /// Time of the last write of `path`; `None` when it is not there.
    pub fn modified_time(path: &DataPath) -> Option<SystemTime> {
        path.metadata().and_then(|metadata| metadata.modified()).ok()
    }
}

/// A trace that was imported, as messages or as requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedTrace {
    /// Its name.
    pub name: String,
    /// Directory of its tables.
    pub directory: DataPath,
}

impl ImportedTrace {
    /// Its messages.
    pub fn messages_path(&self) -> DataPath {
        self.directory.join("messages.parquet")
    }

    /// The nodes that they name.
    pub fn nodes_path(&self) -> DataPath {
        self.directory.join("nodes.parquet")
    }

    /// Its requests, where it is of spans.
    pub fn requests_path(&self) -> DataPath {
        self.directory.join("requests.parquet")
    }

    /// The steps of its requests.
    pub fn steps_path(&self) -> DataPath {
        self.directory.join("steps.parquet")
    }

    /// The clocks of its hosts.
    pub fn clocks_path(&self) -> DataPath {
        self.directory.join("clocks.json")
    }
}

/// The files of all hosts, and what lies among them that is none.
#[derive(Debug, Default)]
struct HostFiles {
    files: Vec<DataPath>,
    left_out: Vec<SkippedFile>,
}

/// What lies below the directory of the hosts and is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    /// Its path.
    pub path: DataPath,
    /// Reason: what it is, or why it cannot be read.
    pub why: String,
}

impl HostFiles {
    fn skip_file(&mut self, path: DataPath, why: String) {
        self.left_out.push(SkippedFile { path, why });
    }
}

/// Whether `path` is a log: by its name, or one made ahead (`*.spare`) that a process has begun.
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
