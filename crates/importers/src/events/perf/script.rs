//! The text of `perf script`, as a file.

use out_of_core::NameInterner;

use super::perf_import::{PerfImport, skip_record};
use super::text::{PerfLineOutcome, PerfText};
use crate::error::Error;
use crate::events::sink::EventSink;
use crate::import_input::ImportInput;
use crate::summary::{FilePlace, FilePosition, ImportSummary};
use crate::text_lines::{NextLine, TextLines};

/// Causes of skipped lines.
const UNKNOWN: &str = "line that is not an event";
const LONG: &str = "line that is too long";
const RECORD: &str = "perf's own record, such as of lost events";

/// Reads `input`; returns the offset that was added to its times, if its clock was known.
///
/// # Errors
/// When no line is an event of perf, or events cannot be written.
pub(super) fn read_script(
    perf: &PerfImport,
    input: ImportInput<'_>,
    sink: &mut EventSink,
    summary: &mut ImportSummary,
) -> Result<Option<i64>, Error> {
    let ImportInput { file, bytes } = input;
    let host = perf.host.as_deref().map_or(NameInterner::UNKNOWN, |host| sink.names.intern(host));
    let (mut lines, mut parser) = (TextLines::new(bytes), PerfText::new(host, perf.offset));
    let (mut stacks, before) = (0_u64, sink.event_count());
    loop {
        let taken = match lines.next_line() {
            NextLine::Line(line) => parser.parse_line(line, &mut sink.names, &mut sink.batch),
            NextLine::TooLong => {
                summary.read += 1;
                let place = || FilePlace::new(&file, FilePosition::Line(lines.line_number()));
                skip_record(summary, LONG, place, "it is longer than a line of perf can be");
                continue;
            }
            NextLine::Pending => {
                if let Err(error) = lines.read_more() {
                    summary.read += 1;
                    summary.cut_off(
                        FilePlace::new(&file, FilePosition::Line(lines.line_number() + 1)),
                        &error,
                    );
                }
                continue;
            }
            NextLine::End => break,
        };
        let place = || FilePlace::new(&file, FilePosition::Line(lines.line_number()));
        match taken {
            PerfLineOutcome::Event => {
                summary.read += 1;
                sink.flush_if_full(&file)?;
            }
            PerfLineOutcome::Stack => stacks += 1,
            PerfLineOutcome::Nothing => {}
            PerfLineOutcome::Record => {
                summary.read += 1;
                skip_record(summary, RECORD, place, "it is not an event");
            }
            PerfLineOutcome::Unknown => {
                summary.read += 1;
                let why = "it has no time and event in the form of perf script; choose its fields \
                           with -F comm,pid,tid,cpu,time,event,trace";
                skip_record(summary, UNKNOWN, place, why);
            }
        }
    }
    if stacks > 0 && sink.event_count() > before {
        let what = "lines of stacks, which are not kept";
        summary.notes.push(format!("{}: {what}: {stacks}", file.display()));
    }
    Ok(parser.clock_offset())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::events::format::EventFormat;
    use crate::events::source::EventSource;

    const SAMPLE: &str = include_str!("../../../tests/perf/default.txt");
    const WITH_HEADER: &str = include_str!("../../../tests/perf/header.txt");

    pub(in crate::events::perf) fn samples() -> Vec<Vec<u8>> {
        let data = include_bytes!("../../../tests/perf/small.data");
        vec![SAMPLE.into(), WITH_HEADER.into(), data.to_vec()]
    }

    fn read_text(text: &str) -> (EventSink, ImportSummary) {
        let (mut sink, mut summary) = (EventSink::without_output(), ImportSummary::default());
        let perf = PerfImport { host: None, offset: None };
        perf.read_source(&EventSource::Bytes(text.as_bytes()), &mut sink, &mut summary).unwrap();
        (sink, summary)
    }

    /// Attributes of an event as text.
    pub(in crate::events::perf) fn shown(sink: &EventSink, place: usize) -> Vec<String> {
        let attributes = sink.batch.attributes_of_event(place);
        attributes.map(|(name, value)| format!("{}={value:?}", sink.names.name_of(name))).collect()
    }

    #[test]
    fn fields_of_each_form_are_attributes() {
        let lines = [
            "a 1 [0] 1.5: sched:sched_switch: prev_comm=opt cgu.06 prev_pid=2 prev_state=R+ ==> next_comm=12 next_prio=-5",
            "a 1 [0] 1.5: syscalls:sys_enter_read: fd: 0x0000001f, buf: 0xfffffffffffffffe, count: 0x00000fff",
            "a 1 [0] 1.5: syscalls:sys_exit_read: 0xfffffffffffffff5",
            "a 1 [0] 1.5: block:block_rq_issue: 254,0 RM 4096 () 19640848 + 8 0x2,0,4 [perf-exec]",
            "a 1 [0] 1.5: block:block_rq_complete: 254,0 WS () 5 + 8 none,0,0 [-5]",
            "a 1 [0] 1.5: ftrace:print: nothing in particular",
            "a 1 [0] 1.5: x:y: load=0.25 dev=254,0",
        ];
        let (sink, summary) = read_text(&lines.join("\n"));
        assert_eq!((summary.read, sink.event_count(), summary.skipped.total()), (7, 7, 0));
        let shown = |place| shown(&sink, place).join(" ");
        assert_eq!(
            shown(0),
            "prev_comm=Text(\"opt cgu.06\") prev_pid=Int(2) prev_state=Text(\"R+\") \
             next_comm=Text(\"12\") next_prio=Int(-5) comm=Text(\"a\")"
        );
        assert_eq!(shown(1), "fd=Int(31) buf=Int(-2) count=Int(4095) comm=Text(\"a\")");
        assert_eq!(shown(2), "ret=Int(-11) comm=Text(\"a\")");
        assert_eq!(
            shown(3),
            "dev=Int(266338304) rwbs=Text(\"RM\") sector=Int(19640848) nr_sector=Int(8) \
             bytes=Int(4096) comm=Text(\"perf-exec\")"
        );
        assert_eq!(
            shown(4),
            "dev=Int(266338304) rwbs=Text(\"WS\") sector=Int(5) nr_sector=Int(8) error=Int(-5)"
        );
        assert_eq!(shown(5), "text=Text(\"nothing in particular\") comm=Text(\"a\")");
        assert_eq!(shown(6), "load=Real(0.25) dev=Text(\"254,0\") comm=Text(\"a\")");
    }

    #[test]
    fn a_header_converts_times_to_the_wall_clock() {
        let (sink, summary) = read_text(WITH_HEADER);
        assert_eq!(summary.notes, Vec::<String>::new());
        let event = sink.batch.event_at(0);
        assert_eq!(sink.names.name_of(event.host), "vm");
        assert!((1_795_636_000_000_000_000..1_795_640_000_000_000_000).contains(&event.time));
        let (sink, summary) = read_text(SAMPLE);
        assert!(sink.batch.event_at(0).time < 1_000_000_000_000_000);
        assert!(summary.notes.iter().any(|note| note.contains("--clock-offset")));
    }

    #[test]
    fn stacks_and_other_lines_are_counted() {
        let text = "a 1 [0] 1.5: x:y: a=1\n\tffff schedule+0x1 ([kernel])\n\nwhat is this\n\
                    a 1 [0] 1.6: PERF_RECORD_LOST lost 5\na 1 [0] 2.5: cpu-clock: \n";
        let (sink, summary) = read_text(text);
        assert_eq!((sink.event_count(), summary.read), (2, 4));
        assert_eq!(summary.skipped.causes[UNKNOWN], 1);
        assert_eq!(summary.skipped.causes[RECORD], 1);
        assert!(summary.notes.iter().any(|note| note.contains("not kept: 1")));
        assert_eq!(sink.names.name_of(sink.batch.event_at(1).kind), "perf/cpu-clock");
    }
}
