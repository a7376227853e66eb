//! What a format reads with: files and the sink of their spans.
//!
//! A format that reads in order asks for a [`Reading::piece`] and gives it back. One that reads on
//! all processors has [`Reading::pieces`] do so. Either way the numbers of pieces follow the order
//! of the files, and so does what is told of them, whatever the threads do.

use std::path::Path;

use message_trace::Progress;
use out_of_core::workers;
use request_flow::spans::{Resource, ResourceId, Span, SpanPiece, SpanSink};

use super::resources::Resources;
use super::tally::Tally;
use crate::error::Error;
use crate::reading::Input;
use crate::summary::{Place, Skip, Summary};

/// The files of one import on their way to the sink.
pub(crate) struct Reading<'r, 'a> {
    sink: &'r SpanSink<'a>,
    progress: &'r dyn Progress,
    summary: &'r mut Summary,
    pieces: usize,
    kept: u64,
}

/// Spans that one thread adds.
pub(crate) struct Piece<'r, 'a> {
    spans: SpanPiece<'r, 'a>,
    resources: Resources,
    tally: Tally,
}

impl<'r, 'a> Reading<'r, 'a> {
    /// Reads into `sink`, and tells `summary`.
    pub(super) fn new(
        sink: &'r SpanSink<'a>,
        progress: &'r dyn Progress,
        summary: &'r mut Summary,
    ) -> Reading<'r, 'a> {
        Reading { sink, progress, summary, pieces: 0, kept: 0 }
    }

    /// Opens a file.
    pub(crate) fn open(&mut self, file: &Path) -> Result<Input<'r>, Error> {
        self.summary.begin(file, self.progress);
        Input::open(file, self.progress)
    }

    /// Number of spans that are in the sink.
    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    /// A piece for what comes next, which [`Reading::take`] takes back.
    pub(crate) fn piece(&mut self) -> Piece<'r, 'a> {
        self.pieces += 1;
        Piece::new(self.sink, self.pieces - 1)
    }

    /// Takes back a piece.
    pub(crate) fn take(&mut self, piece: Piece<'r, 'a>) -> Result<(), Error> {
        self.tell(piece.finish()?);
        Ok(())
    }

    /// Has `read` read all that `next` gives into spans, on all processors. `next` is asked for one
    /// part of the file after the other, until it gives `None`.
    pub(crate) fn pieces<P>(
        &mut self,
        next: impl FnMut() -> Result<Option<P>, Error> + Send,
        read: impl Fn(P, &mut Piece<'_, '_>) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        let (sink, first) = (self.sink, self.pieces);
        let work = |number: usize, part: P| {
            let mut piece = Piece::new(sink, first + number);
            read(part, &mut piece)?;
            piece.finish()
        };
        let (mut count, mut tallies) = (0, Tallies(self.summary, &mut self.kept));
        let done = workers::stream(workers::threads(), next, work, |_, tally| {
            count += 1;
            tallies.tell(tally);
            Ok(())
        });
        self.pieces += count;
        done
    }

    /// Counts something that is passed over, whose number of spans nobody knows.
    pub(crate) fn damage(&mut self, cause: &'static str, skip: impl FnOnce() -> Skip) {
        self.summary.skipped.add(cause, skip);
    }

    /// Nothing after `place` can be read.
    pub(crate) fn cut_off(&mut self, place: Place, error: &std::io::Error) {
        self.summary.cut_off(place, error);
    }

    /// Something else that the user should know.
    pub(crate) fn note(&mut self, note: String) {
        self.summary.notes.push(note);
    }

    fn tell(&mut self, tally: Tally) {
        Tallies(self.summary, &mut self.kept).tell(tally);
    }
}

/// Where tallies go.
struct Tallies<'t>(&'t mut Summary, &'t mut u64);

impl Tallies<'_> {
    fn tell(&mut self, tally: Tally) {
        *self.1 += tally.kept;
        tally.tell(self.0);
    }
}

impl<'r, 'a> Piece<'r, 'a> {
    fn new(sink: &'r SpanSink<'a>, number: usize) -> Piece<'r, 'a> {
        Piece {
            spans: sink.piece(number),
            resources: Resources::default(),
            tally: Tally::default(),
        }
    }

    /// The number of a resource.
    pub(crate) fn resource(&mut self, resource: &Resource<'_>) -> ResourceId {
        let Piece { spans, resources, .. } = self;
        resources.number(resource, || spans.resource(resource))
    }

    /// Adds a span.
    pub(crate) fn span(&mut self, span: &Span<'_>) -> Result<(), Error> {
        self.spans.span(span)?;
        self.tally.keep();
        Ok(())
    }

    /// Where what is passed over is counted.
    pub(crate) fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn finish(self) -> Result<Tally, Error> {
        self.spans.finish()?;
        Ok(self.tally)
    }
}
