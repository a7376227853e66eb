//! The small JSON files of the data directory: written whole or not at all, read with the file's
//! name in errors.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{DataPath, PathError};

/// Writes `value` to `path`, replacing the old contents only when all of it is written.
///
/// # Errors
/// If the file cannot be written.
pub fn write_json(path: impl Into<DataPath>, value: &impl Serialize) -> Result<(), PathError> {
    let path = &path.into();
    let text = serde_json::to_string_pretty(value);
    replace_file(path, text.map_err(|error| PathError::malformed(path, error))?)
}

/// Writes `value` as [`write_json()`] does, but without spaces and lines, for programs only.
///
/// # Errors
/// If the file cannot be written.
pub fn write_compact_json(
    path: impl Into<DataPath>,
    value: &impl Serialize,
) -> Result<(), PathError> {
    let path = &path.into();
    let text = serde_json::to_string(value);
    replace_file(path, text.map_err(|error| PathError::malformed(path, error))?)
}

fn replace_file(path: impl Into<DataPath>, text: String) -> Result<(), PathError> {
    let path = &path.into();
    path.write(text + "\n").map_err(|error| PathError::io(path, error))
}

/// Reads the output of [`write_json()`].
///
/// # Errors
/// If the file cannot be read or contains something else.
pub fn read_json<T: DeserializeOwned>(path: impl Into<DataPath>) -> Result<T, PathError> {
    let path = &path.into();
    let text = path.read_to_string().map_err(|error| PathError::io(path, error))?;
    serde_json::from_str(&text).map_err(|error| PathError::malformed(path, error))
}
