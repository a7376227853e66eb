//! The HTML page: that the embedded program is the build of its sources in `report/web/`, and that
//! it works in a real browser, from disk and from `sockcap view`. The tests themselves are in
//! `report/web/test`; here they are run.

use std::fs;
use std::process::Command;

use end_to_end::capture::run_successfully;
use end_to_end::packages::web_packages;
use end_to_end::{repository, sockcap_program, target_directory};

#[test]
fn the_embedded_assets_equal_a_fresh_build() {
    let fresh = tempfile::tempdir().unwrap();
    run_successfully(
        Command::new("node").arg("build.mjs").arg(fresh.path()).current_dir(web_packages()),
    );
    let kept = repository().join("report/assets");
    let names = |directory: &std::path::Path| {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(fresh.path()), names(&kept));
    for name in names(&kept) {
        let [fresh, kept] =
            [fresh.path(), &kept].map(|directory| fs::read(directory.join(&name)).unwrap());
        assert!(
            fresh == kept,
            "{name:?} in report/assets is not what report/web/ builds: run 'npm run build' there"
        );
    }
}

#[test]
fn the_pages_program_is_well_typed_and_its_units_work() {
    run_successfully(Command::new("npx").args(["--no-install", "tsc"]).current_dir(web_packages()));
    run_successfully(
        Command::new("npx")
            .args(["--no-install", "vitest", "run", "--project", "unit"])
            .current_dir(web_packages()),
    );
}

#[test]
fn the_page_works_in_a_browser() {
    // This program draws the same as Chromium, without windows, in two thirds of the time.
    let chromium = "/usr/bin/chromium-headless-shell";
    assert!(
        fs::exists(chromium).unwrap_or(false),
        "Debian's package chromium-headless-shell is not installed: run scripts/test, which \
         installs it"
    );
    let shots = target_directory().join("screenshots/made");
    if shots.exists() {
        fs::remove_dir_all(&shots).unwrap();
    }
    run_successfully(
        Command::new("npx")
            .args(["--no-install", "vitest", "run", "--project", "browser"])
            .env("SOCKCAP", sockcap_program())
            .env("SOCKCAP_SHOTS", &shots)
            .env("CHROMIUM", chromium)
            .current_dir(web_packages()),
    );
    let shots = fs::read_dir(&shots).expect("screenshots").count();
    assert!(shots >= 80, "{shots} screenshots");
}
