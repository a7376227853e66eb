//! Generation of a trace from tracelets: every sequence invokes its tracelet repeatedly; time and
//! cause of each message follow from the messages before it.
//!
//! Each sequence has its own random numbers, so more sequences or more instances do not change the
//! others.

use message_trace::{
    EndPair, EndpointId, FROM_ACCEPTING, FROM_CONNECTING, FlowId, MessageTrace, Node, NodeEnd,
    NodeId, NodeList, Progress, TransportProtocol,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Uniform};

use super::config::TraceConfig;
use super::tracelet::{self, CheckedTracelet, TraceletActor};
use super::truth_table::TruthTable;
use crate::error::Error;
use crate::tuning::MAX_MESSAGES;

/// A synthetic trace and its ground truth.
#[derive(Clone, Debug)]
pub struct SyntheticTrace {
    /// The trace, sorted. Times are nanoseconds since 0, and all clocks agree.
    pub trace: MessageTrace,
    /// Causes: by calls if they have ids, otherwise by messages.
    pub truth: TruthTable,
    /// Number of invocations.
    pub instances: u64,
}

/// Message and its cause.
struct SentMessage {
    message: message_trace::Message,
    /// Number of the message's cause in the order of generation.
    cause: Option<u64>,
    /// Id of the message's call, if messages have call ids.
    call: Option<String>,
}

/// Makes the trace that `config` describes.
///
/// # Errors
/// When the configuration is inconsistent, or asks for too many messages.
pub fn make_trace(config: &TraceConfig, progress: &dyn Progress) -> Result<SyntheticTrace, Error> {
    let (tracelets, nodes) = tracelet::check_tracelets(config)?;
    let message_count = |t: &CheckedTracelet| {
        t.parallel.checked_mul(t.instances).and_then(|all| all.checked_mul(t.messages.len() as u64))
    };
    let total =
        tracelets.iter().try_fold(0u64, |sum, tracelet| sum.checked_add(message_count(tracelet)?));
    let Some(total) = total.filter(|total| *total <= MAX_MESSAGES) else {
        let why = format!(
            "it makes more than {MAX_MESSAGES} messages; use fewer 'instances' or a smaller \
             'parallel'"
        );
        return Err(Error::malformed(&config.path, why));
    };
    progress.begin_step("making messages", total);
    let mut trace = MessageTrace::default();
    trace.nodes = NodeList(nodes.names.iter().map(|name| node_of_name(name)).collect()).into();
    let endpoint = trace.intern(&message_trace::Endpoint::Other(String::new()));
    let mut sent: Vec<SentMessage> = Vec::with_capacity(total as usize);
    let mut calls: Vec<(String, Option<String>)> = Vec::new();
    let (mut sequence, mut instances) = (0u64, 0u64);
    let mut flow = FlowId::default();
    for tracelet in tracelets.iter().filter(|tracelet| tracelet.instances > 0) {
        for _ in 0..tracelet.parallel {
            let mut random = ChaCha8Rng::seed_from_u64(config.seed);
            random.set_stream(sequence);
            let mut clock = 0;
            for instance in 0..tracelet.instances {
                // Times saturate after 292 years.
                clock = i64::saturating_add(clock, tracelet.think.sample(&mut random));
                let first = sent.len() as u64;
                let made = invoke_tracelet(tracelet, clock, &mut random);
                for (number, message) in made.iter().enumerate() {
                    clock = clock.max(message.received);
                    let call = tracelet.messages[number].returns.unwrap_or(number);
                    let id = config.call_ids.then(|| format!("{sequence}.{instance}.{call}"));
                    if tracelet.messages[number].returns.is_none()
                        && let Some(id) = &id
                    {
                        let parent = parent_call(tracelet, &made, number);
                        calls.push((
                            id.clone(),
                            parent.map(|call| format!("{sequence}.{instance}.{call}")),
                        ));
                    }
                    sent.push(SentMessage {
                        message: trace_message(tracelet, number, message, flow, endpoint),
                        cause: message.cause.map(|cause| first + cause as u64),
                        call: id,
                    });
                }
                progress.advance_step(made.len() as u64);
                instances += 1;
            }
            // Each call of a sequence has its own connection, which its next invocation reuses.
            flow = flow.advanced_by(tracelet.messages.len() as i64);
            sequence += 1;
        }
    }
    let rows = sort_messages(&mut trace, &sent);
    let truth = if config.call_ids {
        TruthTable::Calls(calls)
    } else {
        let mut causes = vec![None; rows.len()];
        for (number, sent) in sent.iter().enumerate() {
            causes[rows[number] as usize] = sent.cause.map(|cause| rows[cause as usize]);
        }
        TruthTable::Messages(causes)
    };
    Ok(SyntheticTrace { trace, truth, instances })
}

fn node_of_name(name: &str) -> Node {
    Node { host: name.to_owned(), command: name.to_owned(), traced: true, ..Node::default() }
}

/// A message of an invocation.
#[derive(Clone, Copy, Debug)]
struct InvocationMessage {
    /// Numbers of the sending and the receiving node.
    from: usize,
    to: usize,
    /// Times in nanoseconds.
    sent: i64,
    received: i64,
    /// The message of the invocation that caused it.
    cause: Option<usize>,
}

/// Generates an invocation of a tracelet that begins at `start`.
fn invoke_tracelet(
    tracelet: &CheckedTracelet,
    start: i64,
    random: &mut ChaCha8Rng,
) -> Vec<InvocationMessage> {
    let nodes: Vec<usize> = tracelet
        .actors
        .iter()
        .map(|actor| match actor {
            TraceletActor::Node(node) => *node,
            TraceletActor::OneOf(nodes) => {
                let actor =
                    Uniform::new(0, nodes.len()).map_or(0, |uniform| uniform.sample(random));
                nodes[actor]
            }
        })
        .collect();
    let mut made: Vec<InvocationMessage> = Vec::with_capacity(tracelet.messages.len());
    for message in &tracelet.messages {
        let (from, to) = (nodes[message.from], nodes[message.to]);
        let arrival = |before: &usize| {
            if message.spontaneous { made[*before].sent } else { made[*before].received }
        };
        // If several messages arrive at the same time, the last one in the list counts.
        let last = message.after.iter().copied().max_by_key(arrival);
        let begin = last.map_or(start, |last| arrival(&last));
        let extra = message.extra.iter().filter(|(node, _)| *node == from);
        let more = extra.map(|(_, delay)| delay.sample(random)).fold(0, i64::saturating_add);
        let sent = begin.saturating_add(message.delay.sample(random)).saturating_add(more);
        let received = sent.saturating_add(message.network.sample(random));
        let cause = message.cause.or(last).filter(|_| !message.spontaneous);
        made.push(InvocationMessage { from, to, sent, received, cause });
    }
    made
}

/// The call for which the call `number` of an invocation was made: the call that caused it or, if a
/// return caused it, the call for which the returned call was made.
fn parent_call(
    tracelet: &CheckedTracelet,
    made: &[InvocationMessage],
    mut number: usize,
) -> Option<usize> {
    // Causes precede their effects, so this terminates.
    loop {
        let cause = made[number].cause?;
        match tracelet.messages[cause].returns {
            None => return Some(cause),
            Some(call) => number = call,
        }
    }
}

/// The message as a row of the trace. `flow` is the flow of the sequence's first message.
fn trace_message(
    tracelet: &CheckedTracelet,
    number: usize,
    event: &InvocationMessage,
    flow: FlowId,
    endpoint: EndpointId,
) -> message_trace::Message {
    let returns = tracelet.messages[number].returns;
    let end = |node: usize| NodeEnd::new(NodeId::from_index(node), endpoint);
    let ends =
        EndPair { src: end(event.from), dst: end(event.to), protocol: TransportProtocol::Other };
    let flow = flow.advanced_by(returns.unwrap_or(number) as i64);
    let direction = if returns.is_some() { FROM_ACCEPTING } else { FROM_CONNECTING };
    let message = message_trace::Message::between_ends(ends, flow, direction)
        .with_times(Some(event.sent), Some(event.received));
    message_trace::Message { bytes: tracelet.messages[number].bytes, ..message }
}

/// Inserts the messages into `trace` by time, and returns the row of each.
fn sort_messages(trace: &mut MessageTrace, sent: &[SentMessage]) -> Vec<u64> {
    let key = |number: &u32| {
        let message = &sent[*number as usize].message;
        (message.sort_time(), message.flow, message.direction, *number)
    };
    let mut order: Vec<u32> = (0..sent.len() as u32).collect();
    order.sort_unstable_by_key(key);
    let mut rows = vec![0; sent.len()];
    for (row, number) in order.into_iter().enumerate() {
        rows[number as usize] = row as u64;
        let SentMessage { message, call, .. } = &sent[number as usize];
        trace.push(message, call.as_deref());
    }
    rows
}

#[cfg(test)]
#[path = "generate_tests.rs"]
mod tests;
