//! Go programs of several versions: their sockets and new processes go through two places, and
//! their threads through a third one.

use std::path::Path;
use std::process::Command;

use injector::patching::{
    ElfImage, LoadMethod, PatchKind, SiteRuntime, UnpatchedReason, plan_patches,
};

use super::counting::observe;
use super::embed::{embed, source};

/// Patched versions, from the oldest on.
const VERSIONS: [&str; 3] = ["1.21.13", "1.24.11", "1.27.3"];

/// Numbers that only patched places have: `sigaltstack`, and numbers that only `Syscall6` has. The
/// runtime has its own reads, closes and threads.
const PATCHED: [u32; 10] = [41, 42, 49, 50, 72, 131, 275, 288, 292, 438];

/// Index at which the hooks count unblocked goroutines.
const READY: u32 = 511;

fn build(version: &str, options: &[&str], cgo: bool, program: &Path) {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let install = Path::new(root).join("scripts/install-go");
    let go = Command::new(&install).arg(version).output().unwrap();
    assert!(go.status.success(), "{install:?}: {}", String::from_utf8_lossy(&go.stderr));
    let go = String::from_utf8(go.stdout).unwrap();
    let status = Command::new(go.trim())
        .args(["build", "-o"])
        .arg(program)
        .args(options)
        .arg(source("sockets.go"))
        .envs([("CGO_ENABLED", if cgo { "1" } else { "0" }), ("GOTOOLCHAIN", "local")])
        .env("GOCACHE", Path::new(root).join("target/go/cache"))
        .env("GOPATH", Path::new(root).join("target/go/path"))
        .status();
    assert!(status.unwrap().success(), "go {version} builds no program with {options:?}");
}

#[test]
#[ignore = "installs and runs three versions of Go, which takes minutes"]
fn go_programs_are_observed() {
    let directory = tempfile::tempdir().unwrap();
    for version in VERSIONS {
        for options in [&[][..], &["-ldflags=-s -w"]] {
            let program = directory.path().join("program");
            build(version, options, false, &program);
            let (patched, plan) = embed(&program, directory.path());
            assert_eq!(plan.go_version.as_deref(), Some(&*format!("go{version}")));
            assert_eq!(plan.load, LoadMethod::Alone);
            let patched_sites = plan.sites.iter().filter(|site| site.kind == PatchKind::Sandwich);
            let runtimes: Vec<_> = patched_sites.map(|site| site.runtime).collect();
            let has = |has_goroutine| SiteRuntime::Go { has_goroutine };
            assert_eq!(runtimes, [has(true), has(false), has(false)], "{version}");
            assert_eq!(
                plan.count_unpatched().into_keys().collect::<Vec<_>>(),
                [UnpatchedReason::GoRuntime]
            );
            assert!(plan.goroutine_fields.is_some() && plan.ready.is_some(), "{version}");

            let run = observe(&patched, &[], directory.path());
            // Locks, channels and the garbage collector unblock goroutines.
            assert!(run.counted.get(&READY).is_some_and(|count| *count > 100), "{run:?}");
            let expected = "child\n <nil>\n".repeat(5) + "5000\n";
            assert_eq!((&*run.output, run.code), (&*expected, Some(0)), "{version}: {run:?}");
            for number in PATCHED {
                assert!(run.counted.contains_key(&number), "{version}: {number}");
                assert_eq!(
                    run.counted.get(&number),
                    run.seen.get(&number),
                    "{version}: {number}: {run:?}"
                );
            }
        }
    }
}

/// A Go program has the same places however it is linked.
#[test]
#[ignore = "installs Go, and links with cgo"]
fn go_programs_with_other_linking_are_observed() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let statically = "-ldflags=-linkmode external -extldflags -static";
    for (options, cgo, load) in [
        (&["-buildmode=pie"][..], false, LoadMethod::Interpreted),
        (&[], true, LoadMethod::Interpreted),
        (&[statically], true, LoadMethod::Alone),
    ] {
        build("1.27.3", options, cgo, &program);
        let file = std::fs::read(&program).unwrap();
        let plan = plan_patches(&ElfImage::parse(&file).unwrap()).unwrap();
        assert_eq!((plan.load, plan.go_version.as_deref()), (load, Some("go1.27.3")));
        let sandwiches = plan.sites.iter().filter(|site| site.kind == PatchKind::Sandwich);
        let (of_c, of_go): (Vec<_>, Vec<_>) =
            sandwiches.partition(|site| site.runtime == SiteRuntime::C);
        assert_eq!(of_go.len(), 3, "{options:?}");
        assert!(plan.ready.is_some(), "{options:?}");
        assert_eq!(of_c.is_empty(), load == LoadMethod::Interpreted, "{options:?}");
        injector::patching::fuzz(&file);
    }
}
