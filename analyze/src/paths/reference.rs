//! A simple reference implementation of instances and patterns, all in memory, for tests: the
//! output of the collector must equal it.

use std::collections::HashMap;
use std::convert::Infallible;

use message_trace::stats::DelaySummary;
use message_trace::{MessageId, MessageTrace, OperationRole};

use super::instances::possible_children::PossibleChildren;
use super::instances::tree::{BuildCounts, InstanceBuilder};
use super::patterns::pattern::{CallOutcomes, ConnectTimes, Hop, PathPattern};
use super::storage::path_table::{PathInstance, PathInstances};
use crate::links::Links;
use crate::naming::Naming;
use crate::options::Options;

/// Builds the instances of all roots; their patterns are not known yet.
pub(super) fn build_instances(links: &Links, options: &Options) -> (PathInstances, BuildCounts) {
    let children = PossibleChildren::from_links(links, options);
    let mut builder = InstanceBuilder::new(options);
    let mut instances = PathInstances::default();
    for (root, spontaneous) in children.roots(0..links.message_count()) {
        let Ok(()) = builder.build_instances(&children, root, spontaneous, |tree, probability| {
            instances.push_tree(tree, probability);
            Ok::<_, Infallible>(())
        });
    }
    (instances, builder.built)
}

/// Builds the patterns of `instances`, and sets the pattern numbers there.
pub(super) fn build_patterns(
    trace: &MessageTrace,
    naming: &Naming,
    instances: &mut PathInstances,
) -> Vec<PathPattern> {
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut shapes = HashMap::new();
    for (number, instance) in instances.iter().enumerate() {
        let labels = hop_labels(naming, instance.messages);
        let operations = instance.messages.iter().map(|message| operation_name(trace, *message));
        let shape: Vec<(u32, (LabelTexts, Option<String>))> =
            instance.depths.iter().copied().zip(labels.into_iter().zip(operations)).collect();
        let next = members.len();
        let shape = *shapes.entry(shape).or_insert(next);
        members.resize_with(next.max(shape + 1), Vec::new);
        members[shape].push(number);
    }
    let describe = |members: &Vec<usize>| {
        (describe_pattern(trace, naming, instances, members), members.clone())
    };
    let mut described: Vec<(PathPattern, Vec<usize>)> = members.iter().map(describe).collect();
    // Sorting is stable, so that equal total times stay in the order of the first instances.
    described.sort_by(|one, other| other.0.total_time.total_cmp(&one.0.total_time));
    for (number, (pattern, members)) in described.iter_mut().enumerate() {
        pattern.id = number as i64;
        members.iter().for_each(|member| instances.patterns_mut()[*member] = number as u32);
    }
    described.into_iter().map(|(pattern, _)| pattern).collect()
}

/// Returns the operation of a message: the name of number 7 is `#7`, and the first stands for
/// others.
fn operation_name(trace: &MessageTrace, message: MessageId) -> Option<String> {
    let operation = trace.operations(message)?;
    let name = operation.name.filter(|_| operation.role != OperationRole::Response)?;
    Some(format!("#{name}"))
}

/// Sender, receiver, their ports and the protocol of a message, as in the table.
type LabelTexts = [String; 5];

/// Returns the labels of each message of a path.
fn hop_labels(naming: &Naming, messages: &[MessageId]) -> Vec<LabelTexts> {
    let text = |text| naming.label_text(text).to_owned();
    // The nodes of the path in the order in which it reaches them: name, and role.
    let mut nodes: Vec<(u32, u32)> = Vec::new();
    let label = |message: &MessageId| {
        let hop = naming.hop(*message);
        let name = naming.hop_name(hop);
        let Some(by_role) = naming.role_labels() else {
            let [src, dst, src_port, dst_port] =
                [name.src, name.dst, name.src_port, name.dst_port].map(text);
            return [src, dst, src_port, dst_port, name.protocol.to_string()];
        };
        let of_role = by_role.hop_name(by_role.hop(hop));
        let ends = [(name.src, of_role.src), (name.dst, of_role.dst)].map(|(name, role)| {
            if !nodes.contains(&(name, role)) {
                nodes.push((name, role));
            }
            let before = nodes.iter().take_while(|node| **node != (name, role));
            by_role.role(role).numbered_name(before.filter(|node| node.1 == role).count() as u32)
        });
        let [src, dst] = ends;
        [src, dst, text(of_role.src_port), text(of_role.dst_port), name.protocol.to_string()]
    };
    messages.iter().map(label).collect()
}

fn describe_pattern(
    trace: &MessageTrace,
    naming: &Naming,
    instances: &PathInstances,
    members: &[usize],
) -> PathPattern {
    let of = || members.iter().map(|member| instances.get(*member));
    let mut durations: Vec<(i64, f64)> =
        of().map(|instance| (instance_duration(trace, instance), instance.probability)).collect();
    let depths = instances.get(members[0]).depths;
    PathPattern {
        id: 0,
        hops: (0..depths.len())
            .map(|place| describe_hop(trace, naming, instances, members, place))
            .collect(),
        count: members.len() as i64,
        expected: durations.iter().fold(0.0, |sum, (_, p)| sum + p),
        max_probability: durations.iter().map(|(_, p)| *p).fold(0.0, f64::max),
        total_time: durations.iter().fold(0.0, |sum, (duration, p)| sum + *duration as f64 * p),
        duration: DelaySummary::from_samples(&mut durations).unwrap(),
    }
}

/// Returns the time for which the sender of a message of an instance waited for its connection;
/// `None` if `connect` was not called within the request for which the message was sent.
fn connect_time(
    trace: &MessageTrace,
    naming: &Naming,
    instance: PathInstance<'_>,
    place: usize,
) -> Option<i64> {
    let PathInstance { messages, depths, .. } = instance;
    let cause = |place: usize| (0..place).rev().find(|before| depths[*before] + 1 == depths[place]);
    let connect = trace.connect_span(messages[place])?;
    let arrival = |place: usize| trace.arrival_time(messages[place]);
    let ends = |place: usize| {
        let message = messages[place];
        (naming.src(message), naming.dst(message))
    };
    let mut request = cause(place)?;
    while arrival(request)? > connect.begin {
        let (from, to) = ends(request);
        let mut call = cause(request)?;
        while ends(call) != (to, from) {
            call = cause(call)?;
        }
        request = cause(call)?;
    }
    let received = receipt_time(trace, messages, depths, cause(place)?)?;
    let end = connect.end.min(trace.send_ts(messages[place])?);
    Some(end - connect.begin.max(received)).filter(|time| *time > 0)
}

/// Returns when a message of an instance was received: with its last byte, or with its first if one
/// of the messages that it caused there was sent before.
pub(super) fn receipt_time(
    trace: &MessageTrace,
    messages: &[MessageId],
    depths: &[u32],
    place: usize,
) -> Option<i64> {
    let message = messages[place];
    let below = (place + 1..depths.len()).take_while(|below| depths[*below] > depths[place]);
    let mut caused = below.filter(|below| depths[*below] == depths[place] + 1);
    let last = trace.recv_ts(message)?;
    let is_before = |below: usize| trace.send_ts(messages[below]).is_some_and(|sent| sent < last);
    if caused.any(is_before) { trace.arrival_time(message) } else { Some(last) }
}

/// Returns the time from the first event of the root to the last event of the tree.
fn instance_duration(trace: &MessageTrace, instance: PathInstance<'_>) -> i64 {
    let times = |place: usize| {
        let received = receipt_time(trace, instance.messages, instance.depths, place);
        [trace.send_ts(instance.messages[place]), received]
    };
    let first = times(0).into_iter().flatten().next();
    let last = (0..instance.messages.len()).flat_map(times).flatten().max();
    last.zip(first).map_or(0, |(last, first)| last - first)
}

fn describe_hop(
    trace: &MessageTrace,
    naming: &Naming,
    instances: &PathInstances,
    members: &[usize],
    place: usize,
) -> Hop {
    let (mut node, mut network, mut untraced) = (Vec::new(), Vec::new(), Vec::new());
    let mut connects = Vec::new();
    let (mut answers, mut errors) = (Vec::new(), Vec::new());
    let (mut bytes, mut weight) = (0.0, 0.0);
    let first = instances.get(members[0]);
    let depth = first.depths[place];
    let parent = (0..place).rev().find(|before| first.depths[*before] + 1 == depth);
    for member in members {
        let instance = instances.get(*member);
        let (message, p) = (instance.messages[place], instance.probability);
        let receipt = |place: usize| receipt_time(trace, instance.messages, instance.depths, place);
        let (sent, received) = (trace.send_ts(message), receipt(place));
        let since = |end: Option<i64>, start: Option<i64>| Some((end? - start?, p));
        network.extend(since(received, sent));
        if let Some(parent) = parent {
            let cause = instance.messages[parent];
            let connecting = connect_time(trace, naming, instance, place);
            connects.extend(connecting.map(|time| (time, p)));
            let own = since(sent, receipt(parent));
            node.extend(own.map(|(time, p)| (time - connecting.unwrap_or(0), p)));
            untraced.extend(since(received.filter(|_| sent.is_none()), trace.send_ts(cause)));
        }
        let outcome = trace.operations(message).and_then(|operation| operation.response_outcome());
        answers.extend(outcome.map(|_| p));
        errors.extend(outcome.filter(|is_error| *is_error).map(|_| p));
        bytes += trace.bytes(message) as f64 * p;
        weight += p;
    }
    let sum = |all: &[f64]| all.iter().fold(0.0, |sum, p| sum + p);
    let outcomes = (!answers.is_empty()).then(|| CallOutcomes {
        answers: answers.len() as i64,
        errors: errors.len() as i64,
        error_share: sum(&errors) / sum(&answers),
    });
    let message = first.messages[place];
    let [src, dst, src_port, dst_port, _] = hop_labels(naming, first.messages).swap_remove(place);
    let protocol = naming.hop_name(naming.hop(message)).protocol;
    let traced = |node: fn(&Naming, MessageId) -> u32| {
        let node = |member: &usize| node(naming, instances.get(*member).messages[place]);
        members.iter().any(|member| naming.nodes()[node(member) as usize].traced)
    };
    Hop {
        parent,
        depth: depth as usize,
        src,
        dst,
        src_port,
        dst_port,
        protocol,
        src_traced: traced(Naming::src),
        dst_traced: traced(Naming::dst),
        bytes: bytes / weight,
        node: DelaySummary::from_samples(&mut node),
        network: DelaySummary::from_samples(&mut network),
        untraced: DelaySummary::from_samples(&mut untraced),
        connect: ConnectTimes::from_samples(&mut connects, weight),
        operation: operation_name(trace, first.messages[place]),
        outcomes,
    }
}
