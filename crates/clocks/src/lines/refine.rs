//! Lines that explain all messages of the graph: each node in turn is moved to the middle of what
//! all its neighbours leave it, given their lines, until nothing moves any more.
//!
//! Nodes that messages lead to and from, whatever the way, are bounded on both sides. The others
//! are only known from one; they are placed by the former and have no say in where these are.

use crate::lines::graph::{Edge, Graph, Rate};
use crate::pairs::region::{Bounds, Fit, Line, Point, hull};
use crate::tuning::{MAX_SKEW, MAX_SWEEPS, MISFIT_NS, REFINE_ROUNDS, SAME_RATE, STILL_NS};

/// An edge's messages in common time, as bounds on how much more the second node's line must be
/// corrected than the first's.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub(crate) nodes: [usize; 2],
    pub(crate) above: Vec<Point>,
    pub(crate) below: Vec<Point>,
    /// Of all its messages, when the first and the last was sent.
    pub(crate) times: [f64; 2],
}

impl Common {
    /// The bounds of an edge whose nodes run at `rates`; `None` where they are not known.
    pub(crate) fn of(edge: &Edge, rates: &[Option<Rate>], origin: i64) -> Option<Common> {
        let [first, second] = [rates[edge.nodes[0]]?, rates[edge.nodes[1]]?];
        let relative = second.skew - first.skew;
        let slopes = [-MAX_SKEW - relative, MAX_SKEW - relative];
        let (mut above, mut below) = (Vec::new(), Vec::new());
        let mut times = [f64::MAX, f64::MIN];
        for mark in &edge.marks {
            let (a, b) = (first.common(origin, mark.a), second.common(origin, mark.b));
            let at = if mark.above { a } else { b };
            times = [times[0].min(at), times[1].max(at)];
            if mark.above {
                above.push(Point { at, value: b - a });
            } else {
                below.push(Point { at, value: a - b });
            }
        }
        hull(&mut above, slopes);
        hull(&mut below, [-slopes[1], -slopes[0]]);
        below.iter_mut().for_each(|point| point.value = -point.value);
        Some(Common { nodes: edge.nodes, above, below, times })
    }

    /// All corrections that the edge leaves.
    pub(crate) fn fit(&self, rates: &[Option<Rate>]) -> Option<Fit> {
        let [first, second] = [rates[self.nodes[0]]?, rates[self.nodes[1]]?];
        let relative = second.skew - first.skew;
        Bounds::new(
            self.above.clone(),
            self.below.clone(),
            [-MAX_SKEW - relative, MAX_SKEW - relative],
        )
        .fit()
    }
}

/// Corrects `rates` so that they explain all messages. `order` is the order of going through the
/// nodes; the first is the reference and stays as it is; `bounded` are those that are
/// bounded on both sides.
pub(crate) fn refine(graph: &Graph, rates: &mut [Option<Rate>], order: &[usize], bounded: &[bool]) {
    for _ in 0..REFINE_ROUNDS {
        let edges: Vec<Option<Common>> =
            graph.edges.iter().map(|edge| Common::of(edge, rates, graph.origin)).collect();
        let mut corrections = vec![Line::default(); graph.nodes.len()];
        for sweep in 0..MAX_SWEEPS {
            let mut moved = 0.0_f64;
            for node in order.iter().skip(1) {
                let Some(fit) = node_fit(graph, rates, &edges, &corrections, *node, bounded) else {
                    continue;
                };
                let old = corrections[*node];
                let ends = fit.1.map(|at| (fit.0.value(at) - old.value(at)).abs());
                moved = moved.max(ends[0]).max(ends[1]);
                corrections[*node] = fit.0;
            }
            if moved < STILL_NS && sweep > 0 {
                break;
            }
        }
        for (rate, line) in rates.iter_mut().zip(&corrections) {
            *rate = rate.map(|rate| rate.plus(*line));
        }
    }
}

/// The middle of what its neighbours leave a node, and over which time.
fn node_fit(
    graph: &Graph,
    rates: &[Option<Rate>],
    edges: &[Option<Common>],
    corrections: &[Line],
    node: usize,
    bounded: &[bool],
) -> Option<(Line, [f64; 2])> {
    let (mut above, mut below) = (Vec::new(), Vec::new());
    let mut times = [f64::MAX, f64::MIN];
    for edge in graph.of_node[node].iter().filter_map(|edge| edges[*edge].as_ref()) {
        let is_second = edge.nodes[1] == node;
        let other = edge.nodes[usize::from(!is_second)];
        if bounded[node] && !bounded[other] {
            continue;
        }
        times = [times[0].min(edge.times[0]), times[1].max(edge.times[1])];
        let shifted = |points: &[Point], into: &mut Vec<Point>, sign: f64| {
            into.extend(points.iter().map(|point| Point {
                at: point.at,
                value: corrections[other].value(point.at) + sign * point.value,
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
    let fit = Bounds::new(above.clone(), below.clone(), slopes).fit()?;
    let [least, greatest] = fit.slopes();
    if greatest - least > SAME_RATE {
        // What the clock's other pieces tell of its rate.
        let clock = graph.nodes[node].clock;
        let siblings = (0..graph.nodes.len())
            .filter(|other| *other != node && graph.nodes[*other].clock == clock)
            .filter_map(|other| {
                Some((rates[other]?.skew + corrections[other].slope, graph.of_node[other].len()))
            });
        if let Some((other, _)) = siblings.max_by_key(|(_, edges)| *edges) {
            let near = [other - skew - SAME_RATE, other - skew + SAME_RATE];
            let near = [near[0].max(slopes[0]), near[1].min(slopes[1])];
            let alike = Bounds::new(above, below, near).fit()?;
            if alike.slack <= fit.slack + 0.01 * MISFIT_NS {
                return Some((alike.line, times));
            }
        }
    }
    Some((fit.line, times))
}
