//! Merges all imports of requests. A single one is not written again: both tables are linked.

use std::io;

use clocks::ClockModel;
use message_trace::{DataDir, DataPath, ImportedTrace, PathError, Progress};

use crate::request::Request;
use crate::tables::{ColumnSelection, RequestTables, RequestWriter};
use out_of_core::{NameId, NameInterner};

/// Merges all imports of requests in `data`: `DataDir::requests_path`, [`DataDir::steps_path`] and
/// `DataDir::clocks_path`.
///
/// # Errors
/// If a table cannot be read, or a file cannot be written.
pub fn merge_imports(data: &DataDir, progress: &dyn Progress) -> Result<(), PathError> {
    let imports = data.imported_requests()?;
    // The presence of the tables shows that the merge is complete, so they are written last.
    merge_clocks(&imports, &data.clocks_path())?;
    if let [only] = &imports[..] {
        link_file(&only.requests_path(), &data.requests_path())?;
        link_file(&only.steps_path(), &data.steps_path())?;
    } else {
        let mut sources = imports.iter().map(ImportCursor::open).collect::<Result<Vec<_>, _>>()?;
        let all = sources.iter().map(|source| source.tables.counts().0).sum();
        progress.begin_step("merging imports", all);
        merge_requests(&mut sources, &data.requests_path(), &data.steps_path(), progress)?;
    }
    Ok(())
}

/// An import that is read request by request.
struct ImportCursor {
    tables: RequestTables,
    next_group: usize,
    /// The names of the current group.
    names: NameInterner,
    /// The number of each of these names among the names of all imports; empty until needed.
    numbers: Vec<NameId>,
    /// The requests of the current group after `next`.
    requests: std::vec::IntoIter<Request>,
    /// The next request; `None` after the last one.
    next: Option<Request>,
}

impl ImportCursor {
    fn open(import: &ImportedTrace) -> Result<ImportCursor, PathError> {
        let mut source = ImportCursor {
            tables: RequestTables::open(
                import.requests_path(),
                import.steps_path(),
                ColumnSelection::ALL,
            )?,
            next_group: 0,
            names: NameInterner::default(),
            numbers: Vec::new(),
            requests: Vec::new().into_iter(),
            next: None,
        };
        source.advance()?;
        Ok(source)
    }

    fn next_begin(&self) -> Option<i64> {
        self.next.as_ref().map(|request| request.begin().unwrap_or(i64::MIN))
    }

    /// Reads the next request.
    fn advance(&mut self) -> Result<(), PathError> {
        loop {
            self.next = self.requests.next();
            if self.next.is_some() || self.next_group == self.tables.group_count() {
                return Ok(());
            }
            let (names, requests) = self.tables.read_group(self.next_group)?;
            self.next_group += 1;
            (self.names, self.requests) = (names, requests.into_iter());
            self.numbers.clear();
        }
    }

    /// Takes the next request, with numbers of `names`.
    fn take_request(&mut self, names: &mut NameInterner) -> Result<Option<Request>, PathError> {
        if self.numbers.is_empty() {
            self.numbers.extend(self.names.iter().map(|text| names.intern(text)));
        }
        let taken = self.next.take().map(|mut request| {
            request.map_names(|name| self.numbers.get(name.index()).copied().unwrap_or_default());
            request
        });
        self.advance()?;
        Ok(taken)
    }
}

/// Writes the requests of all `sources` in the order of their begins. Of requests with equal
/// begins, the one from the first import comes first.
fn merge_requests(
    sources: &mut [ImportCursor],
    requests: &DataPath,
    steps: &DataPath,
    progress: &dyn Progress,
) -> Result<(), PathError> {
    let mut names = NameInterner::default();
    let mut writer = RequestWriter::create(requests, steps)?;
    loop {
        let first = sources
            .iter_mut()
            .filter(|source| source.next.is_some())
            .min_by_key(|source| source.next_begin());
        let Some(source) = first else { break };
        if let Some(request) = source.take_request(&mut names)? {
            writer.push_request(request, &names)?;
            progress.advance_step(1);
        }
    }
    writer.finish(&names)
}

/// Links the file `from` under the additional name `to`.
fn link_file(from: &DataPath, to: &DataPath) -> Result<(), PathError> {
    match to.remove_file() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(PathError::io(to, error));
        }
        _ => {}
    }
    // Not every file system has links.
    from.hard_link_to(to).or_else(|_| from.copy_to(to)).map_err(|error| PathError::io(to, error))
}

/// Writes the clocks of all `imports`. The clocks of each import are relative to its own reference.
fn merge_clocks(imports: &[ImportedTrace], path: &DataPath) -> Result<(), PathError> {
    let mut all: Option<ClockModel> = None;
    for import in imports.iter().filter(|import| import.clocks_path().exists()) {
        let clocks = ClockModel::read(import.clocks_path())?;
        match &mut all {
            None => all = Some(clocks),
            Some(all) => {
                let new = clocks
                    .hosts
                    .into_iter()
                    .filter(|host| all.hosts.iter().all(|known| known.host != host.host));
                let new: Vec<_> = new.collect();
                all.hosts.extend(new);
                all.links.extend(clocks.links);
            }
        }
    }
    match all {
        Some(clocks) => clocks.write(path),
        None => Ok(()),
    }
}
