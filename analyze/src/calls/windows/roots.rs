//! The roots of the traces that the calls of a window belong to: found by going up from parent to
//! parent, to a call without a parent or to a call of an earlier window.

use message_trace::MessageTrace;
use rustc_hash::FxHashMap;

use super::super::{CallId, Calls, LikelyParents};

/// The call with which a trace begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRoot {
    /// Number of the call.
    pub call: u64,
    /// The time of the call's first message: nanoseconds since the Unix epoch on the common clock.
    pub time: i64,
}

/// The roots of the calls of a window.
pub(super) struct TraceRoots {
    /// The root of each call.
    pub(super) roots: Vec<TraceRoot>,
    /// Whether each call was cut off from its parent, since the walk from parent to parent would be
    /// a cycle.
    pub(super) cut: Vec<bool>,
}

impl TraceRoots {
    /// Finds the roots. `first` is the number of the first message of `trace` in the whole trace;
    /// `known` are the roots of calls of earlier windows, by the numbers of the calls.
    pub(super) fn from_parents(
        trace: &MessageTrace,
        first: u64,
        calls: &Calls,
        parents: &LikelyParents,
        known: &FxHashMap<u64, TraceRoot>,
    ) -> TraceRoots {
        const ON_WALK: u8 = 1;
        const DONE: u8 = 2;
        let root_itself = |call: CallId| {
            let row = calls.earliest_message(call);
            TraceRoot { call: first + row.index() as u64, time: trace.message(row).sort_time() }
        };
        let mut roots: Vec<TraceRoot> = calls.iter().map(root_itself).collect();
        let (mut state, mut cut) = (vec![0u8; calls.len()], vec![false; calls.len()]);
        let mut walk: Vec<CallId> = Vec::new();
        for call in calls.iter() {
            let mut at = call;
            let root = loop {
                if state[at.index()] == DONE {
                    break roots[at.index()];
                }
                if let Some(root) = known.get(&roots[at.index()].call) {
                    walk.push(at);
                    break *root;
                }
                state[at.index()] = ON_WALK;
                walk.push(at);
                match parents.of_call(at).and_then(|parent| parent.call) {
                    Some(parent) if state[parent.index()] != ON_WALK => at = parent,
                    Some(_) => {
                        cut[at.index()] = true;
                        break roots[at.index()];
                    }
                    None => break roots[at.index()],
                }
            };
            for call in walk.drain(..) {
                (roots[call.index()], state[call.index()]) = (root, DONE);
            }
        }
        TraceRoots { roots, cut }
    }
}
