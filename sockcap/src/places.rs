//! Folders of the user's own, as the XDG Base Directory Specification has them.

use std::env;
use std::path::PathBuf;

/// Folder of the user that a variable says, by default `beside` what else is at home.
pub(crate) fn user_folder(variable: &str, beside: &str) -> Option<PathBuf> {
    let absolute = |path: PathBuf| Some(path).filter(|path| path.is_absolute());
    let told = env::var_os(variable).and_then(|place| absolute(place.into()));
    told.or_else(|| Some(absolute(env::var_os("HOME")?.into())?.join(beside)))
}
