//! The table of path patterns.

use message_trace::table::export::{Format, export};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static PATTERNS: Kind = Kind {
    about: About {
        name: "patterns",
        summary: "Table: the path patterns, a row a hop",
        examples: &["sockcap export patterns --format json -o patterns.jsonl"],
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Patterns { format: table_format(given)? })),
};

/// An exporter of the table of patterns, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Patterns {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Patterns {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        export(source.data.patterns(), self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
