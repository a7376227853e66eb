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
pub mod spent;
pub mod strace;
pub mod wire;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The workspace.
pub fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

/// Directory where the running test was built.
pub fn target_directory() -> PathBuf {
    // A test program lies in TARGET/PROFILE/deps.
    let program = env::current_exe().expect("the test program's path");
    program.ancestors().nth(3).expect("the target directory").to_owned()
}

/// The program `sockcap` in its release build, with the preloaded library beside it; built once for
/// each test program.
pub fn sockcap() -> &'static Path {
    static SOCKCAP: OnceLock<PathBuf> = OnceLock::new();
    SOCKCAP.get_or_init(|| {
        let target = target_directory();
        let output = Command::new(repository().join("scripts/build"))
            .env("CARGO_TARGET_DIR", &target)
            .output()
            .expect("scripts/build runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("release/sockcap")
    })
}
