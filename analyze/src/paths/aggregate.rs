//! From path instances to path patterns (WAP5 sections 5.1 and 5.2): instances with the same tree of labels are one
//! pattern, which is counted, and whose delays are summarised with the instances' probabilities as weights.

use message_trace::stats::Summary;
use message_trace::{MessageTrace, Progress};
use rustc_hash::FxHashMap;

use super::instances::Instances;
use super::pattern::{Hop, PathPattern};
use crate::naming::Naming;
use crate::parallel;

/// The patterns of `instances`, by descending total time, which is also their number; each instance is told its
/// own.
pub(crate) fn aggregate(
    trace: &MessageTrace,
    naming: &Naming,
    instances: &mut Instances,
    progress: &dyn Progress,
) -> Vec<PathPattern> {
    progress.step("aggregating paths", instances.len() as u64);
    let members = by_shape(naming, instances);
    let described = parallel::in_parts(members.len(), |part| {
        let mut describer = Describer { trace, naming, instances, samples: Samples::default() };
        let describe = |number: usize| {
            progress.advance(members[number].len() as u64);
            describer.describe(number, &members[number])
        };
        part.map(describe).collect::<Vec<PathPattern>>()
    });
    let mut patterns: Vec<PathPattern> = described.into_iter().flatten().collect();
    // Sorting is stable, so that equal total times stay in the order of the first instances.
    patterns.sort_by(|one, other| other.total_time.total_cmp(&one.total_time));
    let mut numbers = vec![0; patterns.len()];
    for (number, pattern) in patterns.iter_mut().enumerate() {
        numbers[pattern.id as usize] = number as u32;
        pattern.id = number as i64;
    }
    for pattern in instances.patterns_mut() {
        *pattern = numbers[*pattern as usize];
    }
    patterns
}

/// The instances of each shape, shapes by their first instance; each instance is told the number of its own. In
/// depth-first order the depths and labels of the messages are the shape.
fn by_shape(naming: &Naming, instances: &mut Instances) -> Vec<Vec<u32>> {
    let mut shapes: FxHashMap<Box<[u64]>, u32> = FxHashMap::default();
    let mut members: Vec<Vec<u32>> = Vec::new();
    let mut shape = Vec::new();
    let mut of_instance = Vec::with_capacity(instances.len());
    for (number, instance) in instances.iter().enumerate() {
        shape.clear();
        shape.extend(
            instance
                .messages
                .iter()
                .zip(instance.depths)
                .map(|(message, depth)| u64::from(*depth) << 32 | u64::from(naming.hop(*message as usize))),
        );
        let known = shapes.get(shape.as_slice()).copied().unwrap_or_else(|| {
            shapes.insert(shape.as_slice().into(), members.len() as u32);
            members.push(Vec::new());
            members.len() as u32 - 1
        });
        members[known as usize].push(number as u32);
        of_instance.push(known);
    }
    instances.patterns_mut().copy_from_slice(&of_instance);
    members
}

/// Delays with their weights, in nanoseconds, emptied for each hop.
#[derive(Default)]
struct Samples {
    node: Vec<(i64, f64)>,
    network: Vec<(i64, f64)>,
    untraced: Vec<(i64, f64)>,
}

struct Describer<'analysis> {
    trace: &'analysis MessageTrace,
    naming: &'analysis Naming,
    instances: &'analysis Instances,
    samples: Samples,
}

impl Describer<'_> {
    /// The pattern of which `members`, at least one, are the instances.
    fn describe(&mut self, number: usize, members: &[u32]) -> PathPattern {
        let mut durations: Vec<(i64, f64)> = members
            .iter()
            .map(|member| self.instances.get(*member as usize))
            .map(|instance| (self.duration(instance.messages), instance.probability))
            .collect();
        let weighted = durations.iter().map(|(duration, weight)| *duration as f64 * weight);
        let total_time = weighted.fold(0.0, |total, time| total + time);
        let probabilities = || durations.iter().map(|(_, probability)| *probability);
        let expected = probabilities().fold(0.0, |total, probability| total + probability);
        let max_probability = probabilities().fold(0.0, f64::max);
        let depths = members.first().map_or(&[][..], |first| self.instances.get(*first as usize).depths);
        let parents = parents(depths);
        let hops = (0..depths.len())
            .map(|place| self.hop(members, place, parents[place], depths[place] as usize))
            .collect();
        PathPattern {
            id: number as i64,
            hops,
            count: members.len() as i64,
            expected,
            max_probability,
            duration: Summary::of(&mut durations).unwrap_or_default(),
            total_time,
        }
    }

    /// From the first event of the root to the last event of the tree.
    fn duration(&self, messages: &[u32]) -> i64 {
        let times = |message: &u32| {
            let message = *message as usize;
            [self.trace.send_ts(message), self.trace.recv_ts(message)]
        };
        let first = messages.first().and_then(|root| times(root).into_iter().flatten().next());
        let last = messages.iter().flat_map(times).flatten().max();
        last.zip(first).map_or(0, |(last, first)| last.saturating_sub(first))
    }

    /// The hop at `place` of the tree, summarised over `members`.
    fn hop(&mut self, members: &[u32], place: usize, parent: Option<usize>, depth: usize) -> Hop {
        let Samples { node, network, untraced } = &mut self.samples;
        node.clear();
        network.clear();
        untraced.clear();
        let (mut bytes, mut weight) = (0.0, 0.0);
        let (mut src_traced, mut dst_traced) = (false, false);
        let mut label = None;
        for member in members {
            let instance = self.instances.get(*member as usize);
            let (message, p) = (instance.messages[place] as usize, instance.probability);
            let cause = parent.map(|parent| instance.messages[parent] as usize);
            let (sent, received) = (self.trace.send_ts(message), self.trace.recv_ts(message));
            let since = |end: Option<i64>, start: Option<i64>| Some((end?.saturating_sub(start?), p));
            network.extend(since(received, sent));
            if let Some(cause) = cause {
                node.extend(since(sent, self.trace.recv_ts(cause)));
                if sent.is_none() {
                    untraced.extend(since(received, self.trace.send_ts(cause)));
                }
            }
            bytes += self.trace.bytes(message) as f64 * p;
            weight += p;
            src_traced |= self.naming.nodes()[self.naming.src(message) as usize].traced;
            dst_traced |= self.naming.nodes()[self.naming.dst(message) as usize].traced;
            label.get_or_insert(message);
        }
        let name = self.naming.hop_name(self.naming.hop(label.unwrap_or_default()));
        let text = |text| self.naming.text(text).to_owned();
        Hop {
            parent,
            depth,
            src: text(name.src),
            dst: text(name.dst),
            src_port: text(name.src_port),
            dst_port: text(name.dst_port),
            protocol: name.protocol,
            src_traced,
            dst_traced,
            bytes: bytes / weight,
            node: Summary::of(node),
            network: Summary::of(network),
            untraced: Summary::of(untraced),
        }
    }
}

/// The place of each message's parent in the depth-first order of those depths.
fn parents(depths: &[u32]) -> Vec<Option<usize>> {
    let mut above: Vec<usize> = Vec::new();
    depths
        .iter()
        .enumerate()
        .map(|(place, depth)| {
            above.truncate(*depth as usize);
            let parent = above.last().copied();
            above.push(place);
            parent
        })
        .collect()
}

#[cfg(test)]
#[path = "aggregate_tests.rs"]
mod tests;
