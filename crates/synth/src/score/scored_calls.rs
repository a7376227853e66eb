//! Scored calls: the caller, the time, the true parent and the inferred parent of each. All
//! measures read only this, so that each can be tested on hand-written calls.

use analyze::calls::{CallId, Calls, CandidateParents, LikelyParents};
use analyze::infer::Links;
use analyze::naming::NodeNames;
use message_trace::{MessageTrace, NodeId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::error::Error;
use crate::ground_truth::{CallOrigin, CallOrigins, GroundTruth};

/// Numbers of calls that were scored and that were not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CallPopulation {
    /// Calls of the trace.
    pub calls: u64,
    /// Calls that are not in the truth.
    pub calls_without_truth: u64,
    /// Calls or messages of the truth that are not in the trace.
    pub truth_without_calls: u64,
    /// Calls with a true parent that is not in the trace; they count to the nearest call above the
    /// parent that is in the trace.
    pub adopted: u64,
    /// Calls of excluded callers.
    pub excluded: u64,
    /// Calls that begin a path in the truth.
    pub roots: u64,
    /// Calls that begin a path in the truth and were given a parent.
    pub roots_with_a_parent: u64,
}

/// The calls of a trace with truth and inference.
#[derive(Clone, Debug, Default)]
pub struct ScoredCalls {
    /// The calls; a call's number is its index.
    pub(super) calls: Vec<ScoredCall>,
    /// Names of the ends of calls.
    pub(super) names: Vec<String>,
    /// The other possible parents of each call, with their probabilities; `None` stands for no
    /// parent (spontaneous).
    pub(super) candidates: Vec<Vec<(Option<u32>, f64)>>,
    /// Traces of more than one call in the truth, including those not in the trace.
    pub(super) traces_in_truth: Option<u64>,
    /// For each call, whether it is the root of a complete trace, with no call missing.
    pub(super) whole: Vec<bool>,
    truth_without_calls: u64,
    adopted: u64,
}

/// A call. Times are nanoseconds on the common clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoredCall {
    /// The caller and the callee.
    pub(super) nodes: [NodeId; 2],
    /// Names of both nodes, as indices of [`ScoredCalls::names`].
    pub(super) names: [u32; 2],
    /// When the request was sent.
    pub(super) sent: Option<i64>,
    /// When the request was received.
    pub(super) received: Option<i64>,
    /// When the response was sent.
    pub(super) answered: Option<i64>,
    /// Number of the call's messages.
    pub(super) messages: usize,
    /// True origin.
    pub(super) origin: CallOrigin,
    /// Whether the call's caller is excluded.
    pub(super) excluded: bool,
    /// The most likely parent.
    pub(super) inferred: Option<u32>,
    /// Probability of that parent.
    pub(super) probability: f64,
}

impl ScoredCalls {
    /// The calls of `trace` with their parents by `links` and `truth`. `exclude` names the callers
    /// to leave out.
    ///
    /// # Errors
    /// When no caller has an excluded name, or the truth has none of the calls.
    pub fn new(
        trace: &MessageTrace,
        links: &Links,
        options: &analyze::Options,
        truth: &GroundTruth,
        exclude: &[String],
    ) -> Result<ScoredCalls, Error> {
        let calls = Calls::from_trace(trace);
        let CallOrigins { of: origins, missing, adopted, traces, whole } =
            truth.origins_of_calls(trace, &calls);
        if origins.iter().all(|origin| *origin == CallOrigin::Unknown) {
            let why = "the ground truth contains none of the calls of this data directory; does it \
                 belong to another trace?";
            return Err(Error::Unknown(why.into()));
        }
        let candidates = CandidateParents::from_links(&calls, links);
        let parents = LikelyParents::from_links(&calls, links, &candidates);
        let number = |call: CallId| call.index() as u32;
        let mut names = TextNumbers::default();
        let mut of_nodes = NodeNames::new(trace, options);
        let mut scored = ScoredCalls {
            traces_in_truth: traces,
            whole,
            truth_without_calls: missing,
            adopted,
            ..ScoredCalls::default()
        };
        for (call, origin) in calls.iter().zip(origins) {
            let ends = calls.caller_and_callee(trace, call);
            let parent = parents.of_call(call);
            let request = calls.request(call);
            scored.calls.push(ScoredCall {
                nodes: ends.map(|(node, _)| node),
                names: ends.map(|(node, tid)| names.intern(of_nodes.name(node, tid))),
                sent: request.and_then(|row| trace.send_ts(row).or(trace.recv_ts(row))),
                received: request.and_then(|row| trace.recv_ts(row).or(trace.send_ts(row))),
                answered: calls
                    .response(call)
                    .and_then(|row| trace.send_ts(row).or(trace.recv_ts(row))),
                messages: calls.message_count(call),
                origin,
                excluded: false,
                inferred: parent.and_then(|parent| parent.call).map(number),
                probability: parent.map_or(0.0, |parent| parent.probability),
            });
            let candidates = candidates.of_call(call).iter();
            scored.candidates.push(candidates.map(|(call, p)| (call.map(number), *p)).collect());
        }
        scored.names = names.texts;
        scored.exclude_callers(exclude)?;
        Ok(scored)
    }

    /// Excludes the calls of the callers with these names.
    pub(super) fn exclude_callers(&mut self, callers: &[String]) -> Result<(), Error> {
        for name in callers {
            let mut any = false;
            for call in
                self.calls.iter_mut().filter(|call| self.names[call.names[0] as usize] == *name)
            {
                (call.excluded, any) = (true, true);
            }
            if !any {
                let makers: FxHashSet<u32> = self.calls.iter().map(|call| call.names[0]).collect();
                let mut makers: Vec<&str> =
                    makers.into_iter().map(|name| self.names[name as usize].as_str()).collect();
                makers.sort_unstable();
                makers.truncate(20);
                let why = format!(
                    "--exclude {name}: this node makes no calls; callers are {}",
                    makers.join(", ")
                );
                return Err(Error::Unknown(why));
            }
        }
        Ok(())
    }

    /// The calls that are scored as links: those with a parent in the truth and a caller that is
    /// not excluded.
    pub(super) fn scored_links(
        &self,
    ) -> impl Iterator<Item = (usize, &ScoredCall, u32)> + Clone + '_ {
        self.calls.iter().enumerate().filter_map(|(number, call)| match call.origin {
            CallOrigin::Call(parent) if !call.excluded => Some((number, call, parent)),
            _ => None,
        })
    }

    /// True parent of every call; `None` for a root, and for a call that is not in the truth.
    pub(super) fn true_parents(&self) -> Vec<Option<u32>> {
        let parent = |call: &ScoredCall| match call.origin {
            CallOrigin::Call(parent) => Some(parent),
            _ => None,
        };
        self.calls.iter().map(parent).collect()
    }

    /// The inferred parent of a call, or the true one if its caller is excluded.
    pub(super) fn inferred_parent(&self, call: usize) -> Option<u32> {
        let call = &self.calls[call];
        match call.origin {
            CallOrigin::Call(parent) if call.excluded => Some(parent),
            CallOrigin::Root if call.excluded => None,
            _ => call.inferred,
        }
    }

    /// Counts the scored calls and the others.
    pub(super) fn count_population(&self) -> CallPopulation {
        let count = |of: &dyn Fn(&ScoredCall) -> bool| {
            self.calls.iter().filter(|call| of(call)).count() as u64
        };
        CallPopulation {
            calls: self.calls.len() as u64,
            calls_without_truth: count(&|call| call.origin == CallOrigin::Unknown),
            truth_without_calls: self.truth_without_calls,
            adopted: self.adopted,
            excluded: count(&|call| call.excluded),
            roots: count(&|call| call.origin == CallOrigin::Root),
            roots_with_a_parent: count(&|call| {
                call.origin == CallOrigin::Root && !call.excluded && call.inferred.is_some()
            }),
        }
    }
}

/// Repeated texts, numbered in the order of occurrence.
#[derive(Debug, Default)]
struct TextNumbers {
    numbers: FxHashMap<String, u32>,
    texts: Vec<String>,
}

impl TextNumbers {
    fn intern(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// A hand-written call: caller, callee, true parent, inferred parent with its probability.
#[cfg(test)]
pub(super) type HandmadeCall<'a> = (&'a str, &'a str, Option<u32>, Option<u32>, f64);

#[cfg(test)]
impl ScoredCalls {
    /// Hand-written calls, one every ten nanoseconds. Calls without a true parent are roots.
    pub(super) fn from_rows(rows: &[HandmadeCall<'_>]) -> ScoredCalls {
        let mut names = TextNumbers::default();
        let mut scored = ScoredCalls::default();
        for (number, (caller, callee, parent, inferred, probability)) in rows.iter().enumerate() {
            let ends = [names.intern(caller), names.intern(callee)];
            let time = Some(10 * number as i64);
            scored.calls.push(ScoredCall {
                nodes: ends.map(|end| NodeId::from_index(end as usize)),
                names: ends,
                sent: time,
                received: time,
                answered: None,
                messages: 1,
                origin: parent.map_or(CallOrigin::Root, CallOrigin::Call),
                excluded: false,
                inferred: *inferred,
                probability: *probability,
            });
            scored.candidates.push(vec![(*inferred, *probability)]);
        }
        scored.names = names.texts;
        scored
    }
}
