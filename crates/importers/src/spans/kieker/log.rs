//! One log: what its records tell, one after the other, and what is worth saying of them in the
//! end.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::receiver::Receiver;
use super::super::texts::Text;
use super::super::unused::Unused;
use super::events::{Counts, Events};
use super::executions;
use super::fields::Fields;
use super::types::{Tells, Types, short};
use crate::error::Error;
use crate::summary::{Place, Skip};
use crate::tabular::Wrong;

/// A log that is read.
#[derive(Debug)]
pub(super) struct Reader {
    types: Types,
    /// Whether what the log has of both, events and executions, is taken from the events.
    takes_events: bool,
    takes_executions: bool,
    unit_ns: i64,
    host: String,
    events: Events,
    /// Records that the log has of both, and that are passed over.
    told_twice: u64,
    /// Records that tell nothing of operations, by their types.
    others: BTreeMap<String, u64>,
}

impl Reader {
    /// Begins a log. Where it has both events and whole executions, these tell the same operations
    /// twice, and `events` says which are taken.
    pub(super) fn new(types: Types, events: bool) -> Reader {
        let has_both = types.tell(Tells::Execution) && types.tell(Tells::Before);
        Reader {
            types,
            takes_events: !has_both || events,
            takes_executions: !has_both || !events,
            unit_ns: 1,
            host: String::new(),
            events: Events::default(),
            told_twice: 0,
            others: BTreeMap::new(),
        }
    }

    /// Reads a line of `file`.
    pub(super) fn line(
        &mut self,
        line: Text<'_>,
        file: &Path,
        spans: &mut impl Receiver,
    ) -> Result<(), Error> {
        let place = Place::new(file, line.at);
        let text = String::from_utf8_lossy(line.bytes);
        match self.record(&text, &place, spans) {
            Ok(()) => Ok(()),
            Err(Unused::Failed(error)) => Err(error),
            Err(Unused::Skipped(Wrong { cause, why })) => {
                spans.damage(cause, || Skip { place, why });
                Ok(())
            }
        }
    }

    fn record(
        &mut self,
        text: &str,
        place: &Place,
        spans: &mut impl Receiver,
    ) -> Result<(), Unused> {
        let (number, fields) = Fields::of(text)?;
        let Some((name, tells)) = self.types.get(number) else {
            let why = format!("its type ${number} is not in the map");
            return Err(Wrong { cause: "record of an unknown type", why }.into());
        };
        match tells {
            Tells::Execution if self.takes_executions => {
                let alone = || match place.file.file_name() {
                    Some(name) => Place::new(Path::new(name), place.at).to_string(),
                    None => place.to_string(),
                };
                executions::give(&fields, self.unit_ns, alone, spans)
            }
            Tells::Before | Tells::After | Tells::Failed | Tells::Call if self.takes_events => {
                self.events.event(tells, &fields, self.unit_ns, &self.host, spans)
            }
            Tells::Beside if self.takes_events => {
                *self.others.entry(short(name).to_owned()).or_default() += 1;
                self.events.event(tells, &fields, self.unit_ns, &self.host, spans)
            }
            Tells::Trace if self.takes_events => Ok(self.events.trace(&fields)?),
            Tells::Log => self.of_log(&fields),
            Tells::Other => {
                *self.others.entry(short(name).to_owned()).or_default() += 1;
                let why = format!("{} tells nothing of operations", short(name));
                Err(Wrong { cause: "record of another type", why }.into())
            }
            _ => {
                self.told_twice += 1;
                Ok(())
            }
        }
    }

    /// Takes what the log says of itself: version, controller, host, experiment, whether it is for
    /// finding faults, offset and unit of the times, number of records.
    fn of_log(&mut self, fields: &Fields<'_>) -> Result<(), Unused> {
        self.host = fields.text_if_any(2).to_owned();
        self.unit_ns = match fields.text_if_any(6) {
            "" | "NANOSECONDS" => 1,
            "MICROSECONDS" => 1_000,
            "MILLISECONDS" => 1_000_000,
            "SECONDS" => 1_000_000_000,
            unit => {
                let why = format!("field 7: {unit:.40?} is no unit of time that is known");
                return Err(Wrong { cause: "unknown unit of time", why }.into());
            }
        };
        Ok(())
    }

    /// Gives what is open to `spans`, and returns what is worth knowing.
    pub(super) fn end(mut self, spans: &mut impl Receiver) -> Result<Vec<String>, Error> {
        self.events.end(spans)?;
        let Counts { without_end, without_begin, with_gaps, calls } = self.events.counts;
        let counted = [
            ("operations that began and did not end", without_end),
            ("operations that ended and had not begun", without_begin),
            ("traces that miss some of their events", with_gaps),
            ("calls seen at the caller only, of what was not recorded", calls),
        ];
        let counted = counted.into_iter().filter(|(_, count)| *count > 0);
        let mut notes: Vec<String> =
            counted.map(|(what, count)| format!("{what}: {count}")).collect();
        if self.told_twice > 0 {
            let told = match self.takes_events {
                true => "the events are taken (without --events, the executions)",
                false => "the executions are taken (with --events, the events)",
            };
            let count = self.told_twice;
            notes.push(format!("the log has its operations twice; {told}; records left: {count}"));
        }
        let others = self.others.into_iter();
        notes.extend(others.map(|(name, count)| format!("records of {name}, not used: {count}")));
        Ok(notes)
    }
}
