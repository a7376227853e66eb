//! Layers: each module of `capture-shim` belongs to a layer, and uses only lower layers and its
//! own.

#![allow(clippy::unwrap_used, reason = "these are tests, and a helper of theirs")]

use std::path::Path;

use architecture::{CrateSources, workspace};

/// The layers of `capture-shim/src`, from the bottom up. A layer is a file of that name and
/// everything in its folder.
const LAYERS: &[&str] = &[
    "tuning",
    "c_library",
    "platform",
    "state",
    "descriptors",
    "log",
    "flows",
    "hooks",
    "runtimes",
    "exports",
];

/// Faults of a crate's layers: modules without a layer, and uses of a higher layer.
fn layer_faults(sources: &CrateSources, layers: &[&str]) -> Vec<String> {
    let layer = |path: &[String]| {
        let folder = path.first()?;
        layers.iter().position(|layer| layer == folder)
    };
    let mut wrong = Vec::new();
    // The root declares the layers and belongs to none.
    for path in sources.modules.keys().filter(|path| !path.is_empty()) {
        if layer(path).is_none() {
            wrong.push(format!("{} is in no layer", path.join("::")));
        }
    }
    for dependency in sources.module_dependencies() {
        if let (Some(from), Some(to)) = (layer(&dependency.from), layer(&dependency.to))
            && to > from
        {
            wrong.push(format!(
                "{} uses {} of {}, a layer above",
                dependency.from.join("::"),
                dependency.name,
                dependency.to.join("::")
            ));
        }
    }
    wrong
}

/// Reads a crate of the files `(name, text)`.
fn read_sources(name: &str, files: &[(&str, &str)]) -> CrateSources {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    for (name, text) in files {
        let file = folder.join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    CrateSources::read_crate(&folder).unwrap()
}

#[test]
fn dependencies_among_the_layers_of_the_library_lead_down() {
    let sources =
        CrateSources::read_crate(&workspace::workspace_root().join("capture-shim/src")).unwrap();
    let wrong = layer_faults(&sources, LAYERS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_layer_exists() {
    let sources =
        CrateSources::read_crate(&workspace::workspace_root().join("capture-shim/src")).unwrap();
    for layer in LAYERS {
        assert!(sources.modules.contains_key(&vec![(*layer).to_owned()]), "{layer}");
    }
}

#[test]
fn an_upward_dependency_and_a_module_without_a_layer_are_found() {
    let files = [
        ("lib.rs", "mod ground; mod above; mod beside;"),
        ("ground.rs", "mod inner; pub struct G;"),
        ("ground/inner.rs", "use crate::above::f;"),
        ("above.rs", "pub fn f() -> crate::ground::G { crate::ground::G }"),
        ("beside.rs", ""),
    ];
    let sources = read_sources("dependency-up", &files);
    assert_eq!(
        layer_faults(&sources, &["ground", "above"]),
        ["beside is in no layer", "ground::inner uses f of above, a layer above"]
    );
}
