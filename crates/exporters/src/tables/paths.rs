//! The table of path instances.

use message_trace::table::export::{Format, export};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static PATHS: Kind = Kind {
    about: About {
        name: "paths",
        summary: "Table: the path instances, a row a message",
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Paths { format: table_format(given)? })),
};

/// An exporter of the table of paths, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paths {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Paths {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(source.data.paths(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
