//! Version of kept patch plans: a hash that changes whenever the source of `patching` does.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/patching");
    let mut hasher = DefaultHasher::new();
    hash(Path::new("src/patching"), &mut hasher)?;
    println!("cargo:rustc-env=SURVEY_VERSION={:016x}", hasher.finish());
    Ok(())
}

/// Adds all files in a folder to the hash, in the order of their names.
fn hash(folder: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash(&path, hasher)?;
        } else {
            hasher.write(&fs::read(path)?);
        }
    }
    Ok(())
}
