//! The geometry of a WAP5 timeline (sections 6.1, Figures 10 and 12 to 14), in nanoseconds and rows: what is drawn
//! from when to when, and on which row. Time and causality go from left to right. A chain stays on its row; where a
//! path forks, the branch that ends last goes on and each other one gets a row of its own below, so that the
//! uppermost row is what the path waits for.

use analyze::paths::{Hop, PathPattern};
use message_trace::stats::Summary;

use crate::timing::{Critical, Part, Timing};

/// Hops that are drawn of one pattern. More cannot be told apart, and the main branches come first.
const MOST: usize = 1_000;

/// What an element stands for, which decides its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The sender of the root, where the path starts.
    Source,
    /// A node at work: a box.
    Node,
    /// A message under way: a line.
    Network,
    /// An untraced node with its network on both ways: a diamond.
    Untraced,
    /// The last receiver of a branch, where it ends.
    Sink,
}

/// Something drawn on a row.
#[derive(Clone, Debug)]
pub(super) struct Element<'a> {
    pub(super) kind: Kind,
    /// The hop to which it belongs.
    pub(super) hop: &'a Hop,
    pub(super) row: usize,
    /// Nanoseconds since the root was sent.
    pub(super) from: f64,
    /// Nanoseconds since the root was sent; never less than `from`.
    pub(super) to: f64,
    /// What was measured there.
    pub(super) delay: Option<Summary>,
    /// Whether this is the delay that matters most.
    pub(super) critical: bool,
}

impl Element<'_> {
    /// The node it shows; of a message, the sender.
    pub(super) fn name(&self) -> &str {
        if self.kind == Kind::Sink { &self.hop.dst } else { &self.hop.src }
    }

    /// Whether that node was traced.
    pub(super) fn traced(&self) -> bool {
        if self.kind == Kind::Sink { self.hop.dst_traced } else { self.hop.src_traced }
    }
}

/// Where a branch leaves the row of its fork.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fork {
    /// Nanoseconds since the root was sent.
    pub(super) at: f64,
    pub(super) from_row: usize,
    pub(super) to_row: usize,
}

/// A pattern over time.
#[derive(Debug)]
pub(super) struct Timeline<'a> {
    /// From left to right within each row.
    pub(super) elements: Vec<Element<'a>>,
    pub(super) forks: Vec<Fork>,
    pub(super) rows: usize,
    /// The time of the last receipt.
    pub(super) span: f64,
    /// How many hops were left out.
    pub(super) omitted: usize,
}

impl<'a> Timeline<'a> {
    pub(super) fn of(pattern: &'a PathPattern, timing: &Timing) -> Timeline<'a> {
        let mut timeline = Timeline {
            elements: Vec::new(),
            forks: Vec::new(),
            rows: 0,
            span: timing.end,
            omitted: pattern.hops.len().saturating_sub(MOST),
        };
        let mut row_of = vec![0; pattern.hops.len()];
        // Still to be placed: a hop, the hop that caused it, and whether it goes on in that one's row.
        let mut waiting: Vec<(usize, Option<usize>, bool)> =
            timing.roots.iter().rev().map(|root| (*root, None, false)).collect();
        for _ in 0..MOST {
            let Some((hop, parent, goes_on)) = waiting.pop() else {
                break;
            };
            row_of[hop] = match parent {
                Some(parent) if goes_on => row_of[parent],
                _ => {
                    timeline.rows += 1;
                    timeline.rows - 1
                }
            };
            timeline.place(&pattern.hops[hop], hop, parent, row_of[hop], timing);
            if let (Some(parent), false) = (parent, goes_on) {
                let at = timeline.start_of(&pattern.hops[hop], parent, timing);
                timeline.forks.push(Fork { at, from_row: row_of[parent], to_row: row_of[hop] });
            }
            // The main branch is placed first, hence pushed last: rows of later forks come above those of earlier
            // ones, and no fork's line crosses another branch.
            let main = timing.main_child(hop);
            let others = timing.children[hop].iter().rev().filter(|child| Some(**child) != main);
            waiting.extend(others.map(|child| (*child, Some(hop), false)));
            waiting.extend(main.map(|main| (main, Some(hop), true)));
        }
        timeline
    }

    /// When the work that leads to a child of `parent` begins.
    fn start_of(&self, hop: &Hop, parent: usize, timing: &Timing) -> f64 {
        if hop.untraced.is_some() { timing.sent[parent] } else { timing.received[parent] }
    }

    fn place(&mut self, hop: &'a Hop, index: usize, parent: Option<usize>, row: usize, timing: &Timing) {
        let (sent, received) = (timing.sent[index], timing.received[index]);
        let is_critical = |part| timing.critical == Some(Critical { hop: index, part });
        let mut add = |kind, from: f64, to: f64, delay, critical| {
            self.elements.push(Element { kind, hop, row, from, to, delay, critical });
        };
        match parent {
            None => add(Kind::Source, sent, sent, None, false),
            Some(parent) if hop.untraced.is_some() => {
                add(Kind::Untraced, timing.sent[parent], received, hop.untraced, is_critical(Part::Untraced));
            }
            Some(parent) if !hop.src_traced => {
                add(Kind::Untraced, timing.received[parent], sent, None, false);
            }
            Some(parent) => {
                add(Kind::Node, timing.received[parent], sent, hop.node, is_critical(Part::Node));
            }
        }
        if hop.network.is_some() {
            add(Kind::Network, sent, received, hop.network, is_critical(Part::Network));
        }
        if timing.children[index].is_empty() {
            add(Kind::Sink, received, received, None, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{self, MS};

    fn of(pattern: &PathPattern) -> Timeline<'_> {
        Timeline::of(pattern, &Timing::of(pattern))
    }

    #[test]
    fn widths_are_the_mean_delays() {
        for pattern in samples::some().iter().chain([&samples::pipeline(0, 60)]) {
            let timeline = of(pattern);
            for element in timeline.elements.iter() {
                let mean = element.delay.map_or(0.0, |delay| delay.mean.max(0.0));
                assert!((element.to - element.from - mean).abs() < 1e-3, "{element:?}");
                assert!(element.from >= 0.0 && element.to <= timeline.span);
            }
        }
    }

    #[test]
    fn nothing_overlaps_on_a_row() {
        for pattern in samples::some().iter().chain([&samples::pipeline(0, 60)]) {
            let timeline = of(pattern);
            for row in 0..timeline.rows {
                let elements: Vec<_> =
                    timeline.elements.iter().filter(|element| element.row == row).collect();
                assert!(!elements.is_empty());
                for pair in elements.windows(2) {
                    assert!(pair[0].to <= pair[1].from + 1e-3, "{pair:?}");
                }
            }
        }
    }

    #[test]
    fn branches_have_rows_of_their_own() {
        let pattern = samples::forked();
        let timeline = of(&pattern);
        let rows = |name: &str| -> Vec<usize> {
            let named = timeline.elements.iter().filter(|element| element.name() == name);
            named.map(|element| element.row).collect()
        };
        // The stock server ends last, and the audit record after the response: the uppermost row.
        assert_eq!((timeline.rows, rows("stock"), rows("audit")), (3, vec![0, 0], vec![0]));
        assert_eq!(rows("prices"), [2, 2]);
        assert_eq!(rows("CLIENT"), [0, 1]);
        let fork = timeline.forks.iter().find(|fork| fork.to_row == 2).unwrap();
        assert_eq!((fork.from_row, fork.at), (0, 0.0));
    }

    #[test]
    fn an_untraced_node_is_one_element_with_its_network() {
        let pattern = samples::lookup();
        let timeline = of(&pattern);
        let diamond: Vec<_> =
            timeline.elements.iter().filter(|element| element.kind == Kind::Untraced).collect();
        assert_eq!(diamond.len(), 1);
        assert_eq!(diamond[0].name(), "10.0.0.2");
        assert!((diamond[0].to - diamond[0].from - 2.2 * MS).abs() < 1e-3);
        // It begins where the asking node's box ends.
        let asking = timeline
            .elements
            .iter()
            .find(|element| element.kind == Kind::Node && element.hop.dst == "10.0.0.2");
        assert_eq!(asking.unwrap().to, diamond[0].from);
    }

    #[test]
    fn what_cannot_be_told_apart_is_not_drawn() {
        let pattern = samples::pipeline(0, 3 * MOST);
        let timeline = of(&pattern);
        assert_eq!(timeline.omitted, 2 * MOST);
        assert!(timeline.rows <= MOST && timeline.elements.len() <= 3 * MOST);
    }

    #[test]
    fn a_long_chain_is_one_row() {
        let mut pattern = samples::pipeline(0, 500);
        for (index, hop) in pattern.hops.iter_mut().enumerate() {
            hop.parent = index.checked_sub(1);
        }
        assert_eq!(of(&pattern).rows, 1);
    }
}
