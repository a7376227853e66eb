//! Causes that the source of a trace recorded, as tracers do: nothing is inferred. They are stored
//! in the table `causes.parquet` next to the messages, one row for each message in their order:
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `parent` | Int64, nullable | the message that caused this one; null if this one began a path |
//! | `probability` | Float64 | the probability that `parent` caused the message |
//!
//! With the remaining probability a message with a parent is spontaneous.

mod table;

use message_trace::{DataPath, MessageId, PathError};
use out_of_core::{MemoryPool, SpillableVec};

use super::inference::Inference;
use super::input::InferenceInput;
use crate::links::Links;

pub use table::CauseWriter;

/// The inference by known causes.
#[derive(Debug)]
pub struct KnownCauses {
    parents: SpillableVec<i64>,
    probabilities: SpillableVec<f64>,
}

/// Stored in place of a parent for a message that began a path.
const NO_PARENT: i64 = -1;

impl KnownCauses {
    /// Reads the table at `path`. Rows that exceed the memory of `pool` are spilled to its
    /// directory.
    ///
    /// # Errors
    /// If the table cannot be read, or is not a table of causes.
    pub fn read(path: impl Into<DataPath>, pool: &MemoryPool) -> Result<KnownCauses, PathError> {
        let path = &path.into();
        let mut known = KnownCauses {
            parents: SpillableVec::new(pool),
            probabilities: SpillableVec::new(pool),
        };
        table::for_each_cause(path, |parent, probability| {
            known.parents.push(parent.unwrap_or(NO_PARENT))?;
            known.probabilities.push(probability)
        })?;
        Ok(known)
    }

    /// Number of messages with known causes.
    pub fn message_count(&self) -> u64 {
        self.parents.len() as u64
    }
}

impl Inference for KnownCauses {
    fn infer_links(&mut self, input: &InferenceInput<'_>) -> Links {
        let messages = input.trace.len();
        let mut links = Links::spontaneous_only(messages);
        links.reserve(messages);
        for message in input.trace.ids() {
            let number = input.first as usize + message.index();
            let parent = self.parents.get(number).copied().filter(|parent| *parent != NO_PARENT);
            let probability = self.probabilities.get(number).copied().unwrap_or(1.0);
            match parent {
                None => links.set_parents(message, &[], probability),
                Some(parent) => {
                    let here = parent.checked_sub_unsigned(input.first);
                    let here = here.and_then(|here| usize::try_from(here).ok());
                    match here.filter(|here| *here < messages) {
                        Some(here) => {
                            let here = MessageId::from_index(here);
                            links.set_parents(message, &[(here, probability)], 1.0 - probability)
                        }
                        None => links.set_outside_parent(message, parent as u64, probability),
                    }
                }
            }
        }
        links
    }

    fn looks_for_calls(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::paths::PathInstances;
    use crate::{Options, analyze_by};
    use message_trace::DataDir;

    /// The tables of paths and links for messages with these causes, analyzed in batches of
    /// `stretch` messages.
    fn analyzed(causes: &[(Option<i64>, f64)], stretch: usize) -> (PathInstances, Links) {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let mut trace = Fixture::new();
        for message in 0..causes.len() as i64 {
            trace.send("a", "b", 10 * message, 10 * message + 5);
        }
        trace.trace().write(data.messages_path(), data.nodes_path()).unwrap();
        let mut writer = CauseWriter::create(data.causes_path()).unwrap();
        for (parent, probability) in causes {
            writer.push(parent.map(|parent| parent as u64), *probability).unwrap();
        }
        writer.finish().unwrap();
        let mut known = KnownCauses::read(data.causes_path(), &MemoryPool::default()).unwrap();
        assert_eq!(known.message_count(), causes.len() as u64);
        let options = Options { stretch, ..Options::default() };
        analyze_by(&mut known, &data, &options, &()).unwrap();
        (PathInstances::read(data.paths_path()).unwrap(), Links::read(data.links_path()).unwrap())
    }

    #[test]
    fn paths_follow_the_known_causes() {
        let causes = [
            (None, 1.0),
            (Some(0), 1.0),
            (None, 0.75),
            (Some(2), 0.5),
            (Some(1), 1.0),
            // A wrong clock: the cause comes later.
            (Some(6), 1.0),
            (Some(0), 1.0),
        ];
        let (instances, links) = analyzed(&causes, 100);
        let rows = |of: &[MessageId]| of.iter().map(|message| message.index()).collect();
        let trees: Vec<(f64, Vec<usize>)> = instances
            .iter()
            .map(|instance| (instance.probability, rows(instance.messages)))
            .collect();
        // An uncertain link is evaluated both ways, and its message may begin a path itself.
        assert_eq!(
            trees,
            [(1.0, vec![0, 1, 4, 6, 5]), (0.375, vec![2, 3]), (0.375, vec![2]), (0.5, vec![3])]
        );
        assert_eq!(links.parent_rows(5), [(6, 1.0)]);
        assert_eq!(
            [3, 2].map(|row| links.spontaneous_probability(MessageId::from_index(row))),
            [0.5, 0.75]
        );
    }

    #[test]
    fn a_cause_outside_of_the_batch_is_kept_as_a_link() {
        let mut causes = vec![(None, 1.0); 40];
        causes[39] = (Some(1), 1.0);
        causes[2] = (Some(38), 1.0);
        let (instances, links) = analyzed(&causes, 8);
        assert_eq!(links.parent_rows(39), [(1, 1.0)]);
        assert_eq!(links.parent_rows(2), [(38, 1.0)]);
        // Neither message begins a path.
        assert_eq!(instances.len(), 38);
    }

    #[test]
    fn the_error_for_a_broken_table_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("causes.parquet");
        std::fs::write(&path, b"PAR1 but not really").unwrap();
        let error = KnownCauses::read(&path, &MemoryPool::default()).unwrap_err().to_string();
        assert!(error.contains("causes.parquet"), "{error}");
    }
}
