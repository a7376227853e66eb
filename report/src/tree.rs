//! The shape of a pattern as lines of a tree, for terminal and page alike.
//!
//! Only forks go to the right. A chain, in which each message causes one, stays in its column,
//! however long it is: it starts with a dot and runs down a line to its end. Within a chain, what
//! lies between a request and its response is indented a little, so that a call can be told from
//! its answer at a glance; a pipeline, which never answers, is not indented at all.

use analyze::paths::Hop;

use analyze::paths::timing::Timing;

/// What stands before a hop, for each chain that it lies within, from the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guide {
    /// An outer chain has more branches below.
    Through,
    /// An outer chain has ended.
    Blank,
    /// A branch begins here, and more follow.
    Branch,
    /// The last branch of its fork begins here.
    LastBranch,
}

/// What marks the hop in its own chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The first of its chain.
    First,
    /// In the middle, or before a fork.
    Middle,
    /// The last: nothing follows.
    Last,
    /// First and last.
    Only,
}

/// One line of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// An index of the pattern's hops.
    pub(crate) hop: usize,
    /// The chains around it.
    pub(crate) guides: Vec<Guide>,
    /// Its place in its own chain.
    pub(crate) mark: Mark,
    /// How many answered calls it lies within, of its chain.
    pub(crate) calls: usize,
}

/// Calls deeper than this are not indented further.
const MAX_CALLS: usize = 8;

/// How many open calls are searched for the one that a message answers.
const MAX_OPEN: usize = 64;

/// The lines of the tree of `hops`, from the root down.
pub(crate) fn lines(hops: &[Hop], timing: &Timing) -> Vec<Line> {
    let mut lines = Vec::with_capacity(hops.len());
    // Chains still to be drawn: the first hop, the guides of its first line and those of the
    // others.
    let mut chains: Vec<(usize, Vec<Guide>, Vec<Guide>)> = Vec::new();
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
                0 if chain.len() == 1 && !forks => Mark::Only,
                0 => Mark::First,
                position if position + 1 == chain.len() && !forks => Mark::Last,
                _ => Mark::Middle,
            };
            let guides = if position == 0 { first_guides.clone() } else { guides.clone() };
            lines.push(Line { hop: *hop, guides, mark, calls: calls[position] });
        }
        for (position, child) in timing.children[last].iter().enumerate().rev() {
            let (first_guide, other_guide) = if position + 1 == timing.children[last].len() {
                (Guide::LastBranch, Guide::Blank)
            } else {
                (Guide::Branch, Guide::Through)
            };
            let with = |guide| guides.iter().copied().chain([guide]).collect();
            chains.push((*child, with(first_guide), with(other_guide)));
        }
    }
    lines
}

/// For each hop of `chain`, how many calls that are answered within the chain lie around it.
fn call_depths(hops: &[Hop], chain: &[usize]) -> Vec<usize> {
    // By position: where the call at that position is answered.
    let mut answered = vec![None; chain.len()];
    let mut open: Vec<usize> = Vec::new();
    for (position, index) in chain.iter().enumerate() {
        let call = open
            .iter()
            .rev()
            .take(MAX_OPEN)
            .position(|call| hops[*index].answers(&hops[chain[*call]]));
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
        depths.push(ends.len().min(MAX_CALLS));
        ends.extend(end);
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use analyze::paths::PathPattern;

    fn tree(pattern: &PathPattern) -> Vec<Line> {
        lines(&pattern.hops, &Timing::of(pattern))
    }

    #[test]
    fn a_chain_stays_in_its_column_and_calls_are_indented() {
        let tree = tree(&samples::cached());
        assert!(tree.iter().all(|line| line.guides.is_empty()));
        assert_eq!(tree.iter().map(|line| line.calls).collect::<Vec<_>>(), [0, 1, 2, 2, 1, 0]);
        assert_eq!(tree[0].mark, Mark::First);
        assert_eq!(tree[5].mark, Mark::Last);
    }

    #[test]
    fn a_pipeline_is_not_indented() {
        let mut pattern = samples::pipeline(0, 2000);
        for (index, hop) in pattern.hops.iter_mut().enumerate() {
            hop.parent = index.checked_sub(1);
        }
        let tree = tree(&pattern);
        assert_eq!(tree.len(), 2000);
        assert!(tree.iter().all(|line| line.guides.is_empty() && line.calls == 0));
    }

    #[test]
    fn a_call_ends_with_its_first_answer() {
        let mut pattern = samples::cached();
        // nginx answers a second time, as a stream does; the client does not ask again.
        let mut more = pattern.hops[5].clone();
        more.parent = Some(5);
        pattern.hops.push(more);
        let calls: Vec<usize> = tree(&pattern).iter().map(|line| line.calls).collect();
        assert_eq!(calls, [0, 1, 2, 2, 1, 0, 0]);
    }

    #[test]
    fn forks_indent() {
        let tree = tree(&samples::forked());
        let guides: Vec<_> = tree.iter().map(|line| (line.hop, line.guides.as_slice())).collect();
        use Guide::{Blank, Branch, LastBranch, Through};
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
        for pattern in samples::some().into_iter().chain([samples::pipeline(9, 100)]) {
            let mut hops: Vec<usize> = tree(&pattern).iter().map(|line| line.hop).collect();
            assert!(hops.is_sorted(), "{hops:?}");
            hops.dedup();
            assert_eq!(hops.len(), pattern.hops.len());
        }
    }
}
