//! Reads the patterns that a user selects.

use std::cmp::Ordering;

use analyze::paths::{ChosenPatterns, PathPattern};
use message_trace::DataDir;

use crate::error::{Error, no_pattern};

/// Returns the pattern with the number `pattern` or, if none is given, the first `limit` patterns.
///
/// # Errors
/// When no pattern has the number `pattern`, or the table cannot be read.
pub(crate) fn read_patterns(
    data: &DataDir,
    pattern: Option<i64>,
    limit: usize,
) -> Result<Vec<PathPattern>, Error> {
    match pattern {
        Some(pattern) => one_pattern(data, pattern),
        // The table has the patterns with the largest total time first.
        None => {
            Ok(ChosenPatterns::read(data.patterns_path(), limit, |_, _| Ordering::Equal)?.patterns)
        }
    }
}

/// Returns the pattern with the number `wanted`, as a list of one.
///
/// # Errors
/// When no pattern has the number `wanted`, or the table cannot be read.
pub(crate) fn one_pattern(data: &DataDir, wanted: i64) -> Result<Vec<PathPattern>, Error> {
    let first =
        |one: &PathPattern, other: &PathPattern| (other.id == wanted).cmp(&(one.id == wanted));
    let chosen = ChosenPatterns::read(data.patterns_path(), 1, first)?;
    match chosen.patterns.first() {
        Some(pattern) if pattern.id == wanted => Ok(chosen.patterns),
        _ => Err(no_pattern(data.path(), wanted, chosen.all)),
    }
}
