//! The small JSON files of the data directory: written whole or not at all, read with the file's
//! name in errors.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::PathError;

/// Writes `value` to `path`, replacing what was there only when all of it is written.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, value: &impl Serialize) -> Result<(), PathError> {
    let text = serde_json::to_string_pretty(value);
    replace(path, text.map_err(|error| PathError::malformed(path, error))?)
}

/// Writes `value` as [`write()`] does, but without spaces and lines, for programs alone.
///
/// # Errors
/// When the file cannot be written.
pub fn write_dense(path: &Path, value: &impl Serialize) -> Result<(), PathError> {
    let text = serde_json::to_string(value);
    replace(path, text.map_err(|error| PathError::malformed(path, error))?)
}

fn replace(path: &Path, text: String) -> Result<(), PathError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    let unfinished = path.with_file_name(name);
    fs::write(&unfinished, text + "\n").map_err(|error| PathError::io(&unfinished, error))?;
    fs::rename(&unfinished, path).map_err(|error| PathError::io(path, error))
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// When the file cannot be read or holds something else.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, PathError> {
    let text = fs::read_to_string(path).map_err(|error| PathError::io(path, error))?;
    serde_json::from_str(&text).map_err(|error| PathError::malformed(path, error))
}
