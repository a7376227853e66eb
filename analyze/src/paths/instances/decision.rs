//! Decisions about links while trees are built (WAP5 section 5.1, step 3): probably true, probably
//! false, or to be tried both ways.

/// Decision about a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkDecision {
    /// The link is in every tree with its parent.
    True,
    /// The link is in no tree.
    False,
    /// Trees are built with it and without it.
    TryBoth {
        /// Whether the parent is the most likely cause of its child, which decides if there are too
        /// many links to try.
        likely: bool,
    },
}

impl LinkDecision {
    /// Returns the decision for a link with this probability. A link to the `likely` cause of a
    /// child, even if only by a small margin, is never left out untried, so that at least one cause
    /// of every message is considered.
    pub(crate) fn from_probability(probability: f64, likely: bool, band: [f64; 2]) -> LinkDecision {
        let [low, high] = band;
        if probability > high {
            LinkDecision::True
        } else if probability >= low || likely {
            LinkDecision::TryBoth { likely }
        } else {
            LinkDecision::False
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ambiguous_links_and_the_most_likely_cause_are_tried_both_ways() {
        let of =
            |probability, likely| LinkDecision::from_probability(probability, likely, [0.4, 0.6]);
        assert_eq!(of(0.61, true), LinkDecision::True);
        assert_eq!(of(0.6, true), LinkDecision::TryBoth { likely: true });
        assert_eq!(of(0.4, false), LinkDecision::TryBoth { likely: false });
        assert_eq!(of(0.39, false), LinkDecision::False);
        assert_eq!(of(0.2, true), LinkDecision::TryBoth { likely: true });
    }
}
