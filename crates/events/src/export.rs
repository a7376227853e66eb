//! Events in formats of other tools: CSV and JSON with the attributes as an object, or one table of
//! all.

use std::io::Write;
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{batch, int32, int64, nullable, required, schema, text};
use message_trace::table::export::{Format, export_batches};
use message_trace::{DataPath, PathError};
use out_of_core::Names;
use serde_json::{Map, Value as Json};

use crate::event::Event;
use crate::piece::Piece;
use crate::reader::EventReader;
use crate::table;
use crate::value::Value;

/// Writes the events of the tables at `paths` to `output`, which `name` stands for in errors, in
/// the order of time. In CSV and JSON, `attributes` is an object.
///
/// # Errors
/// When a table cannot be read or the output not written.
pub fn export<P: Clone + Into<DataPath>>(
    paths: &[P],
    format: Format,
    mut output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let mut reader = EventReader::open(paths)?;
    let (mut names, mut piece) = (Names::default(), Piece::default());
    if format == Format::Json {
        while reader.next(&mut names, &mut piece)? {
            for place in 0..piece.len() {
                let line = object(&piece, place, &names).to_string();
                let written = writeln!(output, "{line}");
                written.map_err(|error| PathError::io(name, error))?;
            }
        }
        return output.flush().map_err(|error| PathError::io(name, error));
    }
    let columns = if format == Format::Csv { flat() } else { table::columns() };
    let mut batches = || {
        if !reader.next(&mut names, &mut piece)? {
            return Ok(None);
        }
        let batch = match format {
            Format::Csv => rows(&piece, &names, &columns, name)?,
            _ => table::encoded(&piece, &names, &columns, name)?,
        };
        Ok(Some(batch))
    };
    let batches = std::iter::from_fn(|| batches().transpose());
    export_batches(columns.clone(), batches, format, output, name)
}

/// The columns of CSV.
fn flat() -> SchemaRef {
    schema([
        required("time", DataType::Int64),
        nullable("host", DataType::Utf8),
        nullable("processor", DataType::Int32),
        nullable("process", DataType::Int32),
        nullable("thread", DataType::Int32),
        required("event", DataType::Utf8),
        required("attributes", DataType::Utf8),
    ])
}

fn rows(
    piece: &Piece,
    names: &Names,
    columns: &SchemaRef,
    path: impl AsRef<Path>,
) -> Result<RecordBatch, PathError> {
    let path = path.as_ref();
    let events = || piece.events().iter();
    let known = |value: i32, unknown: i32| (value != unknown).then_some(value);
    let attributes = (0..piece.len()).map(|place| {
        let object = attributes(piece, place, names);
        Some(Json::Object(object).to_string())
    });
    let arrays: Vec<ArrayRef> = vec![
        int64(events().map(|event| Some(event.time))),
        text(events().map(|event| Some(names.text(event.host)).filter(|host| !host.is_empty()))),
        int32(events().map(|event| known(event.processor, Event::NO_PROCESSOR))),
        int32(events().map(|event| known(event.process, 0))),
        int32(events().map(|event| known(event.thread, 0))),
        text(events().map(|event| Some(names.text(event.kind)))),
        text(attributes),
    ];
    batch(path, columns, arrays)
}

fn object(piece: &Piece, place: usize, names: &Names) -> Json {
    let event = piece.event(place);
    let mut object = Map::new();
    let mut add = |name: &str, value: Json| object.insert(name.to_owned(), value);
    add("time", event.time.into());
    if event.host != Names::UNKNOWN {
        add("host", names.text(event.host).into());
    }
    let numbers = [
        ("processor", event.processor, Event::NO_PROCESSOR),
        ("process", event.process, 0),
        ("thread", event.thread, 0),
    ];
    for (name, value, unknown) in numbers {
        if value != unknown {
            add(name, value.into());
        }
    }
    add("event", names.text(event.kind).into());
    add("attributes", Json::Object(attributes(piece, place, names)));
    Json::Object(object)
}

fn attributes(piece: &Piece, place: usize, names: &Names) -> Map<String, Json> {
    let attributes = piece.attributes(place).map(|(name, value)| {
        let value = match value {
            Value::Int(number) => number.into(),
            Value::Real(number) => number.into(),
            Value::Text(text) => text.into(),
        };
        (names.text(name).to_owned(), value)
    });
    attributes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::EventWriter;

    #[test]
    fn each_format_has_all_of_an_event() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) =
            (directory.path().join("one.parquet"), directory.path().join("two.parquet"));
        let mut names = Names::default();
        let [kind, host, bytes, path] =
            ["app/read", "web", "bytes", "path"].map(|name| names.number(name));
        let mut writer = EventWriter::create(&one).unwrap();
        let event = Event { time: 20, kind, host, processor: 0, process: 7, thread: 8 };
        let values = [(bytes, Value::Int(12)), (path, Value::Text("a \"b\""))];
        writer.push(event, values, &names).unwrap();
        writer.finish(&names).unwrap();
        let mut writer = EventWriter::create(&two).unwrap();
        let event = Event { time: 10, kind, processor: Event::NO_PROCESSOR, ..Event::default() };
        writer.push(event, [(bytes, Value::Real(0.5))], &names).unwrap();
        writer.finish(&names).unwrap();
        let written = |paths: &[&std::path::PathBuf], format| {
            let mut output = Vec::new();
            export(paths, format, &mut output, Path::new("output")).unwrap();
            output
        };
        let text = |format| String::from_utf8(written(&[&one, &two], format)).unwrap();
        assert_eq!(
            text(Format::Csv),
            "time,host,processor,process,thread,event,attributes\n\
             10,,,,,app/read,\"{\"\"bytes\"\":0.5}\"\n\
             20,web,0,7,8,app/read,\"{\"\"bytes\"\":12,\"\"path\"\":\"\"a \\\"\"b\\\"\"\"\"}\"\n"
        );
        let lines: Vec<Json> =
            text(Format::Json).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let expected = [
            r#"{"time":10,"event":"app/read","attributes":{"bytes":0.5}}"#,
            r#"{"time":20,"host":"web","processor":0,"process":7,"thread":8,"event":"app/read",
                "attributes":{"bytes":12,"path":"a \"b\""}}"#,
        ];
        assert_eq!(lines, expected.map(|line| serde_json::from_str::<Json>(line).unwrap()));
        let both = directory.path().join("both.parquet");
        std::fs::write(&both, written(&[&one, &two], Format::Parquet)).unwrap();
        assert_eq!(written(&[&both], Format::Json), written(&[&one, &two], Format::Json));
    }
}
