//! The table of steps.

use message_trace::table::export::{Format, export};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static STEPS: Kind = Kind {
    about: About {
        name: "steps",
        summary: "Table: the steps of the requests, what was called where, with its times",
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Steps { format: table_format(given)? })),
};

/// An exporter of the table of steps, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Steps {
    fn needs(&self) -> Needs {
        Needs::Requests
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(source.data.steps(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
