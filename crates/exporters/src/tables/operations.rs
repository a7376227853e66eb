//! The table of operations: what messages say they do.

use message_trace::table::export::{Format, export};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static OPERATIONS: Kind = Kind {
    about: About {
        name: "operations",
        summary: "Table: what messages say they do, where that was recorded",
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Operations { format: table_format(given)? })),
};

/// An exporter of the table of operations, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Operations {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Operations {
    fn needs(&self) -> Needs {
        Needs::Messages
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let table = source.data.operations();
        if !table.exists() {
            return Err(Error::NoOperations(source.data.path().to_owned()));
        }
        export(&table, self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
