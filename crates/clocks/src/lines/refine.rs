//! Refines lines until they explain all messages of the graph: each node in sequence is moved to
//! the middle of the range that its neighbours allow, given their lines, until nothing moves any
//! more.
//!
//! Nodes with chains of messages to and from the reference are bounded on both sides. The others
//! are bounded on one side only; the former determine their position, but not vice versa.

use crate::lines::graph::{ClockGraph, ClockRate, PieceEdge};
use crate::pairs::region::{BoundPoint, FittedLine, LineBounds, StraightLine, convex_hull};
use crate::tuning::{MAX_SKEW, MAX_SWEEPS, MISFIT_NS, REFINE_PASSES, SAME_RATE, STILL_NS};

/// An edge's messages in common time, as bounds on how much more the second node's line must be
/// corrected than the first's.
#[derive(Clone, Debug)]
pub(crate) struct EdgeBounds {
    pub(crate) nodes: [usize; 2],
    pub(crate) above: Vec<BoundPoint>,
    pub(crate) below: Vec<BoundPoint>,
    /// When the first and the last of the edge's messages were sent, in nanoseconds since the
    /// graph's origin.
    pub(crate) times: [f64; 2],
}

impl EdgeBounds {
    /// Returns the bounds of an edge with nodes that run at `rates`; `None` if these are not known.
    pub(crate) fn from_edge(
        edge: &PieceEdge,
        rates: &[Option<ClockRate>],
        origin: i64,
    ) -> Option<EdgeBounds> {
        let [first, second] = [rates[edge.nodes[0]]?, rates[edge.nodes[1]]?];
        let relative = second.skew - first.skew;
        let slopes = [-MAX_SKEW - relative, MAX_SKEW - relative];
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let mut times = [f64::MAX, f64::MIN];
        for stamp in &edge.timestamps {
            let (a, b) = (first.common_time(origin, stamp.a), second.common_time(origin, stamp.b));
            let at = if stamp.above { a } else { b };
            times = [times[0].min(at), times[1].max(at)];
            if stamp.above {
                above.push(BoundPoint { at, value: b - a });
            } else {
                below.push(BoundPoint { at, value: a - b });
            }
        }
        convex_hull(&mut above, slopes);
        convex_hull(&mut below, [-slopes[1], -slopes[0]]);
        below.iter_mut().for_each(|point| point.value = -point.value);
        Some(EdgeBounds { nodes: edge.nodes, above, below, times })
    }

    /// Returns all corrections that the edge allows.
    pub(crate) fn fit_corrections(&self, rates: &[Option<ClockRate>]) -> Option<FittedLine> {
        let [first, second] = [rates[self.nodes[0]]?, rates[self.nodes[1]]?];
        let relative = second.skew - first.skew;
        LineBounds::new(
            self.above.clone(),
            self.below.clone(),
            [-MAX_SKEW - relative, MAX_SKEW - relative],
        )
        .fit_line()
    }
}

/// Corrects `rates` so that they explain all messages. `order` is the order of the nodes; the first
/// is the reference and stays as it is; `bounded` are the nodes that are bounded on both sides.
pub(crate) fn refine_rates(
    graph: &ClockGraph,
    rates: &mut [Option<ClockRate>],
    order: &[usize],
    bounded: &[bool],
) {
    for _ in 0..REFINE_PASSES {
        let edges: Vec<Option<EdgeBounds>> = graph
            .edges
            .iter()
            .map(|edge| EdgeBounds::from_edge(edge, rates, graph.origin))
            .collect();
        let mut corrections = vec![StraightLine::default(); graph.nodes.len()];
        for sweep in 0..MAX_SWEEPS {
            let mut moved = 0.0_f64;
            for node in order.iter().skip(1) {
                let Some(fit) = fit_node(graph, rates, &edges, &corrections, *node, bounded) else {
                    continue;
                };
                let old = corrections[*node];
                let ends = fit.1.map(|at| (fit.0.value_at(at) - old.value_at(at)).abs());
                moved = moved.max(ends[0]).max(ends[1]);
                corrections[*node] = fit.0;
            }
            if moved < STILL_NS && sweep > 0 {
                break;
            }
        }
        for (rate, line) in rates.iter_mut().zip(&corrections) {
            *rate = rate.map(|rate| rate.plus_line(*line));
        }
    }
}

/// Returns the correction of a node's line in the middle of the range that its neighbours allow,
/// and the times of its first and last message; `None` if it has no messages.
fn fit_node(
    graph: &ClockGraph,
    rates: &[Option<ClockRate>],
    edges: &[Option<EdgeBounds>],
    corrections: &[StraightLine],
    node: usize,
    bounded: &[bool],
) -> Option<(StraightLine, [f64; 2])> {
    let (mut above, mut below) = (Vec::new(), Vec::new());
    let mut times = [f64::MAX, f64::MIN];
    for edge in graph.of_node[node].iter().filter_map(|edge| edges[*edge].as_ref()) {
        let is_second = edge.nodes[1] == node;
        let other = edge.nodes[usize::from(!is_second)];
        if bounded[node] && !bounded[other] {
            continue;
        }
        times = [times[0].min(edge.times[0]), times[1].max(edge.times[1])];
        let shifted = |points: &[BoundPoint], into: &mut Vec<BoundPoint>, sign: f64| {
            into.extend(points.iter().map(|point| BoundPoint {
                at: point.at,
                value: corrections[other].value_at(point.at) + sign * point.value,
            }));
        };
        if is_second {
            shifted(&edge.above, &mut above, 1.0);
            shifted(&edge.below, &mut below, 1.0);
        } else {
            shifted(&edge.above, &mut below, -1.0);
            shifted(&edge.below, &mut above, -1.0);
        }
    }
    let skew = rates[node]?.skew;
    let slopes = [-MAX_SKEW - skew, MAX_SKEW - skew];
    let fit = LineBounds::new(above.clone(), below.clone(), slopes).fit_line()?;
    let [least, greatest] = fit.slope_range();
    if greatest - least > SAME_RATE {
        // The rate of the clock's other pieces.
        let clock = graph.nodes[node].clock;
        let siblings = (0..graph.nodes.len())
            .filter(|other| *other != node && graph.nodes[*other].clock == clock)
            .filter_map(|other| {
                Some((rates[other]?.skew + corrections[other].slope, graph.of_node[other].len()))
            });
        if let Some((other, _)) = siblings.max_by_key(|(_, edges)| *edges) {
            let near = [other - skew - SAME_RATE, other - skew + SAME_RATE];
            let near = [near[0].max(slopes[0]), near[1].min(slopes[1])];
            let alike = LineBounds::new(above, below, near).fit_line()?;
            if alike.slack <= fit.slack + 0.01 * MISFIT_NS {
                return Some((alike.line, times));
            }
        }
    }
    Some((fit.line, times))
}
