//! `import ctf`: what it says of itself.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use out_of_core::Names;
use registry::About;

use super::child::{Babeltrace, Failure};
use super::line::CtfText;
use super::mend::{Cut, Mended};
use super::streams::{Merged, Step, Stream, of_traces};
use crate::error::Error;
use crate::events::driver::{EventImporter, fuzz};
use crate::events::flags::HOST;
use crate::events::format::Format;
use crate::events::sink::EventSink;
use crate::events::source::Source;
use crate::flags::NAME;
use crate::kind::Kind;
use crate::summary::{At, Place, Skip, Summary};
use crate::text_lines::{Next, TextLines};
use crate::tuning::STREAMS_AT_ONCE;

/// The entry in the registry.
pub(crate) static CTF: Kind = Kind {
    about: About {
        name: "ctf",
        summary: "Traces of LTTng and others in the Common Trace Format, through babeltrace2",
        details: "\
A trace is a directory with a file 'metadata' in it, or one with such directories. The program \
babeltrace2 reads it (Debian's package babeltrace2). An event 'provider:name' is of the kind \
provider/name, one without a provider lttng/name; its fields are attributes. The thread of an event \
that does not say it is the one that its processor switched to last.",
        notes: "",
        examples: &["sockcap import ctf ~/lttng-traces/auto-20261125 && sockcap requests"],
    },
    files: "The directories, which become one import",
    files_by: None,
    flags: &[&NAME, &HOST],
    make: |given| {
        let format = Ctf { host: given.get(&HOST), ..Ctf::default() };
        Box::new(EventImporter { name: given.get(&NAME), format })
    },
    fuzz: |bytes| fuzz(&Ctf::default(), bytes),
    #[cfg(test)]
    samples: tests::samples,
};

/// What is said of a trace of the next version of the format, where babeltrace2 does not read it.
const NO_CTF_2: &str = "the trace is of CTF 2, which babeltrace2 2.1 and later read and this one \
    does not: import it where a later one is installed, or have the tracer write CTF 1.8";

/// The format. Bytes that stand for a file are what babeltrace2 writes.
#[derive(Clone, Debug, Default)]
struct Ctf {
    host: Option<String>,
    /// Directories whose streams have to be read each by itself.
    apart: RefCell<BTreeSet<PathBuf>>,
    /// Whether a directory came to these, so that what was read of it is there in part.
    begins_anew: Cell<bool>,
}

impl Format for Ctf {
    const NONE: &str = "babeltrace2 finds no event of a trace";

    fn read(
        &self,
        source: &Source<'_>,
        sink: &mut EventSink,
        summary: &mut Summary,
    ) -> Result<(), Error> {
        let file = source.name();
        let Source::File(path, _) = source else {
            return self.lines(source.open()?.bytes, source, sink, summary);
        };
        if !path.is_dir() {
            let why = "this is no directory; a trace is one, with a file 'metadata' in it; unpack \
                       it first";
            return Err(Error::malformed(file, At::File, why));
        }
        if self.apart.borrow().contains(*path) {
            return self.apart(path, sink, summary);
        }
        let (mut trace, before) = (Mended::new(path), sink.made());
        while let Some(Failure { said, .. }) = self.run(trace.path(), source, sink, summary)? {
            // It looks at all streams before it writes anything.
            let cut = match sink.made() == before {
                true => trace.without_last_packet(&said)?,
                false => None,
            };
            let Some(cut) = cut else {
                // What is wrong with one stream or the order of several keeps nobody from reading
                // each by itself.
                self.apart.borrow_mut().insert((*path).to_owned());
                self.begins_anew.set(true);
                return Ok(());
            };
            is_cut(&cut, summary);
        }
        Ok(())
    }

    fn begins_anew(&self) -> bool {
        self.begins_anew.take()
    }
}

/// The last packet of a stream is left out.
fn is_cut(cut: &Cut, summary: &mut Summary) {
    summary.read += 1;
    summary.skipped.add("packet that is cut off", || Skip {
        place: Place::new(&cut.file, At::Offset(cut.kept)),
        why: "the stream's last packet is not whole; what is before it is read".to_owned(),
    });
}

/// The rest of `stream` cannot be read.
fn is_lost(stream: &Path, why: String, summary: &mut Summary) {
    summary.read += 1;
    let place = Place::new(stream, At::File);
    summary.skipped.add("rest of a stream that cannot be read", || Skip { place, why });
}

impl Ctf {
    /// Runs babeltrace2 on the trace in `path`, and takes the lines that it writes.
    fn run(
        &self,
        path: &Path,
        source: &Source<'_>,
        sink: &mut EventSink,
        summary: &mut Summary,
    ) -> Result<Option<Failure>, Error> {
        let mut program = Babeltrace::run(path)?;
        if let Some(output) = program.output() {
            self.lines(output, source, sink, summary)?;
        }
        Ok(program.finish())
    }

    /// Takes the lines that babeltrace2 writes.
    fn lines(
        &self,
        bytes: impl Read,
        source: &Source<'_>,
        sink: &mut EventSink,
        summary: &mut Summary,
    ) -> Result<(), Error> {
        let file = source.name();
        let (mut lines, mut parser) = (TextLines::new(bytes), self.parser(sink));
        loop {
            let line = match lines.next() {
                Next::Line([]) => continue,
                Next::Line(line) => line,
                Next::TooLong => &[],
                Next::Pending => {
                    if let Err(error) = lines.fill() {
                        summary.read += 1;
                        let place = Place::new(file, At::Line(lines.number() + 1));
                        summary.cut_off(place, &error);
                    }
                    continue;
                }
                Next::End => return Ok(()),
            };
            summary.read += 1;
            if parser.line(line, sink).is_some() {
                sink.taken(file)?;
            } else {
                is_none(Place::new(file, At::Line(lines.number())), sink, summary);
            }
        }
    }

    fn parser(&self, sink: &mut EventSink) -> CtfText {
        CtfText::new(self.host.as_deref().map_or(Names::UNKNOWN, |host| sink.names.number(host)))
    }

    /// Takes all events of the traces in `path`, each stream by itself.
    fn apart(&self, path: &Path, sink: &mut EventSink, summary: &mut Summary) -> Result<(), Error> {
        let mut parser = self.parser(sink);
        for files in of_traces(path)?.chunks(STREAMS_AT_ONCE) {
            let mut merged = Merged::default();
            for file in files {
                let mut stream = Stream::open(file)?;
                if let Some(time) = next(&mut stream, summary)? {
                    merged.add(stream, time);
                }
            }
            while let Some((number, stream)) = merged.earliest() {
                summary.read += 1;
                if parser.line(stream.line(), sink).is_some() {
                    sink.taken(stream.file())?;
                } else {
                    is_none(Place::new(stream.file(), At::File), sink, summary);
                }
                if let Some(time) = next(stream, summary)? {
                    merged.wait(number, time);
                }
            }
        }
        Ok(())
    }
}

/// Goes on to the next line of `stream`, and counts what cannot be read: the line's time, `None` at
/// the end.
fn next(stream: &mut Stream, summary: &mut Summary) -> Result<Option<i64>, Error> {
    loop {
        match stream.next()? {
            Step::Line(time) => return Ok(Some(time)),
            Step::Cut(cut) => is_cut(&cut, summary),
            Step::End => return Ok(None),
            Step::Failed(why) => {
                let why = if stream.is_ctf_2() { NO_CTF_2.to_owned() } else { why };
                is_lost(stream.file(), why, summary);
                return Ok(None);
            }
        }
    }
}

/// A line is no event.
fn is_none(place: Place, sink: &mut EventSink, summary: &mut Summary) {
    sink.piece.discard();
    let why = "babeltrace2 does not write events so; is its version older than 2?";
    summary.skipped.add("line that is no event", || Skip { place, why: why.to_owned() });
}

#[cfg(test)]
mod tests {
    use ::events::Value;

    use super::*;
    use crate::events::ctf::line::attribute;

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
        let (mut sink, mut summary) = (EventSink::dry(), Summary::default());
        let ctf = Ctf::default();
        ctf.read(&Source::Bytes(TEXT.as_bytes()), &mut sink, &mut summary).unwrap();
        assert_eq!((summary.read, sink.made(), summary.skipped.total()), (4, 3, 1));
        let told = |place| {
            let event = sink.piece.event(place);
            let text = |number| sink.names.text(number);
            (text(event.host), text(event.kind), [event.processor, event.process, event.thread])
        };
        assert_eq!(told(0), ("w", "lttng/sched_switch", [5, 0, 0]));
        assert_eq!(told(1), ("w", "lttng/syscall_exit_read", [5, 0, 4297]));
        assert_eq!(told(2), ("w", "app/begin", [1, 7, 8]));
        assert_eq!(sink.piece.event(0).time, 1_457_113_582_794_569_892);
        assert_eq!(attribute(&sink, 0, "next_comm"), Some(Value::Text("a, b = {")));
        assert_eq!(attribute(&sink, 1, "ret"), Some(Value::Int(-11)));
        assert_eq!(attribute(&sink, 2, "procname"), Some(Value::Text("app")));
    }
}
