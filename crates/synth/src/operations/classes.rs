//! Classes of traces: trees of calls on the stacks of the call graph, each with a given number of
//! positions. Together they contain all stacks, and as many positions as trace-contexts are
//! configured.

use std::collections::HashSet;

use rand_chacha::ChaCha8Rng;

use super::call_graph::CallGraph;
use super::config::OperationsConfig;
use crate::error::Error;
use crate::random::random_below;

/// A class: its positions in depth-first order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SyntheticClass {
    /// The stack of each position.
    pub(super) stacks: Vec<usize>,
    /// The position of the caller of each; 0 for the root itself.
    pub(super) callers: Vec<usize>,
}

/// Makes classes with as many positions in total as configured.
///
/// # Errors
/// When there are too few positions for all stacks, or too few different trees.
pub(super) fn make_classes(
    config: &OperationsConfig,
    graph: &CallGraph,
    random: &mut ChaCha8Rng,
) -> Result<Vec<SyntheticClass>, Error> {
    let growing: Vec<usize> =
        (0..config.entries).filter(|entry| graph.subtree_size(*entry) > 1).collect();
    let sizes = class_sizes(config, graph, random)?;
    let (mut classes, mut known) = (Vec::new(), HashSet::new());
    for (number, size) in sizes.into_iter().enumerate() {
        // The first classes have all stacks of their entry.
        let has_all_stacks = number < config.entries;
        let entry =
            if has_all_stacks { number } else { growing[random_below(random, growing.len())] };
        let other = (0..100).find_map(|_| {
            let class = grow_class(graph, entry, has_all_stacks, size, random)?;
            known.insert(class.clone()).then_some(class)
        });
        classes.push(other.ok_or_else(|| {
            let why = "there are not enough different traces; use fewer trace_contexts";
            Error::malformed(&config.path, why)
        })?);
    }
    Ok(classes)
}

/// The number of positions of each class. The mean of the numbers is the configured number of
/// executions in a trace.
fn class_sizes(
    config: &OperationsConfig,
    graph: &CallGraph,
    random: &mut ChaCha8Rng,
) -> Result<Vec<usize>, Error> {
    let min_sizes: Vec<usize> =
        (0..config.entries).map(|entry| graph.subtree_size(entry)).collect();
    let of_entries: usize = min_sizes.iter().sum();
    let mean = config.executions.map_or_else(
        || of_entries as f64 / config.entries as f64,
        |all| all as f64 / config.requests as f64,
    );
    let count = (config.trace_contexts as f64 / mean).round() as usize;
    let count = count.max(config.entries).min(config.requests as usize);
    let count = if min_sizes.iter().all(|size| *size == 1) { config.entries } else { count };
    let mut sizes = min_sizes.clone();
    while sizes.len() < count {
        sizes.push(
            ((0.4 + 1.2 * random_below(random, 1000) as f64 / 1000.0) * mean).max(1.0) as usize
        );
    }
    // The remainder is added to, or subtracted from, one class after the other.
    let (mut total, mut idle, mut place) = (sizes.iter().sum::<usize>(), 0, 0);
    while total != config.trace_contexts && idle < count {
        let min_size = min_sizes.get(place).copied().unwrap_or(1);
        idle += 1;
        let can_grow = min_sizes.get(place).is_none_or(|size| *size > 1);
        if total < config.trace_contexts && can_grow {
            (sizes[place], total, idle) = (sizes[place] + 1, total + 1, 0);
        } else if total > config.trace_contexts && sizes[place] > min_size {
            (sizes[place], total, idle) = (sizes[place] - 1, total - 1, 0);
        }
        place = (place + 1) % count;
    }
    match total == config.trace_contexts {
        true => Ok(sizes),
        false => Err(Error::malformed(
            &config.path,
            format!(
                "traces with all stacks have at min_sizes {of_entries} positions, which does not match \
                 {} trace_contexts; use other numbers",
                config.trace_contexts
            ),
        )),
    }
}

/// A call under construction.
#[derive(Clone)]
struct CallDraft {
    stack: usize,
    calls: Vec<CallDraft>,
}

impl CallDraft {
    fn position_count(&self) -> usize {
        1 + self.calls.iter().map(CallDraft::position_count).sum::<usize>()
    }
}

/// A class with `size` positions of an entry: all stacks of the entry, or some of them without
/// `has_all_stacks`, with some calls repeated. `None` if no such class was found.
fn grow_class(
    graph: &CallGraph,
    entry: usize,
    has_all_stacks: bool,
    size: usize,
    random: &mut ChaCha8Rng,
) -> Option<SyntheticClass> {
    let mut left = size;
    let mut root = first_calls(graph, entry, has_all_stacks, &mut left, random);
    for _ in 0..1_000 * size {
        if left == 0 {
            break;
        }
        repeat_call(graph, &mut root, &mut left, random);
    }
    let mut class = SyntheticClass { stacks: Vec::new(), callers: Vec::new() };
    flatten_call(&root, 0, &mut class);
    (left == 0).then_some(class)
}

/// The calls of a stack, each once, as long as positions are left (`left`).
fn first_calls(
    graph: &CallGraph,
    stack: usize,
    has_all_stacks: bool,
    left: &mut usize,
    random: &mut ChaCha8Rng,
) -> CallDraft {
    *left = left.saturating_sub(1);
    let mut call = CallDraft { stack, calls: Vec::new() };
    for inner in &graph.stacks[stack].calls {
        if *left > 0 && (has_all_stacks || random_below(random, 10) < 7) {
            call.calls.push(first_calls(graph, *inner, has_all_stacks, left, random));
        }
    }
    call
}

/// Repeats one of the calls below `call`, as in a loop, or makes a call that was left out, unless
/// it has more positions than are left (`left`).
fn repeat_call(graph: &CallGraph, call: &mut CallDraft, left: &mut usize, random: &mut ChaCha8Rng) {
    let inner = random_below(random, call.calls.len() + 1);
    if let Some(deeper) = call.calls.get_mut(inner)
        && !graph.stacks[deeper.stack].calls.is_empty()
        && random_below(random, 3) > 0
    {
        return repeat_call(graph, deeper, left, random);
    }
    let calls = &graph.stacks[call.stack].calls;
    if calls.is_empty() {
        return;
    }
    let stack = calls[random_below(random, calls.len())];
    let known: Vec<usize> =
        (0..call.calls.len()).filter(|place| call.calls[*place].stack == stack).collect();
    let (place, copy) = match known.is_empty() {
        true => {
            let order = |place: &CallDraft| calls.iter().position(|stack| *stack == place.stack);
            let own = calls.iter().position(|one| *one == stack);
            let insert_at = call.calls.iter().filter(|before| order(before) < own).count();
            (insert_at, CallDraft { stack, calls: Vec::new() })
        }
        false => {
            let place = known[random_below(random, known.len())];
            (place + 1, call.calls[place].clone())
        }
    };
    let size = copy.position_count();
    if size <= *left {
        *left -= size;
        call.calls.insert(place, copy);
    }
}

fn flatten_call(call: &CallDraft, caller: usize, class: &mut SyntheticClass) {
    let place = class.stacks.len();
    class.stacks.push(call.stack);
    class.callers.push(caller);
    call.calls.iter().for_each(|inner| flatten_call(inner, place, class));
}

#[cfg(test)]
mod tests {
    use super::super::config::shipped_config;
    use super::*;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn classes_contain_all_stacks_and_the_configured_number_of_positions() {
        let config = shipped_config("operations").unwrap().unwrap();
        for seed in 0..5 {
            let random = &mut ChaCha8Rng::seed_from_u64(seed);
            let graph = CallGraph::random_graph(&config, random);
            let classes = make_classes(&config, &graph, random).unwrap();
            let positions: usize = classes.iter().map(|class| class.stacks.len()).sum();
            let stacks: HashSet<usize> =
                classes.iter().flat_map(|class| class.stacks.iter().copied()).collect();
            assert_eq!((positions, stacks.len()), (7_021, 368));
            for class in &classes {
                for (stack, caller) in class.stacks.iter().zip(&class.callers).skip(1) {
                    assert_eq!(graph.stacks[*stack].caller, Some(class.stacks[*caller]));
                }
            }
        }
    }
}
