//! `import perf`: its registry entry, and the choice between `perf.data` and text.

use std::io::{Cursor, Read};

use clap::{Args, FromArgMatches};
use registry::{EntryHelp, Spec};

use super::perf_import::PerfImport;
use super::{data, script};
use crate::error::Error;
use crate::events::driver::{EventImporter, fuzz_format};
use crate::events::flags::EventFlags;
use crate::events::format::EventFormat;
use crate::events::sink::EventSink;
use crate::events::source::EventSource;
use crate::import_input::ImportInput;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePlace, FilePosition, ImportSummary};

#[derive(Args)]
struct PerfFlags {
    #[command(flatten)]
    events: EventFlags,
    /// The offset added to each time, in nanoseconds, so that it counts from 1970 [default: from
    /// the file's data on its clock, else 0]
    #[arg(long, value_name = "NS", value_parser = parse_nanoseconds)]
    clock_offset: Option<i64>,
}

fn parse_nanoseconds(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("'{text}' is not a whole number of nanoseconds"))
}

/// Registry entry.
pub(crate) static PERF: ImporterSpec = Spec {
    about: EntryHelp {
        name: "perf",
        summary: "Tracepoints by Linux perf: perf.data, or the text of perf script",
        details: "\
Its events become a table of events. An event of the tracepoint sched:sched_switch has the kind \
sched/sched_switch, and its attributes are the tracepoint's fields, by the names that perf prints, \
and comm. Text needs the fields time, event and trace; pid, tid, cpu and comm are used if present. \
Stacks are skipped. Times are converted to the wall clock if the file relates perf's clock to it: \
perf record -k CLOCK_MONOTONIC, and for text perf script --header.",
        notes: "\
Record and import like this:
  perf record -a -k CLOCK_MONOTONIC -e 'sched:sched_switch,syscalls:*' -o perf.data
  sockcap import perf perf.data",
        examples: &[
            "sockcap import perf perf.data && sockcap requests",
            "perf script -F +pid --header --ns >night.txt && sockcap import perf night.txt",
        ],
    },
    flags: PerfFlags::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let PerfFlags { events, clock_offset } = PerfFlags::from_arg_matches(given)?;
            let format = PerfImport { host: events.host, offset: clock_offset };
            Ok(Box::new(EventImporter { name: events.name.name, format }))
        },
        fuzz: |bytes| fuzz_format(&PerfImport { host: None, offset: None }, bytes),
        #[cfg(test)]
        samples: super::script::tests::samples,
    },
};

impl EventFormat for PerfImport {
    const NONE: &str =
        "there is no sample of perf record, and no line of perf script with a time and an event";

    fn read_source(
        &self,
        source: &EventSource<'_>,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let file = source.name();
        let ImportInput { mut bytes, .. } = source.open()?;
        let mut head = Vec::new();
        let read = bytes.by_ref().take(data::MAGIC.len() as u64).read_to_end(&mut head);
        let offset = match read {
            Err(error) => {
                summary.read += 1;
                summary.cut_off(FilePlace::new(file, FilePosition::Offset(0)), &error);
                return Ok(());
            }
            Ok(_) if data::is_swapped(&head) => {
                let why = "it is perf.data of a machine with the other byte order; import the \
                           output of perf script from there";
                return Err(Error::malformed_at(file, FilePosition::File, why));
            }
            Ok(_) if head.starts_with(data::MAGIC) => data::read_data(self, source, sink, summary)?,
            Ok(_) => {
                let bytes = Cursor::new(head).chain(bytes);
                script::read_script(
                    self,
                    ImportInput { file: file.to_owned(), bytes: Box::new(bytes) },
                    sink,
                    summary,
                )?
            }
        };
        if offset.is_none() && sink.event_count() > 0 {
            summary.notes.push(format!(
                "{}: times are on perf's own clock, as the file does not relate it to the wall \
                 clock; record with -k CLOCK_MONOTONIC, use perf script --header, or give \
                 --clock-offset",
                file.display()
            ));
        }
        Ok(())
    }
}
