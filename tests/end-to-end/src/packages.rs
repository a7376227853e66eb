//! Packages of pip and npm for tests, of fixed versions. Each set is installed once below the
//! target directory, and stays there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::capture::{python_path, run_successfully};
use crate::{repository, target_directory};

/// Held while a set of packages is installed, so that one set is installed at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

/// A Python with these packages of pip, such as `six==1.17.0`.
pub fn python_with(packages: &[&str]) -> PathBuf {
    let folder = install_packages("pip", packages, |folder| {
        run_successfully(Command::new(python_path()).args(["-m", "venv"]).arg(folder));
        run_successfully(
            Command::new(folder.join("bin/python"))
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(packages),
        );
    });
    folder.join("bin/python")
}

/// The `node_modules` with these packages of npm, such as `ws@8.18.0`.
pub fn node_modules_with(packages: &[&str]) -> PathBuf {
    let folder = install_packages("npm", packages, |folder| {
        fs::create_dir_all(folder).expect("a folder for packages");
        run_successfully(
            Command::new("npm")
                .args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"])
                .arg(folder)
                .args(packages),
        );
    });
    folder.join("node_modules")
}

/// `report/web/`, with the packages in its lock file.
pub fn web_packages() -> PathBuf {
    run_successfully(&mut Command::new(repository().join("scripts/install-page-tools")));
    repository().join("report/web")
}

/// The folder of a set of packages. An incomplete installation is repeated.
fn install_packages(tool: &str, packages: &[&str], install: impl FnOnce(&Path)) -> PathBuf {
    let allowed = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = packages.join(" ").chars().map(allowed).collect();
    let folder = target_directory().join("test-packages").join(tool).join(name);
    let stamp = folder.join("installed");
    let _one = INSTALLING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !stamp.exists() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.parent().expect("the tool's folder")).expect("a folder");
        install(&folder);
        fs::write(stamp, "").expect("the stamp of what is installed");
    }
    folder
}
