//! Reading of requests, group by group: on all processors, in order, and in bounded memory.

use message_trace::table::columns;
use message_trace::table::{RowGroups, count_rows};
use message_trace::{DataPath, PathError};
use out_of_core::workers;

use super::detail_columns::{DetailColumns, SIZES, THREADS};
use crate::request::Request;
use crate::step::Step;
use out_of_core::{NameId, NameInterner};

/// The columns that are read in addition to the structure, nodes, operations and times of steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnSelection {
    /// Whether parameters are read.
    pub parameters: bool,
    /// Whether sizes and resources are read.
    pub sizes: bool,
    /// Whether hosts are read.
    pub hosts: bool,
    /// Whether the threads at the ends of steps are read.
    pub threads: bool,
}

impl ColumnSelection {
    /// All columns.
    pub const ALL: ColumnSelection =
        ColumnSelection { parameters: true, sizes: true, hosts: true, threads: true };
}

/// Both tables, open for reading.
pub struct RequestTables {
    /// The paths of the tables of requests and of steps.
    paths: [DataPath; 2],
    requests: RowGroups,
    steps: RowGroups,
    columns: ColumnSelection,
    /// Numbers of requests and of steps.
    counts: (u64, u64),
}

/// The requests of a group, with names of their own.
struct RequestGroup {
    names: NameInterner,
    requests: Vec<Request>,
}

const REQUEST_COLUMNS: &[&str] =
    &["trace", "caller", "caller_host", "steps", "probability", "torn", "pattern", "path"];

const STEP_COLUMNS: &[&str] = &[
    "parent",
    "node",
    "operation",
    "begin",
    "end",
    "caller_begin",
    "caller_end",
    "failed",
    "probability",
];

impl RequestTables {
    /// Opens the tables of requests and of steps at two paths.
    ///
    /// # Errors
    /// If one of the tables cannot be opened, or the tables do not match.
    pub fn open(
        requests: impl Into<DataPath>,
        steps: impl Into<DataPath>,
        columns: ColumnSelection,
    ) -> Result<RequestTables, PathError> {
        let requests = &requests.into();
        let steps = &steps.into();
        let mut of_steps = STEP_COLUMNS.to_vec();
        of_steps.extend(SIZES.iter().filter(|_| columns.sizes));
        of_steps.extend(THREADS.iter().filter(|_| columns.threads));
        of_steps.extend(columns.hosts.then_some("host"));
        of_steps.extend(columns.parameters.then_some("parameters"));
        let tables = RequestTables {
            paths: [requests.to_owned(), steps.to_owned()],
            requests: RowGroups::open(requests, REQUEST_COLUMNS)?,
            steps: RowGroups::open(steps, &of_steps)?,
            columns,
            counts: (count_rows(requests)?, count_rows(steps)?),
        };
        let missing = [
            (requests, tables.requests.missing_column(REQUEST_COLUMNS)),
            (steps, tables.steps.missing_column(&of_steps)),
        ];
        for (path, column) in missing {
            if let Some(column) = column {
                let why =
                    format!("no column '{column}'; another version of sockcap may have written it");
                return Err(PathError::malformed(path, why));
            }
        }
        if tables.requests.group_count() == tables.steps.group_count() {
            Ok(tables)
        } else {
            Err(PathError::malformed(
                steps,
                "it does not belong to the same requests as requests.parquet",
            ))
        }
    }

    /// Returns the number of requests and of steps.
    pub fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// Returns the first and the last begin for which `is_wanted` holds; `None` if there is none.
    /// No other column is read.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn begin_range(
        &self,
        is_wanted: impl Fn(i64) -> bool,
    ) -> Result<Option<(i64, i64)>, PathError> {
        let mut range: Option<(i64, i64)> = None;
        self.for_each_begin(|begin| {
            if is_wanted(begin) {
                let (first, last) = range.unwrap_or((begin, begin));
                range = Some((first.min(begin), last.max(begin)));
            }
        })?;
        Ok(range)
    }

    /// Passes the known begins of all requests to `each`, in the order of the table. No other
    /// column is read.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn for_each_begin(&self, mut each: impl FnMut(i64)) -> Result<(), PathError> {
        let [path, _] = &self.paths;
        let groups = RowGroups::open(path, &["begin"])?;
        for group in 0..groups.group_count() {
            for batch in groups.read_group(group)? {
                let batch = batch?;
                let begins = columns::BatchColumns::new(path, &batch).int64_column("begin")?;
                begins.into_iter().flatten().for_each(&mut each);
            }
        }
        Ok(())
    }

    /// Returns the number of groups. Each has whole requests.
    pub fn group_count(&self) -> usize {
        self.requests.group_count()
    }

    /// Passes the requests to `each` in the order of the table, with their numbers. The names in
    /// the requests get numbers in `names`.
    ///
    /// # Errors
    /// If a table cannot be read, and errors of `each`.
    pub fn for_each<E: From<PathError> + Send>(
        &self,
        names: &mut NameInterner,
        mut each: impl FnMut(u64, Request, &NameInterner) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let mut number = 0;
        let read = |group: usize| self.decode_group(group).map_err(E::from);
        workers::run_in_order(
            workers::thread_count(),
            self.group_count(),
            read,
            |_, group: RequestGroup| {
                let numbers: Vec<NameId> =
                    group.names.iter().map(|text| names.intern(text)).collect();
                for mut request in group.requests {
                    request.map_names(|name| numbers[name.index()]);
                    each(number, request, names)?;
                    number += 1;
                }
                Ok(())
            },
        )
    }

    /// Reads the requests of all groups into memory: for tests and for few requests.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn read_all(&self, names: &mut NameInterner) -> Result<Vec<Request>, PathError> {
        let mut all = Vec::new();
        self.for_each(names, |_, request, _| {
            all.push(request);
            Ok::<(), PathError>(())
        })?;
        Ok(all)
    }

    /// Reads the requests of a group, with names of their own.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn read_group(&self, group: usize) -> Result<(NameInterner, Vec<Request>), PathError> {
        let RequestGroup { names, requests } = self.decode_group(group)?;
        Ok((names, requests))
    }

    fn decode_group(&self, group: usize) -> Result<RequestGroup, PathError> {
        let [requests_path, steps_path] = &self.paths;
        let mut names = NameInterner::default();
        let (mut requests, mut lengths) = (Vec::new(), Vec::new());
        for batch in self.requests.read_group(group)? {
            let batch = batch?;
            let table = columns::BatchColumns::new(requests_path, &batch);
            let trace = table.text_column("trace")?;
            let caller = intern_column(&table, "caller", &mut names)?;
            let caller_host = intern_column(&table, "caller_host", &mut names)?;
            let (steps, probability) =
                (table.int32_column("steps")?, table.float64_column("probability")?);
            let (torn, pattern) = (table.boolean_column("torn")?, table.int64_column("pattern")?);
            let path = table.int64_column("path")?;
            for row in 0..batch.num_rows() {
                lengths.push(table.required_value("steps", steps[row])?);
                let mut request = Request::default();
                request.trace.push_str(trace[row].unwrap_or_default());
                (request.caller, request.caller_host) = (caller[row], caller_host[row]);
                request.probability = table.required_value("probability", probability[row])?;
                request.torn = torn[row];
                (request.pattern, request.path) = (pattern[row], path[row]);
                requests.push(request);
            }
        }
        let malformed =
            || PathError::malformed(steps_path, "its steps do not match requests.parquet");
        let mut into = requests.iter_mut().zip(&lengths);
        let mut open = into.next();
        for batch in self.steps.read_group(group)? {
            let batch = batch?;
            let table = columns::BatchColumns::new(steps_path, &batch);
            let parent = table.int32_column("parent")?;
            let node = intern_column(&table, "node", &mut names)?;
            let host = match self.columns.hosts {
                true => Some(intern_column(&table, "host", &mut names)?),
                false => None,
            };
            let operation = intern_column(&table, "operation", &mut names)?;
            let (begin, end) = (table.int64_column("begin")?, table.int64_column("end")?);
            let (caller_begin, caller_end) =
                (table.int64_column("caller_begin")?, table.int64_column("caller_end")?);
            let (failed, probability) =
                (table.boolean_column("failed")?, table.float64_column("probability")?);
            let details =
                DetailColumns::from_table(&table, [self.columns.sizes, self.columns.threads])?;
            let parameters = if self.columns.parameters {
                Some(table.named_texts_column("parameters")?)
            } else {
                None
            };
            for row in 0..batch.num_rows() {
                while open.as_ref().is_some_and(|(request, length)| {
                    request.steps.len() as i64 >= i64::from(**length)
                }) {
                    open = into.next();
                }
                let (request, _) = open.as_mut().ok_or_else(malformed)?;
                let before = request.steps.len() as i32;
                let parent = match parent[row] {
                    Some(parent) if (0..before).contains(&parent) => Some(parent as u32),
                    None if before == 0 => None,
                    _ => return Err(malformed()),
                };
                let mut step = Step {
                    parent,
                    node: node[row],
                    host: host.as_ref().map_or(NameInterner::UNKNOWN, |host| host[row]),
                    operation: operation[row],
                    begin: begin[row],
                    end: end[row],
                    caller_begin: caller_begin[row],
                    caller_end: caller_end[row],
                    failed: failed[row],
                    probability: table.required_value("probability", probability[row])?,
                    ..Step::default()
                };
                details.fill_step(row, &mut step);
                match &parameters {
                    Some(all) => {
                        let of: Vec<(NameId, &str)> = all
                            .texts_of_row(row)
                            .map(|(name, value)| (names.intern(name), value))
                            .collect();
                        request.push_step(step, of);
                    }
                    None => request.push_step(step, []),
                }
            }
        }
        let is_whole = requests
            .iter()
            .zip(&lengths)
            .all(|(request, length)| request.steps.len() as i64 == i64::from(*length));
        if is_whole { Ok(RequestGroup { names, requests }) } else { Err(malformed()) }
    }
}

/// Reads a dictionary column as numbers of `names`.
fn intern_column(
    table: &columns::BatchColumns<'_>,
    column: &str,
    names: &mut NameInterner,
) -> Result<Vec<NameId>, PathError> {
    let (keys, texts) = table.numbered_texts(column)?;
    let numbers: Vec<NameId> = texts.into_iter().map(|text| names.intern(text)).collect();
    let number = |key: Option<u32>| key.and_then(|key| numbers.get(key as usize).copied());
    Ok(keys.into_iter().map(|key| number(key).unwrap_or(NameInterner::UNKNOWN)).collect())
}
