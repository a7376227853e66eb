//! What a schema asks of the events that begin requests, and what of it came. Where no request is
//! found, this says why.

use serde::Serialize;

use crate::schema::{
    AttributeValues, EventCondition, EventRule, EventSchema, INTERRUPTED, SIBLING,
};

/// What the events that begin requests have to be, in the words of the schema.
#[derive(Debug, Default)]
pub(crate) struct SeedRequirements {
    /// Their kinds.
    kinds: Vec<String>,
    /// Marks that must be on their values: the mark's number, and how the schema writes it.
    marks: Vec<(u16, String)>,
    /// Whether the values are of processes.
    by_process: bool,
}

/// What came of the events that could begin a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SeedCounts {
    /// Kinds of the events that begin a request by the schema.
    pub kinds: Vec<String>,
    /// Number of events of these kinds.
    pub events: u64,
    /// Number of these events whose process is not known, though the schema asks for it.
    pub without_process: u64,
    /// Marks that the schema asks for and that no event has put, as it writes them:
    /// `client(process, fd)`.
    pub missing: Vec<String>,
}

impl SeedRequirements {
    /// What `schema` asks; `mark` has the number of a mark.
    pub(crate) fn from_schema<'schema>(
        schema: &'schema EventSchema,
        mut mark: impl FnMut(&'schema str) -> u16,
    ) -> SeedRequirements {
        let mut asked = SeedRequirements::default();
        let add = |kinds: &mut Vec<String>, kind: String| {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        };
        for part in schema.parts.iter().filter(|part| part.seed) {
            part.kinds.iter().for_each(|kind| add(&mut asked.kinds, kind.clone()));
            for values in required_marks(part) {
                let marked =
                    (mark(&values.name), format!("{}({})", values.name, values.of.join(", ")));
                asked.by_process |= values.of.iter().any(|of| of == "process");
                if !asked.marks.contains(&marked) {
                    asked.marks.push(marked);
                }
            }
        }
        asked
    }

    /// What came of it: `events` and `without_process` as in [`SeedCounts`], and whether a mark was
    /// ever put, by its number.
    pub(crate) fn count_seeds(
        &self,
        events: u64,
        without_process: u64,
        was_put: impl Fn(u16) -> bool,
    ) -> SeedCounts {
        let missing = self.marks.iter().filter(|(mark, _)| !was_put(*mark));
        let missing = missing.map(|(_, values)| values.clone()).collect();
        let without_process = if self.by_process { without_process } else { 0 };
        SeedCounts { kinds: self.kinds.clone(), events, without_process, missing }
    }
}

/// The marks that must be on values of the events of a part.
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
