//! The user's own folders, by the XDG Base Directory Specification.

use std::env;
use std::path::PathBuf;

/// Folder of the user that a variable contains, by default `default_folder` in the home directory.
pub(crate) fn user_folder(variable: &str, default_folder: &str) -> Option<PathBuf> {
    let absolute = |path: PathBuf| Some(path).filter(|path| path.is_absolute());
    let configured = env::var_os(variable).and_then(|place| absolute(place.into()));
    configured.or_else(|| Some(absolute(env::var_os("HOME")?.into())?.join(default_folder)))
}
