//! Export of events to other tools: CSV and JSON with the attributes as an object, or one Parquet
//! or Arrow table.

use std::io::Write;
use std::path::Path;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{
    build_batch, build_schema, int32_array, int64_array, nullable_field, required_field,
    string_array,
};
use message_trace::table::export::{TableFormat, export_batches};
use message_trace::{DataPath, PathError};
use out_of_core::NameInterner;
use serde_json::{Map, Value as Json};

use crate::event::Event;
use crate::event_batch::EventBatch;
use crate::reader::EventReader;
use crate::table;
use crate::value::AttributeValue;

/// Writes the events of the tables at `paths` to `output` in the order of time; `name` names the
/// output in errors. In CSV and JSON, `attributes` is an object.
///
/// # Errors
/// When a table cannot be read or the output not written.
pub fn export_events<P: Clone + Into<DataPath>>(
    paths: &[P],
    format: TableFormat,
    mut output: impl Write + Send,
    name: &Path,
) -> Result<(), PathError> {
    let mut reader = EventReader::open(paths)?;
    let (mut names, mut piece) = (NameInterner::default(), EventBatch::default());
    if format == TableFormat::Json {
        while reader.read_next(&mut names, &mut piece)? {
            for place in 0..piece.len() {
                let line = event_object(&piece, place, &names).to_string();
                let written = writeln!(output, "{line}");
                written.map_err(|error| PathError::io(name, error))?;
            }
        }
        return output.flush().map_err(|error| PathError::io(name, error));
    }
    let columns = if format == TableFormat::Csv { csv_columns() } else { table::event_columns() };
    let mut batches = || {
        if !reader.read_next(&mut names, &mut piece)? {
            return Ok(None);
        }
        let batch = match format {
            TableFormat::Csv => encode_rows(&piece, &names, &columns, name)?,
            _ => table::encode_batch(&piece, &names, &columns, name)?,
        };
        Ok(Some(batch))
    };
    let batches = std::iter::from_fn(|| batches().transpose());
    export_batches(columns.clone(), batches, format, output, name)
}

/// Columns of the CSV format.
fn csv_columns() -> SchemaRef {
    build_schema([
        required_field("time", DataType::Int64),
        nullable_field("host", DataType::Utf8),
        nullable_field("processor", DataType::Int32),
        nullable_field("process", DataType::Int32),
        nullable_field("thread", DataType::Int32),
        required_field("event", DataType::Utf8),
        required_field("attributes", DataType::Utf8),
    ])
}

fn encode_rows(
    piece: &EventBatch,
    names: &NameInterner,
    columns: &SchemaRef,
    path: impl AsRef<Path>,
) -> Result<RecordBatch, PathError> {
    let path = path.as_ref();
    let events = || piece.events().iter();
    let known = |value: i32, unknown: i32| (value != unknown).then_some(value);
    let attributes = (0..piece.len()).map(|place| {
        let object = attribute_object(piece, place, names);
        Some(Json::Object(object).to_string())
    });
    let arrays: Vec<ArrayRef> = vec![
        int64_array(events().map(|event| Some(event.time))),
        string_array(
            events().map(|event| Some(names.name_of(event.host)).filter(|host| !host.is_empty())),
        ),
        int32_array(events().map(|event| known(event.processor, Event::NO_PROCESSOR))),
        int32_array(events().map(|event| known(event.process, 0))),
        int32_array(events().map(|event| known(event.thread, 0))),
        string_array(events().map(|event| Some(names.name_of(event.kind)))),
        string_array(attributes),
    ];
    build_batch(path, columns, arrays)
}

fn event_object(piece: &EventBatch, place: usize, names: &NameInterner) -> Json {
    let event = piece.event_at(place);
    let mut object = Map::new();
    let mut add = |name: &str, value: Json| object.insert(name.to_owned(), value);
    add("time", event.time.into());
    if event.host != NameInterner::UNKNOWN {
        add("host", names.name_of(event.host).into());
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
    add("event", names.name_of(event.kind).into());
    add("attributes", Json::Object(attribute_object(piece, place, names)));
    Json::Object(object)
}

fn attribute_object(piece: &EventBatch, place: usize, names: &NameInterner) -> Map<String, Json> {
    let attributes = piece.attributes_of_event(place).map(|(name, value)| {
        let value = match value {
            AttributeValue::Int(number) => number.into(),
            AttributeValue::Real(number) => number.into(),
            AttributeValue::Text(text) => text.into(),
        };
        (names.name_of(name).to_owned(), value)
    });
    attributes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::EventWriter;

    #[test]
    fn each_format_contains_the_whole_event() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) =
            (directory.path().join("one.parquet"), directory.path().join("two.parquet"));
        let mut names = NameInterner::default();
        let [kind, host, bytes, path] =
            ["app/read", "web", "bytes", "path"].map(|name| names.intern(name));
        let mut writer = EventWriter::create(&one).unwrap();
        let event = Event { time: 20, kind, host, processor: 0, process: 7, thread: 8 };
        let values = [(bytes, AttributeValue::Int(12)), (path, AttributeValue::Text("a \"b\""))];
        writer.push_event(event, values, &names).unwrap();
        writer.finish(&names).unwrap();
        let mut writer = EventWriter::create(&two).unwrap();
        let event = Event { time: 10, kind, processor: Event::NO_PROCESSOR, ..Event::default() };
        writer.push_event(event, [(bytes, AttributeValue::Real(0.5))], &names).unwrap();
        writer.finish(&names).unwrap();
        let written = |paths: &[&std::path::PathBuf], format| {
            let mut output = Vec::new();
            export_events(paths, format, &mut output, Path::new("output")).unwrap();
            output
        };
        let text = |format| String::from_utf8(written(&[&one, &two], format)).unwrap();
        assert_eq!(
            text(TableFormat::Csv),
            "time,host,processor,process,thread,event,attributes\n\
             10,,,,,app/read,\"{\"\"bytes\"\":0.5}\"\n\
             20,web,0,7,8,app/read,\"{\"\"bytes\"\":12,\"\"path\"\":\"\"a \\\"\"b\\\"\"\"\"}\"\n"
        );
        let lines: Vec<Json> = text(TableFormat::Json)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let expected = [
            r#"{"time":10,"event":"app/read","attributes":{"bytes":0.5}}"#,
            r#"{"time":20,"host":"web","processor":0,"process":7,"thread":8,"event":"app/read",
                "attributes":{"bytes":12,"path":"a \"b\""}}"#,
        ];
        assert_eq!(lines, expected.map(|line| serde_json::from_str::<Json>(line).unwrap()));
        let both = directory.path().join("both.parquet");
        std::fs::write(&both, written(&[&one, &two], TableFormat::Parquet)).unwrap();
        assert_eq!(written(&[&both], TableFormat::Json), written(&[&one, &two], TableFormat::Json));
    }
}
