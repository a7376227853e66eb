//! Path below a data directory, and which part of it the user named.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::path::{Component, Display, Path, PathBuf};

/// Path of a file or directory: a part that the user named, which is trusted, and the names below
/// it, which are not trusted.
///
/// A plain path becomes a wholly trusted one, since every path that was not built here was named by
/// the user. Equality and order are those of the plain path: which part is trusted makes no
/// difference.
#[derive(Clone, Debug)]
pub struct DataPath {
    path: PathBuf,
    /// Number of names at the end that are not trusted.
    below: usize,
}

impl DataPath {
    /// The path that the user named, including its links.
    pub fn trusted(path: impl Into<PathBuf>) -> DataPath {
        DataPath { path: path.into(), below: 0 }
    }

    /// Appends `names`, one name or several separated by slashes, as an untrusted part.
    #[must_use]
    pub fn join(&self, names: impl AsRef<Path>) -> DataPath {
        let mut joined = self.clone();
        for name in names.as_ref().components() {
            // An absolute path would replace the whole path.
            if !matches!(name, Component::RootDir | Component::Prefix(_)) {
                joined.path.push(name);
                joined.below += 1;
            }
        }
        joined
    }

    /// The directory that contains this path. The directory is trusted if the path is wholly
    /// trusted.
    #[must_use]
    pub fn parent(&self) -> DataPath {
        let parent = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            Some(_) => PathBuf::from("."),
            None => self.path.clone(),
        };
        DataPath { path: parent, below: self.below.saturating_sub(1) }
    }

    /// The path with another name in the same directory.
    #[must_use]
    pub fn with_file_name(&self, name: impl AsRef<OsStr>) -> DataPath {
        DataPath { path: self.path.with_file_name(name), below: self.below }
    }

    /// The path with another extension.
    #[must_use]
    pub fn with_extension(&self, extension: impl AsRef<OsStr>) -> DataPath {
        DataPath { path: self.path.with_extension(extension), below: self.below }
    }

    /// The last name of the path.
    pub fn file_name(&self) -> Option<&OsStr> {
        self.path.file_name()
    }

    /// The last name without its extension.
    pub fn file_stem(&self) -> Option<&OsStr> {
        self.path.file_stem()
    }

    /// The extension of the last name.
    pub fn extension(&self) -> Option<&OsStr> {
        self.path.extension()
    }

    /// The path as text, for messages and comparisons. Opening the file by this path follows links.
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// The path as a value that errors can keep.
    pub fn to_path_buf(&self) -> PathBuf {
        self.path.clone()
    }

    /// The path for messages.
    pub fn display(&self) -> Display<'_> {
        self.path.display()
    }

    /// Whether the user named the whole path.
    pub fn is_trusted(&self) -> bool {
        self.below == 0
    }

    /// The trusted part, and the names below it.
    pub(crate) fn split_trusted(&self) -> (&Path, Vec<OsString>) {
        let mut names = Vec::with_capacity(self.below);
        let mut trusted = self.path.as_path();
        for _ in 0..self.below {
            // A name such as `..` is kept here and refused when it is opened.
            let name = trusted.components().next_back().map(|last| last.as_os_str().to_owned());
            names.extend(name);
            trusted = trusted.parent().unwrap_or(Path::new(""));
        }
        names.reverse();
        (if trusted.as_os_str().is_empty() { Path::new(".") } else { trusted }, names)
    }
}

impl PartialEq for DataPath {
    fn eq(&self, other: &DataPath) -> bool {
        self.path == other.path
    }
}

impl Eq for DataPath {}

impl PartialOrd for DataPath {
    fn partial_cmp(&self, other: &DataPath) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DataPath {
    fn cmp(&self, other: &DataPath) -> Ordering {
        self.path.cmp(&other.path)
    }
}

impl Hash for DataPath {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

impl AsRef<Path> for DataPath {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for DataPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.display().fmt(f)
    }
}

impl From<PathBuf> for DataPath {
    fn from(path: PathBuf) -> DataPath {
        DataPath::trusted(path)
    }
}

impl From<&DataPath> for DataPath {
    fn from(path: &DataPath) -> DataPath {
        path.clone()
    }
}

impl<T: ?Sized + AsRef<OsStr>> From<&T> for DataPath {
    fn from(path: &T) -> DataPath {
        DataPath::trusted(Path::new(path))
    }
}

impl From<OsString> for DataPath {
    fn from(path: OsString) -> DataPath {
        DataPath::trusted(path)
    }
}

impl From<String> for DataPath {
    fn from(path: String) -> DataPath {
        DataPath::trusted(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_part_of_a_path_is_distinguished_from_the_rest() {
        let data = DataPath::trusted("/a/link");
        let log = data.join("hosts").join("web1").join("1-2.sclog");
        let names = |path: &DataPath| {
            let (trusted, names) = path.split_trusted();
            (trusted.to_owned(), names)
        };
        assert_eq!(
            names(&log),
            ("/a/link".into(), vec!["hosts".into(), "web1".into(), "1-2.sclog".into()])
        );
        assert_eq!(names(&log.parent()), ("/a/link".into(), vec!["hosts".into(), "web1".into()]));
        let operations = log.with_extension("operations");
        assert_eq!(names(&operations).1.last().unwrap(), "1-2.operations");
        assert_eq!(data.join("hosts/web1/1-2.sclog"), log);
        assert_eq!(names(&DataPath::trusted("data").join("x")), ("data".into(), vec!["x".into()]));
        assert_eq!(names(&DataPath::trusted("").join("x")), (".".into(), vec!["x".into()]));
        assert_eq!(DataPath::trusted("x").parent(), DataPath::trusted("."));
    }

    #[test]
    fn parent_components_stay_in_the_untrusted_part() {
        let up = DataPath::trusted("/a/b").join("../c");
        assert_eq!(up.split_trusted().0, Path::new("/a/b"));
        assert!(up.open().is_err());
        assert_eq!(DataPath::trusted("/a").join("/etc/x").as_path(), Path::new("/a/etc/x"));
    }
}
