//! Folders of Kieker's logs: each has a table of types and files of records next to it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::summary::FilePosition;
use crate::tuning::MAX_FOLDER_DEPTH;

/// Files of one log.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct KiekerLogFiles {
    /// Path of the table of types.
    pub(super) map: PathBuf,
    /// Files of records, in their order.
    pub(super) records: Vec<PathBuf>,
    /// Files that look like records and are not text.
    pub(super) others: Vec<PathBuf>,
}

/// Finds the logs that the user names by their folders or by files in them.
///
/// # Errors
/// When a folder cannot be read, or there is no table or no file of records.
pub(super) fn find_named_logs(named: &[PathBuf]) -> Result<Vec<KiekerLogFiles>, Error> {
    let mut logs = Vec::new();
    for path in named {
        if path.is_dir() {
            let before = logs.len();
            find_logs(path, MAX_FOLDER_DEPTH, &mut logs)?;
            if logs.len() == before {
                let why = "there is no log in it: neither a kieker.map nor a folder with one";
                return Err(Error::malformed_at(path, FilePosition::File, why));
            }
        } else if !is_map(path) {
            let folder = path.parent().unwrap_or(Path::new(""));
            let map = map_in(folder, path)?;
            match logs.iter_mut().find(|log| log.map == map) {
                Some(log) => log.records.push(path.clone()),
                None => logs.push(KiekerLogFiles {
                    map,
                    records: vec![path.clone()],
                    others: Vec::new(),
                }),
            }
        }
    }
    // A folder with files that were all named one by one is read in the order of their names, too.
    for log in &mut logs {
        log.records.sort();
        log.records.dedup();
    }
    match named.first() {
        Some(first) if logs.is_empty() => {
            let why = "this is only the table of types; name the folder, or the files of records";
            Err(Error::malformed_at(first, FilePosition::File, why))
        }
        _ => Ok(logs),
    }
}

/// Finds the logs in `folder` and, if it is not a log itself, in its subfolders.
fn find_logs(folder: &Path, depth: u32, logs: &mut Vec<KiekerLogFiles>) -> Result<(), Error> {
    let mut files = Vec::new();
    let entries = fs::read_dir(folder).map_err(|error| Error::from_io(folder, error))?;
    for entry in entries {
        files.push(entry.map_err(|error| Error::from_io(folder, error))?.path());
    }
    files.sort();
    let (folders, files): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| path.is_dir());
    let records: Vec<PathBuf> = files.iter().filter(|path| is_records(path)).cloned().collect();
    if !records.is_empty() || files.iter().any(|path| is_map(path)) {
        let map = map_in(folder, folder)?;
        let others = files.into_iter().filter(|path| is_other(path)).collect();
        logs.push(KiekerLogFiles { map, records, others });
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    folders.iter().try_for_each(|folder| find_logs(folder, depth - 1, logs))
}

/// Path of the table of types in `folder`; without it, `named` cannot be read.
fn map_in(folder: &Path, named: &Path) -> Result<PathBuf, Error> {
    let usual = ["kieker.map", "tpmon.map"].map(|name| folder.join(name));
    usual.into_iter().find(|map| map.exists()).ok_or_else(|| {
        let why = "there is no kieker.map or tpmon.map next to it, which defines its records";
        Error::malformed_at(named, FilePosition::File, why)
    })
}

/// Name of a file without the extension of its compression.
fn plain_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = [".gz", ".zst", ".xz"].iter().find_map(|ending| name.strip_suffix(ending));
    plain.map(str::to_owned).unwrap_or(name)
}

fn is_map(path: &Path) -> bool {
    plain_name(path).ends_with(".map")
}

fn is_records(path: &Path) -> bool {
    plain_name(path).ends_with(".dat")
}

/// Whether the file is one of Kieker's binary logs, or compressed by its own method.
fn is_other(path: &Path) -> bool {
    let name = plain_name(path);
    [".bin", ".zip", ".df"].iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_found_by_folders_and_files() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        for file in [
            "a/kieker.map",
            "a/k-2.dat",
            "a/k-1.dat.gz",
            "a/k.bin",
            "b/c/tpmon.map",
            "b/c/t.dat",
            "d/x.dat",
        ] {
            fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            fs::write(at(file), "").unwrap();
        }
        let a = KiekerLogFiles {
            map: at("a/kieker.map"),
            records: vec![at("a/k-1.dat.gz"), at("a/k-2.dat")],
            others: vec![at("a/k.bin")],
        };
        let c = KiekerLogFiles {
            map: at("b/c/tpmon.map"),
            records: vec![at("b/c/t.dat")],
            others: vec![],
        };
        assert_eq!(find_named_logs(&[at("b"), at("a")]).unwrap(), [c, a]);
        let named =
            find_named_logs(&[at("a/kieker.map"), at("a/k-2.dat"), at("a/k-1.dat.gz")]).unwrap();
        assert_eq!(named.len(), 1);
        assert_eq!(named[0].records, [at("a/k-1.dat.gz"), at("a/k-2.dat")]);

        let why = |named: &[PathBuf]| find_named_logs(named).unwrap_err().to_string();
        assert!(why(&[at("d")]).contains("d: there is no kieker.map or tpmon.map next to it"));
        assert!(why(&[at("d/x.dat")]).contains("x.dat: there is no kieker.map"));
        assert!(why(&[at("a/kieker.map")]).contains("only the table of types"));
        fs::create_dir(at("e")).unwrap();
        assert!(why(&[at("e")]).contains("there is no log in it"));
    }
}
