//! Writes a synthetic trace as an import of a data directory, so that every later stage treats it
//! like any other. It replaces an earlier import of the same name once it is complete, and leaves
//! no files if it fails.

use std::io;

use message_trace::{DataDir, DataPath, Message, MessageTrace};

use crate::error::Error;

/// Writes `trace` as the import `name` of `data`, and returns its directory. In its name,
/// characters other than letters, digits, `-` and `_` become `_`.
///
/// # Errors
/// When a file cannot be written.
pub fn write_trace(trace: &MessageTrace, data: &DataDir, name: &str) -> Result<DataPath, Error> {
    let write = |unfinished: &DataPath| {
        let tables = ["messages.parquet", "nodes.parquet"].map(|table| unfinished.join(table));
        Ok(trace.write(&tables[0], &tables[1])?)
    };
    write_import(data, name, write).map(|((), directory)| directory)
}

/// Writes requests as the import `name` of `data`, which is a data directory of spans. `make`
/// writes the tables into the data directory that it is given. Returns the import's directory and
/// the result of `make`.
///
/// # Errors
/// When a file cannot be written, and any error of `make`.
pub fn write_requests<T>(
    data: &DataDir,
    name: &str,
    make: impl FnOnce(&DataDir) -> Result<T, Error>,
) -> Result<(T, DataPath), Error> {
    write_import(data, name, |unfinished| make(&DataDir::new(unfinished)))
}

/// Writes the import `name` of `data` with `make`, which receives the directory for the tables. An
/// earlier import is replaced at the end. Returns the result of `make`, and the import's directory.
fn write_import<T>(
    data: &DataDir,
    name: &str,
    make: impl FnOnce(&DataPath) -> Result<T, Error>,
) -> Result<(T, DataPath), Error> {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let name: String = name.chars().take(100).map(allowed).collect();
    let name = if name.is_empty() { "trace".to_owned() } else { name };
    let import = data.import_named(&name);
    let unfinished = data.imports_dir().join(format!(".{name}"));
    remove_directory(&unfinished)?;
    unfinished.create_dir_all().map_err(|error| Error::io(&unfinished, error))?;
    let written = make(&unfinished).and_then(|made| {
        remove_directory(&import.directory)?;
        unfinished
            .rename_to(&import.directory)
            .map_err(|error| Error::io(&import.directory, error))?;
        Ok(made)
    });
    if written.is_err() {
        let _ = unfinished.remove_dir_all();
    }
    Ok((written?, import.directory))
}

fn remove_directory(directory: &DataPath) -> Result<(), Error> {
    match directory.remove_dir_all() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(directory, error)),
        _ => Ok(()),
    }
}

/// Copy of `trace` with each message as `change` returns it, in the same order; messages for which
/// it returns `None` are left out.
pub(crate) fn map_messages(
    trace: &MessageTrace,
    mut change: impl FnMut(Message) -> Option<Message>,
) -> MessageTrace {
    let mut others = MessageTrace::new(trace.nodes.clone());
    for endpoint in trace.endpoints() {
        // Endpoints are interned in the same order, so that they have the same numbers.
        others.intern(endpoint);
    }
    for id in trace.ids() {
        if let Some(message) = change(trace.message(id)) {
            others.push(&message, trace.call_id(id));
        }
    }
    others
}
