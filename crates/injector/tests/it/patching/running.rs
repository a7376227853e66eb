//! Patched programs behave as before, and their hooks see every wanted call.

use std::path::{Path, PathBuf};

use injector::patching::PatchKind;

use super::counting::{Run, observe};
use super::embed::{embed, run, source};

fn compile(compiler: &str, options: &[&str], directory: &Path) -> PathBuf {
    let program = directory.join("program");
    let mut arguments = vec!["-static", "-no-pie", "-pthread", "-o", program.to_str().unwrap()];
    let source = source("calls.c");
    arguments.extend(options);
    arguments.push(&source);
    run(compiler, &arguments);
    program
}

/// Runs a program unchanged and patched. The number of calls equals strace's, and all calls that
/// could return did return, if the program has one thread.
fn compare(program: &Path, arguments: &[&str], directory: &Path) -> Run {
    let (patched, plan) = embed(program, directory);
    println!("{:?}, left: {:?}", kinds(&plan.sites), plan.count_unpatched());
    let plain = observe(program, arguments, directory);
    let run = observe(&patched, arguments, directory);
    assert_eq!((&run.output, run.code), (&plain.output, plain.code), "{run:?}");
    assert_eq!(run.counted, run.seen);
    run
}

fn kinds(sites: &[injector::patching::PatchSite]) -> Vec<(String, usize)> {
    let mut kinds = std::collections::BTreeMap::new();
    for site in sites {
        let kind = match site.kind {
            PatchKind::Unpatched(_) => "Unpatched".to_owned(),
            kind => format!("{kind:?}"),
        };
        *kinds.entry(kind).or_insert(0) += 1;
    }
    kinds.into_iter().collect()
}

#[test]
fn static_glibc() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("gcc", &["-O2"], directory.path());
    compare(&program, &[], directory.path());
}

#[test]
fn static_musl() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile("musl-gcc", &["-O2"], directory.path());
    compare(&program, &[], directory.path());
}

/// The stack pointer after a call is the one before it, at each kind of site.
#[test]
fn calls_come_back_where_they_were_made() {
    for compiler in ["gcc", "musl-gcc"] {
        let directory = tempfile::tempdir().unwrap();
        let program = compile(compiler, &["-O2"], directory.path());
        let run = compare(&program, &["alone"], directory.path());
        let made: u64 = run.counted.values().sum();
        assert_eq!(run.came_back, made - 1, "{compiler}: all but exit_group");
    }
}

/// Children that fork and vfork make continue, and run other programs.
#[test]
fn children() {
    for compiler in ["gcc", "musl-gcc"] {
        let directory = tempfile::tempdir().unwrap();
        let program = compile(compiler, &["-O2"], directory.path());
        let (patched, _) = embed(&program, directory.path());
        let plain = observe(&program, &["children"], directory.path());
        let run = observe(&patched, &["children"], directory.path());
        assert_eq!((&run.output, run.code), (&plain.output, plain.code), "{run:?}");
        assert!(run.output.contains("children 24\n"), "{run:?}");
    }
}

/// A program without symbols.
#[test]
fn busybox() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("busybox");
    let installed =
        ["/bin/busybox", "/usr/bin/busybox"].into_iter().find(|of| Path::new(of).exists());
    let installed = installed.expect("busybox is needed, of Debian's package busybox-static");
    std::fs::copy(installed, &program).unwrap();
    let text = program.to_str().unwrap();
    compare(&program, &["sha256sum", text], directory.path());
    compare(&program, &["wc", text], directory.path());
    let (patched, plan) = embed(&program, directory.path());
    assert!(plan.count_unpatched().is_empty(), "{:?}", plan.count_unpatched());
    let script = "for i in 1 2 3; do echo $i | sed s/1/one/ | cat; done; (exit 3); echo $?";
    let plain = observe(&program, &["sh", "-c", script], directory.path());
    let run = observe(&patched, &["sh", "-c", script], directory.path());
    assert_eq!((&run.output, run.code), (&plain.output, plain.code), "{run:?}");
    assert_eq!(run.output, "one\n2\n3\n3\n");
}
