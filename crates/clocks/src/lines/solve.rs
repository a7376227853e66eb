//! Solves the pairs between clocks to a line for each piece of each clock, one connected part of
//! the graph at a time.

use crate::lines::attribution::attribute_changes;
use crate::lines::graph::{ClockGraph, ClockRate};
use crate::lines::pieces::ClockPieces;
use crate::lines::refine::refine_rates;
use crate::lines::uncertainty::{LineUncertainty, find_bounded, line_uncertainties};
use crate::pairs::pair::ClockPair;
use crate::pairs::segments::{DifferenceSegments, find_segments};

/// The lines of all clocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct SolvedClocks {
    /// Number of the common clock.
    pub(crate) reference: usize,
    /// The line of each clock; `None` if it had no messages with any other.
    pub(crate) clocks: Vec<Option<SolvedClock>>,
    /// For each pair of clocks the timestamp pairs that contradict the others, by their indices in
    /// order.
    pub(crate) strays: Vec<Vec<usize>>,
}

/// A clock's offset from the common clock, as a line in each piece between steps.
#[derive(Clone, Debug)]
pub(crate) struct SolvedClock {
    /// Index of the clock that this one is compared with.
    pub(crate) against: usize,
    /// The time on the common clock that the rates are relative to, in nanoseconds.
    pub(crate) origin: i64,
    /// The pieces between the clock's steps.
    pub(crate) pieces: ClockPieces,
    /// The clock's rate in each piece.
    pub(crate) rates: Vec<ClockRate>,
    /// The uncertainty of the worst of these lines.
    pub(crate) uncertainty: LineUncertainty,
}

impl SolvedClock {
    /// Converts a time that the clock showed to nanoseconds since the origin on the common clock;
    /// `None` near a step.
    pub(crate) fn common_time(&self, time: i64) -> Option<f64> {
        let piece = self.pieces.piece_at(time)?;
        Some(self.rates.get(piece)?.common_time(self.origin, time))
    }
}

/// Finds the lines of `clocks` clocks by their `pairs`. The reference is the given clock, or else
/// the best connected one. The uncertainty of a clock holds for the time in which it had messages
/// or, if `spans` has a range of the clock's time for it, for that range.
pub(crate) fn solve_clocks(
    pairs: &[ClockPair],
    clocks: usize,
    reference: Option<usize>,
    spans: &[Option<[i64; 2]>],
) -> SolvedClocks {
    let ranks = connectivity_ranks(pairs, clocks);
    let best = |members: &mut dyn Iterator<Item = usize>| {
        members.max_by_key(|clock| (ranks[*clock], std::cmp::Reverse(*clock)))
    };
    let reference = reference.or_else(|| best(&mut (0..clocks))).unwrap_or(0);
    let mut solved = SolvedClocks {
        reference,
        clocks: vec![None; clocks],
        strays: vec![Vec::new(); pairs.len()],
    };
    for part in connected_components(pairs, clocks) {
        let root = if part.contains(&reference) {
            Some(reference)
        } else {
            best(&mut part.iter().copied())
        };
        if let Some(root) = root.filter(|_| part.len() > 1) {
            solve_component(pairs, &part, root, spans, &mut solved);
        }
    }
    solved
}

/// Returns how well each clock is connected: the number of other clocks with which it has messages
/// in both directions, and the number of its messages.
fn connectivity_ranks(pairs: &[ClockPair], clocks: usize) -> Vec<(usize, u64)> {
    let mut ranks = vec![(0, 0); clocks];
    for pair in pairs {
        for clock in [pair.a, pair.b] {
            let (partners, messages) = &mut ranks[clock];
            *partners += usize::from(pair.messages[0] > 0 && pair.messages[1] > 0);
            *messages += pair.messages[0] + pair.messages[1];
        }
    }
    ranks
}

/// Returns the connected parts of the graph of clocks, each in order.
fn connected_components(pairs: &[ClockPair], clocks: usize) -> Vec<Vec<usize>> {
    let mut neighbours = vec![Vec::new(); clocks];
    for pair in pairs.iter().filter(|pair| !pair.timestamps.is_empty()) {
        neighbours[pair.a].push(pair.b);
        neighbours[pair.b].push(pair.a);
    }
    let mut is_known = vec![false; clocks];
    let mut parts = Vec::new();
    for first in 0..clocks {
        let mut todo = vec![first];
        let mut part = Vec::new();
        while let Some(clock) = todo.pop() {
            if !std::mem::replace(&mut is_known[clock], true) {
                part.push(clock);
                todo.extend(&neighbours[clock]);
            }
        }
        part.sort_unstable();
        if !part.is_empty() {
            parts.push(part);
        }
    }
    parts
}

/// Solves the clocks of one connected part, against its clock `root`.
fn solve_component(
    pairs: &[ClockPair],
    part: &[usize],
    root: usize,
    spans: &[Option<[i64; 2]>],
    solved: &mut SolvedClocks,
) {
    let place = |clock: usize| part.binary_search(&clock).ok();
    let mut numbers = Vec::new();
    let mut own: Vec<ClockPair> = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        if let (Some(a), Some(b)) = (place(pair.a), place(pair.b)) {
            numbers.push(number);
            own.push(ClockPair { a, b, ..pair.clone() });
        }
    }
    let Some(reference) = place(root) else { return };
    let segments: Vec<DifferenceSegments> = own.iter().map(find_segments).collect();
    let pieces = attribute_changes(&own, &segments, part.len(), reference);
    let times = own.iter().flat_map(|pair| {
        let second = (pair.b == reference).then_some(true);
        let second = second.or_else(|| (pair.a == reference).then_some(false));
        pair.timestamps
            .iter()
            .filter_map(move |stamp| second.map(|second| stamp.time_on_axis(second)))
    });
    // If the reference itself was set, the origin lies in its first piece.
    let origin = if pieces[reference].steps.is_empty() {
        times.min()
    } else {
        Some(pieces[reference].since)
    };
    let graph = ClockGraph::new(&own, &segments, &pieces, origin.unwrap_or(0));
    let root_node =
        graph.nodes.iter().position(|node| node.clock == reference && node.piece == 0).unwrap_or(0);
    let (mut rates, order) = graph.align_nodes(root_node);
    let bounded = find_bounded(&graph, root_node);
    refine_rates(&graph, &mut rates, &order, &bounded);
    let spans: Vec<_> = part.iter().map(|clock| spans.get(*clock).copied().flatten()).collect();
    let uncertain = line_uncertainties(&graph, &rates, root_node, &spans);
    for (number, segments) in numbers.iter().zip(segments) {
        solved.strays[*number] = segments.strays;
    }
    for ((clock, pieces), member) in pieces.into_iter().enumerate().zip(part) {
        let nodes = (0..graph.nodes.len()).filter(|node| graph.nodes[*node].clock == clock);
        let rates = nodes.clone().map(|node| rates[node].unwrap_or_default()).collect();
        let uncertainty =
            nodes.clone().map(|node| uncertain[node]).reduce(LineUncertainty::combine_worst);
        let Some(uncertainty) = uncertainty else { continue };
        solved.clocks[*member] =
            Some(SolvedClock { against: root, origin: graph.origin, pieces, rates, uncertainty });
    }
}
