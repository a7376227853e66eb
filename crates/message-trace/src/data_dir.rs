//! Data directory: the path of each file that a stage writes.

use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use data_files::{Entry, FileKind};

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
    pub fn root(&self) -> &DataPath {
        &self.0
    }

    /// Directory of the hosts' logs: `hosts/NAME/*.sclog`.
    pub fn hosts(&self) -> DataPath {
        self.0.join("hosts")
    }

    /// Directory of traces that are messages already: `imports/NAME/messages.parquet` and
    /// `nodes.parquet`. Reconcile puts them together with what the logs give. In [`DataDir::spans`]
    /// it has traces that are requests: `requests.parquet`, `steps.parquet` and `clocks.json`.
    pub fn imports(&self) -> DataPath {
        self.0.join("imports")
    }

    /// The import of that name, which need not exist yet.
    pub fn import(&self, name: &str) -> Import {
        Import { name: name.to_owned(), directory: self.imports().join(name) }
    }

    /// All imports of messages that are whole, sorted by name.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn imported(&self) -> Result<Vec<Import>, PathError> {
        self.imports_with(|import| import.messages().is_file() && import.nodes().is_file())
    }

    /// All imports of requests that are whole, sorted by name. They are in [`DataDir::spans`].
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn imported_requests(&self) -> Result<Vec<Import>, PathError> {
        self.imports_with(|import| import.requests().is_file() && import.steps().is_file())
    }

    fn imports_with(&self, is_whole: impl Fn(&Import) -> bool) -> Result<Vec<Import>, PathError> {
        let mut imports: Vec<Import> = entries(&self.imports())?
            .into_iter()
            .filter(|entry| entry.kind == FileKind::Directory)
            .filter_map(|entry| {
                let name = entry.path.file_name()?.to_str()?;
                let name = Some(name).filter(|name| !name.starts_with('.'))?.to_owned();
                Some(Import { name, directory: entry.path })
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
    pub fn imports_changed(&self) -> Result<Option<SystemTime>, PathError> {
        let (messages, requests) = (self.imported()?, self.imported_requests()?);
        let of_messages = messages.iter().flat_map(|import| [import.messages(), import.nodes()]);
        let of_requests = requests.iter().flat_map(|import| [import.requests(), import.steps()]);
        let tables = of_messages.chain(of_requests);
        // Removing an import changes the directory's own time.
        Ok(tables.chain([self.imports()]).filter_map(|path| DataDir::written(&path)).max())
    }

    /// The messages, written by reconcile.
    pub fn messages(&self) -> DataPath {
        self.0.join("messages.parquet")
    }

    /// The nodes that the messages name.
    pub fn nodes(&self) -> DataPath {
        self.0.join("nodes.parquet")
    }

    /// Clocks of the hosts, as reconcile estimated them.
    pub fn clocks(&self) -> DataPath {
        self.0.join("clocks.json")
    }

    /// Summary of reconcile: counts, and what could not be matched, by cause.
    pub fn reconciliation(&self) -> DataPath {
        self.0.join("reconciliation.json")
    }

    /// Aliases: the user's names for addresses, hosts, commands and endpoints.
    pub fn aliases(&self) -> DataPath {
        self.0.join("aliases")
    }

    /// The causes of the messages, where their source tells them.
    pub fn causes(&self) -> DataPath {
        self.0.join("causes.parquet")
    }

    /// The links, written by analyze.
    pub fn links(&self) -> DataPath {
        self.0.join("links.parquet")
    }

    /// The path instances, written by analyze.
    pub fn paths(&self) -> DataPath {
        self.0.join("paths.parquet")
    }

    /// The path patterns, written by analyze.
    pub fn patterns(&self) -> DataPath {
        self.0.join("patterns.parquet")
    }

    /// The requests, in the form of request flows.
    pub fn requests(&self) -> DataPath {
        self.0.join("requests.parquet")
    }

    /// The steps of the requests.
    pub fn steps(&self) -> DataPath {
        self.0.join("steps.parquet")
    }

    /// The data directory of what tracers wrote down: requests by spans, and the messages, paths
    /// and patterns that are made of them. It lies apart from what was recorded, as both may be of
    /// the same requests.
    pub fn spans(&self) -> DataDir {
        DataDir(self.0.join("spans"))
    }

    /// How much processor time was charged to the steps of the requests, where resources were
    /// recorded.
    pub fn charged(&self) -> DataPath {
        self.0.join("charged.json")
    }

    /// The options and totals of the last analysis.
    pub fn analysis(&self) -> DataPath {
        self.0.join("analysis.json")
    }

    /// The profile of contexts, where it takes long to make.
    pub fn contexts(&self) -> DataPath {
        self.0.join("contexts.json")
    }

    /// The HTML report, where no other place is named.
    pub fn html(&self) -> DataPath {
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
    pub fn own_events(&self) -> DataPath {
        self.event_table("sockcap")
    }

    /// The hand-offs between threads, written by reconcile: who let whom go on.
    pub fn handoffs(&self) -> DataPath {
        self.0.join("handoffs.parquet")
    }

    /// What messages say they do, written by reconcile where logs tell it.
    pub fn operations(&self) -> DataPath {
        self.0.join("operations.parquet")
    }

    /// All logs of all hosts, sorted by path. None where there is no `hosts` directory. What others
    /// put there and is no regular file is left out, see [`DataDir::left_out`].
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn logs(&self) -> Result<Vec<DataPath>, PathError> {
        Ok(self.of_hosts(is_log)?.files)
    }

    /// All files of switches of all hosts, which tell when threads had a processor; sorted by path.
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn switches(&self) -> Result<Vec<DataPath>, PathError> {
        let is_switches = |path: &DataPath| path.extension().is_some_and(|it| it == "switches");
        Ok(self.of_hosts(is_switches)?.files)
    }

    /// Entries below the directory of the hosts that nothing reads: links, FIFOs and the like,
    /// which no recording makes, and directories that may not be read.
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn left_out(&self) -> Result<Vec<LeftOut>, PathError> {
        Ok(self.of_hosts(|_| true)?.left_out)
    }

    /// The files in the directories of the hosts for which `is` holds, sorted by path.
    fn of_hosts(&self, is: impl Fn(&DataPath) -> bool) -> Result<HostFiles, PathError> {
        let mut found = HostFiles::default();
        for host in entries(&self.hosts())? {
            if host.kind != FileKind::Directory {
                found.leave_out(host.path, host.kind.to_string());
                continue;
            }
            // Whoever may make a directory here must not make all commands fail by it.
            let entries = match host.path.entries() {
                Ok(entries) => entries,
                Err(error) => {
                    found.leave_out(host.path, error.to_string());
                    continue;
                }
            };
            for Entry { path, kind } in entries {
                if kind != FileKind::Regular {
                    found.leave_out(path, kind.to_string());
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
    pub fn clock_hints(&self, host: &str) -> DataPath {
        self.hosts().join(host).join(CLOCK_HINTS)
    }

    /// File that says who sends the logs of the host `host` to the collector that gathers into this
    /// directory: the names that its key is for, a line each. There is none where nobody had to
    /// show a key, and where the host's programs were recorded.
    pub fn sender(&self, host: &str) -> DataPath {
        DataDir::sender_of(&self.hosts().join(host))
    }

    /// File that says who sends the logs of the host whose directory this is.
    pub fn sender_of(directory: &DataPath) -> DataPath {
        directory.join(SENDER)
    }

    /// All clock hints that there are, sorted by path. The directory of each is named after the
    /// host.
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn all_clock_hints(&self) -> Result<Vec<DataPath>, PathError> {
        let files = entries(&self.hosts())?.into_iter().map(|host| host.path.join(CLOCK_HINTS));
        let mut files: Vec<DataPath> = files.filter(|path| path.is_file()).collect();
        files.sort();
        Ok(files)
    }

    /// Time of the last write of `path`; `None` when it is not there.
    pub fn written(path: &DataPath) -> Option<SystemTime> {
        path.metadata().and_then(|metadata| metadata.modified()).ok()
    }
}

/// A trace that was imported, as messages or as requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name.
    pub name: String,
    /// Directory of its tables.
    pub directory: DataPath,
}

impl Import {
    /// Its messages.
    pub fn messages(&self) -> DataPath {
        self.directory.join("messages.parquet")
    }

    /// The nodes that they name.
    pub fn nodes(&self) -> DataPath {
        self.directory.join("nodes.parquet")
    }

    /// Its requests, where it is of spans.
    pub fn requests(&self) -> DataPath {
        self.directory.join("requests.parquet")
    }

    /// The steps of its requests.
    pub fn steps(&self) -> DataPath {
        self.directory.join("steps.parquet")
    }

    /// The clocks of its hosts.
    pub fn clocks(&self) -> DataPath {
        self.directory.join("clocks.json")
    }
}

/// The files of all hosts, and what lies among them that is none.
#[derive(Debug, Default)]
struct HostFiles {
    files: Vec<DataPath>,
    left_out: Vec<LeftOut>,
}

/// What lies below the directory of the hosts and is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path.
    pub path: DataPath,
    /// Reason: what it is, or why it cannot be read.
    pub why: String,
}

impl HostFiles {
    fn leave_out(&mut self, path: DataPath, why: String) {
        self.left_out.push(LeftOut { path, why });
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

fn entries(directory: &DataPath) -> Result<Vec<Entry>, PathError> {
    directory.entries().map_err(|error| PathError::io(directory, error))
}
