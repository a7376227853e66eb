//! Sink: takes spans from importers on all processors, and partitions them by trace.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use message_trace::PathError;
use out_of_core::workers::lock_mutex;
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};
use rustc_hash::FxHashMap;

use super::shared_interner::{InternerCache, SharedInterner};
use super::span::{ResourceId, Span, SpanResource, TracingId};
use super::span_record::SpanRecord;
use crate::tuning::TRACE_PARTITIONS;
use out_of_core::NameId;

/// All spans of an import, partitioned by trace.
pub struct SpanSink<'a> {
    pub(super) budget: &'a MemoryBudget,
    pub(super) directory: PathBuf,
    pub(super) names: SharedInterner,
    pub(super) resources: ResourceInterner,
    pub(super) by_trace: PartitionStore<'a, u8>,
}

/// A resource with numbers in place of names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ResourceRecord {
    pub(super) node: NameId,
    pub(super) host: NameId,
    pub(super) parameters: Vec<(NameId, String)>,
}

/// All resources, each once.
#[derive(Debug, Default)]
pub(super) struct ResourceInterner(Mutex<FxHashMap<ResourceRecord, ResourceId>>);

impl ResourceInterner {
    fn intern(&self, resource: ResourceRecord) -> ResourceId {
        let mut numbers = lock_mutex(&self.0);
        let next = ResourceId::from_index(numbers.len());
        *numbers.entry(resource).or_insert(next)
    }

    /// Returns the resources in the order of their numbers.
    pub(super) fn into_list(self) -> Vec<ResourceRecord> {
        let numbers = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<(ResourceRecord, ResourceId)> = numbers.into_iter().collect();
        list.sort_unstable_by_key(|(_, number)| *number);
        list.into_iter().map(|(resource, _)| resource).collect()
    }
}

impl<'a> SpanSink<'a> {
    /// Creates a sink without spans. Data beyond `budget` is moved to a temporary file in
    /// `directory`.
    pub fn new(budget: &'a MemoryBudget, directory: &Path) -> SpanSink<'a> {
        SpanSink {
            budget,
            directory: directory.to_owned(),
            names: SharedInterner::default(),
            resources: ResourceInterner::default(),
            by_trace: PartitionStore::new(budget, directory, TRACE_PARTITIONS),
        }
    }

    /// Returns the batch with this number: the input that one thread reads at a time.
    pub fn sink_batch(&self, number: usize) -> SinkBatch<'_, 'a> {
        SinkBatch {
            sink: self,
            cache: InternerCache::default(),
            writer: PartitionWriter::new(&self.by_trace, number),
            bytes: Vec::new(),
            parameters: Vec::new(),
            spans: 0,
        }
    }

    /// Returns the number of a resource; equal ones have equal numbers. Call once for many spans.
    pub fn intern_resource(&self, resource: &SpanResource<'_>) -> ResourceId {
        let mut cache = InternerCache::default();
        let mut number = |text: &str| self.names.intern(text, &mut cache);
        let record = ResourceRecord {
            node: number(resource.node),
            host: number(resource.host),
            parameters: resource
                .parameters
                .iter()
                .map(|(name, value)| (number(name), value.clone().into_owned()))
                .collect(),
        };
        self.resources.intern(record)
    }
}

/// Spans that one thread adds.
pub struct SinkBatch<'s, 'a> {
    sink: &'s SpanSink<'a>,
    cache: InternerCache,
    writer: PartitionWriter<'s, 'a, u8>,
    bytes: Vec<u8>,
    parameters: Vec<(NameId, &'static str)>,
    spans: u64,
}

impl SinkBatch<'_, '_> {
    /// Returns the number of a resource, as [`SpanSink::intern_resource`].
    pub fn intern_resource(&mut self, resource: &SpanResource<'_>) -> ResourceId {
        self.sink.intern_resource(resource)
    }

    /// Adds a span.
    ///
    /// # Errors
    /// If the temporary file cannot be written.
    pub fn push_span(&mut self, span: &Span<'_>) -> Result<(), PathError> {
        let SinkBatch { sink, cache, .. } = self;
        let mut parameters = reuse_list(std::mem::take(&mut self.parameters));
        parameters.extend(
            span.parameters
                .iter()
                .map(|(name, value)| (sink.names.intern(name, cache), value.as_ref())),
        );
        let record = SpanRecord {
            trace: span.trace.id_key(),
            trace_text: match span.trace {
                TracingId::Number(_) => None,
                TracingId::Text(text) => Some(text),
            },
            id: span.id.id_key(),
            parent: span.parent.map(TracingId::id_key),
            follows: span.follows,
            depth: span.depth,
            order: span.order,
            resource: span.resource,
            operation: sink.names.intern(span.operation, cache),
            kind: span.kind,
            peer: sink.names.intern(span.peer.unwrap_or_default(), cache),
            begin: span.begin,
            end: span.end,
            duration: span.duration,
            failed: span.failed,
            probability: span.probability,
            bytes_in: span.bytes_in,
            bytes_out: span.bytes_out,
            parameters,
        };
        self.bytes.clear();
        record.append_to(&mut self.bytes);
        let partition = (record.trace ^ record.trace >> 64) as u64;
        let partition = message_trace::mix_bits(partition) % TRACE_PARTITIONS as u64;
        self.parameters = reuse_list(record.parameters);
        self.spans += 1;
        self.writer.partition_records(partition as usize, &self.bytes)
    }

    /// Returns the number of spans that were added to this batch.
    pub fn span_count(&self) -> u64 {
        self.spans
    }

    /// Flushes the added spans to the sink.
    ///
    /// # Errors
    /// As for [`SinkBatch::push_span`].
    pub fn finish(self) -> Result<(), PathError> {
        self.writer.finish()
    }
}

/// Reuses the allocation of a list for texts with another lifetime.
fn reuse_list<'to>(mut list: Vec<(NameId, &str)>) -> Vec<(NameId, &'to str)> {
    list.clear();
    list.into_iter().map(|(name, _)| (name, "")).collect()
}
