//! Delays over all paths: the latency of each node, and of the network between each two nodes, over
//! all the instances that match a filter (WAP5 section 6.3, Table 4, for one pattern or many).
//!
//! Each delay counts with the probability of its instance. Percentiles are exact. Delays are
//! partitioned by node or hop, in memory within the budget and in a temporary file in the data
//! directory beyond it. Each thread summarises one partition at a time. In addition, four bytes are
//! in memory for each hop of all patterns.

use message_trace::stats::DelaySummary;
use message_trace::{DataDir, PathError, Progress, TransportProtocol};
use out_of_core::workers::run_in_order;
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};
use rustc_hash::FxHashMap;

use super::filter::PathFilter;
use super::filtered_instances::FilteredInstances;
use super::hop_ends::{EndLabels, HopEnd, HopEnds};
use super::timed_instance::TimedInstance;
use crate::options::AnalysisResources;
use crate::paths::patterns::pattern::ConnectTimes;
use crate::paths::storage::bytes::{PathByteReader, put_float, put_number, put_signed};

/// Delays of one node or hop, in nanoseconds, weighted by the probability of their instances.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayStatistics {
    /// Number of messages of instances; a message of several instances counts in each of them.
    pub count: u64,
    /// Expected number of real messages: the sum of their instances' probabilities.
    pub expected: f64,
    /// Mean, median and 99th percentile; `None` if no delay could be measured.
    pub delay: Option<DelaySummary>,
    /// The sum of delay times probability, in nanoseconds.
    pub total_time: f64,
    /// The mean size of the messages, in bytes.
    pub bytes: f64,
    /// Times for which the senders waited for connections; `None` if none was made.
    pub connect: Option<ConnectTimes>,
}

/// The latency of a node: from the receipt of a message to the sending of the one that it causes.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeDelays {
    /// The node's name, as in the patterns.
    pub node: String,
    /// Whether the node was traced. For an untraced node the delay includes its network in both
    /// directions.
    pub traced: bool,
    /// The delays, one for each message that was caused at the node.
    pub delays: DelayStatistics,
}

/// The latency of the network between two nodes: from the sending of a message to its receipt.
#[derive(Clone, Debug, PartialEq)]
pub struct HopDelays {
    /// The sender's name, as in the patterns.
    pub src: String,
    /// The receiver's name.
    pub dst: String,
    /// The sender's port, `*` for an ephemeral one, or the name of another kind of endpoint.
    pub src_port: String,
    /// The receiver's port, `*` for an ephemeral one, or the name of another kind of endpoint.
    pub dst_port: String,
    /// Transport protocol of the messages.
    pub protocol: TransportProtocol,
    /// Whether the sender was traced.
    pub src_traced: bool,
    /// Whether the receiver was traced.
    pub dst_traced: bool,
    /// Delays of the messages with known times at both ends, and sizes of all messages.
    pub delays: DelayStatistics,
}

/// Delays by node or by hop, in the order of their first occurrence in the table of patterns.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayTable<T> {
    /// A row for each node or hop with a message.
    pub rows: Vec<T>,
    /// Number of instances covered.
    pub instances: u64,
    /// Expected number of real instances among these.
    pub expected: f64,
    /// The total time of these instances: the sum of duration times probability, in nanoseconds.
    pub total_time: f64,
}

impl DelayTable<NodeDelays> {
    /// Computes the latency of the nodes in the paths of `dir` that match `filter`.
    ///
    /// # Errors
    /// If a table cannot be read or they do not match, or a temporary file cannot be written.
    pub fn for_nodes(
        dir: &DataDir,
        filter: &PathFilter,
        resources: &AnalysisResources,
        progress: &dyn Progress,
    ) -> Result<DelayTable<NodeDelays>, PathError> {
        let ends = HopEnds::read(&dir.patterns_path(), HopEnd::Sender)?;
        // Even keys are traced nodes, odd ones untraced nodes.
        let measure = |instance: &TimedInstance<'_>, hop: usize, key: u64| {
            let traced = instance.node_latency(hop).map(|delay| (2 * key, Some(delay)));
            traced
                .or_else(|| instance.untraced_latency(hop).map(|delay| (2 * key + 1, Some(delay))))
        };
        let row = |key: u64, delays| {
            let (EndLabels { src, .. }, _) = ends.labels_and_traced((key / 2) as u32)?;
            Some(NodeDelays { node: src.clone(), traced: key.is_multiple_of(2), delays })
        };
        build_delay_table(dir, filter, &ends, measure, row, resources, progress)
    }
}

impl DelayTable<HopDelays> {
    /// Computes the latency of the network in the paths of `dir` that match `filter`.
    ///
    /// # Errors
    /// As for [`DelayTable::for_nodes`].
    pub fn for_hops(
        dir: &DataDir,
        filter: &PathFilter,
        resources: &AnalysisResources,
        progress: &dyn Progress,
    ) -> Result<DelayTable<HopDelays>, PathError> {
        let ends = HopEnds::read(&dir.patterns_path(), HopEnd::Both)?;
        let measure = |instance: &TimedInstance<'_>, hop: usize, key: u64| {
            Some((key, instance.network_latency(hop)))
        };
        let row = |key: u64, delays| {
            let (hop, [src_traced, dst_traced]) = ends.labels_and_traced(key as u32)?;
            let EndLabels { src, dst, src_port, dst_port, protocol } = hop.clone();
            Some(HopDelays {
                src,
                dst,
                src_port,
                dst_port,
                protocol,
                src_traced,
                dst_traced,
                delays,
            })
        };
        build_delay_table(dir, filter, &ends, measure, row, resources, progress)
    }
}

/// Totals of all matching instances of one row group.
#[derive(Default)]
struct FilteredTotals {
    instances: u64,
    expected: f64,
    total_time: f64,
}

/// Builds the table of the delays of all instances in `dir` that match `filter`. For a message of
/// an instance, given by its index and the number of its hop's labels, `measure` returns the key of
/// the row in which it counts and its delay in nanoseconds, if known; `None` leaves it out. `row`
/// makes the row of a key.
fn build_delay_table<T: Send>(
    dir: &DataDir,
    filter: &PathFilter,
    ends: &HopEnds,
    measure: impl Fn(&TimedInstance<'_>, usize, u64) -> Option<(u64, Option<i64>)> + Sync,
    row: impl Fn(u64, DelayStatistics) -> Option<T>,
    resources: &AnalysisResources,
    progress: &dyn Progress,
) -> Result<DelayTable<T>, PathError> {
    let threads = resources.thread_count();
    let budget = MemoryBudget::new(resources.memory);
    let store: PartitionStore<'_, u8> =
        PartitionStore::new(&budget, dir.path(), resources.division.partitions.max(1));
    let instances = FilteredInstances::open(dir, filter)?;
    progress.begin_step("gathering delays", instances.group_count() as u64);
    let unfit = || {
        PathError::malformed(
            dir.paths_path(),
            "its patterns do not match the table of patterns; run 'sockcap analyze' again",
        )
    };
    let work = |group| {
        let mut writer = PartitionWriter::new(&store, group);
        let mut totals = FilteredTotals::default();
        let mut record = Vec::new();
        instances.read_group(group, |instance| {
            let probability = instance.which.probability;
            totals.instances += 1;
            totals.expected += probability;
            totals.total_time += instance.duration() as f64 * probability;
            for (place, hop) in instance.hops.iter().enumerate() {
                let key = ends.labels_number(instance.which.pattern, place).ok_or_else(unfit)?;
                let Some((key, delay)) = measure(instance, place, u64::from(key)) else { continue };
                record.clear();
                put_number(&mut record, key);
                put_float(&mut record, probability);
                put_signed(&mut record, hop.bytes);
                record.push(u8::from(delay.is_some()));
                put_signed(&mut record, delay.unwrap_or_default());
                put_signed(&mut record, hop.connecting);
                writer.partition_records(key as usize % store.partition_count(), &record)?;
            }
            Ok(())
        })?;
        writer.finish()?;
        Ok(totals)
    };
    let mut all = FilteredTotals::default();
    run_in_order(threads, instances.group_count(), work, |_, totals: FilteredTotals| {
        all.instances += totals.instances;
        all.expected += totals.expected;
        all.total_time += totals.total_time;
        progress.advance_step(1);
        Ok(())
    })?;
    let mut keys: Vec<(u64, DelayStatistics)> = Vec::new();
    let work = |partition| Ok::<_, PathError>(summarise_delays(&store.take_blocks(partition)?));
    run_in_order(threads, store.partition_count(), work, |_, of: Vec<(u64, DelayStatistics)>| {
        keys.extend(of);
        Ok(())
    })?;
    keys.sort_unstable_by_key(|(key, _)| *key);
    let rows = keys.into_iter().filter_map(|(key, delays)| row(key, delays)).collect();
    Ok(DelayTable {
        rows,
        instances: all.instances,
        expected: all.expected,
        total_time: all.total_time,
    })
}

/// The delays of one key until they are summarised.
#[derive(Default)]
struct KeyDelays {
    count: u64,
    expected: f64,
    bytes: f64,
    total_time: f64,
    /// The known delays in nanoseconds, each with the probability of its instance.
    delays: Vec<(i64, f64)>,
    /// The connect times in nanoseconds, each with the probability of its instance.
    connects: Vec<(i64, f64)>,
}

/// Summarises the delays of each key in `blocks`.
fn summarise_delays(blocks: &[Vec<u8>]) -> Vec<(u64, DelayStatistics)> {
    let mut keys: FxHashMap<u64, KeyDelays> = FxHashMap::default();
    for block in blocks {
        let mut reader = PathByteReader(block);
        while !reader.is_empty() {
            let sums = keys.entry(reader.read_number()).or_default();
            let (probability, bytes) = (reader.read_float(), reader.read_signed());
            let (is_known, delay, connecting) =
                (reader.read_byte() != 0, reader.read_signed(), reader.read_signed());
            if connecting > 0 {
                sums.connects.push((connecting, probability));
            }
            sums.count += 1;
            sums.expected += probability;
            sums.bytes += bytes as f64 * probability;
            if is_known {
                sums.total_time += delay as f64 * probability;
                sums.delays.push((delay, probability));
            }
        }
    }
    let summarise = |(key, mut sums): (u64, KeyDelays)| {
        let KeyDelays { count, expected, bytes, total_time, .. } = sums;
        let (delay, connect) = (
            DelaySummary::from_samples(&mut sums.delays),
            ConnectTimes::from_samples(&mut sums.connects, expected),
        );
        (
            key,
            DelayStatistics {
                count,
                expected,
                delay,
                total_time,
                bytes: bytes / expected,
                connect,
            },
        )
    };
    keys.into_iter().map(summarise).collect()
}

#[cfg(test)]
#[path = "delays_tests.rs"]
mod tests;
