//! Dependencies point one way: among the modules of each crate, and among the crates.

use architecture::{CrateSources, workspace};

/// The crates by layers. A crate may need only crates of the layers below its own.
const LAYERS: &[&[&str]] = &[
    &["data-files"],
    &[
        "registry",
        "socket-log",
        "out-of-core",
        "http-server",
        "fourier",
        "snippets",
        "architecture",
    ],
    &["capture-shim", "injector", "message-trace", "protocols"],
    &["clocks", "analyze", "demo", "events"],
    &["request-flow", "collector"],
    &["importers", "compare", "contexts", "workload", "synth", "test-support"],
    &["reconcile", "exporters"],
    &["report"],
    &["sockcap", "end-to-end"],
];

#[test]
fn no_crate_has_a_cycle_of_modules() {
    let mut wrong = Vec::new();
    for member in workspace::workspace_members().unwrap() {
        let sources = CrateSources::read_crate(&member.folder.join("src")).unwrap();
        let cycles = [sources.file_cycles(), sources.folder_cycles()].concat();
        if !cycles.is_empty() {
            wrong.push(format!("{}: {cycles:?}", member.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "cycles; `cargo run -p architecture --example dependencies -- -v CRATE/src` shows \
        their dependencies:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn crates_need_only_crates_of_the_layers_below() {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let mut wrong = Vec::new();
    for member in workspace::workspace_members().unwrap() {
        let Some(own) = layer(&member.name) else {
            wrong.push(format!("{} is in no layer", member.name));
            continue;
        };
        for need in &member.needs {
            if layer(need).is_none_or(|of_need| of_need >= own) {
                wrong.push(format!("{} needs {need}, which is not below it", member.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_library_and_analysis_are_independent() {
    let members = workspace::workspace_members().unwrap();
    let needs = |name: &str| {
        let member = members.iter().find(|member| member.name == name).unwrap();
        member.needs.iter().map(String::as_str).collect::<Vec<_>>()
    };
    assert_eq!(needs("capture-shim"), ["snippets", "socket-log"]);
    for name in ["message-trace", "analyze"] {
        assert!(!needs(name).contains(&"socket-log"), "{name} must not depend on logs");
    }
}
