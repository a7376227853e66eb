//! The workspace: its crates, its files, and which crate depends on which.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::source::SourceError;

/// A crate of the workspace.
#[derive(Debug)]
pub struct WorkspaceMember {
    /// Name of the crate.
    pub name: String,
    /// Folder of the crate.
    pub folder: PathBuf,
    /// Names of the crates of this workspace on which the crate depends, except for its tests.
    pub needs: BTreeSet<String>,
}

/// The folder of the workspace.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The crates of the workspace.
///
/// # Errors
/// When a manifest is missing.
pub fn workspace_members() -> Result<Vec<WorkspaceMember>, SourceError> {
    let root = workspace_root();
    let folders: Vec<PathBuf> = parse_list(&read_text(&root.join("Cargo.toml"))?, "members")
        .into_iter()
        .map(|folder| root.join(folder))
        .collect();
    let manifests: Vec<String> = folders
        .iter()
        .map(|folder| read_text(&folder.join("Cargo.toml")))
        .collect::<Result<_, _>>()?;
    let names: Vec<String> = manifests.iter().map(|manifest| package_name(manifest)).collect();
    let members =
        folders.into_iter().zip(&manifests).zip(&names).map(|((folder, manifest), name)| {
            let needs = dependency_names(manifest).filter(|need| names.contains(need)).collect();
            WorkspaceMember { name: name.clone(), folder, needs }
        });
    Ok(members.collect())
}

/// All files below `folder` with this extension, except built and downloaded ones.
pub fn list_files(folder: &Path, extension: &str) -> Vec<PathBuf> {
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
pub fn read_text(file: &Path) -> Result<String, SourceError> {
    std::fs::read_to_string(file)
        .map_err(|error| SourceError { file: file.to_owned(), what: error.to_string() })
}

/// The strings of the list `key` in a manifest.
fn parse_list(manifest: &str, key: &str) -> Vec<String> {
    let after = manifest.split(&format!("\n{key} = [")).nth(1).unwrap_or_default();
    let inside = after.split(']').next().unwrap_or_default();
    inside.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn package_name(manifest: &str) -> String {
    let line = manifest.lines().find(|line| line.starts_with("name = "));
    line.and_then(|line| line.split('"').nth(1)).unwrap_or_default().to_owned()
}

/// Names of all dependencies that a manifest lists below `[dependencies]`.
fn dependency_names(manifest: &str) -> impl Iterator<Item = String> {
    let after = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let lines = after.lines().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| Some(line.split_once([' ', '.', '='])?.0.to_owned()))
}
