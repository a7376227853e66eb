//! The user's names for nodes, from where they are: a file that was named, or the data directory.

use std::path::Path;

use analyze::naming::Aliases;
use message_trace::{DataDir, DataPath};

use crate::arguments::Inference;
use crate::error::Error;

/// The options with the user's names: those of the file that `inference` names; else those of the
/// file that the last analysis named, as it is now; else those of the data directory.
pub(crate) fn with_names(
    data: &DataDir,
    inference: &Inference,
    options: analyze::Options,
) -> Result<analyze::Options, Error> {
    let last = options.aliases.named.as_deref();
    let aliases = match (inference.aliases(), last) {
        (Some(file), _) => aliases(data, Some(file))?,
        // It is the word of whoever made the directory, so a pipe there is not waited for.
        (None, Some(last)) if DataPath::trusted(last).is_file() => aliases(data, Some(last))?,
        (None, Some(_)) => return Ok(options),
        (None, None) => aliases(data, None)?,
    };
    Ok(analyze::Options { aliases, ..options })
}

/// The user's names in `file` or, where none is named, in the data directory.
pub(crate) fn aliases(data: &DataDir, file: Option<&Path>) -> Result<Aliases, Error> {
    match file {
        // Later commands may be run from elsewhere.
        Some(file) => {
            let whole = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
            Ok(Aliases::read(file)?.named(whole))
        }
        None if data.aliases().exists() => Ok(Aliases::read(data.aliases())?),
        None => Ok(Aliases::default()),
    }
}
