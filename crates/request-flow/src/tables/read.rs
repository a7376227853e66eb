//! Reading requests, group by group: on all processors, in order, and in bounded memory.

use message_trace::table::columns;
use message_trace::table::{RowGroups, rows};
use message_trace::{DataPath, PathError};
use out_of_core::workers;

use super::beside::{Beside, SIZES, THREADS};
use crate::request::Request;
use crate::step::Step;
use out_of_core::{NameId, Names};

/// The columns that are read beside the structure, nodes, operations and times of steps, which
/// always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// Whether parameters are read.
    pub parameters: bool,
    /// Whether sizes and resources are read.
    pub sizes: bool,
    /// Whether hosts are read.
    pub hosts: bool,
    /// Whether the threads at the ends of steps are read.
    pub threads: bool,
}

impl Columns {
    /// All columns.
    pub const ALL: Columns = Columns { parameters: true, sizes: true, hosts: true, threads: true };
}

/// Both tables, open for reading.
pub struct RequestTables {
    paths: [DataPath; 2],
    requests: RowGroups,
    steps: RowGroups,
    columns: Columns,
    counts: (u64, u64),
}

/// The requests of a group, with names of their own.
struct Group {
    names: Names,
    requests: Vec<Request>,
}

const OF_REQUESTS: &[&str] =
    &["trace", "caller", "caller_host", "steps", "probability", "torn", "pattern", "path"];

const OF_STEPS: &[&str] = &[
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
    /// Opens the tables at these two paths.
    ///
    /// # Errors
    /// When one cannot be opened, or they do not fit each other.
    pub fn open(
        requests: impl Into<DataPath>,
        steps: impl Into<DataPath>,
        columns: Columns,
    ) -> Result<RequestTables, PathError> {
        let requests = &requests.into();
        let steps = &steps.into();
        let mut of_steps = OF_STEPS.to_vec();
        of_steps.extend(SIZES.iter().filter(|_| columns.sizes));
        of_steps.extend(THREADS.iter().filter(|_| columns.threads));
        of_steps.extend(columns.hosts.then_some("host"));
        of_steps.extend(columns.parameters.then_some("parameters"));
        let tables = RequestTables {
            paths: [requests.to_owned(), steps.to_owned()],
            requests: RowGroups::open(requests, OF_REQUESTS)?,
            steps: RowGroups::open(steps, &of_steps)?,
            columns,
            counts: (rows(requests)?, rows(steps)?),
        };
        let missing = [
            (requests, tables.requests.missing(OF_REQUESTS)),
            (steps, tables.steps.missing(&of_steps)),
        ];
        for (path, column) in missing {
            if let Some(column) = column {
                let why =
                    format!("no column '{column}'; another version of sockcap may have written it");
                return Err(PathError::malformed(path, why));
            }
        }
        if tables.requests.count() == tables.steps.count() {
            Ok(tables)
        } else {
            Err(PathError::malformed(steps, "it is not of the same requests as requests.parquet"))
        }
    }

    /// Number of requests and of steps.
    pub fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// When the first and the last request begin, of those that `has` holds for; `None` without a
    /// request that has a begin. Nothing else is read.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn begins(&self, has: impl Fn(i64) -> bool) -> Result<Option<(i64, i64)>, PathError> {
        let mut range: Option<(i64, i64)> = None;
        self.for_each_begin(|begin| {
            if has(begin) {
                let (first, last) = range.unwrap_or((begin, begin));
                range = Some((first.min(begin), last.max(begin)));
            }
        })?;
        Ok(range)
    }

    /// Gives `each` when each request begins that has a begin, in the order of the table. Nothing
    /// else is read.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn for_each_begin(&self, mut each: impl FnMut(i64)) -> Result<(), PathError> {
        let [path, _] = &self.paths;
        let groups = RowGroups::open(path, &["begin"])?;
        for group in 0..groups.count() {
            for batch in groups.read(group)? {
                let batch = batch?;
                let begins = columns::Columns::new(path, &batch).int64("begin")?;
                begins.into_iter().flatten().for_each(&mut each);
            }
        }
        Ok(())
    }

    /// Number of groups. Each has whole requests.
    pub fn groups(&self) -> usize {
        self.requests.count()
    }

    /// Gives `each` the requests in the order of the table, with their numbers. Their names get
    /// numbers in `names`.
    ///
    /// # Errors
    /// When a table cannot be read, and those of `each`.
    pub fn for_each<E: From<PathError> + Send>(
        &self,
        names: &mut Names,
        mut each: impl FnMut(u64, Request, &Names) -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let mut number = 0;
        let read = |group: usize| self.read(group).map_err(E::from);
        workers::in_order(workers::threads(), self.groups(), read, |_, group: Group| {
            let numbers: Vec<NameId> = group.names.iter().map(|text| names.number(text)).collect();
            for mut request in group.requests {
                request.rename(|name| numbers[name as usize]);
                each(number, request, names)?;
                number += 1;
            }
            Ok(())
        })
    }

    /// The requests of all groups, one after the other, as far as memory holds them: for tests and
    /// for few requests.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn all(&self, names: &mut Names) -> Result<Vec<Request>, PathError> {
        let mut all = Vec::new();
        self.for_each(names, |_, request, _| {
            all.push(request);
            Ok::<(), PathError>(())
        })?;
        Ok(all)
    }

    /// The requests of a group, with names of their own.
    ///
    /// # Errors
    /// When a table cannot be read.
    pub fn group(&self, group: usize) -> Result<(Names, Vec<Request>), PathError> {
        let Group { names, requests } = self.read(group)?;
        Ok((names, requests))
    }

    fn read(&self, group: usize) -> Result<Group, PathError> {
        let [requests_path, steps_path] = &self.paths;
        let mut names = Names::default();
        let (mut requests, mut lengths) = (Vec::new(), Vec::new());
        for batch in self.requests.read(group)? {
            let batch = batch?;
            let table = columns::Columns::new(requests_path, &batch);
            let trace = table.texts("trace")?;
            let caller = numbers(&table, "caller", &mut names)?;
            let caller_host = numbers(&table, "caller_host", &mut names)?;
            let (steps, probability) = (table.int32("steps")?, table.float64("probability")?);
            let (torn, pattern) = (table.boolean("torn")?, table.int64("pattern")?);
            let path = table.int64("path")?;
            for row in 0..batch.num_rows() {
                lengths.push(table.some("steps", steps[row])?);
                let mut request = Request::default();
                request.trace.push_str(trace[row].unwrap_or_default());
                (request.caller, request.caller_host) = (caller[row], caller_host[row]);
                request.probability = table.some("probability", probability[row])?;
                request.torn = torn[row];
                (request.pattern, request.path) = (pattern[row], path[row]);
                requests.push(request);
            }
        }
        let malformed =
            || PathError::malformed(steps_path, "its steps are not those of requests.parquet");
        let mut into = requests.iter_mut().zip(&lengths);
        let mut open = into.next();
        for batch in self.steps.read(group)? {
            let batch = batch?;
            let table = columns::Columns::new(steps_path, &batch);
            let parent = table.int32("parent")?;
            let node = numbers(&table, "node", &mut names)?;
            let host = match self.columns.hosts {
                true => Some(numbers(&table, "host", &mut names)?),
                false => None,
            };
            let operation = numbers(&table, "operation", &mut names)?;
            let (begin, end) = (table.int64("begin")?, table.int64("end")?);
            let (caller_begin, caller_end) =
                (table.int64("caller_begin")?, table.int64("caller_end")?);
            let (failed, probability) = (table.boolean("failed")?, table.float64("probability")?);
            let beside = Beside::of(&table, [self.columns.sizes, self.columns.threads])?;
            let parameters =
                if self.columns.parameters { Some(table.named("parameters")?) } else { None };
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
                    host: host.as_ref().map_or(Names::UNKNOWN, |host| host[row]),
                    operation: operation[row],
                    begin: begin[row],
                    end: end[row],
                    caller_begin: caller_begin[row],
                    caller_end: caller_end[row],
                    failed: failed[row],
                    probability: table.some("probability", probability[row])?,
                    ..Step::default()
                };
                beside.fill(row, &mut step);
                match &parameters {
                    Some(all) => {
                        let of: Vec<(NameId, &str)> =
                            all.row(row).map(|(name, value)| (names.number(name), value)).collect();
                        request.push(step, of);
                    }
                    None => request.push(step, []),
                }
            }
        }
        let is_whole = requests
            .iter()
            .zip(&lengths)
            .all(|(request, length)| request.steps.len() as i64 == i64::from(*length));
        if is_whole { Ok(Group { names, requests }) } else { Err(malformed()) }
    }
}

/// A dictionary column as numbers of `names`.
fn numbers(
    table: &columns::Columns<'_>,
    column: &str,
    names: &mut Names,
) -> Result<Vec<NameId>, PathError> {
    let (keys, texts) = table.numbered_texts(column)?;
    let numbers: Vec<NameId> = texts.into_iter().map(|text| names.number(text)).collect();
    let number = |key: Option<u32>| key.and_then(|key| numbers.get(key as usize).copied());
    Ok(keys.into_iter().map(|key| number(key).unwrap_or(Names::UNKNOWN)).collect())
}
