//! Generation of requests: one after the other, so that memory does not grow with their number.

use message_trace::{DataDir, Progress};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use request_flow::tables::RequestWriter;
use request_flow::{NameId, NameInterner, Request, Step};

use super::call_graph::CallGraph;
use super::classes::{self, SyntheticClass};
use super::config::OperationsConfig;
use super::frequencies;
use super::times::{self, PositionTimes, random_factor};
use super::truth_table::ContextTruth;
use crate::error::Error;
use crate::random::shuffle_list;
use crate::tuning::OPERATIONS_PER_NODE;

/// Totals and truth of the generated requests.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticOperations {
    /// The truth, by class and step.
    pub truth: Vec<ContextTruth>,
    /// Number of requests.
    pub requests: u64,
    /// Number of executions.
    pub executions: u64,
    /// Number of classes of traces.
    pub classes: u64,
}

/// Makes the requests that `config` describes, and writes them to the tables of `data`.
///
/// # Errors
/// When the configuration is impossible, or a table cannot be written.
pub fn make_operations(
    config: &OperationsConfig,
    data: &DataDir,
    progress: &dyn Progress,
) -> Result<SyntheticOperations, Error> {
    let random = &mut ChaCha8Rng::seed_from_u64(config.seed);
    let graph = CallGraph::random_graph(config, random);
    let classes = classes::make_classes(config, &graph, random)?;
    let sizes: Vec<usize> = classes.iter().map(|class| class.stacks.len()).collect();
    let counts = frequencies::class_frequencies(config, &sizes, random);
    let times = times::make_times(config, &graph, &classes, random);
    let mut order: Vec<u32> = Vec::with_capacity(config.requests as usize);
    for (class, count) in (0..).zip(&counts) {
        order.extend((0..*count).map(|_| class));
    }
    shuffle_list(random, &mut order);
    progress.begin_step("making requests", order.len() as u64);
    let mut names = NameInterner::default();
    let host = names.intern("app");
    let of_stack: Vec<(NameId, NameId)> = graph
        .stacks
        .iter()
        .map(|stack| {
            let (node, operation) = operation_names(stack.operation);
            (names.intern(&node), names.intern(&operation))
        })
        .collect();
    let mut writer = RequestWriter::create(data.requests_path(), data.steps_path())?;
    let mut now = 0;
    for (number, class) in order.iter().enumerate() {
        let (class, times) = (&classes[*class as usize], &times[*class as usize]);
        let own: Vec<i64> = times
            .iter()
            .map(|times| {
                let noise =
                    random_factor(config.noise, random) * (-config.noise.powi(2) / 2.0).exp();
                (times.own * noise).round() as i64
            })
            .collect();
        let mut request =
            Request { trace: number.to_string(), probability: 1.0, ..Request::default() };
        for (step, stack) in steps_of_request(class, &own, now).zip(&class.stacks) {
            let (node, operation) = of_stack[*stack];
            request.push_step(Step { node, operation, host, probability: 1.0, ..step }, []);
        }
        writer.push_request(request, &names)?;
        now += config.gap.sample(random);
        progress.advance_step(1);
    }
    writer.finish(&names)?;
    Ok(SyntheticOperations {
        truth: context_truths(&graph, &classes, &times, &order),
        requests: order.len() as u64,
        executions: sizes.iter().zip(&counts).map(|(size, count)| *size as u64 * count).sum(),
        classes: classes.len() as u64,
    })
}

/// The steps of a request of `class` that begins at `begin`, with these own times. Calls come one
/// after the other, in the middle of their caller's own time.
fn steps_of_request(class: &SyntheticClass, own: &[i64], begin: i64) -> impl Iterator<Item = Step> {
    let mut durations = own.to_vec();
    for place in (1..durations.len()).rev() {
        durations[class.callers[place]] += durations[place];
    }
    // The start of the next call of each position.
    let mut next: Vec<i64> = vec![begin; own.len()];
    (0..own.len()).map(move |place| {
        let caller = (place > 0).then(|| class.callers[place]);
        let begin = caller.map_or(begin, |caller| {
            let begin = next[caller];
            next[caller] += durations[place];
            begin
        });
        next[place] = begin + own[place] / 2;
        Step {
            parent: caller.map(|caller| caller as u32),
            begin: Some(begin),
            end: Some(begin + durations[place]),
            ..Step::default()
        }
    })
}

/// The names of an operation: its node, and its own.
fn operation_names(operation: usize) -> (String, String) {
    (format!("component{}", operation / OPERATIONS_PER_NODE), format!("operation{operation}"))
}

/// The truth about all positions, the most frequent classes first.
fn context_truths(
    graph: &CallGraph,
    classes: &[SyntheticClass],
    times: &[Vec<PositionTimes>],
    order: &[u32],
) -> Vec<ContextTruth> {
    let mut seen: Vec<(u64, usize)> = vec![(0, usize::MAX); classes.len()];
    for (request, class) in order.iter().enumerate() {
        let (count, first) = &mut seen[*class as usize];
        (*count, *first) = (*count + 1, (*first).min(request));
    }
    let mut by_frequency: Vec<usize> = (0..classes.len()).collect();
    by_frequency.sort_by_key(|class| (std::cmp::Reverse(seen[*class].0), seen[*class].1));
    let mut truth = Vec::new();
    for (number, class) in by_frequency.into_iter().enumerate() {
        for (step, (stack, times)) in classes[class].stacks.iter().zip(&times[class]).enumerate() {
            let stack = &graph.stacks[*stack];
            let (node, operation) = operation_names(stack.operation);
            let caller = stack.caller.map(|caller| operation_names(graph.stacks[caller].operation));
            truth.push(ContextTruth {
                class: number,
                step,
                node,
                operation,
                caller: caller.map_or("$".to_owned(), |(node, name)| format!("{node} {name}")),
                count: seen[class].0,
                mean: times.mean,
                deviation: times.variance.sqrt(),
            });
        }
    }
    truth
}
