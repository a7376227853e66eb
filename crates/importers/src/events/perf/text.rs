//! `perf script` text to events: a parser that is given line after line and knows no file.

use ::events::{Event, Piece};
use out_of_core::{NameId, Names};
use rustc_hash::FxHashMap;

use super::fields::{self, FieldNames, Printed};
use super::header::Header;
use super::line::{self, Head, Line};
use crate::events::value::value;
use crate::tuning::MAX_EVENT_KINDS;

/// What came of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It is an event, which was added to the piece.
    Event,
    /// It is of the stack of the event before, and means nothing here.
    Stack,
    /// It is empty, or part of the header.
    Nothing,
    /// It is a record of perf's own: what was lost, mapped or named.
    Record,
    /// It is not what `perf script` writes.
    Unknown,
}

/// Parser of the text that `perf script` writes, line after line.
///
/// ```
/// use events::{Event, Piece};
/// use importers::{PerfText, Taken};
/// use out_of_core::Names;
///
/// let (mut perf, mut names) = (PerfText::default(), Names::default());
/// let mut piece = Piece::default();
/// let line = b"nginx 12/14 [001] 1208.769625: sched:sched_waking: comm=php-fpm pid=18 prio=120";
/// assert_eq!(perf.line(line, &mut names, &mut piece), Taken::Event);
///
/// let (event, pid) = (piece.event(0), names.number("pid"));
/// assert_eq!((event.time, event.processor), (1_208_769_625_000, 1));
/// assert_eq!((event.process, event.thread), (12, 14));
/// assert_eq!(names.text(event.kind), "sched/sched_waking");
/// assert_eq!(piece.value(0, pid).and_then(events::Value::int), Some(18));
/// ```
#[derive(Debug, Default)]
pub struct PerfText {
    kinds: FxHashMap<Box<[u8]>, Kind>,
    header: Header,
    host: NameId,
    /// What is added to a time, in nanoseconds, where the user says it.
    offset: Option<i64>,
    comm: Option<NameId>,
}

/// A kind of events.
#[derive(Debug)]
struct Kind {
    number: NameId,
    printed: Printed,
    fields: FieldNames,
}

impl PerfText {
    /// A parser whose events are of `host`, and to whose times `offset` is added, in nanoseconds;
    /// without one, what the text's header says of the clock, if there is one.
    pub fn new(host: NameId, offset: Option<i64>) -> PerfText {
        PerfText { host, offset, ..PerfText::default() }
    }

    /// Takes a line, without its end. An event of it is added to `piece`.
    pub fn line(&mut self, line: &[u8], names: &mut Names, piece: &mut Piece) -> Taken {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line::parse(line) {
            Line::Event(head) => {
                self.event(&head, names, piece);
                Taken::Event
            }
            Line::Stack => Taken::Stack,
            Line::Header(text) => {
                self.header.line(text);
                if self.host == Names::UNKNOWN
                    && let Some(host) = self.header.host()
                {
                    self.host = names.number(host);
                }
                Taken::Nothing
            }
            Line::Empty => Taken::Nothing,
            Line::Record => Taken::Record,
            Line::Unknown => Taken::Unknown,
        }
    }

    /// What is added to times of perf's clock, in nanoseconds, so that they count from 1970; `None`
    /// where nobody said it.
    pub fn offset(&self) -> Option<i64> {
        self.offset.or(self.header.offset())
    }

    fn event(&mut self, head: &Head<'_>, names: &mut Names, piece: &mut Piece) {
        let offset = self.offset().unwrap_or(0);
        if self.kinds.len() > MAX_EVENT_KINDS {
            self.kinds.clear();
        }
        let kind = match self.kinds.get_mut(head.event) {
            Some(kind) => kind,
            None => {
                let text = kind_of(head.event);
                let kind = Kind {
                    number: names.number(&text),
                    printed: Printed::of(&text),
                    fields: FieldNames::default(),
                };
                self.kinds.entry(head.event.into()).or_insert(kind)
            }
        };
        let has_comm = fields::add(kind.printed, head.trace, &mut kind.fields, names, piece);
        if !(has_comm || head.comm.is_empty()) {
            let comm = *self.comm.get_or_insert_with(|| names.number("comm"));
            piece.attribute(comm, value(b"comm", head.comm).as_value());
        }
        piece.end(Event {
            time: head.time.saturating_add(offset),
            kind: kind.number,
            host: self.host,
            processor: head.processor,
            process: head.process,
            thread: head.thread,
        });
    }
}

/// The kind of perf's event: `provider/name` of a tracepoint, `perf/name` of any other. What is
/// behind a second colon says how it was recorded.
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

/// Whether `provider:name` is a tracepoint and not a counter with its modifiers, such as
/// `cycles:P`.
fn is_tracepoint(provider: &str, name: &str) -> bool {
    let is_modifier = |letter: char| "ukhIGHpPSDWebRS".contains(letter);
    let is_modified = name.len() <= 3 && name.chars().all(is_modifier);
    !(provider.is_empty() || name.is_empty() || is_modified)
}
