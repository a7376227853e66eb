//! The table of calls. No stage keeps it: calls follow from the messages and the links.

use analyze::calls::CallTable;
use analyze::infer::Links;
use message_trace::MessageTrace;
use message_trace::table::export::{Format, export_batches};
use registry::About;

use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::flags::{FORMAT, table_format};
use crate::kind::Kind;

/// The entry in the registry.
pub(crate) static CALLS: Kind = Kind {
    about: About {
        name: "calls",
        summary: "Table: who called whom, with the times at both ends, the call it was made for, and the \
              probability of that",
        examples: &["sockcap export calls --format parquet -o calls.parquet"],
        ..About::NOTHING
    },
    opened_by: "",
    flags: &[&FORMAT],
    make: |given| Ok(Box::new(Calls { format: table_format(given)? })),
};

/// An exporter of the table of calls, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    /// The format of the table.
    pub format: Format,
}

impl Exporter for Calls {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let path = source.data.messages();
        let trace = MessageTrace::read(&path, &source.data.nodes())?;
        let (options, links) = (source.analysis()?.options, Links::read(&source.data.links())?);
        let calls = CallTable::new(&trace, &links, &options, &path);
        let schema = CallTable::schema();
        export_batches(schema, calls, self.format, &mut *output.writer, output.name)?;
        Ok(None)
    }
}
