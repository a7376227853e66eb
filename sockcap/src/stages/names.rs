//! The user's names for nodes, from a named file or the data directory.

use std::path::Path;

use analyze::naming::Aliases;
use message_trace::{DataDir, DataPath};

use crate::arguments::InferenceArguments;
use crate::error::CommandError;

/// Adds the user's names to the options: from the file that `inference` names; otherwise from the
/// file that the last analysis named, as it is now; otherwise from the data directory.
pub(crate) fn with_names(
    data: &DataDir,
    inference: &InferenceArguments,
    options: analyze::Options,
) -> Result<analyze::Options, CommandError> {
    let last = options.aliases.named.as_deref();
    let aliases = match (inference.aliases_file(), last) {
        (Some(file), _) => find_aliases(data, Some(file))?,
        // The path comes from the creator of the directory, so a pipe there must not block.
        (None, Some(last)) if DataPath::trusted(last).is_file() => find_aliases(data, Some(last))?,
        (None, Some(_)) => return Ok(options),
        (None, None) => find_aliases(data, None)?,
    };
    Ok(analyze::Options { aliases, ..options })
}

/// The user's names in `file` or, without one, in the data directory.
pub(crate) fn find_aliases(data: &DataDir, file: Option<&Path>) -> Result<Aliases, CommandError> {
    match file {
        // Later commands may be run from another directory.
        Some(file) => {
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            Ok(Aliases::read(file)?.with_source(whole))
        }
        None if data.aliases_path().exists() => Ok(Aliases::read(data.aliases_path())?),
        None => Ok(Aliases::default()),
    }
}
