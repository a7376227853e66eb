//! Finds spans by their ids: the two halves of a call with one id, and the parent of a child that
//! names the id of several spans.
//!
//! A call's client and server may share an id, as Zipkin's do, and a message may have several
//! consumers with one id. Then the caller's span is the parent of the callees'.

use rustc_hash::FxHashMap;

use super::call_side::CallSide;
use super::merge_reports::MergedSpan;
use super::span_record::SpanRecord;
use super::span_sources::SpanSources;

/// Indices of the spans with one id.
#[derive(Clone, Debug, Default)]
struct SpansOfId {
    caller: Option<u32>,
    /// The first that is not the caller.
    callee: Option<u32>,
    others: Vec<u32>,
}

/// Indices of spans by their ids.
pub(super) struct SpansById(FxHashMap<u128, SpansOfId>);

impl SpansById {
    /// Finds the spans of each id.
    pub(super) fn from_spans(all: &[MergedSpan<'_>]) -> SpansById {
        let mut halves: FxHashMap<u128, SpansOfId> = FxHashMap::default();
        for (place, MergedSpan { span, side }) in (0..).zip(all) {
            let ends = halves.entry(span.id).or_default();
            let end = if *side == CallSide::Caller { &mut ends.caller } else { &mut ends.callee };
            match end {
                None => *end = Some(place),
                Some(_) => ends.others.push(place),
            }
        }
        SpansById(halves)
    }

    /// Returns the caller's half of the call if `merged` is the callee's half, and both have one
    /// id.
    pub(super) fn caller_of(&self, merged: &MergedSpan<'_>) -> Option<u32> {
        self.0.get(&merged.span.id)?.caller.filter(|_| merged.side == CallSide::Callee)
    }

    /// Returns the span with the id `parent` that is the parent of `child`. Of several spans it is
    /// the one at the node of `child` during which `child` began.
    pub(super) fn parent_of(
        &self,
        parent: u128,
        child: &SpanRecord<'_>,
        all: &[MergedSpan<'_>],
        sources: &SpanSources<'_>,
    ) -> Option<u32> {
        let SpansOfId { caller, callee, others } = self.0.get(&parent)?;
        let first = callee.or(*caller);
        if others.is_empty() {
            return first;
        }
        let node = sources.node_and_host(child)[0];
        let fit = |place: &u32| {
            let span = &all.get(*place as usize)?.span;
            let is_within = span.begin <= child.begin && span.end >= child.begin;
            Some((sources.node_and_host(span)[0] == node, is_within))
        };
        let candidates: Vec<u32> = callee.iter().chain(others).chain(caller).copied().collect();
        // Of several equally good ones, the first.
        candidates.iter().rev().max_by_key(|place| fit(place)).copied()
    }
}
