//! Merges the reports of one span into one span.
//!
//! Tracers report a span more than once: first its begin and later its end, or each half of a call
//! by itself. The order of reports in the files has no meaning.
//!
//! ```text
//! id 7   client, shop   10..        + client, shop   ..64    = client, shop   10..64
//! id 7   server, stock  12..62      + (no kind) stock        = server, stock  12..62
//! id 8   consumer, mail 20..30        consumer, audit 21..29   stay two
//! ```
//!
//! Reports with one id are parts of one span if they are on one side of the call and from one node.
//! Consumers that begin at different times take the message twice.

use super::call_side::CallSide;
use super::misfits::SpanMisfits;
use super::span::SpanKind;
use super::span_record::SpanRecord;
use super::span_sources::SpanSources;
use out_of_core::{NameId, NameInterner};

/// A span merged from all its reports, and its side of the call.
pub(super) struct MergedSpan<'b> {
    pub(super) span: SpanRecord<'b>,
    pub(super) side: CallSide,
}

/// Merges the reports of each span of a trace. The spans are in the order of
/// [`SpanSources::compare_spans`].
pub(super) fn merge_reports<'b>(
    mut reports: Vec<SpanRecord<'b>>,
    sources: &SpanSources<'_>,
    misfits: &mut SpanMisfits,
) -> Vec<MergedSpan<'b>> {
    reports.sort_by(|one, other| {
        one.id.cmp(&other.id).then_with(|| sources.compare_reports(one, other))
    });
    let before = reports.len();
    reports.dedup();
    misfits.duplicates += (before - reports.len()) as u64;
    let before = reports.len();
    let mut all: Vec<MergedSpan<'b>> = Vec::with_capacity(before);
    let mut reports = reports.into_iter().peekable();
    while let Some(first) = reports.next() {
        let (id, begin) = (first.id, all.len());
        let mut without_side = Vec::new();
        let mut next = Some(first);
        while let Some(report) = next {
            match CallSide::from_span(&report) {
                CallSide::Unknown => without_side.push(report),
                side => add_report(&mut all, begin, MergedSpan { span: report, side }, sources),
            }
            next = reports.next_if(|next| next.id == id);
        }
        for span in without_side {
            add_report(&mut all, begin, MergedSpan { span, side: CallSide::Unknown }, sources);
        }
        find_sides(&mut all[begin..]);
    }
    misfits.parts += (before - all.len()) as u64;
    all.iter_mut().for_each(|merged| merged.span.resolve_end());
    all.sort_by(|one, other| sources.compare_spans(&one.span, &other.span));
    all
}

/// Merges a report into the span that it is a part of, among the spans from index `begin` on, or
/// adds it as a span of its own. The callee's span is preferred to the caller's if both match.
fn add_report<'b>(
    all: &mut Vec<MergedSpan<'b>>,
    begin: usize,
    report: MergedSpan<'b>,
    sources: &SpanSources<'_>,
) {
    let of = &all[begin..];
    let fits = |side: CallSide| {
        of.iter().position(|it| it.side == side && it.accepts_report(&report, sources))
    };
    let place = match report.side {
        CallSide::Unknown => {
            [CallSide::Callee, CallSide::Caller, CallSide::Unknown].into_iter().find_map(fits)
        }
        side => fits(side),
    };
    match place {
        Some(place) => all[begin + place].span.absorb_report(report.span),
        None => all.push(report),
    }
}

/// Determines the sides of spans that share an id if their kinds do not: a span with the id of a
/// caller is a callee and vice versa, and of two without kinds the longer one is the caller.
fn find_sides(of_id: &mut [MergedSpan<'_>]) {
    if of_id.len() < 2 || of_id.iter().any(|merged| merged.span.depth.is_some()) {
        return;
    }
    let count = |side: CallSide| of_id.iter().filter(|merged| merged.side == side).count();
    let [callers, callees, unknown] =
        [CallSide::Caller, CallSide::Callee, CallSide::Unknown].map(count);
    let lasts = |place: usize| of_id.get(place).and_then(|merged| merged.span.duration());
    let calls = match (callers, callees, unknown) {
        (1.., 0, 1..) => Some(CallSide::Callee),
        (0, 1.., 1) => Some(CallSide::Caller),
        // The span that lasts longer is the first.
        (0, 0, 2) if lasts(0) > lasts(1) && lasts(1).is_some() => {
            of_id[0].side = CallSide::Caller;
            Some(CallSide::Callee)
        }
        _ => None,
    };
    let Some(side) = calls else { return };
    of_id.iter_mut().filter(|it| it.side == CallSide::Unknown).for_each(|it| it.side = side);
}

impl MergedSpan<'_> {
    /// Returns whether `report` may be a part of this span, by its node and time.
    fn accepts_report(&self, report: &MergedSpan<'_>, sources: &SpanSources<'_>) -> bool {
        let (own, other) = (&self.span, &report.span);
        let [own_place, place] = [own, other].map(|span| sources.node_and_host(span));
        let is_alike = |one: &str, other: &str| one == other || one.is_empty() || other.is_empty();
        let is_there = own_place.iter().zip(place).all(|(one, other)| is_alike(one, other));
        let begins_alike = own.begin.is_none() || other.begin.is_none() || own.begin == other.begin;
        let is_one = match (own.depth, own.kind == SpanKind::Consumer) {
            (Some(_), _) => {
                begins_alike && own.depth == other.depth && own.operation == other.operation
            }
            (None, true) => begins_alike,
            (None, false) => true,
        };
        is_there && is_one
    }
}

impl<'b> SpanRecord<'b> {
    /// Merges another report of the span into this one. Of two values that cannot be combined, this
    /// report's is kept.
    fn absorb_report(&mut self, other: SpanRecord<'b>) {
        let earliest = [self.begin, other.begin].into_iter().flatten().min();
        (self.begin, self.end) = (earliest, self.end.max(other.end));
        self.duration = self.duration.max(other.duration);
        self.failed |= other.failed;
        if matches!(self.kind, SpanKind::Unknown | SpanKind::Internal)
            && other.kind != SpanKind::Unknown
        {
            self.kind = other.kind;
        }
        if self.parent.is_none_or(|parent| parent == self.id) {
            (self.parent, self.follows) = (other.parent, other.follows);
        } else if self.parent == other.parent {
            self.follows &= other.follows;
        }
        self.depth = self.depth.or(other.depth);
        self.order = self.order.or(other.order);
        let either = |own: NameId, other| if own == NameInterner::UNKNOWN { other } else { own };
        self.operation = either(self.operation, other.operation);
        self.peer = either(self.peer, other.peer);
        self.probability = self.probability.or(other.probability);
        self.bytes_in = self.bytes_in.or(other.bytes_in);
        self.bytes_out = self.bytes_out.or(other.bytes_out);
        for (name, value) in other.parameters {
            if self.parameters.iter().all(|(own, _)| *own != name) {
                self.parameters.push((name, value));
            }
        }
    }

    /// Computes the end if a report had only the duration.
    fn resolve_end(&mut self) {
        let end = self.begin.zip(self.duration).map(|(begin, it)| begin.saturating_add(it));
        self.end = self.end.max(end);
    }

    /// Returns the span's duration in nanoseconds, if both times are known.
    pub(super) fn duration(&self) -> Option<i64> {
        self.begin.zip(self.end).map(|(begin, end)| end.saturating_sub(begin))
    }
}
