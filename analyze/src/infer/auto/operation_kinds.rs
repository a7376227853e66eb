//! Kinds of requests and calls by operation, if operations were recorded. Two procedures of one
//! service, or two statements to one database, go between the same two nodes and are still
//! different steps: which of them a request makes, in which order, and with which delays, is
//! learned for each separately. Rare operations have too few samples. They stay together as they
//! are without operations.

use message_trace::{MessageId, MessageTrace};
use rustc_hash::FxHashMap;

use crate::calls::Calls;
use crate::naming::Naming;
use crate::tuning::auto::model::operation_kinds::MIN_CALLS;

/// Kinds by operation start here; kinds by size are below.
const NAMED: u32 = 1 << 28;

/// The kinds of the batches so far, by hop and number of the operation's name.
#[derive(Clone, Debug, Default)]
pub(super) struct OperationKinds(FxHashMap<(u32, u32), u32>);

impl OperationKinds {
    /// Adds the kinds that occur often enough in a batch.
    pub(super) fn add(&mut self, trace: &MessageTrace, naming: &Naming, calls: &Calls) {
        if !trace.has_operations() {
            return;
        }
        let mut counts: FxHashMap<(u32, u32), usize> = FxHashMap::default();
        for row in calls.iter().filter_map(|call| calls.request(call)) {
            if let Some(key) = key(trace, naming, row) {
                *counts.entry(key).or_default() += 1;
            }
        }
        counts.retain(|key, count| *count >= MIN_CALLS && !self.0.contains_key(key));
        let mut new: Vec<(u32, u32)> = counts.into_keys().collect();
        new.sort_unstable();
        for key in new {
            let next = NAMED + self.0.len() as u32;
            self.0.insert(key, next);
        }
    }

    /// The kind of the call with this request row; `None` if its operation has no kind of its own.
    pub(super) fn kind_of_request(
        &self,
        trace: &MessageTrace,
        naming: &Naming,
        row: MessageId,
    ) -> Option<u32> {
        self.0.get(&key(trace, naming, row)?).copied()
    }
}

/// The hop of a request and its operation name.
fn key(trace: &MessageTrace, naming: &Naming, row: MessageId) -> Option<(u32, u32)> {
    Some((naming.hop(row), trace.operations(row)?.name?))
}

#[cfg(test)]
mod tests {
    use message_trace::OperationRole;

    use super::*;
    use crate::fixture::Fixture;
    use crate::options::Options;

    /// Calls from web to db with operation names of these numbers.
    fn calls(names: impl Iterator<Item = Option<u32>>) -> MessageTrace {
        let mut trace = Fixture::new();
        for (at, name) in (0..).zip(names) {
            let call = trace.send("web", "db", 100 * at, 100 * at + 10).on(1);
            call.tells(OperationRole::Request, None).named(name, false);
        }
        trace.trace()
    }

    fn add(kinds: &mut OperationKinds, trace: &MessageTrace) -> Vec<Option<u32>> {
        let naming = Naming::new(trace, &Options::default());
        kinds.add(trace, &naming, &Calls::from_trace(trace));
        trace.ids().map(|row| kinds.kind_of_request(trace, &naming, row)).collect()
    }

    #[test]
    fn a_frequent_operation_becomes_a_kind_and_stays_one() {
        let mut kinds = OperationKinds::default();
        let often = |name: u32, count: usize| std::iter::repeat_n(Some(name), count);
        let rest = || [Some(9), None].into_iter();
        let found = add(&mut kinds, &calls(often(7, MIN_CALLS).chain(rest())));
        assert_eq!([found[0], found[MIN_CALLS], found[MIN_CALLS + 1]], [Some(NAMED), None, None]);
        // In the next batch the other operation is frequent, and the first one is rare.
        let found = add(&mut kinds, &calls(often(9, MIN_CALLS).chain(often(7, 1))));
        assert_eq!([found[0], found[MIN_CALLS]], [Some(NAMED + 1), Some(NAMED)]);
    }
}
