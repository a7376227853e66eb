//! Sink: takes spans from importers on all processors, and deals them by trace.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use message_trace::PathError;
use out_of_core::workers::lock;
use out_of_core::{MemoryBudget, PartitionStore, PartitionWriter};
use rustc_hash::FxHashMap;

use super::record::SpanRecord;
use super::shared_names::{NameCache, SharedNames};
use super::span::{Id, Resource, ResourceId, Span};
use crate::tuning::TRACE_PARTITIONS;
use out_of_core::NameId;

/// All spans of an import, dealt by trace.
pub struct SpanSink<'a> {
    pub(super) budget: &'a MemoryBudget,
    pub(super) directory: PathBuf,
    pub(super) names: SharedNames,
    pub(super) resources: Resources,
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
pub(super) struct Resources(Mutex<FxHashMap<ResourceRecord, ResourceId>>);

impl Resources {
    fn number(&self, resource: ResourceRecord) -> ResourceId {
        let mut numbers = lock(&self.0);
        let next = numbers.len() as ResourceId;
        *numbers.entry(resource).or_insert(next)
    }

    /// The resources in the order of their numbers.
    pub(super) fn into_list(self) -> Vec<ResourceRecord> {
        let numbers = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<(ResourceRecord, ResourceId)> = numbers.into_iter().collect();
        list.sort_unstable_by_key(|(_, number)| *number);
        list.into_iter().map(|(resource, _)| resource).collect()
    }
}

impl<'a> SpanSink<'a> {
    /// A sink without spans. What is more than `budget` goes to a temporary file in `directory`.
    pub fn new(budget: &'a MemoryBudget, directory: &Path) -> SpanSink<'a> {
        SpanSink {
            budget,
            directory: directory.to_owned(),
            names: SharedNames::default(),
            resources: Resources::default(),
            by_trace: PartitionStore::new(budget, directory, TRACE_PARTITIONS),
        }
    }

    /// The piece of that number: what one thread reads at a time.
    pub fn piece(&self, number: usize) -> SpanPiece<'_, 'a> {
        SpanPiece {
            sink: self,
            cache: NameCache::default(),
            writer: PartitionWriter::new(&self.by_trace, number),
            bytes: Vec::new(),
            parameters: Vec::new(),
            spans: 0,
        }
    }

    /// The number of a resource; equal ones have equal numbers. Ask once for many spans.
    pub fn resource(&self, resource: &Resource<'_>) -> ResourceId {
        let mut cache = NameCache::default();
        let mut number = |text: &str| self.names.number(text, &mut cache);
        let record = ResourceRecord {
            node: number(resource.node),
            host: number(resource.host),
            parameters: resource
                .parameters
                .iter()
                .map(|(name, value)| (number(name), value.clone().into_owned()))
                .collect(),
        };
        self.resources.number(record)
    }
}

/// Spans that one thread adds.
pub struct SpanPiece<'s, 'a> {
    sink: &'s SpanSink<'a>,
    cache: NameCache,
    writer: PartitionWriter<'s, 'a, u8>,
    bytes: Vec<u8>,
    parameters: Vec<(NameId, &'static str)>,
    spans: u64,
}

impl SpanPiece<'_, '_> {
    /// The number of a resource, as [`SpanSink::resource`].
    pub fn resource(&mut self, resource: &Resource<'_>) -> ResourceId {
        self.sink.resource(resource)
    }

    /// Adds a span.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub fn span(&mut self, span: &Span<'_>) -> Result<(), PathError> {
        let SpanPiece { sink, cache, .. } = self;
        let mut parameters = recycled(std::mem::take(&mut self.parameters));
        parameters.extend(
            span.parameters
                .iter()
                .map(|(name, value)| (sink.names.number(name, cache), value.as_ref())),
        );
        let record = SpanRecord {
            trace: span.trace.key(),
            trace_text: match span.trace {
                Id::Number(_) => None,
                Id::Text(text) => Some(text),
            },
            id: span.id.key(),
            parent: span.parent.map(Id::key),
            follows: span.follows,
            depth: span.depth,
            order: span.order,
            resource: span.resource,
            operation: sink.names.number(span.operation, cache),
            kind: span.kind,
            peer: sink.names.number(span.peer.unwrap_or_default(), cache),
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
        record.put(&mut self.bytes);
        let partition = (record.trace ^ record.trace >> 64) as u64;
        let partition = message_trace::mixed(partition) % TRACE_PARTITIONS as u64;
        self.parameters = recycled(record.parameters);
        self.spans += 1;
        self.writer.deal_together(partition as usize, &self.bytes)
    }

    /// Number of spans that were added to this piece.
    pub fn spans(&self) -> u64 {
        self.spans
    }

    /// Hands over what was added.
    ///
    /// # Errors
    /// As for [`SpanPiece::span`].
    pub fn finish(self) -> Result<(), PathError> {
        self.writer.finish()
    }
}

/// The room of a list for texts of another lifetime.
fn recycled<'to>(mut list: Vec<(NameId, &str)>) -> Vec<(NameId, &'to str)> {
    list.clear();
    list.into_iter().map(|(name, _)| (name, "")).collect()
}
