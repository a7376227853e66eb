//! The source of requests that the user selected.

use std::fs;
use std::path::{Path, PathBuf};

use message_trace::{DataDir, DataPath};
use request_flow::tables::{ColumnSelection, RequestTables};
use workload::analysis::{FlowSource, JoinedSource, RequestSource};
use workload::schema::{EventSchema, shipped_schemas};

use super::overview::InputWords;
use super::request_arguments::RequestsCommand;
use crate::arguments::InferenceArguments;
use crate::error::CommandError;
use crate::stages;
use crate::words::same_directory;

/// Name of the default schema that joins events.
pub(super) const DEFAULT_SCHEMA: &str = "linux";
/// Name of the schema of sockcap's own events.
const OWN_SCHEMA: &str = "sockcap";

/// The source of requests that the user selected.
pub(super) struct RequestInput {
    source: Box<dyn RequestSource>,
    /// Whether requests have resources.
    has_resources: bool,
    /// The arguments by which a further command reads the same source.
    again: String,
}

impl RequestInput {
    /// Opens the source that `asked` selects.
    pub(super) fn open_input(asked: &RequestsCommand) -> Result<RequestInput, CommandError> {
        let data = asked.data.data_dir();
        let tables = events::find_tables(data.events_dir())?;
        let own = data.own_events_path();
        let imported: Vec<DataPath> =
            tables.iter().filter(|table| **table != own).cloned().collect();
        let shown = asked.source.choose_source(&asked.data);
        let is_joined = asked.schema.is_some()
            || (!imported.is_empty()
                && shown.as_ref().is_ok_and(|shown| has_only_events(&shown.data)));
        if !is_joined {
            return open_steps(&shown?, &data);
        }
        let name = asked.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
        let (schema, schema_path) = find_schema(name)?;
        if name == OWN_SCHEMA {
            // Reconciliation makes the table of sockcap's own events; paths are not needed.
            stages::ensure_messages(&shown?)?;
        }
        let tables = if name == OWN_SCHEMA { vec![own] } else { imported };
        if tables.iter().all(|table| !table.exists()) {
            return Err(CommandError::Usage(no_events(name, &data)));
        }
        let source = JoinedSource { tables, schema, schema_path, options: asked.join_options() };
        Ok(RequestInput {
            source: Box::new(source),
            has_resources: true,
            again: format!("{} --schema {name}", same_directory(&data)),
        })
    }

    /// The source of the requests.
    pub(super) fn request_source(&self) -> &dyn RequestSource {
        &*self.source
    }

    /// Facts for the first lines and the last.
    pub(super) fn input_words(&self) -> InputWords {
        InputWords { has_resources: self.has_resources, again: Some(self.again.clone()) }
    }
}

/// Whether there is nothing but events.
fn has_only_events(data: &DataDir) -> bool {
    !data.messages_path().exists()
        && !data.requests_path().exists()
        && data.log_paths().is_ok_and(|logs| logs.is_empty())
        && data.imported_messages().is_ok_and(|imports| imports.is_empty())
}

fn open_steps(
    shown: &crate::shown::ShownData,
    data: &DataDir,
) -> Result<RequestInput, CommandError> {
    stages::ensure_requests(shown, &InferenceArguments::default())?;
    let columns = ColumnSelection { sizes: true, threads: true, ..ColumnSelection::default() };
    let tables = RequestTables::open(shown.data.requests_path(), shown.data.steps_path(), columns)?;
    let processor = stages::charged_time(&shown.data)?;
    Ok(RequestInput {
        has_resources: processor.is_some(),
        source: Box::new(FlowSource { tables, processor }),
        again: same_directory(data),
    })
}

/// The schema with the name `name`: an included one, or a file.
pub(super) fn find_schema(name: &str) -> Result<(EventSchema, PathBuf), CommandError> {
    let path = Path::new(name).to_owned();
    if let Some(shipped) = shipped_schemas().iter().find(|shipped| shipped.name == name) {
        let schema =
            shipped.parse_schema().map_err(|error| CommandError::Usage(error.to_string()))?;
        return Ok((schema, path));
    }
    let text = fs::read_to_string(&path).map_err(|source| {
        let names: Vec<&str> = shipped_schemas().iter().map(|shipped| shipped.name).collect();
        match source.kind() {
            std::io::ErrorKind::NotFound => CommandError::Usage(format!(
                "--schema {name}: no such file, and no included schema of that name; the included \
                 ones are {}",
                names.join(", ")
            )),
            _ => CommandError::file_error(&path, source),
        }
    })?;
    let schema =
        EventSchema::parse(&text, &path).map_err(|error| CommandError::Usage(error.to_string()))?;
    Ok((schema, path))
}

fn no_events(schema: &str, data: &DataDir) -> String {
    let place = data.path().display();
    match schema {
        OWN_SCHEMA => format!("{place} has no events of its own; sockcap record --resources"),
        _ => format!("{place} has no imported events; sockcap import perf, ctf or events"),
    }
}
