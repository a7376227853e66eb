//! The tables of events, as one.

use message_trace::table::export::Format;
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static EVENTS: Kind = Kind {
    about: About {
        name: "events",
        summary: "Table: the events of all imports and recordings, in the order of time",
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Events { format: table_format(given)? })),
};

/// An exporter of the tables of events, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Events {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Events {
    fn needs(&self) -> Needs {
        Needs::Events
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let tables = ::events::tables(source.data.events_dir())?;
        if tables.is_empty() {
            return Err(Error::NoEvents(source.data.path().to_owned()));
        }
        ::events::export(&tables, self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
