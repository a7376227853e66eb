//! Interface of a format for reading: files, and the sink of their spans.
//!
//! A format that reads in order calls [`SpanImport::begin_batch`] and returns the batch with
//! [`SpanImport::add_batch`]. For a format that reads on all processors, `SpanImport::batches` does
//! both. Either way the numbers of batches follow the order of the files, and so do the counts,
//! independent of the threads.

use std::path::Path;

use message_trace::Progress;
use out_of_core::workers;
use request_flow::spans::{ResourceId, SinkBatch, Span, SpanResource, SpanSink};

use super::resources::ResourceCache;
use super::tally::SpanTally;
use crate::error::Error;
use crate::import_input::ImportInput;
use crate::summary::{FilePlace, ImportSummary, SkippedItem};

/// Files of one import on their way to the sink.
pub(crate) struct SpanImport<'r, 'a> {
    sink: &'r SpanSink<'a>,
    progress: &'r dyn Progress,
    summary: &'r mut ImportSummary,
    /// Number of batches so far.
    batch_count: usize,
    /// Number of spans in the sink.
    kept: u64,
}

/// Spans that one thread adds.
pub(crate) struct SpanBatch<'r, 'a> {
    spans: SinkBatch<'r, 'a>,
    resources: ResourceCache,
    tally: SpanTally,
}

impl<'r, 'a> SpanImport<'r, 'a> {
    /// Creates an import into `sink` that counts in `summary`.
    pub(super) fn new(
        sink: &'r SpanSink<'a>,
        progress: &'r dyn Progress,
        summary: &'r mut ImportSummary,
    ) -> SpanImport<'r, 'a> {
        SpanImport { sink, progress, summary, batch_count: 0, kept: 0 }
    }

    /// Opens a file of the import.
    pub(crate) fn open(&mut self, file: &Path) -> Result<ImportInput<'r>, Error> {
        self.summary.begin_file(file, self.progress);
        ImportInput::open(file, self.progress)
    }

    /// Number of spans that are in the sink.
    pub(super) fn span_count(&self) -> u64 {
        self.kept
    }

    /// Begins a batch for the next spans, which [`SpanImport::add_batch`] takes back.
    pub(crate) fn begin_batch(&mut self) -> SpanBatch<'r, 'a> {
        self.batch_count += 1;
        SpanBatch::new(self.sink, self.batch_count - 1)
    }

    /// Adds the counts and spans of a batch.
    pub(crate) fn add_batch(&mut self, batch: SpanBatch<'r, 'a>) -> Result<(), Error> {
        self.add_tally(batch.finish()?);
        Ok(())
    }

    /// Reads all parts that `next` returns with `read`, on all processors. `next` is called for one
    /// part of the file after the other, until it returns `None`.
    pub(crate) fn batches<P>(
        &mut self,
        next: impl FnMut() -> Result<Option<P>, Error> + Send,
        read: impl Fn(P, &mut SpanBatch<'_, '_>) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let (sink, first) = (self.sink, self.batch_count);
        let work = |number: usize, part: P| {
            let mut batch = SpanBatch::new(sink, first + number);
            read(part, &mut batch)?;
            batch.finish()
        };
        let (mut count, mut tallies) = (0, TallyTotals(self.summary, &mut self.kept));
        let done = workers::run_stream(workers::thread_count(), next, work, |_, tally| {
            count += 1;
            tallies.add_tally(tally);
            Ok(())
        });
        self.batch_count += count;
        done
    }

    /// Counts a skipped part with an unknown number of spans.
    pub(crate) fn count_damage(&mut self, cause: &'static str, skip: impl FnOnce() -> SkippedItem) {
        self.summary.skipped.add(cause, skip);
    }

    /// Counts everything after `place` as unreadable.
    pub(crate) fn cut_off(&mut self, place: FilePlace, error: &std::io::Error) {
        self.summary.cut_off(place, error);
    }

    /// Adds another note for the user.
    pub(crate) fn add_note(&mut self, note: String) {
        self.summary.notes.push(note);
    }

    fn add_tally(&mut self, tally: SpanTally) {
        TallyTotals(self.summary, &mut self.kept).add_tally(tally);
    }
}

/// Totals of the tallies.
struct TallyTotals<'t>(&'t mut ImportSummary, &'t mut u64);

impl TallyTotals<'_> {
    fn add_tally(&mut self, tally: SpanTally) {
        *self.1 += tally.kept;
        tally.add_to_summary(self.0);
    }
}

impl<'r, 'a> SpanBatch<'r, 'a> {
    fn new(sink: &'r SpanSink<'a>, number: usize) -> SpanBatch<'r, 'a> {
        SpanBatch {
            spans: sink.sink_batch(number),
            resources: ResourceCache::default(),
            tally: SpanTally::default(),
        }
    }

    /// The number of a resource.
    pub(crate) fn resource_id(&mut self, resource: &SpanResource<'_>) -> ResourceId {
        let SpanBatch { spans, resources, .. } = self;
        resources.get_or_ask(resource, || spans.intern_resource(resource))
    }

    /// Adds a span to the batch.
    pub(crate) fn add_span(&mut self, span: &Span<'_>) -> Result<(), Error> {
        self.spans.push_span(span)?;
        self.tally.count_kept();
        Ok(())
    }

    /// Tally for skipped parts.
    pub(crate) fn tally(&mut self) -> &mut SpanTally {
        &mut self.tally
    }

    fn finish(self) -> Result<SpanTally, Error> {
        self.spans.finish()?;
        Ok(self.tally)
    }
}
