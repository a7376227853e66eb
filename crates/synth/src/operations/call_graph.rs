//! Call graph: the operations called on each stack. It has exactly as many operations,
//! caller-contexts and stack-contexts as configured, or as many as are possible.
//!
//! A stack is added as a child of another in one of three ways. A new operation increases all three
//! numbers. A known operation that its caller never called increases caller- and stack-contexts. A
//! call that its caller already makes on another stack increases stack-contexts only.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;

use super::config::OperationsConfig;
use crate::random::random_below;
use crate::tuning::MAX_STACK;

/// A stack: an operation, and the stack of its caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallStack {
    pub(super) operation: usize,
    /// Stack of the caller; `None` if the operation begins traces.
    pub(super) caller: Option<usize>,
    /// Stacks of the operations that are called on this stack.
    pub(super) calls: Vec<usize>,
    /// Number of callers above the operation.
    depth: usize,
}

/// All stacks; a caller comes before its callees, and the first ones begin traces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallGraph {
    pub(super) stacks: Vec<CallStack>,
    /// Pairs of caller and callee; the external caller is `None`.
    pub(super) pairs: BTreeSet<(Option<usize>, usize)>,
}

impl CallGraph {
    /// A random graph with the numbers of the configuration.
    pub(super) fn random_graph(config: &OperationsConfig, random: &mut ChaCha8Rng) -> CallGraph {
        let mut graph = CallGraph::default();
        for operation in 0..config.entries {
            graph.push_stack(None, operation);
        }
        // Each entry calls an operation, as long as there are operations left.
        for operation in config.entries..config.operations {
            let entry = operation - config.entries;
            let caller = if entry < config.entries { entry } else { graph.any_caller(random) };
            graph.push_stack(Some(caller), operation);
        }
        while graph.pairs.len() < config.caller_contexts && graph.add_pair(config, random) {}
        while graph.stacks.len() < config.stack_contexts && graph.add_stack(random) {}
        graph
    }

    fn push_stack(&mut self, caller: Option<usize>, operation: usize) {
        let stack = self.stacks.len();
        let depth = caller.map_or(0, |caller| self.stacks[caller].depth + 1);
        self.stacks.push(CallStack { operation, caller, calls: Vec::new(), depth });
        self.pairs.insert((caller.map(|caller| self.stacks[caller].operation), operation));
        if let Some(caller) = caller {
            self.stacks[caller].calls.push(stack);
        }
    }

    /// A random stack that is not too deep.
    fn any_caller(&self, random: &mut ChaCha8Rng) -> usize {
        loop {
            let caller = random_below(random, self.stacks.len());
            if self.stacks[caller].depth + 1 < MAX_STACK {
                return caller;
            }
        }
    }

    /// Adds a call of a known operation by an operation that never called it. Operations that call
    /// others are preferred, as their calls can be added later. Returns whether a call could be
    /// added.
    fn add_pair(&mut self, config: &OperationsConfig, random: &mut ChaCha8Rng) -> bool {
        let calls: BTreeSet<usize> = self.pairs.iter().filter_map(|(caller, _)| *caller).collect();
        for tries in 0..100 * config.operations {
            let caller = self.any_caller(random);
            let operation = random_below(random, config.operations);
            let is_preferred = calls.contains(&operation) || tries > config.operations;
            let pair = (Some(self.stacks[caller].operation), operation);
            if is_preferred
                && !self.pairs.contains(&pair)
                && !self.stack_contains(caller, operation)
            {
                self.push_stack(Some(caller), operation);
                return true;
            }
        }
        false
    }

    /// Adds a call that its caller already makes on another stack. Returns whether a call could be
    /// added.
    fn add_stack(&mut self, random: &mut ChaCha8Rng) -> bool {
        let missing: Vec<(usize, usize)> = (0..self.stacks.len())
            .filter(|stack| self.stacks[*stack].depth + 1 < MAX_STACK)
            .flat_map(|stack| {
                let operation = Some(self.stacks[stack].operation);
                let calls = self.pairs.range((operation, 0)..=(operation, usize::MAX));
                calls.map(move |(_, call)| (stack, *call))
            })
            .filter(|(stack, call)| {
                let is_there = |known: &usize| self.stacks[*known].operation == *call;
                !self.stacks[*stack].calls.iter().any(is_there)
                    && !self.stack_contains(*stack, *call)
            })
            .collect();
        if missing.is_empty() {
            return false;
        }
        let (caller, operation) = missing[random_below(random, missing.len())];
        self.push_stack(Some(caller), operation);
        true
    }

    /// Whether an operation is on a stack. Generated operations are not recursive.
    fn stack_contains(&self, stack: usize, operation: usize) -> bool {
        let mut stacks = std::iter::successors(Some(stack), |stack| self.stacks[*stack].caller);
        stacks.any(|stack| self.stacks[stack].operation == operation)
    }

    /// Number of stacks in the subtree of `stack`.
    pub(super) fn subtree_size(&self, stack: usize) -> usize {
        1 + self.stacks[stack].calls.iter().map(|call| self.subtree_size(*call)).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::shipped_config;
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn the_graph_has_the_configured_numbers() {
        let config = shipped_config("operations").unwrap().unwrap();
        for seed in 0..20 {
            let graph = CallGraph::random_graph(&config, &mut ChaCha8Rng::seed_from_u64(seed));
            let operations: BTreeSet<usize> =
                graph.stacks.iter().map(|stack| stack.operation).collect();
            assert_eq!((operations.len(), graph.pairs.len(), graph.stacks.len()), (199, 290, 368));
            let mut paths = BTreeSet::new();
            for stack in 0..graph.stacks.len() {
                let above = std::iter::successors(Some(stack), |one| graph.stacks[*one].caller);
                let path: Vec<usize> = above.map(|one| graph.stacks[one].operation).collect();
                assert!(path.len() <= MAX_STACK && paths.insert(path), "each stack once");
            }
        }
    }
}
