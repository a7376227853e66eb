//! Arrows point one way: among the modules of each crate, and among the crates.

use house::{Crate, workspace};

/// The crates by floors. A crate may need only crates of the floors below its own.
const FLOORS: &[&[&str]] = &[
    &["data-files"],
    &[
        "registry",
        "socket-log",
        "out-of-core",
        "plain-http",
        "fourier",
        "patching",
        "snippets",
        "house",
    ],
    &["capture-shim", "injector", "message-trace", "protocols"],
    &["clocks", "analyze", "demo", "events", "operations"],
    &["request-flow", "collector"],
    &["importers", "compare", "contexts", "workload", "synth", "test-support"],
    &["reconcile", "exports"],
    &["report"],
    &["sockcap", "end-to-end"],
];

#[test]
fn no_crate_has_a_circle_of_modules() {
    let mut wrong = Vec::new();
    for member in workspace::members().unwrap() {
        let house = Crate::read(&member.folder.join("src")).unwrap();
        let circles = [house.circles(), house.circles_of_rooms()].concat();
        if !circles.is_empty() {
            wrong.push(format!("{}: {circles:?}", member.name));
        }
    }
    assert!(
        wrong.is_empty(),
        "circles; `cargo run -p house --example arrows -- -v CRATE/src` shows \
        what makes them:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn crates_need_only_crates_of_the_floors_below() {
    let floor = |name: &str| FLOORS.iter().position(|floor| floor.contains(&name));
    let mut wrong = Vec::new();
    for member in workspace::members().unwrap() {
        let Some(own) = floor(&member.name) else {
            wrong.push(format!("{} is on no floor", member.name));
            continue;
        };
        for need in &member.needs {
            if floor(need).is_none_or(|of_need| of_need >= own) {
                wrong.push(format!("{} needs {need}, which is not below it", member.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_library_and_analysis_know_nothing_of_each_other() {
    let members = workspace::members().unwrap();
    let needs = |name: &str| {
        let member = members.iter().find(|member| member.name == name).unwrap();
        member.needs.iter().map(String::as_str).collect::<Vec<_>>()
    };
    assert_eq!(needs("capture-shim"), ["snippets", "socket-log"]);
    for name in ["message-trace", "analyze"] {
        assert!(!needs(name).contains(&"socket-log"), "{name} must not know of logs");
    }
}
