//! `import ctf`: its registry entry and format.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches};
use out_of_core::NameInterner;
use registry::{EntryHelp, Spec};

use super::child::{Babeltrace, BabeltraceFailure};
use super::line::CtfText;
use super::repair::{RepairedTrace, StreamCut};
use super::streams::{CtfStream, MergedStreams, StreamStep, streams_of_traces};
use crate::error::Error;
use crate::events::driver::{EventImporter, fuzz_format};
use crate::events::flags::EventFlags;
use crate::events::format::EventFormat;
use crate::events::sink::EventSink;
use crate::events::source::EventSource;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePlace, FilePosition, ImportSummary, SkippedItem};
use crate::text_lines::{NextLine, TextLines};
use crate::tuning::STREAMS_AT_ONCE;

/// Registry entry.
pub(crate) static CTF: ImporterSpec = Spec {
    about: EntryHelp {
        name: "ctf",
        summary: "Traces of LTTng and others in the Common Trace Format, through babeltrace2",
        details: "\
A trace is a directory that contains a file 'metadata', or one that contains such directories. The \
program babeltrace2 reads it (Debian package babeltrace2). An event 'provider:name' has the kind \
provider/name, or lttng/name without a provider; its fields are attributes. An event without a \
thread gets the thread that its processor last switched to.",
        notes: "",
        examples: &["sockcap import ctf ~/lttng-traces/auto-20261125 && sockcap requests"],
    },
    flags: EventFlags::augment_args,
    entry: ImporterEntry {
        files: "The directories, which become one import",
        files_by: None,
        make: |given| {
            let EventFlags { name, host } = EventFlags::from_arg_matches(given)?;
            let format = CtfFormat { host, ..CtfFormat::default() };
            Ok(Box::new(EventImporter { name: name.name, format }))
        },
        fuzz: |bytes| fuzz_format(&CtfFormat::default(), bytes),
        #[cfg(test)]
        samples: tests::samples,
    },
};

/// Advice for a trace of format version 2 if babeltrace2 cannot read it.
const NO_CTF_2: &str = "the trace is in CTF 2, which needs babeltrace2 2.1 or later: import it \
    where a later version is installed, or let the tracer write CTF 1.8";

/// The format. Bytes in place of a file are babeltrace2's output.
#[derive(Clone, Debug, Default)]
struct CtfFormat {
    host: Option<String>,
    /// Directories with streams that must be read separately.
    separate: RefCell<BTreeSet<PathBuf>>,
    /// Whether a directory was added to the separately read streams, and has thus been read in
    /// part.
    begins_anew: Cell<bool>,
}

impl EventFormat for CtfFormat {
    const NONE: &str = "babeltrace2 finds no event of a trace";

    fn read_source(
        &self,
        source: &EventSource<'_>,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let file = source.name();
        let EventSource::File(path, _) = source else {
            return self.read_lines(source.open()?.bytes, source, sink, summary);
        };
        if !path.is_dir() {
            let why = "this is not a directory; a trace is a directory with a file 'metadata'; \
                       unpack it first";
            return Err(Error::malformed_at(file, FilePosition::File, why));
        }
        if self.separate.borrow().contains(*path) {
            return self.read_streams(path, sink, summary);
        }
        let (mut trace, before) = (RepairedTrace::new(path), sink.event_count());
        while let Some(BabeltraceFailure { error_output, .. }) =
            self.run_babeltrace(trace.path(), source, sink, summary)?
        {
            // The program indexes all streams before it writes anything.
            let cut = match sink.event_count() == before {
                true => trace.without_last_packet(&error_output)?,
                false => None,
            };
            let Some(cut) = cut else {
                // A fault of one stream, or in the order of several, does not affect reading each
                // separately.
                self.separate.borrow_mut().insert((*path).to_owned());
                self.begins_anew.set(true);
                return Ok(());
            };
            report_cut(&cut, summary);
        }
        Ok(())
    }

    fn begins_anew(&self) -> bool {
        self.begins_anew.take()
    }
}

/// Reports that the last packet of a stream is left out.
fn report_cut(cut: &StreamCut, summary: &mut ImportSummary) {
    summary.read += 1;
    summary.skipped.add("truncated packet", || SkippedItem {
        place: FilePlace::new(&cut.file, FilePosition::Offset(cut.kept)),
        why: "the stream's last packet is incomplete; the packets before it are read".to_owned(),
    });
}

/// Reports that the rest of `stream` cannot be read.
fn report_lost_stream(stream: &Path, why: String, summary: &mut ImportSummary) {
    summary.read += 1;
    let place = FilePlace::new(stream, FilePosition::File);
    summary.skipped.add("unreadable rest of a stream", || SkippedItem { place, why });
}

impl CtfFormat {
    /// Runs babeltrace2 on the trace in `path`, and reads its output.
    fn run_babeltrace(
        &self,
        path: &Path,
        source: &EventSource<'_>,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<Option<BabeltraceFailure>, Error> {
        let mut program = Babeltrace::spawn_on(path)?;
        if let Some(output) = program.take_output() {
            self.read_lines(output, source, sink, summary)?;
        }
        Ok(program.wait_for_end())
    }

    /// Reads babeltrace2's output lines.
    fn read_lines(
        &self,
        bytes: impl Read,
        source: &EventSource<'_>,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let file = source.name();
        let (mut lines, mut parser) = (TextLines::new(bytes), self.new_parser(sink));
        loop {
            let line = match lines.next_line() {
                NextLine::Line([]) => continue,
                NextLine::Line(line) => line,
                NextLine::TooLong => &[],
                NextLine::Pending => {
                    if let Err(error) = lines.read_more() {
                        summary.read += 1;
                        let place =
                            FilePlace::new(file, FilePosition::Line(lines.line_number() + 1));
                        summary.cut_off(place, &error);
                    }
                    continue;
                }
                NextLine::End => return Ok(()),
            };
            summary.read += 1;
            if parser.parse_line(line, sink).is_some() {
                sink.flush_if_full(file)?;
            } else {
                report_unparsed(
                    FilePlace::new(file, FilePosition::Line(lines.line_number())),
                    sink,
                    summary,
                );
            }
        }
    }

    fn new_parser(&self, sink: &mut EventSink) -> CtfText {
        CtfText::new(
            self.host.as_deref().map_or(NameInterner::UNKNOWN, |host| sink.names.intern(host)),
        )
    }

    /// Reads all events of the traces in `path`, each stream separately.
    fn read_streams(
        &self,
        path: &Path,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let mut parser = self.new_parser(sink);
        for files in streams_of_traces(path)?.chunks(STREAMS_AT_ONCE) {
            let mut merged = MergedStreams::default();
            for file in files {
                let mut stream = CtfStream::open(file)?;
                if let Some(time) = advance_stream(&mut stream, summary)? {
                    merged.add(stream, time);
                }
            }
            while let Some((number, stream)) = merged.pop_earliest() {
                summary.read += 1;
                if parser.parse_line(stream.line(), sink).is_some() {
                    sink.flush_if_full(stream.file())?;
                } else {
                    report_unparsed(
                        FilePlace::new(stream.file(), FilePosition::File),
                        sink,
                        summary,
                    );
                }
                if let Some(time) = advance_stream(stream, summary)? {
                    merged.push_waiting(number, time);
                }
            }
        }
        Ok(())
    }
}

/// Advances to the next line of `stream`, and counts unreadable parts; returns the line's time, or
/// `None` at the end.
fn advance_stream(
    stream: &mut CtfStream,
    summary: &mut ImportSummary,
) -> Result<Option<i64>, Error> {
    loop {
        match stream.next_line()? {
            StreamStep::Line(time) => return Ok(Some(time)),
            StreamStep::Cut(cut) => report_cut(&cut, summary),
            StreamStep::End => return Ok(None),
            StreamStep::Failed(why) => {
                let why = if stream.is_ctf_2() { NO_CTF_2.to_owned() } else { why };
                report_lost_stream(stream.file(), why, summary);
                return Ok(None);
            }
        }
    }
}

/// Reports a line that is not an event.
fn report_unparsed(place: FilePlace, sink: &mut EventSink, summary: &mut ImportSummary) {
    sink.batch.discard_attributes();
    let why = "babeltrace2 does not write events like this; is its version older than 2?";
    summary.skipped.add("line that is not an event", || SkippedItem { place, why: why.to_owned() });
}

#[cfg(test)]
mod tests {
    use ::events::AttributeValue;
    use proptest::prelude::*;

    use super::*;
    use crate::events::ctf::line::find_attribute;

    const TEXT: &str = r#"timestamp = 1457113582.794569892, trace = w, , trace:hostname = w, trace:domain = kernel, name = sched_switch, stream.packet.context = { cpu_id = 5 }, event.fields = { prev_comm = "swapper/5", prev_tid = 0, prev_state = 0, next_comm = "a, b = {", next_tid = 4297 }
timestamp = 1457113582.794572361, trace = w, , trace:hostname = w, trace:domain = kernel, name = syscall_exit_read, stream.packet.context = { cpu_id = 5 }, event.fields = { ret = -11 }
timestamp = 1457113582.794572362, trace = u, , trace:hostname = w, trace:domain = ust, name = app:begin, stream.packet.context = { cpu_id = 1 }, event.context = { vpid = 7, vtid = 8, procname = "app" }, event.fields = { id = 17 }
nothing
"#;

    pub(super) fn samples() -> Vec<Vec<u8>> {
        vec![TEXT.into()]
    }

    #[test]
    fn lines_are_events_with_their_threads() {
        let (mut sink, mut summary) = (EventSink::without_output(), ImportSummary::default());
        let ctf = CtfFormat::default();
        ctf.read_source(&EventSource::Bytes(TEXT.as_bytes()), &mut sink, &mut summary).unwrap();
        assert_eq!((summary.read, sink.event_count(), summary.skipped.total()), (4, 3, 1));
        let describe = |place| {
            let event = sink.batch.event_at(place);
            let text = |number| sink.names.name_of(number);
            (text(event.host), text(event.kind), [event.processor, event.process, event.thread])
        };
        assert_eq!(describe(0), ("w", "lttng/sched_switch", [5, 0, 0]));
        assert_eq!(describe(1), ("w", "lttng/syscall_exit_read", [5, 0, 4297]));
        assert_eq!(describe(2), ("w", "app/begin", [1, 7, 8]));
        assert_eq!(sink.batch.event_at(0).time, 1_457_113_582_794_569_892);
        assert_eq!(find_attribute(&sink, 0, "next_comm"), Some(AttributeValue::Text("a, b = {")));
        assert_eq!(find_attribute(&sink, 1, "ret"), Some(AttributeValue::Int(-11)));
        assert_eq!(find_attribute(&sink, 2, "procname"), Some(AttributeValue::Text("app")));
    }

    /// Event of a trace: the nanoseconds since the previous one, the processor, and the thread to
    /// which the processor switches, or a call of the thread that it runs.
    type TraceEvent = (i64, u8, Option<u16>);

    /// Lines of babeltrace2 for a trace of `host`.
    fn trace_text(host: &str, events: &[TraceEvent]) -> String {
        let mut time = 0;
        let mut text = String::new();
        for (later, processor, switched) in events {
            time += later;
            let (name, fields) = match switched {
                Some(next) => ("sched_switch", format!("prev_tid = 1, next_tid = {next}")),
                None => ("syscall_exit_read", "ret = 1".to_owned()),
            };
            text += &format!(
                "timestamp = 1457113582.{time:09}, trace = w, , trace:hostname = {host}, \
                 trace:domain = kernel, name = {name}, stream.packet.context = {{ cpu_id = \
                 {processor} }}, event.fields = {{ {fields} }}\n"
            );
        }
        text
    }

    /// Reads traces one after the other; returns their events as text, sorted.
    fn read_traces(traces: &[String]) -> Vec<String> {
        let (mut sink, mut summary) = (EventSink::without_output(), ImportSummary::default());
        let ctf = CtfFormat::default();
        for text in traces {
            let source = EventSource::Bytes(text.as_bytes());
            ctf.read_source(&source, &mut sink, &mut summary).unwrap();
        }
        assert_eq!(summary.skipped.total(), 0);
        let describe = |place| {
            let event = sink.batch.event_at(place);
            let [host, kind] = [event.host, event.kind].map(|name| sink.names.name_of(name));
            format!("{} {host} {kind} {} {}", event.time, event.processor, event.thread)
        };
        let mut all: Vec<String> = (0..sink.batch.len()).map(describe).collect();
        all.sort();
        all
    }

    fn any_traces() -> impl Strategy<Value = Vec<String>> {
        let event = (0..9_i64, 0..3_u8, prop::option::of(1..9_u16));
        let host = prop::sample::select(vec!["web", "db"]);
        let trace = (host, prop::collection::vec(event, 1..9));
        let trace = trace.prop_map(|(host, events)| trace_text(host, &events));
        prop::collection::vec(trace, 1..5)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Each trace has its own running threads, also if it is of the same host as another.
        #[test]
        fn traces_in_any_order_have_the_same_events(
            (ordered, shuffled) in any_traces().prop_flat_map(|all| {
                (Just(all.clone()), Just(all).prop_shuffle())
            }),
        ) {
            prop_assert_eq!(read_traces(&ordered), read_traces(&shuffled));
        }
    }
}
