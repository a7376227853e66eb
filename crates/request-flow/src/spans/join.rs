//! Joins the spans of one trace to drafts of requests, one for each root.
//!
//! ```text
//! shop    |--GET /page-----------------------|        step: shop GET /page
//! shop       |--client: GET /price------|             one step: prices GET /price,
//! prices        |--server: GET /price--|                with the caller's times from the client
//! prices           |--SELECT--|                       step: prices SELECT
//! ```
//!
//! A call has a span at its caller and one at its callee, the two ends of a message. Both spans
//! become one step at the callee. A client's span without the callee's becomes a step at the node
//! that it names. All other spans are a step each.

use rustc_hash::FxHashMap;

use super::draft::{CallerWait, RequestDraft};
use super::merge_reports::{MergedSpan, merge_reports};
use super::misfits::SpanMisfits;
use super::span::SpanKind;
use super::span_record::SpanRecord;
use super::span_sources::SpanSources;
use super::spans_by_id::SpansById;
use crate::step::Step;
use out_of_core::{NameId, NameInterner};

/// Joins the reports of one trace: merges those of one span, and passes a draft for each root to
/// `each`. Returns the number of spans.
pub(super) fn join_trace(
    reports: Vec<SpanRecord<'_>>,
    sources: &SpanSources<'_>,
    misfits: &mut SpanMisfits,
    mut each: impl FnMut(RequestDraft),
) -> usize {
    let all = merge_reports(reports, sources, misfits);
    let mut tree = SpanTree::from_spans(&all, sources, misfits);
    let spans: Vec<SpanRecord<'_>> = all.into_iter().map(|merged| merged.span).collect();
    tree.break_cycles(&spans, misfits);
    let merged = MergedCalls::from_spans(&spans, &tree, sources);
    // Members of each root, in the order of the spans.
    let roots = tree.roots_of_spans();
    let mut members: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
    for (span, root) in (0..).zip(&roots) {
        members.entry(*root).or_default().push(span);
    }
    for root in (0..spans.len() as u32).filter(|span| tree.parents[*span as usize].is_none()) {
        let Some(of) = members.get(&root) else { continue };
        each(merged.build_draft(&spans, &tree, of, sources));
    }
    spans.len()
}

/// The parent of each span.
struct SpanTree {
    parents: Vec<Option<u32>>,
    /// By span: whether it has the id of its parent, as the callee's half of a call.
    is_half: Vec<bool>,
    /// By span: whether its parent is missing.
    torn: Vec<bool>,
    /// By span: the number of its children.
    children: Vec<u32>,
}

impl SpanTree {
    fn from_spans(
        all: &[MergedSpan<'_>],
        sources: &SpanSources<'_>,
        misfits: &mut SpanMisfits,
    ) -> SpanTree {
        let mut tree = SpanTree {
            parents: vec![None; all.len()],
            is_half: vec![false; all.len()],
            torn: vec![false; all.len()],
            children: Vec::new(),
        };
        if all.iter().any(|merged| merged.span.depth.is_some()) {
            tree.find_parents_by_depth(all, misfits);
        }
        let halves = SpansById::from_spans(all);
        for (place, merged) in all.iter().enumerate().filter(|(_, it)| it.span.depth.is_none()) {
            let span = &merged.span;
            tree.parents[place] = match (halves.caller_of(merged), span.parent) {
                // The server's half of a call is part of the client's.
                (Some(client), _) => {
                    tree.is_half[place] = true;
                    Some(client)
                }
                (None, Some(parent)) if parent != span.id => {
                    let parent = halves.parent_of(parent, span, all, sources);
                    tree.torn[place] = parent.is_none();
                    parent
                }
                _ => None,
            };
        }
        tree.children = vec![0; all.len()];
        for parent in tree.parents.iter().flatten() {
            tree.children[*parent as usize] += 1;
        }
        tree
    }

    /// Finds the parents of spans that have an order and a depth.
    fn find_parents_by_depth(&mut self, all: &[MergedSpan<'_>], misfits: &mut SpanMisfits) {
        let mut order: Vec<(u32, u32)> =
            (0..).zip(all).filter_map(|(place, it)| Some((place, it.span.depth?))).collect();
        order.sort_by_key(|(place, _)| all[*place as usize].span.order);
        let mut open: Vec<(u32, u32)> = Vec::new();
        for (place, depth) in order {
            while open.last().is_some_and(|(_, above)| *above >= depth) {
                open.pop();
            }
            let parent = open.last();
            self.parents[place as usize] = parent.map(|(parent, _)| *parent);
            if parent.map_or(0, |(_, above)| above + 1) != depth {
                misfits.broken += 1;
                self.torn[place as usize] = true;
            }
            open.push((place, depth));
        }
    }

    /// Makes the earliest span of each cycle a root.
    fn break_cycles(&mut self, spans: &[SpanRecord<'_>], misfits: &mut SpanMisfits) {
        // 0: not visited, 1: on the current path, 2: leads to a root.
        let mut states = vec![0u8; spans.len()];
        for start in 0..spans.len() {
            let (mut walk, mut next) = (Vec::new(), Some(start as u32));
            while let Some(span) = next.filter(|span| states[*span as usize] == 0) {
                states[span as usize] = 1;
                walk.push(span);
                next = self.parents[span as usize];
            }
            if let Some(met) = next.filter(|span| states[*span as usize] == 1) {
                let first = walk.iter().position(|span| *span == met).unwrap_or(0);
                let cycle = &walk[first..];
                let root = cycle.iter().min_by_key(|span| (spans[**span as usize].begin, **span));
                if let Some(root) = root {
                    if let Some(parent) = self.parents[*root as usize].take() {
                        self.children[parent as usize] -= 1;
                    }
                    self.torn[*root as usize] = true;
                    misfits.broken += 1;
                }
            }
            walk.iter().for_each(|span| states[*span as usize] = 2);
        }
    }

    /// Returns the root that each span leads to.
    fn roots_of_spans(&self) -> Vec<u32> {
        let mut roots: Vec<Option<u32>> = vec![None; self.parents.len()];
        let mut walk = Vec::new();
        for start in 0..self.parents.len() as u32 {
            let mut at = start;
            let root = loop {
                if let Some(root) = roots[at as usize] {
                    break root;
                }
                walk.push(at);
                match self.parents[at as usize] {
                    Some(parent) => at = parent,
                    None => break at,
                }
            };
            walk.drain(..).for_each(|span| roots[span as usize] = Some(root));
        }
        (0..).zip(roots).map(|(span, root)| root.unwrap_or(span)).collect()
    }
}

/// Calls with spans at both ends.
struct MergedCalls {
    /// By the callee's span: the caller's.
    caller: Vec<Option<u32>>,
    /// By the caller's span: whether it is part of the callee's step.
    is_caller: Vec<bool>,
}

impl MergedCalls {
    fn from_spans(
        spans: &[SpanRecord<'_>],
        tree: &SpanTree,
        sources: &SpanSources<'_>,
    ) -> MergedCalls {
        let mut merged =
            MergedCalls { caller: vec![None; spans.len()], is_caller: vec![false; spans.len()] };
        for (place, span) in spans.iter().enumerate() {
            let Some(parent) = tree.parents[place] else { continue };
            let above = &spans[parent as usize];
            let is_call = tree.is_half[place] || is_call(above, span, sources);
            if tree.children[parent as usize] == 1 && is_call {
                merged.caller[place] = Some(parent);
                merged.is_caller[parent as usize] = true;
            }
        }
        // A span cannot be the callee's end of one call and the caller's end of another: it stays
        // the callee's end of the outer call.
        let both: Vec<bool> = (0..spans.len())
            .map(|place| merged.is_caller[place] && merged.caller[place].is_some())
            .collect();
        for caller in &mut merged.caller {
            if caller.is_some_and(|caller| both[caller as usize]) {
                *caller = None;
            }
        }
        let mut is_caller = vec![false; spans.len()];
        for caller in merged.caller.iter().flatten() {
            is_caller[*caller as usize] = true;
        }
        merged.is_caller = is_caller;
        merged
    }

    /// Builds the draft of the request with the spans `members`.
    fn build_draft(
        &self,
        spans: &[SpanRecord<'_>],
        tree: &SpanTree,
        members: &[u32],
        sources: &SpanSources<'_>,
    ) -> RequestDraft {
        let mut draft = RequestDraft::default();
        let mut places: FxHashMap<u32, u32> = FxHashMap::default();
        for span in members.iter().filter(|span| !self.is_caller[**span as usize]) {
            let next = places.len() as u32;
            places.insert(*span, next);
        }
        for span in members.iter().filter(|span| !self.is_caller[**span as usize]) {
            let callee = &spans[*span as usize];
            let caller = self.caller[*span as usize];
            let above = tree.parents[caller.unwrap_or(*span) as usize];
            let parent = above.and_then(|above| places.get(&above)).copied();
            let is_torn = tree.torn[caller.unwrap_or(*span) as usize];
            let caller = caller.map(|caller| &spans[caller as usize]);
            // A call with a span at its caller only.
            let is_lone_client = caller.is_none()
                && matches!(callee.kind, SpanKind::Client | SpanKind::Producer)
                && callee.peer != NameInterner::UNKNOWN
                && tree.children[*span as usize] == 0;
            if parent.is_none() {
                draft.begin_request(callee, is_torn);
                let outer = caller.or(is_lone_client.then_some(callee));
                if let Some(resource) = outer.and_then(|of| sources.resource_of_span(of)) {
                    draft.request.caller = resource.node;
                    draft.request.caller_host = resource.host;
                } else if matches!(callee.kind, SpanKind::Server | SpanKind::Consumer) {
                    draft.request.caller = callee.peer;
                }
            }
            if is_lone_client {
                draft.add_untraced(callee, parent, sources);
            } else {
                draft.add_span(callee, caller, parent, sources);
            }
        }
        draft
    }
}

/// Returns whether `above` is the caller's span of a call and `span`, its only child, the callee's.
fn is_call(above: &SpanRecord<'_>, span: &SpanRecord<'_>, sources: &SpanSources<'_>) -> bool {
    match (above.kind, span.kind) {
        (SpanKind::Client, SpanKind::Server) | (SpanKind::Producer, SpanKind::Consumer) => true,
        // Some tracers give no kind: the caller's half is then a span with a single child, at
        // another node and with the same name.
        (SpanKind::Unknown, SpanKind::Unknown | SpanKind::Server)
        | (SpanKind::Client, SpanKind::Unknown) => {
            let node =
                |of: &SpanRecord<'_>| sources.resource_of_span(of).map(|resource| resource.node);
            node(above) != node(span)
                && has_same_name(
                    sources.names.name_of(above.operation),
                    sources.names.name_of(span.operation),
                )
        }
        _ => false,
    }
}

/// Returns whether two names are equal except for a prefix, as in `/shop.Cart/Get` and
/// `grpc.shop.Cart/Get`.
fn has_same_name(one: &str, other: &str) -> bool {
    let trimmed = |name: &str| name.trim_start_matches('/').to_owned();
    let (one, other) = (trimmed(one), trimmed(other));
    !one.is_empty() && !other.is_empty() && (one.ends_with(&other) || other.ends_with(&one))
}

impl RequestDraft {
    fn begin_request(&mut self, root: &SpanRecord<'_>, is_torn: bool) {
        self.request.trace = match root.trace_text {
            Some(text) => text.to_owned(),
            None if root.trace >> 64 == 0 => format!("{:016x}", root.trace),
            None => format!("{:032x}", root.trace),
        };
        self.request.probability = root.probability.unwrap_or(1.0);
        self.request.torn = is_torn;
    }

    /// Adds the step of a span, with the caller's times if the caller's span is known.
    fn add_span(
        &mut self,
        span: &SpanRecord<'_>,
        caller: Option<&SpanRecord<'_>>,
        parent: Option<u32>,
        sources: &SpanSources<'_>,
    ) {
        let resource = sources.resource_of_span(span);
        let is_answered = span.kind != SpanKind::Consumer
            && !span.follows
            && caller.is_none_or(|caller| caller.kind != SpanKind::Producer);
        let either =
            |of: fn(&SpanRecord<'_>) -> Option<i64>| of(span).or_else(|| caller.and_then(of));
        let step = Step {
            parent,
            node: resource.map_or(NameInterner::UNKNOWN, |resource| resource.node),
            host: resource.map_or(NameInterner::UNKNOWN, |resource| resource.host),
            begin: span.begin,
            end: span.end,
            caller_begin: caller.and_then(|caller| caller.begin),
            caller_end: caller.filter(|_| is_answered).and_then(|caller| caller.end),
            failed: span.failed || caller.is_some_and(|caller| caller.failed),
            probability: span.probability.unwrap_or(1.0),
            bytes_in: either(|span| span.bytes_in),
            bytes_out: either(|span| span.bytes_out),
            ..Step::new(NameInterner::UNKNOWN, span.operation)
        };
        let of_resource = resource.map_or(&[][..], |resource| &resource.parameters);
        let own = span.parameters.iter().copied();
        let own = own.chain(of_resource.iter().map(|(name, value)| (*name, value.as_str())));
        let mut all: Vec<(NameId, &str)> = own.collect();
        let of_caller = caller.map_or(&[][..], |caller| &caller.parameters);
        for (name, value) in of_caller {
            if all.iter().all(|(other, _)| other != name) {
                all.push((*name, value));
            }
        }
        let clocks =
            [sources.clock_of_span(span), caller.map_or(0, |caller| sources.clock_of_span(caller))];
        let order = caller.and_then(|caller| caller.order).or(span.order);
        self.push_step(step, all, order, clocks, CallerWait::from_spans(span, caller));
    }

    /// Adds the step of a call at a node that wrote no spans.
    fn add_untraced(
        &mut self,
        span: &SpanRecord<'_>,
        parent: Option<u32>,
        sources: &SpanSources<'_>,
    ) {
        let is_answered = span.kind != SpanKind::Producer;
        let step = Step {
            parent,
            caller_begin: span.begin,
            caller_end: span.end.filter(|_| is_answered),
            failed: span.failed,
            probability: span.probability.unwrap_or(1.0),
            bytes_in: span.bytes_in,
            bytes_out: span.bytes_out,
            ..Step::new(span.peer, span.operation)
        };
        let clocks = [0, sources.clock_of_span(span)];
        let parameters = span.parameters.iter().copied();
        self.push_step(step, parameters, span.order, clocks, CallerWait::from_spans(span, None));
    }
}
