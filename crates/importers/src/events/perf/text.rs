//! Parser from `perf script` text to events: it is given line after line and does no input.

use ::events::{Event, EventBatch};
use out_of_core::{NameId, NameInterner};
use rustc_hash::FxHashMap;

use super::fields::{self, FieldNames, FieldSyntax};
use super::header::PerfHeader;
use super::line::{self, PerfLine, PerfLineHead};
use crate::events::value::parse_value;
use crate::tuning::MAX_EVENT_KINDS;

/// Result of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PerfLineOutcome {
    /// An event, which was added to the batch.
    Event,
    /// A line of the previous event's stack, which is ignored.
    Stack,
    /// An empty line, or part of the header.
    Nothing,
    /// A record of perf's own: lost records, mappings or names.
    Record,
    /// Not a line of `perf script`.
    Unknown,
}

/// Parser of the text of `perf script`, line by line.
///
/// ```
/// use events::{Event, EventBatch};
/// use importers::{PerfText, PerfLineOutcome};
/// use out_of_core::NameInterner;
///
/// let (mut perf, mut names) = (PerfText::default(), NameInterner::default());
/// let mut batch = EventBatch::default();
/// let line = b"nginx 12/14 [001] 1208.769625: sched:sched_waking: comm=php-fpm pid=18 prio=120";
/// assert_eq!(perf.parse_line(line, &mut names, &mut batch), PerfLineOutcome::Event);
///
/// let (event, pid) = (batch.event_at(0), names.intern("pid"));
/// assert_eq!((event.time, event.processor), (1_208_769_625_000, 1));
/// assert_eq!((event.process, event.thread), (12, 14));
/// assert_eq!(names.name_of(event.kind), "sched/sched_waking");
/// assert_eq!(batch.attribute_value(0, pid).and_then(events::AttributeValue::int_value), Some(18));
/// ```
#[derive(Debug, Default)]
pub struct PerfText {
    kinds: FxHashMap<Box<[u8]>, PerfEventKind>,
    header: PerfHeader,
    host: NameId,
    /// Offset that is added to a time, in nanoseconds, if the user gives it.
    offset: Option<i64>,
    comm: Option<NameId>,
}

/// A kind of events.
#[derive(Debug)]
struct PerfEventKind {
    number: NameId,
    syntax: FieldSyntax,
    fields: FieldNames,
}

impl PerfText {
    /// Creates a parser of events of `host`, which adds `offset`, in nanoseconds, to their times.
    /// Without `offset`, the header of the text may provide the offset.
    pub fn new(host: NameId, offset: Option<i64>) -> PerfText {
        PerfText { host, offset, ..PerfText::default() }
    }

    /// Parses a line, without its end. The event of the line is added to `batch`.
    pub fn parse_line(
        &mut self,
        line: &[u8],
        names: &mut NameInterner,
        batch: &mut EventBatch,
    ) -> PerfLineOutcome {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line::parse_line(line) {
            PerfLine::Event(head) => {
                self.add_event(&head, names, batch);
                PerfLineOutcome::Event
            }
            PerfLine::Stack => PerfLineOutcome::Stack,
            PerfLine::Header(text) => {
                self.header.read_line(text);
                if self.host == NameInterner::UNKNOWN
                    && let Some(host) = self.header.host()
                {
                    self.host = names.intern(host);
                }
                PerfLineOutcome::Nothing
            }
            PerfLine::Empty => PerfLineOutcome::Nothing,
            PerfLine::Record => PerfLineOutcome::Record,
            PerfLine::Unknown => PerfLineOutcome::Unknown,
        }
    }

    /// Offset that is added to times of perf's clock, in nanoseconds, to make them count from 1970;
    /// `None` if it is not known.
    pub fn clock_offset(&self) -> Option<i64> {
        self.offset.or(self.header.clock_offset())
    }

    fn add_event(
        &mut self,
        head: &PerfLineHead<'_>,
        names: &mut NameInterner,
        batch: &mut EventBatch,
    ) {
        let offset = self.clock_offset().unwrap_or(0);
        if self.kinds.len() > MAX_EVENT_KINDS {
            self.kinds.clear();
        }
        let kind = match self.kinds.get_mut(head.event) {
            Some(kind) => kind,
            None => {
                let text = kind_of(head.event);
                let kind = PerfEventKind {
                    number: names.intern(&text),
                    syntax: FieldSyntax::from_event_name(&text),
                    fields: FieldNames::default(),
                };
                self.kinds.entry(head.event.into()).or_insert(kind)
            }
        };
        let has_comm = fields::add_fields(kind.syntax, head.trace, &mut kind.fields, names, batch);
        if !(has_comm || head.comm.is_empty()) {
            let comm = *self.comm.get_or_insert_with(|| names.intern("comm"));
            batch.push_attribute(comm, parse_value(b"comm", head.comm).as_value());
        }
        batch.end_event(Event {
            time: head.time.saturating_add(offset),
            kind: kind.number,
            host: self.host,
            processor: head.processor,
            process: head.process,
            thread: head.thread,
        });
    }
}

/// Kind of perf's event: `provider/name` for a tracepoint, `perf/name` for any other. The part
/// after a second colon states how the event was recorded.
pub(super) fn kind_of(event: &[u8]) -> String {
    let text = String::from_utf8_lossy(event);
    let mut parts = text.split(':');
    match (parts.next(), parts.next()) {
        (Some(provider), Some(name)) if is_tracepoint(provider, name) => {
            format!("{provider}/{name}")
        }
        (Some(name), _) => format!("perf/{name}"),
        (None, _) => String::new(),
    }
}

/// Whether `provider:name` is a tracepoint, as opposed to a counter with its modifiers, such as
/// `cycles:P`.
fn is_tracepoint(provider: &str, name: &str) -> bool {
    let is_modifier = |letter: char| "ukhIGHpPSDWebRS".contains(letter);
    let is_modified = name.len() <= 3 && name.chars().all(is_modifier);
    !(provider.is_empty() || name.is_empty() || is_modified)
}
