//! Unfinished import: a hidden directory, which replaces an earlier import of its name when it is
//! complete. An abandoned one leaves no files.

use std::io;
use std::path::{Path, PathBuf};

use message_trace::{DataDir, DataPath};

use crate::error::Error;
use crate::summary::{FilePosition, ImportSummary, SkippedItem};
use crate::tuning::MAX_SKIPS_IN_ERROR;

/// Directory of an unfinished import.
#[derive(Debug)]
pub(crate) struct UnfinishedImport {
    /// The hidden directory.
    path: DataPath,
    /// Directory of the finished import.
    destination: DataPath,
}

impl UnfinishedImport {
    /// Begins the import `name` in `data`.
    pub(crate) fn create(data: &DataDir, name: &str) -> Result<UnfinishedImport, Error> {
        check_name(name)?;
        let destination = data.import_named(name).directory;
        let path = data.imports_dir().join(format!(".{name}"));
        remove_directory(&path)?;
        path.create_dir_all().map_err(|error| Error::from_io(&path, error))?;
        Ok(UnfinishedImport { path, destination })
    }

    /// Directory for the output.
    pub(crate) fn path(&self) -> &DataPath {
        &self.path
    }

    /// Replaces the earlier import and records that in `summary`.
    pub(crate) fn finish(self, summary: &mut ImportSummary) -> Result<(), Error> {
        summary.replaced = self.destination.exists();
        remove_directory(&self.destination)?;
        self.path
            .rename_to(&self.destination)
            .map_err(|error| Error::from_io(&self.destination, error))?;
        summary.written.push(self.destination.clone());
        Ok(())
    }
}

impl Drop for UnfinishedImport {
    fn drop(&mut self) {
        // After it was finished the directory no longer exists.
        let _ = self.path.remove_dir_all();
    }
}

/// Default name of the import of `files`: that of the first file, without the text after its first
/// point.
pub(crate) fn name_of_files(files: &[PathBuf]) -> String {
    let name =
        files.first().and_then(|file| file.file_name()).unwrap_or_default().to_string_lossy();
    let stem = name.trim_start_matches('.').split('.').next().unwrap_or_default();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let stem: String = stem.chars().take(100).map(allowed).collect();
    if stem.is_empty() { "import".to_owned() } else { stem }
}

/// Checks that a name, which becomes a directory's name, is not a path.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.starts_with('.') || name.len() > 127 || !name.chars().all(allowed) {
        let why = "the name of an import has 1 to 127 letters, digits, '-', '_' and '.', and does \
                   not begin with '.'";
        return Err(Error::malformed_at(Path::new(name), FilePosition::File, why));
    }
    Ok(())
}

/// Error of an import without any result: the expected content (`none`, a sentence that it is
/// missing), the skipped inputs by cause and, for the first of them, place and fault.
pub(crate) fn nothing_imported(files: &[PathBuf], none: &str, summary: &ImportSummary) -> Error {
    let more = match files.len() {
        0 | 1 => String::new(),
        several => format!(" nor in the {} other files", several - 1),
    };
    let causes = summary.skipped.causes.iter();
    let causes = causes.map(|(cause, count)| format!("skipped: {cause}: {count}"));
    let first = summary.skipped.first.iter().take(MAX_SKIPS_IN_ERROR).map(SkippedItem::to_string);
    let file = files.first().map_or(Path::new(""), PathBuf::as_path);
    Error::malformed_at(
        file,
        FilePosition::File,
        format!("nothing in it can be used{more}: {none}"),
    )
    .with_lines(causes.chain(first).chain(summary.notes.iter().cloned()))
}

fn remove_directory(directory: &DataPath) -> Result<(), Error> {
    match directory.remove_dir_all() {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::from_io(directory, error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_import_is_called_after_its_first_file() {
        for (file, name) in [
            ("/data/calls.csv.gz", "calls"),
            ("mon day.csv", "mon_day"),
            (".hidden.csv", "hidden"),
            ("/", "import"),
        ] {
            assert_eq!(name_of_files(&[PathBuf::from(file)]), name);
            assert!(check_name(name).is_ok());
        }
        assert!(
            check_name("../x").is_err() && check_name(".x").is_err() && check_name("").is_err()
        );
    }

    #[test]
    fn an_import_replaces_the_earlier_one_only_when_complete() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let import = |text: &str, destination: bool| {
            let unfinished = UnfinishedImport::create(&data, "x").unwrap();
            fs::write(unfinished.path().join("table"), text).unwrap();
            let mut summary = ImportSummary::default();
            if destination {
                unfinished.finish(&mut summary).unwrap();
            }
            summary.replaced
        };
        let written =
            || fs::read_to_string(data.import_named("x").directory.join("table")).unwrap();
        assert!(!import("first", true));
        assert!(!import("given up", false));
        assert_eq!(written(), "first");
        assert!(import("second", true));
        assert_eq!(written(), "second");
        assert_eq!(fs::read_dir(data.imports_dir()).unwrap().count(), 1, "nothing is left over");
    }
}
