//! Helpers of the end-to-end tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

pub mod capture;
pub mod command;
pub mod gathering;
pub mod lab;
pub mod oracle;
pub mod packages;
pub mod spent_time;
pub mod strace;
pub mod strace_comparison;
pub mod wire;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The root folder of the workspace.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace")
}

/// Directory of the profile in which the running test was built: `target/debug`, or
/// `target/release` with `cargo test --release`.
fn profile_directory() -> PathBuf {
    // A test program lies in TARGET/PROFILE/deps.
    let program = env::current_exe().expect("the test program's path");
    program.ancestors().nth(2).expect("the profile's directory").to_owned()
}

/// Directory where the running test was built.
pub fn target_directory() -> PathBuf {
    profile_directory().parent().expect("the target directory").to_owned()
}

/// Name of the profile in which the running test was built, as scripts expect it in
/// `SOCKCAP_PROFILE`.
pub fn profile_name() -> &'static str {
    if profile_directory().ends_with("release") { "release" } else { "debug" }
}

/// The program `sockcap` in the profile of the running test, with the preloaded library next to it;
/// built once for each test program. The library is always the release build.
pub fn sockcap_program() -> &'static Path {
    static SOCKCAP: OnceLock<PathBuf> = OnceLock::new();
    SOCKCAP.get_or_init(|| {
        let programs = profile_directory();
        let output = Command::new(repository().join("scripts/build"))
            .args((profile_name() != "release").then_some("--dev"))
            .env("CARGO_TARGET_DIR", target_directory())
            .output()
            .expect("scripts/build runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        programs.join("sockcap")
    })
}
