//! `import events`: its registry entry, and the choice between JSON and CSV.

use std::io::{Cursor, Read};

use clap::{Args, FromArgMatches};
use registry::values::one_of;
use registry::{EntryHelp, Spec};

use super::log::ServerLog;
use super::row::EventRowReader;
use super::{csv, json};
use crate::error::Error;
use crate::events::driver::{EventImporter, fuzz_format};
use crate::events::flags::EventFlags;
use crate::events::format::EventFormat;
use crate::events::sink::EventSink;
use crate::events::source::EventSource;
use crate::import_input::ImportInput;
use crate::importer_spec::{ImporterEntry, ImporterSpec};
use crate::summary::{FilePlace, FilePosition, ImportSummary, SkippedItem};
use crate::tabular::{UnitFlag, WrongValue};
use crate::text_lines::{NextLine, TextLines};

#[derive(Args)]
struct EventLineFlags {
    #[command(flatten)]
    events: EventFlags,
    #[command(flatten)]
    unit: UnitFlag,
    /// The log of that program: postgres (jsonlog or csvlog) or nginx (a log_format of JSON)
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = one_of::<ServerLog>(ServerLog::ALL.map(ServerLog::name)),
        hide_possible_values = true
    )]
    log: Option<ServerLog>,
}

/// Registry entry.
pub(crate) static EVENTS: ImporterSpec = Spec {
    about: EntryHelp {
        name: "events",
        summary: "Events as JSON, one object per line, or as CSV; logs of PostgreSQL and nginx",
        details: "\
Keys or columns are time, host, processor, process, thread and event, its kind as provider/name; \
other usual names are recognised, such as timestamp, cpu, pid and tid. Any other is an attribute: \
a whole number, another number, or a text. Times are numbers, or dates with their offset from UTC; \
--unit sets the unit of numbers, which is otherwise guessed from their digits. docs/import.md has \
the settings of PostgreSQL and nginx.",
        notes: "",
        examples: &[
            "sockcap import events events.jsonl && sockcap requests",
            "sockcap import events --log postgres --host db1 postgresql.json",
        ],
    },
    flags: EventLineFlags::augment_args,
    entry: ImporterEntry {
        files: "The files, which become one import",
        files_by: None,
        make: |given| {
            let EventLineFlags { events, unit, log } = EventLineFlags::from_arg_matches(given)?;
            let rows = EventRowReader { unit: unit.unit, host: events.host, log };
            Ok(Box::new(EventImporter { name: events.name.name, format: EventLinesFormat(rows) }))
        },
        fuzz: |bytes| {
            for log in [None, Some(ServerLog::Postgres), Some(ServerLog::Nginx)] {
                fuzz_format(
                    &EventLinesFormat(EventRowReader { log, ..EventRowReader::default() }),
                    bytes,
                );
            }
        },
        #[cfg(test)]
        samples: tests::samples,
    },
};

/// Format of JSON and CSV files.
#[derive(Clone, Debug)]
struct EventLinesFormat(EventRowReader);

impl EventFormat for EventLinesFormat {
    const NONE: &str = "there is no object and no row with a time and the name of an event";

    fn read_source(
        &self,
        source: &EventSource<'_>,
        sink: &mut EventSink,
        summary: &mut ImportSummary,
    ) -> Result<(), Error> {
        let ImportInput { file, mut bytes } = source.open()?;
        let mut head = Vec::new();
        let read = bytes.by_ref().take(1).read_to_end(&mut head);
        if let Err(error) = read {
            summary.read += 1;
            summary.cut_off(FilePlace::new(&file, FilePosition::Offset(0)), &error);
            return Ok(());
        }
        let is_json = head == b"{";
        let bytes = Cursor::new(head).chain(bytes);
        if !is_json {
            return csv::read_table(
                &self.0,
                ImportInput { file, bytes: Box::new(bytes) },
                sink,
                summary,
            );
        }
        let mut lines = TextLines::new(bytes);
        loop {
            let outcome = match lines.next_line() {
                NextLine::Line(line) if line.trim_ascii().is_empty() => continue,
                NextLine::Line(line) => json::add_event(&self.0, line, sink),
                NextLine::TooLong => Err(WrongValue::new(
                    "line that is too long",
                    b"",
                    "is longer than a line can be",
                )),
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
                NextLine::End => return Ok(()),
            };
            summary.read += 1;
            match outcome {
                Ok(()) => sink.flush_if_full(&file)?,
                Err(WrongValue { cause, why }) => {
                    sink.batch.discard_attributes();
                    let place = FilePlace::new(&file, FilePosition::Line(lines.line_number()));
                    summary.skipped.add(cause, || SkippedItem { place, why });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sink::EventSink;

    const JSON: &str = concat!(
        r#"{"time":1795632477.5,"pid":7,"tid":8,"cpu":1,"event":"app/begin","id":"a","bytes":12,"#,
        r#""load":0.5,"ok":true,"none":null,"of":{"b":2},"attributes":{"time":3}}"#,
        "\n\n{\"ts\":1795632477500,\"event\":\"app/end\",\"host\":\"web\"}\nnothing\n",
        "{\"event\":\"app/end\"}\n{\"time\":1}\n",
    );
    const CSV: &str = "time,host,event,thread,id,bytes\n1500,web,app/begin,3,0x10,\n\
        2026-11-25T18:47:57Z,,app/end,x,b,1\n,web,app/end,3,b,1\n7,,app/end,3,b,1.5\n";
    const POSTGRES: &str = concat!(
        "2026-11-25 18:47:57.076 UTC,\"u\",\"db\",99,\"127.0.0.1:33013\",s.1,4,\"SELECT\",",
        "2026-11-25 18:47:50 UTC,3/7,0,LOG,00000,",
        "\"duration: 1.5 ms  statement: select \"\"x\"\"\",,,,,,,,,\"psql\",\"client backend\",,0\n",
    );
    const POSTGRES_JSON: &str = concat!(
        r#"{"timestamp":"2026-11-25 18:47:57.076 UTC","user":"u","pid":99,"remote_host":"::1","#,
        r#""remote_port":33013,"message":"connection received: host=::1 port=33013"}"#,
        "\n",
    );
    const NGINX: &str = concat!(
        r#"{"msec":1795632477.076,"pid":5,"connection":17,"connection_requests":2,"host":"shop","#,
        r#""request":"GET /cart HTTP/1.1","status":200,"body_bytes_sent":512,"request_time":0.004}"#,
        "\n",
    );

    pub(super) fn samples() -> Vec<Vec<u8>> {
        [JSON, CSV, POSTGRES, POSTGRES_JSON, NGINX].map(|text| text.as_bytes().to_vec()).to_vec()
    }

    fn read(text: &str, log: Option<ServerLog>) -> (EventSink, ImportSummary) {
        let (mut sink, mut summary) = (EventSink::without_output(), ImportSummary::default());
        let lines = EventLinesFormat(EventRowReader {
            log,
            host: Some("own".to_owned()),
            ..EventRowReader::default()
        });
        lines.read_source(&EventSource::Bytes(text.as_bytes()), &mut sink, &mut summary).unwrap();
        (sink, summary)
    }

    fn shown(sink: &EventSink, place: usize) -> String {
        let event = sink.batch.event_at(place);
        let text = |number| sink.names.name_of(number);
        let attributes = sink.batch.attributes_of_event(place);
        let attributes: Vec<String> =
            attributes.map(|(name, value)| format!("{}={value:?}", text(name))).collect();
        let ids = (event.processor, event.process, event.thread);
        format!(
            "{} {} {} {ids:?} {}",
            event.time,
            text(event.host),
            text(event.kind),
            attributes.join(" ")
        )
    }

    #[test]
    fn objects_are_events() {
        let (sink, summary) = read(JSON, None);
        assert_eq!((summary.read, sink.event_count(), summary.skipped.total()), (5, 2, 3));
        assert_eq!(
            shown(&sink, 0),
            "1795632477500000000 own app/begin (1, 7, 8) time=Int(3) bytes=Int(12) \
             id=Text(\"a\") load=Real(0.5) of.b=Int(2) ok=Int(1)"
        );
        assert_eq!(shown(&sink, 1), "1795632477500000000 web app/end (-1, 0, 0) ");
        for cause in
            ["line that is not a JSON object", "event without a time", "event without a kind"]
        {
            assert_eq!(summary.skipped.causes[cause], 1, "{cause}");
        }
    }

    #[test]
    fn rows_are_events() {
        let (sink, summary) = read(CSV, None);
        assert_eq!((summary.read, sink.event_count()), (4, 2));
        assert_eq!(shown(&sink, 0), "1500 web app/begin (-1, 0, 3) id=Int(16)");
        assert_eq!(shown(&sink, 1), "7 own app/end (-1, 0, 3) id=Text(\"b\") bytes=Real(1.5)");
        assert_eq!(summary.skipped.causes["id that is not a number"], 1);
        assert_eq!(summary.skipped.first[0].place.to_string(), "input:3");
    }

    #[test]
    fn logs_of_servers_are_events() {
        let (sink, summary) = read(POSTGRES, Some(ServerLog::Postgres));
        assert_eq!((summary.read, sink.event_count()), (1, 1));
        let row = shown(&sink, 0);
        let begin = "1795632477076000000 own postgresql/statement (-1, 99, 0) ";
        assert!(row.starts_with(begin), "{row}");
        assert!(
            row.ends_with("duration=Int(1500000) statement=Text(\"select \\\"x\\\"\")"),
            "{row}"
        );
        let (sink, _) = read(POSTGRES_JSON, Some(ServerLog::Postgres));
        let row = shown(&sink, 0);
        assert!(row.contains("postgresql/connection_received (-1, 99, 0)"), "{row}");
        assert!(row.contains("remote_host=Text(\"::1\") remote_port=Int(33013)"), "{row}");
        let (sink, _) = read(NGINX, Some(ServerLog::Nginx));
        let row = shown(&sink, 0);
        let begin = "1795632477076000000 own nginx/access (-1, 5, 0) ";
        assert!(row.starts_with(begin), "{row}");
        assert!(row.contains("request_number=Int(2)"), "{row}");
        assert!(row.contains("duration=Int(4000000)"), "{row}");
        assert!(row.contains("connection=Int(17)") && row.contains("host=Text(\"shop\")"), "{row}");
    }
}
