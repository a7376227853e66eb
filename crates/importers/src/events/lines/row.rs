//! What a row of either form tells: the columns of an event by their usual names, and attributes.

use ::events::{Event, Value};
use out_of_core::Names;

use super::column::{Column, column};
use super::log::Log;
use super::moment::moment;
use crate::events::sink::EventSink;
use crate::events::value::Read;
use crate::tabular::{Unit, Wrong};

/// How rows are read.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Unit of times; `None`: by their digits.
    pub(super) unit: Option<Unit>,
    /// Host of rows that name none.
    pub(super) host: Option<String>,
    /// Whose log it is.
    pub(super) log: Option<Log>,
}

/// A row on its way to an event. Its attributes are in the sink already.
#[derive(Debug, Default)]
pub(super) struct Row {
    event: Event,
    has_time: bool,
    has_kind: bool,
}

impl Rows {
    /// Takes a value that is not empty.
    ///
    /// # Errors
    /// When a time or an id is none.
    pub(super) fn take(
        &self,
        row: &mut Row,
        name: &str,
        value: &Read<'_>,
        sink: &mut EventSink,
    ) -> Result<(), Wrong> {
        let text = || match value {
            Read::Int(number) => number.to_string(),
            Read::Real(number) => number.to_string(),
            Read::Text(text) => text.to_string(),
        };
        let column = match (column(name), self.log.and_then(|log| log.column(name))) {
            (_, Some(own)) => own,
            (column, None) => column,
        };
        match column {
            Column::Time => {
                row.event.time = moment(&text(), self.unit)?;
                row.has_time = true;
            }
            Column::Host => row.event.host = sink.names.number(&text()),
            Column::Processor => row.event.processor = id(name, value)?,
            Column::Process => row.event.process = id(name, value)?,
            Column::Thread => row.event.thread = id(name, value)?,
            Column::Event => {
                row.event.kind = sink.names.number(&text());
                row.has_kind = true;
            }
            Column::Attribute => {
                if let Some((name, value)) = self.log.and_then(|log| log.attribute(name, value)) {
                    let number = sink.names.number(name);
                    sink.piece.attribute(number, Value::Int(value));
                    return Ok(());
                }
                let number = sink.names.number(name);
                sink.piece.attribute(number, value.as_value());
            }
        }
        Ok(())
    }

    /// A row without any value yet.
    pub(super) fn begin(&self) -> Row {
        let event = Event { processor: Event::NO_PROCESSOR, ..Event::default() };
        Row { event, ..Row::default() }
    }

    /// Adds the event of the row to the sink; of a log, by what its message and severity are.
    ///
    /// # Errors
    /// When it has no time or no kind.
    pub(super) fn end(
        &self,
        mut row: Row,
        [message, severity]: [Option<&str>; 2],
        sink: &mut EventSink,
    ) -> Result<(), Wrong> {
        if !row.has_time {
            let why = "is no time; each event has one, called time, timestamp or ts";
            return Err(Wrong::new("event without a time", b"", why));
        }
        if let (Some(log), false) = (self.log, row.has_kind) {
            row.event.kind =
                log.kind(message.unwrap_or_default(), severity.unwrap_or_default(), sink);
        } else if !row.has_kind {
            let why = "is no event; each has a kind, provider/name, in a column called event";
            return Err(Wrong::new("event without a kind", b"", why));
        }
        if row.event.host == Names::UNKNOWN
            && let Some(host) = &self.host
        {
            row.event.host = sink.names.number(host);
        }
        sink.piece.end(row.event);
        Ok(())
    }
}

/// An id of a processor, a process or a thread.
fn id(name: &str, value: &Read<'_>) -> Result<i32, Wrong> {
    if let Value::Int(number) = value.as_value()
        && let Ok(number) = i32::try_from(number)
    {
        return Ok(number);
    }
    let why = format!("is no number, as the column '{name}' must have");
    Err(Wrong::new("id that is no number", format!("{:?}", value.as_value()).as_bytes(), &why))
}
