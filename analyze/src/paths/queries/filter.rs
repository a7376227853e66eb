//! Filters of paths: patterns by their numbers and by the nodes that take part in them, instances
//! by when they begin and by their probability.

use std::collections::BTreeSet;
use std::path::Path;

use message_trace::table::columns::Columns;
use message_trace::{DataDir, PathError, table};

use super::timed_instance::{TimedInstance, WhichInstance};

/// A filter of paths; without any condition, all pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathFilter {
    /// Each of these must be a part of the name of a node of the pattern, at whatever end of a hop.
    pub through: Vec<String>,
    /// The pattern must have one of these numbers, if any are said.
    pub patterns: Vec<i64>,
    /// The instance must not begin earlier: nanoseconds since the Unix epoch, on the common clock.
    pub from: Option<i64>,
    /// The instance must begin earlier.
    pub to: Option<i64>,
    /// The instance must be at least this likely, from 0 to 1.
    pub min_confidence: Option<f64>,
}

impl PathFilter {
    /// Whether it leaves everything.
    pub fn is_empty(&self) -> bool {
        self.through.is_empty() && self.patterns.is_empty() && !self.is_of_instances()
    }

    /// Whether it may leave a part of a pattern's instances, so that the pattern's figures are
    /// others than in the table.
    pub(crate) fn is_of_instances(&self) -> bool {
        self.from.is_some() || self.to.is_some() || self.min_confidence.is_some()
    }

    /// Whether an instance is likely enough.
    pub(crate) fn is_likely(&self, which: &WhichInstance) -> bool {
        self.min_confidence.is_none_or(|least| which.probability >= least)
    }

    /// Whether an instance begins within the chosen time. One without a known time does not, if a
    /// time was chosen.
    pub(crate) fn is_in_time(&self, instance: &TimedInstance<'_>) -> bool {
        if self.from.is_none() && self.to.is_none() {
            return true;
        }
        instance.begin().is_some_and(|begin| {
            self.from.is_none_or(|from| from <= begin) && self.to.is_none_or(|to| begin < to)
        })
    }

    /// The patterns of the table of `dir` that it leaves. For each pattern a bit is in memory.
    ///
    /// # Errors
    /// When the table cannot be read, or is not one of patterns.
    pub(crate) fn patterns(&self, dir: &DataDir) -> Result<WantedPatterns, PathError> {
        let mut wanted = WantedPatterns { all: false, bits: Vec::new() };
        if self.through.is_empty() {
            wanted.all = self.patterns.is_empty();
            self.patterns.iter().for_each(|pattern| wanted.insert(*pattern));
            return Ok(wanted);
        }
        // How many patterns pass each of the names is of no interest, only whether one does all.
        let mut met = vec![false; self.through.len()];
        let mut last = None;
        each_end(&dir.patterns(), &self.through, |pattern, names| {
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

/// Some of the patterns of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedPatterns {
    all: bool,
    bits: Vec<u64>,
}

impl WantedPatterns {
    /// Whether the pattern of that number is one of them.
    #[inline]
    pub(crate) fn has(&self, pattern: i64) -> bool {
        self.all
            || usize::try_from(pattern / 64).is_ok_and(|word| {
                self.bits.get(word).is_some_and(|bits| bits >> (pattern % 64) & 1 == 1)
            })
    }

    fn insert(&mut self, pattern: i64) {
        // Numbers are 32 bits wide; what is beyond is in no table.
        let Ok(pattern) = u32::try_from(pattern) else { return };
        let word = pattern as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (pattern % 64);
    }
}

/// The names of all nodes in the patterns of the table at `path`.
///
/// # Errors
/// When the table cannot be read, or is not one of patterns.
pub fn node_names(path: &Path) -> Result<BTreeSet<String>, PathError> {
    let mut names = BTreeSet::new();
    for batch in table::read_columns(path, &["src", "dst"])? {
        let batch = batch?;
        let table = Columns::new(path, &batch);
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

/// Calls `row` with the pattern of each row of the table at `path`, and which of `parts` the names
/// of its two ends have.
fn each_end(
    path: &Path,
    parts: &[String],
    mut row: impl FnMut(i64, &[bool]),
) -> Result<(), PathError> {
    for batch in table::read_columns(path, &["pattern", "src", "dst"])? {
        let batch = batch?;
        let table = Columns::new(path, &batch);
        let patterns = table.int64("pattern")?;
        let mut ends = Vec::new();
        for column in ["src", "dst"] {
            let (numbers, texts) = table.numbered_texts(column)?;
            let has = |text: &&str| -> Vec<bool> {
                parts.iter().map(|part| text.contains(part)).collect()
            };
            ends.push((numbers, texts.iter().map(has).collect::<Vec<_>>()));
        }
        let mut either = vec![false; parts.len()];
        for (place, pattern) in patterns.iter().enumerate() {
            either.fill(false);
            for (numbers, has) in &ends {
                let of = numbers[place].and_then(|number| has.get(number as usize));
                for (either, has) in either.iter_mut().zip(of.into_iter().flatten()) {
                    *either |= has;
                }
            }
            row(table.some("pattern", *pattern)?, &either);
        }
    }
    Ok(())
}
