//! Turns all spans into the tables of requests, in three passes:
//!
//! 1. Partition by partition of traces, spans are joined into drafts, and the calls between clocks
//!    are sampled.
//! 2. The clocks are estimated. Each draft's times are converted to the common clock, and the
//!    request is put into the partition of the time at which it begins.
//! 3. Partition by partition of time, requests are sorted and written.
//!
//! Between passes everything is bytes, in memory within the budget and in a temporary file beyond
//! it.

use std::collections::BTreeSet;
use std::sync::Mutex;

use clocks::{ClockModel, ClockSamples, HostFacts, estimate_clocks};
use message_trace::{DataPath, PathError, Progress};
use out_of_core::workers::{self, lock_mutex};
use out_of_core::{PartitionStore, PartitionWriter};
use rustc_hash::{FxHashMap, FxHashSet};

use super::draft::{ClockNumber, MisplacedSteps, RequestDraft};
use super::join::join_trace;
use super::misfits::SpanMisfits;
use super::sink::{ResourceRecord, SpanSink};
use super::span_record::SpanRecord;
use super::span_sources::SpanSources;
use super::split_partitions::split_large_partitions;
use crate::request::{Request, RequestBuilder};
use crate::tables::RequestWriter;
use crate::tuning::{
    BEGIN_SAMPLES, MAX_TRACE_BYTES, MAX_TRACE_SPANS, PARTITION_BYTES, TIME_PARTITIONS,
    TRACE_PARTITIONS,
};
use out_of_core::{NameId, NameInterner};

/// [`HostFacts::machine`] of all clocks that are presumed to be one.
const ONE_MACHINE: u128 = 1;

/// Summary of joining spans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinSummary {
    /// Spans, each counted once.
    pub spans: u64,
    /// Exact duplicates of earlier spans.
    pub duplicates: u64,
    /// Number of reports of spans that were merged with other reports of the same span.
    pub parts: u64,
    /// Spans that were each other's parents, or have a depth that skips one.
    pub broken: u64,
    /// Spans that were left out because their trace exceeds the limit of memory.
    pub crowded_out: u64,
    /// Number of traces.
    pub traces: u64,
    /// Requests: one for each span without a parent.
    pub requests: u64,
    /// Requests with a first span that names a missing parent.
    pub torn: u64,
    /// Number of steps.
    pub steps: u64,
    /// Steps that began before their parents by the common clock, or with responses that were
    /// received before they were sent, and were moved.
    pub moved: u64,
    /// Steps that began at another host when their parents had ended, without times at their
    /// callers.
    pub late: u64,
    /// Clocks of the hosts; of the nodes with an unknown host.
    pub clocks: ClockModel,
}

/// Results of the first pass.
#[derive(Default)]
struct FirstPassResult {
    spans: u64,
    traces: u64,
    misfits: SpanMisfits,
    samples: ClockSamples,
    /// By clock: whether both a call and its response were seen between it and another clock.
    related: Vec<bool>,
    /// First and last time that each clock showed, in nanoseconds since the Unix epoch.
    times: Vec<Option<[i64; 2]>>,
    /// Begins of requests, or a sample of them, in nanoseconds since the Unix epoch.
    begins: Vec<i64>,
}

impl FirstPassResult {
    /// Creates an empty result for `clocks` clocks.
    fn with_clocks(clocks: usize) -> FirstPassResult {
        FirstPassResult {
            samples: ClockSamples::new(clocks),
            related: vec![false; clocks],
            times: vec![None; clocks],
            ..FirstPassResult::default()
        }
    }
}

impl FirstPassResult {
    /// Removes samples that carry no information about clocks. If no call and its response were
    /// seen between a host and another, its samples only show that work began some time after its
    /// cause; they would be mistaken for the fastest message in their direction.
    fn remove_unrelated(&mut self) {
        let contradicting: FxHashSet<u32> = self.samples.contradicting_pairs().flatten().collect();
        let is_related = |host: u32| self.related.get(host as usize).copied().unwrap_or(false);
        let is_unrelated = |host: u32| !is_related(host) && !contradicting.contains(&host);
        self.samples.retain_pairs(|from, to| {
            !(is_unrelated(from) && is_related(to) || is_related(from) && is_unrelated(to))
        });
    }
}

impl SpanSink<'_> {
    /// Joins all spans into requests, converts their times to one clock, and writes both tables.
    ///
    /// # Errors
    /// If a temporary file or a table cannot be written.
    pub fn join_requests(
        self,
        requests: impl Into<DataPath>,
        steps: impl Into<DataPath>,
        progress: &dyn Progress,
    ) -> Result<JoinSummary, PathError> {
        let requests = &requests.into();
        let steps = &steps.into();
        let SpanSink { budget, directory, names, resources, mut by_trace } = self;
        let names = names.into_names();
        let resources = resources.into_list();
        let ClockHosts { facts, of_resource } = ClockHosts::from_resources(&resources, &names);
        let sources = SpanSources { resources: &resources, clocks: &of_resource, names: &names };

        progress.begin_step("joining spans", 0);
        let drafts = PartitionStore::new(budget, &directory, TRACE_PARTITIONS);
        let partitions = split_large_partitions(&mut by_trace, PARTITION_BYTES, next_span)?;
        let mut found = join_all(&by_trace, &partitions, &drafts, &sources, facts.len())?;
        found.remove_unrelated();
        drop(by_trace);
        let mut joined = JoinSummary {
            spans: found.spans,
            duplicates: found.misfits.duplicates,
            parts: found.misfits.parts,
            broken: found.misfits.broken,
            crowded_out: found.misfits.crowded_out,
            traces: found.traces,
            ..JoinSummary::default()
        };

        let facts = with_facts(facts, &found);
        joined.clocks = estimate_clocks(&facts, &found.samples, None);
        let is_one_clock = joined
            .clocks
            .hosts
            .iter()
            .all(|host| host.offset_ns == 0 && host.skew_ppm == 0.0 && host.steps.is_empty());
        let clocks = Some(&joined.clocks).filter(|_| !is_one_clock);

        progress.begin_step("ordering requests", 0);
        let bounds = partition_bounds(found.begins);
        let mut by_begin = PartitionStore::new(budget, &directory, bounds.len() + 1);
        MisplacedSteps { moved: joined.moved, late: joined.late } =
            order_requests(&drafts, &by_begin, clocks, &bounds)?;
        drop(drafts);

        progress.begin_step("writing requests", 0);
        let mut writer = RequestWriter::create(requests, steps)?;
        let partitions = split_large_partitions(&mut by_begin, PARTITION_BYTES, next_request)?;
        let torn = write_requests(&by_begin, &partitions, &names, &mut writer)?;
        (joined.requests, joined.steps) = writer.written_counts();
        joined.torn = torn;
        writer.finish(&names)?;
        Ok(joined)
    }
}

/// Hosts of all clocks.
struct ClockHosts {
    /// By clock: what is known about its host.
    facts: Vec<HostFacts>,
    /// By resource: the clock that it reads.
    of_resource: Vec<ClockNumber>,
}

impl ClockHosts {
    /// Returns a clock for each host, and for each node with an unknown host. A caller may be known
    /// only by a host that is the name of such a node: then both have one clock.
    fn from_resources(resources: &[ResourceRecord], names: &NameInterner) -> ClockHosts {
        let without_host: FxHashSet<NameId> = (resources.iter())
            .filter(|resource| resource.host == NameInterner::UNKNOWN)
            .map(|resource| resource.node)
            .collect();
        let clock_of = |resource: &ResourceRecord| {
            let is_node =
                resource.node == NameInterner::UNKNOWN && without_host.contains(&resource.host);
            let is_known = resource.host != NameInterner::UNKNOWN && !is_node;
            let name = if is_known || is_node { resource.host } else { resource.node };
            (names.name_of(name), is_known)
        };
        // By name, so that equal spans have equal clocks for any order of the files.
        let all: BTreeSet<(&str, bool)> = resources.iter().map(clock_of).collect();
        let numbers: FxHashMap<(&str, bool), ClockNumber> = all.iter().copied().zip(0..).collect();
        let facts = all.into_iter().map(|(name, is_known)| {
            let mut facts = HostFacts { name: name.to_owned(), ..HostFacts::default() };
            if !is_known {
                presume_one_clock(&mut facts);
            }
            facts
        });
        let of_resource = resources
            .iter()
            .map(|resource| numbers.get(&clock_of(resource)).copied().unwrap_or_default());
        ClockHosts { facts: facts.collect(), of_resource: of_resource.collect() }
    }
}

/// Adds the facts about clocks from the spans: when each was read, and whether it is to be
/// estimated.
///
/// Clocks between which no call and its response were seen are presumed to be one, since a begin
/// after the parent's begin does not bound the difference of two clocks. So are the clocks of nodes
/// with an unknown host. Such clocks are estimated only if spans contradict the presumption.
fn with_facts(mut facts: Vec<HostFacts>, found: &FirstPassResult) -> Vec<HostFacts> {
    for ((host, times), is_related) in facts.iter_mut().zip(&found.times).zip(&found.related) {
        [host.first, host.last] = times.unwrap_or_default();
        if !is_related {
            presume_one_clock(host);
        }
    }
    facts
}

/// Presumes that the clock is one with all others that are presumed so.
fn presume_one_clock(host: &mut HostFacts) {
    (host.machine, host.is_presumed) = (ONE_MACHINE, true);
}

/// Runs the first pass.
fn join_all(
    by_trace: &PartitionStore<'_, u8>,
    partitions: &[usize],
    drafts: &PartitionStore<'_, u8>,
    sources: &SpanSources<'_>,
    clocks: usize,
) -> Result<FirstPassResult, PathError> {
    let mut all = FirstPassResult::with_clocks(clocks);
    let work = |index: usize| {
        let mut found = FirstPassResult::with_clocks(clocks);
        // Only a partition that cannot be split further is larger: it has one trace.
        let (mut blocks, mut size) = (Vec::new(), 0);
        for block in by_trace.take_each_block(partitions.get(index).copied().unwrap_or(usize::MAX))
        {
            let block = block?;
            if size >= MAX_TRACE_BYTES {
                let mut bytes = block.as_slice();
                while SpanRecord::read_next(&mut bytes).is_some() {
                    found.misfits.crowded_out += 1;
                }
                continue;
            }
            size += block.len();
            blocks.push(block);
        }
        let mut spans: Vec<SpanRecord<'_>> = Vec::new();
        for block in &blocks {
            let mut bytes = block.as_slice();
            while let Some(span) = SpanRecord::read_next(&mut bytes) {
                if spans.len() < MAX_TRACE_SPANS {
                    spans.push(span);
                } else {
                    found.misfits.crowded_out += 1;
                }
            }
        }
        spans.sort_by_key(|span| span.trace);
        let mut writer = PartitionWriter::new(drafts, index);
        let mut bytes = Vec::new();
        let mut failed = None;
        let mut spans = spans.into_iter().peekable();
        while let Some(first) = spans.next() {
            let trace = first.trace;
            let mut of_trace = vec![first];
            while let Some(span) = spans.next_if(|span| span.trace == trace) {
                of_trace.push(span);
            }
            let joined = join_trace(of_trace, sources, &mut found.misfits, |draft| {
                let related = &mut found.related;
                draft.add_samples(&mut found.samples, |clock| {
                    related.get_mut(clock as usize).into_iter().for_each(|of| *of = true);
                });
                draft.for_each_clock_range(|clock, time| {
                    if let Some(seen) = found.times.get_mut(clock as usize) {
                        let [first, last] = seen.unwrap_or([time; 2]);
                        *seen = Some([first.min(time), last.max(time)]);
                    }
                });
                let root = draft.request.steps.iter().find(|step| step.parent.is_none());
                found.begins.extend(root.and_then(|root| root.caller_begin.or(root.begin)));
                bytes.clear();
                append_bytes(&draft, &mut bytes);
                let to = index % drafts.partition_count();
                failed = failed.take().or(writer.partition_records(to, &bytes).err());
            });
            found.spans += joined as u64;
            found.traces += 1;
        }
        failed.map_or(Ok(()), Err)?;
        writer.finish()?;
        thin_evenly(&mut found.begins);
        Ok(found)
    };
    workers::run_in_order(
        workers::thread_count(),
        partitions.len(),
        work,
        |_, found: FirstPassResult| {
            all.spans += found.spans;
            all.traces += found.traces;
            all.misfits.duplicates += found.misfits.duplicates;
            all.misfits.parts += found.misfits.parts;
            all.misfits.broken += found.misfits.broken;
            all.misfits.crowded_out += found.misfits.crowded_out;
            all.samples.merge_samples(found.samples);
            all.related.iter_mut().zip(found.related).for_each(|(one, new)| *one |= new);
            all.begins.extend(found.begins);
            for (seen, new) in all.times.iter_mut().zip(found.times) {
                let Some([first, last]) = new else { continue };
                let [known_first, known_last] = seen.unwrap_or([first, last]);
                *seen = Some([first.min(known_first), last.max(known_last)]);
            }
            Ok::<(), PathError>(())
        },
    )?;
    Ok(all)
}

/// Sorts the times, and reduces them to at most [`BEGIN_SAMPLES`], evenly.
fn thin_evenly(begins: &mut Vec<i64>) {
    begins.sort_unstable();
    let step = begins.len().div_ceil(BEGIN_SAMPLES).max(1);
    let mut place = 0;
    begins.retain(|_| {
        place += 1;
        (place - 1) % step == 0
    });
}

/// Returns the times between which about equally many requests begin.
fn partition_bounds(mut begins: Vec<i64>) -> Vec<i64> {
    begins.sort_unstable();
    let mut bounds: Vec<i64> = (1..TIME_PARTITIONS)
        .filter_map(|bound| begins.get(bound * begins.len() / TIME_PARTITIONS).copied())
        .collect();
    bounds.dedup();
    bounds
}

/// Runs the second pass: converts times, and partitions requests by `bounds` of their begins.
/// Returns how many steps do not fit into their parents.
fn order_requests(
    drafts: &PartitionStore<'_, u8>,
    by_begin: &PartitionStore<'_, u8>,
    clocks: Option<&ClockModel>,
    bounds: &[i64],
) -> Result<MisplacedSteps, PathError> {
    let mut all = MisplacedSteps::default();
    let work = |partition: usize| {
        let mut writer = PartitionWriter::new(by_begin, partition);
        let (mut builder, mut request) = (RequestBuilder::default(), Request::default());
        let (mut found, mut bytes, mut framed) =
            (MisplacedSteps::default(), Vec::new(), Vec::new());
        for block in drafts.take_each_block(partition) {
            let block = block?;
            let mut rest = block.as_slice();
            while let Ok((mut draft, tail)) = postcard::take_from_bytes::<RequestDraft>(rest) {
                rest = tail;
                let MisplacedSteps { moved, late } =
                    draft.finish_request(clocks, &mut builder, &mut request);
                (found.moved, found.late) = (found.moved + moved, found.late + late);
                let begin = request.begin().unwrap_or(i64::MIN);
                bytes.clear();
                append_bytes(&request, &mut bytes);
                framed.clear();
                framed.extend_from_slice(&begin.to_le_bytes());
                framed.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                framed.extend_from_slice(&bytes);
                let partition = bounds.partition_point(|bound| *bound <= begin);
                writer.partition_records(partition, &framed)?;
            }
        }
        writer.finish()?;
        Ok(found)
    };
    workers::run_in_order(
        workers::thread_count(),
        drafts.partition_count(),
        work,
        |_, found: MisplacedSteps| {
            (all.moved, all.late) = (all.moved + found.moved, all.late + found.late);
            Ok::<(), PathError>(())
        },
    )?;
    Ok(all)
}

/// Runs the third pass. Returns the number of requests that are torn.
fn write_requests(
    by_begin: &PartitionStore<'_, u8>,
    partitions: &[usize],
    names: &NameInterner,
    writer: &mut RequestWriter,
) -> Result<u64, PathError> {
    let torn = Mutex::new(0);
    let work = |index: usize| {
        let blocks = by_begin.take_blocks(partitions.get(index).copied().unwrap_or(usize::MAX))?;
        let mut requests: Vec<Request> = Vec::new();
        for block in &blocks {
            let mut rest = block.as_slice();
            while let Some((_, record)) = next_request(&mut rest) {
                let bytes = record.get(FRAME_BYTES..).unwrap_or_default();
                requests.extend(postcard::from_bytes::<Request>(bytes).ok());
            }
        }
        // Stable: the requests of one trace stay in the order of its spans.
        requests.sort_by(|one, other| {
            let key = |of: &Request| of.begin().unwrap_or(i64::MIN);
            key(one).cmp(&key(other)).then_with(|| one.trace.cmp(&other.trace))
        });
        *lock_mutex(&torn) += requests.iter().filter(|request| request.torn).count() as u64;
        Ok(requests)
    };
    let threads = workers::thread_count();
    workers::run_in_order(threads, partitions.len(), work, |_, requests: Vec<Request>| {
        requests.into_iter().try_for_each(|request| writer.push_request(request, names))
    })?;
    Ok(torn.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// Bytes before a request: i64 begin in nanoseconds since the Unix epoch, u64 length.
const FRAME_BYTES: usize = 16;

/// Takes the first request from `bytes`, with its begin.
fn next_request<'b>(bytes: &mut &'b [u8]) -> Option<(i64, &'b [u8])> {
    let begin = i64::from_le_bytes(*bytes.first_chunk()?);
    let length = u64::from_le_bytes(*bytes.get(8..)?.first_chunk()?) as usize;
    let (record, rest) = bytes.split_at_checked(FRAME_BYTES.checked_add(length)?)?;
    *bytes = rest;
    Some((begin, record))
}

/// Takes the first span from `bytes`, with a number that all spans of its trace share.
fn next_span<'b>(bytes: &mut &'b [u8]) -> Option<(i64, &'b [u8])> {
    let whole = *bytes;
    let trace = SpanRecord::read_next(bytes)?.trace;
    let record = whole.get(..whole.len() - bytes.len())?;
    Some((message_trace::mix_bits((trace ^ trace >> 64) as u64) as i64, record))
}

/// Appends the bytes of `value`.
fn append_bytes(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    if let Ok(bytes) = postcard::to_extend(value, std::mem::take(out)) {
        *out = bytes;
    }
}
