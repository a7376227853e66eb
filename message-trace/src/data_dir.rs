//! Data directory: the path of each file that a stage writes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::PathError;

/// The name of the file with a host's clock hints.
const CLOCK_HINTS: &str = "clock-hints.csv";

/// The name of the file that says who sends a host's logs.
const SENDER: &str = "sender";

/// A data directory, by default `./sockcap.data`. Every stage finds there what the former one
/// wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// The directory at `path`, which need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> DataDir {
        DataDir(path.into())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Directory of the hosts' logs: `hosts/NAME/*.sclog`.
    pub fn hosts(&self) -> PathBuf {
        self.0.join("hosts")
    }

    /// Directory of traces that are messages already: `imports/NAME/messages.parquet` and
    /// `nodes.parquet`. Reconcile puts them together with what the logs give. In [`DataDir::spans`]
    /// it has traces that are requests: `requests.parquet`, `steps.parquet` and `clocks.json`.
    pub fn imports(&self) -> PathBuf {
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
            .filter_map(|directory| {
                let name = directory
                    .file_name()?
                    .to_str()
                    .filter(|name| !name.starts_with('.'))?
                    .to_owned();
                Some(Import { name, directory })
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
    pub fn messages(&self) -> PathBuf {
        self.0.join("messages.parquet")
    }

    /// The nodes that the messages name.
    pub fn nodes(&self) -> PathBuf {
        self.0.join("nodes.parquet")
    }

    /// Clocks of the hosts, as reconcile estimated them.
    pub fn clocks(&self) -> PathBuf {
        self.0.join("clocks.json")
    }

    /// Summary of reconcile: counts, and what could not be matched, by cause.
    pub fn reconciliation(&self) -> PathBuf {
        self.0.join("reconciliation.json")
    }

    /// Aliases: the user's names for addresses, hosts, commands and endpoints.
    pub fn aliases(&self) -> PathBuf {
        self.0.join("aliases")
    }

    /// The causes of the messages, where their source tells them.
    pub fn causes(&self) -> PathBuf {
        self.0.join("causes.parquet")
    }

    /// The links, written by analyze.
    pub fn links(&self) -> PathBuf {
        self.0.join("links.parquet")
    }

    /// The path instances, written by analyze.
    pub fn paths(&self) -> PathBuf {
        self.0.join("paths.parquet")
    }

    /// The path patterns, written by analyze.
    pub fn patterns(&self) -> PathBuf {
        self.0.join("patterns.parquet")
    }

    /// The requests, in the form of request flows.
    pub fn requests(&self) -> PathBuf {
        self.0.join("requests.parquet")
    }

    /// The steps of the requests.
    pub fn steps(&self) -> PathBuf {
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
    pub fn charged(&self) -> PathBuf {
        self.0.join("charged.json")
    }

    /// The options and totals of the last analysis.
    pub fn analysis(&self) -> PathBuf {
        self.0.join("analysis.json")
    }

    /// The profile of contexts, where it takes long to make.
    pub fn contexts(&self) -> PathBuf {
        self.0.join("contexts.json")
    }

    /// The HTML report, where no other place is named.
    pub fn html(&self) -> PathBuf {
        self.0.join("report.html")
    }

    /// Directory of tables of events: `events/NAME.parquet`.
    pub fn events_dir(&self) -> PathBuf {
        self.0.join("events")
    }

    /// The table of events of that name.
    pub fn event_table(&self, name: &str) -> PathBuf {
        self.events_dir().join(format!("{name}.parquet"))
    }

    /// The events of what was recorded with resources, written by reconcile.
    pub fn own_events(&self) -> PathBuf {
        self.event_table("sockcap")
    }

    /// The hand-offs between threads, written by reconcile: who let whom go on.
    pub fn handoffs(&self) -> PathBuf {
        self.0.join("handoffs.parquet")
    }

    /// What messages say they do, written by reconcile where logs tell it.
    pub fn operations(&self) -> PathBuf {
        self.0.join("operations.parquet")
    }

    /// All logs of all hosts, sorted by path. None where there is no `hosts` directory.
    ///
    /// # Errors
    /// When a directory cannot be read.
    pub fn logs(&self) -> Result<Vec<PathBuf>, PathError> {
        self.of_hosts(is_log)
    }

    /// All files of switches of all hosts, which tell when threads had a processor; sorted by path.
    ///
    /// # Errors
    /// When a directory cannot be read.
    pub fn switches(&self) -> Result<Vec<PathBuf>, PathError> {
        self.of_hosts(|path| path.extension().is_some_and(|extension| extension == "switches"))
    }

    /// The files in the directories of the hosts for which `is` holds, sorted by path.
    fn of_hosts(&self, is: impl Fn(&Path) -> bool) -> Result<Vec<PathBuf>, PathError> {
        let mut files = Vec::new();
        for host in entries(&self.hosts())? {
            if host.is_dir() {
                files.extend(entries(&host)?.into_iter().filter(|path| is(path)));
            }
        }
        files.sort();
        Ok(files)
    }

    /// File of the timestamps that the host `host` exchanged with the collector
    /// ([`ClockExchange`](crate::ClockExchange)).
    pub fn clock_hints(&self, host: &str) -> PathBuf {
        self.hosts().join(host).join(CLOCK_HINTS)
    }

    /// File that says who sends the logs of the host `host` to the collector that gathers into this
    /// directory: the names that its key is for, a line each. There is none where nobody had to
    /// show a key, and where the host's programs were recorded.
    pub fn sender(&self, host: &str) -> PathBuf {
        DataDir::sender_of(&self.hosts().join(host))
    }

    /// File that says who sends the logs of the host whose directory this is.
    pub fn sender_of(directory: &Path) -> PathBuf {
        directory.join(SENDER)
    }

    /// All clock hints that there are, sorted by path. The directory of each is named after the
    /// host.
    ///
    /// # Errors
    /// When the directory of the hosts cannot be read.
    pub fn all_clock_hints(&self) -> Result<Vec<PathBuf>, PathError> {
        let files = entries(&self.hosts())?.into_iter().map(|host| host.join(CLOCK_HINTS));
        let mut files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
        files.sort();
        Ok(files)
    }

    /// Time of the last write of `path`; `None` when it is not there.
    pub fn written(path: &Path) -> Option<SystemTime> {
        path.metadata().and_then(|metadata| metadata.modified()).ok()
    }
}

/// A trace that was imported, as messages or as requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// Its name.
    pub name: String,
    /// Directory of its tables.
    pub directory: PathBuf,
}

impl Import {
    /// Its messages.
    pub fn messages(&self) -> PathBuf {
        self.directory.join("messages.parquet")
    }

    /// The nodes that they name.
    pub fn nodes(&self) -> PathBuf {
        self.directory.join("nodes.parquet")
    }

    /// Its requests, where it is of spans.
    pub fn requests(&self) -> PathBuf {
        self.directory.join("requests.parquet")
    }

    /// The steps of its requests.
    pub fn steps(&self) -> PathBuf {
        self.directory.join("steps.parquet")
    }

    /// The clocks of its hosts.
    pub fn clocks(&self) -> PathBuf {
        self.directory.join("clocks.json")
    }
}

/// Whether `path` is a log: by its name, or one made ahead (`*.spare`) that a process has begun.
fn is_log(path: &Path) -> bool {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("sclog") => true,
        Some("spare") => {
            let mut first = [0];
            File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok()
                && first != [0]
        }
        _ => false,
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, PathError> {
    let read = match std::fs::read_dir(directory) {
        Ok(read) => read,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(PathError::io(directory, error)),
    };
    read.map(|entry| {
        entry.map(|entry| entry.path()).map_err(|error| PathError::io(directory, error))
    })
    .collect()
}
