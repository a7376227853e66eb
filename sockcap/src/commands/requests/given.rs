//! The source of requests that the user asked for.

use std::fs;
use std::path::{Path, PathBuf};

use message_trace::{DataDir, DataPath};
use request_flow::tables::{Columns, RequestTables};
use workload::analysis::{FlowSource, JoinedSource, Source};
use workload::schema::{Schema, shipped};

use super::asked::Requests;
use super::overview::Told;
use crate::arguments::Inference;
use crate::error::Error;
use crate::stages;
use crate::words::same_directory;

/// Name of the schema that joins events where none is named.
pub(super) const DEFAULT_SCHEMA: &str = "linux";
/// Name of the schema of our own events.
const OWN_SCHEMA: &str = "sockcap";

/// The source of requests that the user asked for.
pub(super) struct Given {
    source: Box<dyn Source>,
    /// Whether requests have resources.
    has_resources: bool,
    /// What a further command needs to read the same.
    again: String,
}

impl Given {
    /// Opens what `asked` asks for.
    pub(super) fn of(asked: &Requests) -> Result<Given, Error> {
        let data = asked.data.dir();
        let tables = events::tables(data.events_dir())?;
        let own = data.own_events();
        let imported: Vec<DataPath> =
            tables.iter().filter(|table| **table != own).cloned().collect();
        let shown = asked.source.of(&asked.data);
        let is_joined = asked.schema.is_some()
            || (!imported.is_empty() && shown.as_ref().is_ok_and(|shown| is_empty(&shown.data)));
        if !is_joined {
            return of_steps(&shown?, &data);
        }
        let name = asked.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
        let (schema, schema_path) = schema(name)?;
        if name == OWN_SCHEMA {
            // Reconciliation makes the table of our own events; paths are not needed.
            stages::messages(&shown?)?;
        }
        let tables = if name == OWN_SCHEMA { vec![own] } else { imported };
        if tables.iter().all(|table| !table.exists()) {
            return Err(Error::Usage(no_events(name, &data)));
        }
        let source = JoinedSource { tables, schema, schema_path, options: asked.join_options() };
        Ok(Given {
            source: Box::new(source),
            has_resources: true,
            again: format!("{} --schema {name}", same_directory(&data)),
        })
    }

    /// Where the requests come from.
    pub(super) fn source(&self) -> &dyn Source {
        &*self.source
    }

    /// What the first lines and the last say of it.
    pub(super) fn told(&self) -> Told {
        Told { has_resources: self.has_resources, again: Some(self.again.clone()) }
    }
}

/// Whether there is nothing but events.
fn is_empty(data: &DataDir) -> bool {
    !data.messages().exists()
        && !data.requests().exists()
        && data.logs().is_ok_and(|logs| logs.is_empty())
        && data.imported().is_ok_and(|imports| imports.is_empty())
}

fn of_steps(shown: &crate::shown::Shown, data: &DataDir) -> Result<Given, Error> {
    stages::requests(shown, &Inference::default())?;
    let columns = Columns { sizes: true, threads: true, ..Columns::default() };
    let tables = RequestTables::open(shown.data.requests(), shown.data.steps(), columns)?;
    let processor = stages::charged(&shown.data)?;
    Ok(Given {
        has_resources: processor.is_some(),
        source: Box::new(FlowSource { tables, processor }),
        again: same_directory(data),
    })
}

/// The schema of that name: one that ships, or a file.
pub(super) fn schema(name: &str) -> Result<(Schema, PathBuf), Error> {
    let path = Path::new(name).to_owned();
    if let Some(shipped) = shipped().iter().find(|shipped| shipped.name == name) {
        let schema = shipped.schema().map_err(|error| Error::Usage(error.to_string()))?;
        return Ok((schema, path));
    }
    let text = fs::read_to_string(&path).map_err(|source| {
        let names: Vec<&str> = shipped().iter().map(|shipped| shipped.name).collect();
        match source.kind() {
            std::io::ErrorKind::NotFound => Error::Usage(format!(
                "--schema {name}: no such file, and no schema that ships: {}",
                names.join(", ")
            )),
            _ => Error::file(&path, source),
        }
    })?;
    let schema = Schema::parse(&text, &path).map_err(|error| Error::Usage(error.to_string()))?;
    Ok((schema, path))
}

fn no_events(schema: &str, data: &DataDir) -> String {
    let place = data.path().display();
    match schema {
        OWN_SCHEMA => format!("{place} has no events of its own; sockcap record --resources"),
        _ => format!("{place} has no imported events; sockcap import perf, ctf or events"),
    }
}
