//! The table of links.

use message_trace::table::export::{Format, export};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static LINKS: Kind = Kind {
    about: About {
        name: "links",
        summary: "Table: which message caused which, with a probability",
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Links { format: table_format(given)? })),
};

/// An exporter of the table of links, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Links {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Links {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(source.data.links(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
