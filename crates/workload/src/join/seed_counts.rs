//! Requirements of a schema for the events that begin requests (SEED), and how many events met
//! them: the reason if no request is found.

use serde::Serialize;

use crate::schema::{
    AttributeValues, EventCondition, EventRule, EventSchema, INTERRUPTED, SIBLING,
};

/// The requirements for events that begin requests, in the words of the schema.
#[derive(Debug, Default)]
pub(crate) struct SeedRequirements {
    /// Kinds of the required events.
    kinds: Vec<String>,
    /// Marks that the events' values must have: the mark's number, and its notation in the schema.
    marks: Vec<(u16, String)>,
    /// Whether a required mark is one of a process, so that an event without a known process cannot
    /// have it.
    by_process: bool,
}

/// Counts of the events that could begin a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SeedCounts {
    /// Kinds of the events that begin a request according to the schema.
    pub kinds: Vec<String>,
    /// Number of events of the required kinds.
    pub events: u64,
    /// Number of events of the required kinds without a known process, if the schema requires one.
    pub without_process: u64,
    /// Marks that the schema requires and that no event has set, in the schema's notation:
    /// `client(process, fd)`.
    pub missing: Vec<String>,
}

impl SeedRequirements {
    /// The requirements of `schema`; `mark` returns the number of a mark.
    pub(crate) fn from_schema<'schema>(
        schema: &'schema EventSchema,
        mut mark: impl FnMut(&'schema str) -> u16,
    ) -> SeedRequirements {
        let mut required = SeedRequirements::default();
        let add = |kinds: &mut Vec<String>, kind: String| {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        };
        for part in schema.parts.iter().filter(|part| part.seed) {
            part.kinds.iter().for_each(|kind| add(&mut required.kinds, kind.clone()));
            for values in required_marks(part) {
                let marked =
                    (mark(&values.name), format!("{}({})", values.name, values.of.join(", ")));
                required.by_process |= values.of.iter().any(|of| of == "process");
                if !required.marks.contains(&marked) {
                    required.marks.push(marked);
                }
            }
        }
        required
    }

    /// The counts. `events` and `without_process` are those of [`SeedCounts`]; `was_set` returns
    /// whether the mark with the given number was ever set.
    pub(crate) fn count_seeds(
        &self,
        events: u64,
        without_process: u64,
        was_set: impl Fn(u16) -> bool,
    ) -> SeedCounts {
        let missing = self.marks.iter().filter(|(mark, _)| !was_set(*mark));
        let missing = missing.map(|(_, values)| values.clone()).collect();
        let without_process = if self.by_process { without_process } else { 0 };
        SeedCounts { kinds: self.kinds.clone(), events, without_process, missing }
    }
}

/// The marks that must be set on values of the events of a part.
fn required_marks(part: &EventRule) -> impl Iterator<Item = &AttributeValues> {
    part.conditions.iter().filter_map(|condition| match condition {
        EventCondition::Marked { values, not: false }
            if values.name != INTERRUPTED && values.name != SIBLING =>
        {
            Some(values)
        }
        _ => None,
    })
}
