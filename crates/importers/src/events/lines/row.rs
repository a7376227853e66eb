//! Row of a CSV table or line of JSON as an event: its columns by their usual names, and its
//! attributes.

use ::events::{AttributeValue, Event};
use out_of_core::NameInterner;

use super::column::{EventColumn, column_of_name};
use super::log::ServerLog;
use super::moment::parse_moment;
use crate::events::sink::EventSink;
use crate::events::value::ParsedValue;
use crate::tabular::{TimeUnit, WrongValue};

/// Settings for reading rows.
#[derive(Clone, Debug, Default)]
pub(super) struct EventRowReader {
    /// Unit of times; `None` to guess it from their digits.
    pub(super) unit: Option<TimeUnit>,
    /// Host of rows that name none.
    pub(super) host: Option<String>,
    /// Kind of server log.
    pub(super) log: Option<ServerLog>,
}

/// Unfinished row; its attributes are in the sink already.
#[derive(Debug, Default)]
pub(super) struct EventRow {
    event: Event,
    has_time: bool,
    has_kind: bool,
}

impl EventRowReader {
    /// Sets the event's field or attribute of a column to a value that is not empty.
    ///
    /// # Errors
    /// When a time or an id is invalid.
    pub(super) fn take_value(
        &self,
        row: &mut EventRow,
        name: &str,
        value: &ParsedValue<'_>,
        sink: &mut EventSink,
    ) -> Result<(), WrongValue> {
        let text = || match value {
            ParsedValue::Int(number) => number.to_string(),
            ParsedValue::Real(number) => number.to_string(),
            ParsedValue::Text(text) => text.to_string(),
        };
        let column = match (column_of_name(name), self.log.and_then(|log| log.column_of_name(name)))
        {
            (_, Some(own)) => own,
            (column, None) => column,
        };
        match column {
            EventColumn::Time => {
                row.event.time = parse_moment(&text(), self.unit)?;
                row.has_time = true;
            }
            EventColumn::Host => row.event.host = sink.names.intern(&text()),
            EventColumn::Processor => row.event.processor = parse_id(name, value)?,
            EventColumn::Process => row.event.process = parse_id(name, value)?,
            EventColumn::Thread => row.event.thread = parse_id(name, value)?,
            EventColumn::Event => {
                row.event.kind = sink.names.intern(&text());
                row.has_kind = true;
            }
            EventColumn::Attribute => {
                if let Some((name, value)) =
                    self.log.and_then(|log| log.convert_attribute(name, value))
                {
                    let number = sink.names.intern(name);
                    sink.batch.push_attribute(number, AttributeValue::Int(value));
                    return Ok(());
                }
                let number = sink.names.intern(name);
                sink.batch.push_attribute(number, value.as_value());
            }
        }
        Ok(())
    }

    /// Creates a row without values.
    pub(super) fn begin_row(&self) -> EventRow {
        let event = Event { processor: Event::NO_PROCESSOR, ..Event::default() };
        EventRow { event, ..EventRow::default() }
    }

    /// Adds the event of the row to the sink; in a server log, the message and severity determine
    /// its kind.
    ///
    /// # Errors
    /// When the row has no time or no kind.
    pub(super) fn finish_row(
        &self,
        mut row: EventRow,
        [message, severity]: [Option<&str>; 2],
        sink: &mut EventSink,
    ) -> Result<(), WrongValue> {
        if !row.has_time {
            let why = "is not a time; each event has one, called time, timestamp or ts";
            return Err(WrongValue::new("event without a time", b"", why));
        }
        if let (Some(log), false) = (self.log, row.has_kind) {
            row.event.kind =
                log.event_kind(message.unwrap_or_default(), severity.unwrap_or_default(), sink);
        } else if !row.has_kind {
            let why = "is not an event; each has a kind, provider/name, in a column called event";
            return Err(WrongValue::new("event without a kind", b"", why));
        }
        if row.event.host == NameInterner::UNKNOWN
            && let Some(host) = &self.host
        {
            row.event.host = sink.names.intern(host);
        }
        sink.batch.end_event(row.event);
        Ok(())
    }
}

/// Parses the id of a processor, a process or a thread.
fn parse_id(name: &str, value: &ParsedValue<'_>) -> Result<i32, WrongValue> {
    if let AttributeValue::Int(number) = value.as_value()
        && let Ok(number) = i32::try_from(number)
    {
        return Ok(number);
    }
    let why = format!("is not a number, as the column '{name}' must have");
    let found = match value.as_value() {
        AttributeValue::Int(number) => number.to_string(),
        AttributeValue::Real(number) => number.to_string(),
        AttributeValue::Text(text) => text.to_owned(),
    };
    Err(WrongValue::new("id that is not a number", found.as_bytes(), &why))
}
