//! Choice of the contexts of an operation that a page has, and of the examples of a context.

use contexts::equivalence::ContextLevel;
use contexts::result::{ContextProfile, OperationProfile};

use crate::tuning::{CONTEXTS_IN_ALL, FEW_CONTEXTS, MAX_CONTEXT_EXAMPLES, MAX_CONTEXTS};

/// The number of contexts that still fit into the page.
#[derive(Debug)]
pub(super) struct ContextQuota(usize);

impl ContextQuota {
    /// A quota for the contexts of a page.
    pub(super) fn for_a_page() -> ContextQuota {
        ContextQuota(CONTEXTS_IN_ALL)
    }

    /// Maximum number of contexts of each kind for the next operation. The first operations get
    /// many; once the quota is used up, the others get a few.
    fn next_limit(&self) -> usize {
        if self.0 >= MAX_CONTEXTS { MAX_CONTEXTS } else { FEW_CONTEXTS }
    }
}

/// The contexts of one kind that a page shows.
pub(super) struct ChosenContexts<'a> {
    /// Number of all contexts of this kind.
    pub(super) all: u64,
    /// Number of steps of the contexts that are left out.
    pub(super) left_calls: u64,
    /// The contexts that make the operation slow, in the order of its reason, then those with the
    /// most calls; each with whether it is slow.
    pub(super) shown: Vec<(&'a ContextProfile, bool)>,
}

impl<'a> ChosenContexts<'a> {
    /// Selects the contexts of an operation.
    pub(super) fn from_operation(
        operation: &'a OperationProfile,
        level: ContextLevel,
        room: &mut ContextQuota,
    ) -> ChosenContexts<'a> {
        let is_reason = |reason: &&contexts::result::SlowReason| reason.level == level;
        let slow = operation.reason.as_ref().filter(is_reason);
        let slow = slow.map(|reason| reason.slow.as_slice()).unwrap_or_default();
        let place = |context: &ContextProfile| slow.iter().position(|id| *id == context.id);
        let all = operation.all_contexts().filter(|context| context.level == level);
        let mut shown: Vec<&ContextProfile> = all.collect();
        shown.sort_by_key(|context| {
            let place = place(context).unwrap_or(usize::MAX);
            (place, std::cmp::Reverse(context.summary.count), context.id)
        });
        // Contexts that are only counted are trace-contexts, whatever context counts them.
        let further = operation.all_contexts().filter_map(|context| context.further);
        let further: Vec<_> = further.filter(|_| level == ContextLevel::Trace).collect();
        let listed = shown.len() as u64;
        let left = shown.split_off(shown.len().min(room.next_limit()));
        room.0 = room.0.saturating_sub(shown.len());
        ChosenContexts {
            all: listed + further.iter().map(|further| further.contexts).sum::<u64>(),
            left_calls: left.iter().map(|context| context.summary.count).sum::<u64>()
                + further.iter().map(|further| further.steps).sum::<u64>(),
            shown: shown.into_iter().map(|one| (one, place(one).is_some())).collect(),
        }
    }
}

/// Some of `all`: the first, the last, and others evenly spread.
pub(super) fn spread_evenly<Item>(all: &[Item]) -> impl Iterator<Item = &Item> {
    let limit = MAX_CONTEXT_EXAMPLES.min(all.len());
    let last = all.len().saturating_sub(1);
    (0..limit).filter_map(move |place| all.get(place * last / limit.saturating_sub(1).max(1)))
}
