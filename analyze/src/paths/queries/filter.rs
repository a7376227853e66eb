//! Filters of paths: of patterns by their numbers, nodes and operations, and of instances by the
//! time of their beginning, their probability and errors.

use std::collections::BTreeSet;

use message_trace::table::columns::BatchColumns;
use message_trace::{DataDir, DataPath, PathError, table};

use super::timed_instance::{InstanceRow, TimedInstance};

/// A filter of paths. Paths that meet all its conditions pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathFilter {
    /// Each of these must be a part of the name of a node of the pattern, at either end of a hop.
    pub through: Vec<String>,
    /// Each of these must be the operation of a hop of the pattern.
    pub operations: Vec<String>,
    /// The pattern must have one of these numbers, if there are any.
    pub patterns: Vec<i64>,
    /// The instance must not begin earlier: nanoseconds since the Unix epoch, on the common clock.
    pub from: Option<i64>,
    /// The instance must begin earlier: nanoseconds since the Unix epoch, on the common clock.
    pub to: Option<i64>,
    /// The instance must be at least this likely, from 0 to 1.
    pub min_confidence: Option<f64>,
    /// The instance must contain a failure of an answering side.
    pub errors: bool,
}

impl PathFilter {
    /// Returns whether everything matches.
    pub fn is_empty(&self) -> bool {
        let names = [&self.through, &self.operations];
        names.into_iter().all(Vec::is_empty)
            && self.patterns.is_empty()
            && !self.selects_instances()
    }

    /// Returns whether only a part of a pattern's instances may match, so that the pattern's
    /// figures differ from those in the table.
    pub(crate) fn selects_instances(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.min_confidence.is_some() || self.errors
    }

    /// Returns whether an instance is likely enough.
    pub(crate) fn is_likely(&self, which: &InstanceRow) -> bool {
        self.min_confidence.is_none_or(|least| which.probability >= least)
    }

    /// Returns whether an instance has the required errors.
    pub(crate) fn matches_outcome(&self, instance: &TimedInstance<'_>) -> bool {
        !self.errors || instance.has_error()
    }

    /// Returns whether an instance begins within the chosen time. An instance without a known time
    /// does not, if a time was chosen.
    pub(crate) fn is_in_time(&self, instance: &TimedInstance<'_>) -> bool {
        if self.from.is_none() && self.to.is_none() {
            return true;
        }
        instance.begin_time().is_some_and(|begin| {
            self.from.is_none_or(|from| from <= begin) && self.to.is_none_or(|to| begin < to)
        })
    }

    /// Returns the patterns of the table of `dir` that match. One bit per pattern is in memory.
    ///
    /// # Errors
    /// If the table cannot be read, or is not a table of patterns.
    pub(crate) fn wanted_patterns(&self, dir: &DataDir) -> Result<WantedPatterns, PathError> {
        let mut wanted = WantedPatterns { all: false, bits: Vec::new() };
        if self.through.is_empty() && self.operations.is_empty() {
            wanted.all = self.patterns.is_empty();
            self.patterns.iter().for_each(|pattern| wanted.insert(*pattern));
            return Ok(wanted);
        }
        // A pattern must match all names, so one flag per name suffices.
        let mut met = vec![false; self.through.len() + self.operations.len()];
        let mut last = None;
        for_each_hop(&dir.patterns_path(), &self.through, &self.operations, |pattern, names| {
            if last != Some(pattern) {
                met.fill(false);
                last = Some(pattern);
            }
            met.iter_mut().zip(names).for_each(|(met, is_there)| *met |= is_there);
            if met.iter().all(|met| *met)
                && (self.patterns.is_empty() || self.patterns.contains(&pattern))
            {
                wanted.insert(pattern);
            }
        })?;
        Ok(wanted)
    }
}

/// A subset of the patterns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedPatterns {
    all: bool,
    bits: Vec<u64>,
}

impl WantedPatterns {
    /// Returns whether the pattern with this number is in the subset.
    #[inline]
    pub(crate) fn contains(&self, pattern: i64) -> bool {
        self.all
            || usize::try_from(pattern / 64).is_ok_and(|word| {
                self.bits.get(word).is_some_and(|bits| bits >> (pattern % 64) & 1 == 1)
            })
    }

    fn insert(&mut self, pattern: i64) {
        // Numbers are 32 bits wide; larger ones are in no table.
        let Ok(pattern) = u32::try_from(pattern) else { return };
        let word = pattern as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (pattern % 64);
    }
}

/// Returns the names of all operations in the patterns of the table at `path`; `None` if no
/// operations are known.
///
/// # Errors
/// If the table cannot be read, or is not a table of patterns.
pub fn operation_names(path: impl Into<DataPath>) -> Result<Option<BTreeSet<String>>, PathError> {
    let path = &path.into();
    let mut names = None;
    for batch in table::read_columns(path, &["operation"])? {
        let batch = batch?;
        if batch.num_columns() == 0 {
            break;
        }
        let names: &mut BTreeSet<String> = names.get_or_insert_default();
        let (numbers, texts) = BatchColumns::new(path, &batch).numbered_texts("operation")?;
        let met: BTreeSet<u32> = numbers.into_iter().flatten().collect();
        let met = met.into_iter().filter_map(|number| texts.get(number as usize));
        names.extend(met.map(|name| (*name).to_owned()));
    }
    Ok(names)
}

/// Returns the names of all nodes in the patterns of the table at `path`.
///
/// # Errors
/// If the table cannot be read, or is not a table of patterns.
pub fn node_names(path: impl Into<DataPath>) -> Result<BTreeSet<String>, PathError> {
    let path = &path.into();
    let mut names = BTreeSet::new();
    for batch in table::read_columns(path, &["src", "dst"])? {
        let batch = batch?;
        let table = BatchColumns::new(path, &batch);
        for column in ["src", "dst"] {
            let (_, texts) = table.numbered_texts(column)?;
            for text in texts {
                if !names.contains(text) {
                    names.insert(text.to_owned());
                }
            }
        }
    }
    Ok(names)
}

/// Calls `row` with the pattern of each row of the table at `path` and with flags: for each of
/// `parts` whether the name of either end contains it, then for each of `operations` whether it is
/// the operation of the row.
fn for_each_hop(
    path: &DataPath,
    parts: &[String],
    operations: &[String],
    mut row: impl FnMut(i64, &[bool]),
) -> Result<(), PathError> {
    for batch in table::read_columns(path, &["pattern", "src", "dst", "operation"])? {
        let batch = batch?;
        let table = BatchColumns::new(path, &batch);
        let patterns = table.int64_column("pattern")?;
        let mut columns = Vec::new();
        for column in ["src", "dst", "operation"] {
            let is_operation = column == "operation";
            let (numbers, texts) = match is_operation {
                true => table.numbered_texts_if_any(column)?,
                false => table.numbered_texts(column)?,
            };
            let has = |text: &&str| -> Vec<bool> {
                let parts = parts.iter().map(|part| !is_operation && text.contains(part));
                let operations = operations.iter().map(|name| is_operation && text == name);
                parts.chain(operations).collect()
            };
            columns.push((numbers, texts.iter().map(has).collect::<Vec<_>>()));
        }
        let mut either = vec![false; parts.len() + operations.len()];
        for (place, pattern) in patterns.iter().enumerate() {
            either.fill(false);
            for (numbers, has) in &columns {
                let of = numbers[place].and_then(|number| has.get(number as usize));
                for (either, has) in either.iter_mut().zip(of.into_iter().flatten()) {
                    *either |= has;
                }
            }
            row(table.required_value("pattern", *pattern)?, &either);
        }
    }
    Ok(())
}
