//! Results are complete or missing: a full disk is an error, and earlier results stay.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::planted::PlantedPlace;

/// A small file system, mounted until it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount_small(at: &Path, size: &str) -> SmallDisk {
        fs::create_dir_all(at).unwrap();
        let option = format!("size={size}");
        let status =
            Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(at).status();
        assert!(status.unwrap().success(), "a tmpfs can be mounted (as root)");
        SmallDisk(at.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_page_on_a_full_disk_is_an_error_and_the_former_one_stays() {
    let place = PlantedPlace::record_talker();
    let disk = SmallDisk::mount_small(&place.file_path("disk"), "64k");
    let page = disk.0.join("page.html");
    fs::write(&page, "former").unwrap();
    let output = place.run_to_end(&["report", "--html", page.to_str().unwrap()]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{output:?}");
    assert!(error.contains("page.html") && error.contains("No space left"), "{error}");
    assert_eq!(fs::read_to_string(&page).unwrap(), "former");
    assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 1, "nothing else is left");
    for command in [&["export", "messages"][..], &["requests", "--json"]] {
        let result = disk.0.join("result");
        fs::write(&result, "former").unwrap();
        fs::write(disk.0.join("filler"), "").unwrap();
        let filler = fs::File::options().append(true).open(disk.0.join("filler")).unwrap();
        while std::io::Write::write_all(&mut &filler, &[0; 512]).is_ok() {}
        let mut arguments = command.to_vec();
        arguments.extend(["-o", result.to_str().unwrap()]);
        let output = place.run_to_end(&arguments);
        assert!(!output.status.success(), "{arguments:?}: {output:?}");
        assert_eq!(fs::read_to_string(&result).unwrap(), "former", "{arguments:?}");
        // Its room is freed immediately, although a process that another test is starting may still
        // have the descriptor: otherwise the next filler would end early, and there would be room
        // once that descriptor is closed.
        filler.set_len(0).unwrap();
        fs::remove_file(disk.0.join("filler")).unwrap();
    }
}

#[test]
fn a_page_in_the_data_directory_is_complete_or_missing() {
    let place = PlantedPlace::record_talker();
    assert!(place.run_to_end(&["analyze"]).status.success());
    let disk = SmallDisk::mount_small(&place.file_path("disk"), "256k");
    let copied =
        Command::new("cp").arg("-r").arg(place.data_dir()).arg(disk.0.join("data")).status();
    assert!(copied.unwrap().success());
    let filler = fs::File::create(disk.0.join("filler")).unwrap();
    while std::io::Write::write_all(&mut &filler, &[0; 512]).is_ok() {}
    let mut report = Command::new(end_to_end::sockcap_program());
    let output = report.arg("report").arg("-d").arg(disk.0.join("data")).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    assert!(!disk.0.join("data/report.html").exists());
}
