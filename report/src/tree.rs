//! The shape of a pattern as the lines of a tree, for terminal and page.
//!
//! Only forks are indented. A chain, in which each message causes one other, stays in its column,
//! however long it is: it starts with a dot and runs down a line to its end. Within a chain, the
//! hops between a request and its response are indented a little, so that a call and its response
//! stand out. A pipeline, which has no responses, is not indented at all.

use analyze::paths::Hop;

use analyze::paths::timing::PatternTiming;

use crate::tuning::{MAX_CALL_LEVELS, MAX_OPEN_CALLS};

/// The guide before a hop, for each chain around it, from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeGuide {
    /// An outer chain has more branches below.
    Through,
    /// An outer chain has ended.
    Blank,
    /// A branch begins here, and more follow.
    Branch,
    /// The last branch of its fork begins here.
    LastBranch,
}

/// The mark of a hop in its own chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChainMark {
    /// The hop is the first of its chain.
    First,
    /// The hop is in the middle of its chain, or before a fork.
    Middle,
    /// The hop is the last of its chain, with no hops after it.
    Last,
    /// The hop is the only one of its chain.
    Only,
}

/// A line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HopLine {
    /// An index of the pattern's hops.
    pub(crate) hop: usize,
    /// The guides of the chains around the hop.
    pub(crate) guides: Vec<TreeGuide>,
    /// The mark of the hop in its own chain.
    pub(crate) mark: ChainMark,
    /// The number of answered calls of its chain around the hop.
    pub(crate) calls: usize,
}

/// The lines of the tree of `hops`, from the root down.
pub(crate) fn tree_lines(hops: &[Hop], timing: &PatternTiming) -> Vec<HopLine> {
    let mut lines = Vec::with_capacity(hops.len());
    // The chains still to draw: the first hop, the guides of its line, and the guides of the lines
    // after it.
    let mut chains: Vec<(usize, Vec<TreeGuide>, Vec<TreeGuide>)> = Vec::new();
    chains.extend(timing.roots.iter().rev().map(|root| (*root, Vec::new(), Vec::new())));
    while let Some((first, first_guides, guides)) = chains.pop() {
        let mut chain = vec![first];
        let mut last = first;
        while let [only] = timing.children[last][..] {
            chain.push(only);
            last = only;
        }
        let forks = !timing.children[last].is_empty();
        let calls = call_depths(hops, &chain);
        for (position, hop) in chain.iter().enumerate() {
            let mark = match position {
                0 if chain.len() == 1 && !forks => ChainMark::Only,
                0 => ChainMark::First,
                position if position + 1 == chain.len() && !forks => ChainMark::Last,
                _ => ChainMark::Middle,
            };
            let guides = if position == 0 { first_guides.clone() } else { guides.clone() };
            lines.push(HopLine { hop: *hop, guides, mark, calls: calls[position] });
        }
        for (position, child) in timing.children[last].iter().enumerate().rev() {
            let (first_guide, other_guide) = if position + 1 == timing.children[last].len() {
                (TreeGuide::LastBranch, TreeGuide::Blank)
            } else {
                (TreeGuide::Branch, TreeGuide::Through)
            };
            let with = |guide| guides.iter().copied().chain([guide]).collect();
            chains.push((*child, with(first_guide), with(other_guide)));
        }
    }
    lines
}

/// For each hop of `chain`, the number of calls around it that are answered within the chain.
fn call_depths(hops: &[Hop], chain: &[usize]) -> Vec<usize> {
    // For each position, the position of the response to the call there.
    let mut answered = vec![None; chain.len()];
    let mut open: Vec<usize> = Vec::new();
    for (position, index) in chain.iter().enumerate() {
        let call = open
            .iter()
            .rev()
            .take(MAX_OPEN_CALLS)
            .position(|call| hops[*index].is_response_to(&hops[chain[*call]]));
        match call {
            Some(from_top) => {
                let call = open[open.len() - 1 - from_top];
                answered[call] = Some(position);
                open.truncate(open.len() - 1 - from_top);
            }
            None => open.push(position),
        }
    }
    let mut ends: Vec<usize> = Vec::new();
    let mut depths = Vec::with_capacity(chain.len());
    for (position, end) in answered.iter().enumerate() {
        while ends.last() == Some(&position) {
            ends.pop();
        }
        depths.push(ends.len().min(MAX_CALL_LEVELS));
        ends.extend(end);
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_reports;
    use analyze::paths::PathPattern;

    fn tree(pattern: &PathPattern) -> Vec<HopLine> {
        tree_lines(&pattern.hops, &PatternTiming::from_pattern(pattern))
    }

    #[test]
    fn a_chain_stays_in_its_column_and_calls_are_indented() {
        let tree = tree(&sample_reports::cached_pattern());
        assert!(tree.iter().all(|line| line.guides.is_empty()));
        assert_eq!(tree.iter().map(|line| line.calls).collect::<Vec<_>>(), [0, 1, 2, 2, 1, 0]);
        assert_eq!(tree[0].mark, ChainMark::First);
        assert_eq!(tree[5].mark, ChainMark::Last);
    }

    #[test]
    fn a_pipeline_is_not_indented() {
        let mut pattern = sample_reports::pipeline_pattern(0, 2000);
        for (index, hop) in pattern.hops.iter_mut().enumerate() {
            hop.parent = index.checked_sub(1);
        }
        let tree = tree(&pattern);
        assert_eq!(tree.len(), 2000);
        assert!(tree.iter().all(|line| line.guides.is_empty() && line.calls == 0));
    }

    #[test]
    fn a_call_ends_with_its_first_response() {
        let mut pattern = sample_reports::cached_pattern();
        // nginx answers a second time, as a stream does; the client sends no second request.
        let mut more = pattern.hops[5].clone();
        more.parent = Some(5);
        pattern.hops.push(more);
        let calls: Vec<usize> = tree(&pattern).iter().map(|line| line.calls).collect();
        assert_eq!(calls, [0, 1, 2, 2, 1, 0, 0]);
    }

    #[test]
    fn forks_indent() {
        let tree = tree(&sample_reports::forked_pattern());
        let guides: Vec<_> = tree.iter().map(|line| (line.hop, line.guides.as_slice())).collect();
        use TreeGuide::{Blank, Branch, LastBranch, Through};
        assert_eq!(
            guides,
            [
                (0, &[][..]),
                (1, &[Branch]),
                (2, &[Through]),
                (3, &[LastBranch]),
                (4, &[Blank]),
                (5, &[Blank, Branch]),
                (6, &[Blank, LastBranch]),
            ]
        );
    }

    #[test]
    fn each_hop_has_one_line() {
        for pattern in sample_reports::small_system()
            .into_iter()
            .chain([sample_reports::pipeline_pattern(9, 100)])
        {
            let mut hops: Vec<usize> = tree(&pattern).iter().map(|line| line.hop).collect();
            assert!(hops.is_sorted(), "{hops:?}");
            hops.dedup();
            assert_eq!(hops.len(), pattern.hops.len());
        }
    }
}
