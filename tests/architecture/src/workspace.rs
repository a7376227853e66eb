//! The workspace: its crates, its files, and which crate depends on which.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::source::Error;

/// A crate of the workspace.
#[derive(Debug)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Names of the crates of this workspace that it needs, but for its tests.
    pub needs: BTreeSet<String>,
}

/// The folder of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The crates of the workspace.
///
/// # Errors
/// When a manifest is missing.
pub fn members() -> Result<Vec<Member>, Error> {
    let root = root();
    let folders: Vec<PathBuf> = list(&read(&root.join("Cargo.toml"))?, "members")
        .into_iter()
        .map(|folder| root.join(folder))
        .collect();
    let manifests: Vec<String> =
        folders.iter().map(|folder| read(&folder.join("Cargo.toml"))).collect::<Result<_, _>>()?;
    let names: Vec<String> = manifests.iter().map(|manifest| name(manifest)).collect();
    let members =
        folders.into_iter().zip(&manifests).zip(&names).map(|((folder, manifest), name)| {
            let needs = dependencies(manifest).filter(|need| names.contains(need)).collect();
            Member { name: name.clone(), folder, needs }
        });
    Ok(members.collect())
}

/// All files below `folder` that end in `.extension`, but for what is built or downloaded.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str()) {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The text of a file.
///
/// # Errors
/// When it cannot be read.
pub fn read(file: &Path) -> Result<String, Error> {
    std::fs::read_to_string(file)
        .map_err(|error| Error { file: file.to_owned(), what: error.to_string() })
}

/// The strings of the list `key` in a manifest.
fn list(manifest: &str, key: &str) -> Vec<String> {
    let after = manifest.split(&format!("\n{key} = [")).nth(1).unwrap_or_default();
    let inside = after.split(']').next().unwrap_or_default();
    inside.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn name(manifest: &str) -> String {
    let line = manifest.lines().find(|line| line.starts_with("name = "));
    line.and_then(|line| line.split('"').nth(1)).unwrap_or_default().to_owned()
}

/// Names of all that a manifest lists below `[dependencies]`.
fn dependencies(manifest: &str) -> impl Iterator<Item = String> {
    let after = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let lines = after.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| Some(line.split_once([' ', '.', '='])?.0.to_owned()))
}
