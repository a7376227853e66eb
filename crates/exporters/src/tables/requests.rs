//! The table of requests.

use message_trace::table::export::{Format, export};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static REQUESTS: Kind = Kind {
    about: About { name: "requests", summary: "Table: the requests, a row each", ..About::NOTHING },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Requests { format: table_format(given)? })),
};

/// An exporter of the table of requests, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Requests {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Requests {
    fn needs(&self) -> Needs {
        Needs::Requests
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(source.data.requests(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
