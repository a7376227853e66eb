//! The roots of one pattern's instances, from `paths.parquet`: by them the traces that show a
//! pattern are found among all, without other instances in memory.

use message_trace::table::columns::BatchColumns;
use message_trace::{DataPath, PathError, table};
use rustc_hash::FxHashSet;

/// Returns the messages from which instances of this pattern begin, from the table of paths at
/// `path`.
///
/// # Errors
/// If the table cannot be read, or is not a table of paths.
pub fn pattern_roots(path: impl Into<DataPath>, pattern: i64) -> Result<FxHashSet<u64>, PathError> {
    let path = &path.into();
    let mut roots = FxHashSet::default();
    for batch in table::read_columns(path, &["pattern", "message", "depth"])? {
        let batch = batch?;
        let table = BatchColumns::new(path, &batch);
        let (patterns, messages) = (table.int64_column("pattern")?, table.int64_column("message")?);
        let depths = table.int32_column("depth")?;
        for row in 0..batch.num_rows() {
            if patterns[row] == Some(pattern) && depths[row] == Some(0) {
                let message = table.required_value("message", messages[row])?;
                roots
                    .insert(u64::try_from(message).map_err(|why| PathError::malformed(path, why))?);
            }
        }
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::fixture::{Fixture, collected};
    use crate::paths::PathInstances;

    #[test]
    fn pattern_roots_are_the_first_messages_of_its_instances() {
        let mut trace = Fixture::new();
        for message in 0..9 {
            trace.send("a", ["b", "c"][message as usize % 2], 10 * message, 10 * message + 1);
        }
        let trees: [(f64, &[(u32, u32)]); 4] = [
            (0.5, &[(0, 0), (1, 1)]),
            (0.5, &[(2, 0), (3, 1)]),
            (1.0, &[(5, 0), (6, 1)]),
            (0.25, &[(8, 0)]),
        ];
        let (_directory, dir) = collected(&trace.trace(), &trees);
        let instances = PathInstances::read(dir.paths_path()).unwrap();
        let all: FxHashSet<u32> = instances.iter().map(|instance| instance.pattern).collect();
        assert_eq!(all.len(), 3);
        for pattern in all {
            let of = instances.iter().filter(|instance| instance.pattern == pattern);
            let expected: FxHashSet<u64> =
                of.map(|instance| instance.messages[0].index() as u64).collect();
            assert_eq!(pattern_roots(dir.paths_path(), i64::from(pattern)).unwrap(), expected);
        }
        assert!(pattern_roots(dir.paths_path(), 9).unwrap().is_empty());
    }
}
