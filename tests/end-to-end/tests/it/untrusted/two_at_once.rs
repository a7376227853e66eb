//! Two commands on one directory: the second waits for the first, and reports it.

use std::fs;
use std::process::Stdio;

use data_files::{DataPath, try_lock};

use super::planted::{PlantedPlace, await_end};

#[test]
fn the_second_command_waits_and_names_the_first() {
    let place = PlantedPlace::record_talker();
    let lock = try_lock(&DataPath::trusted(place.data_dir())).unwrap().unwrap();
    let err = place.file_path("waits");
    let mut report = place.data_command(&["report"]);
    report.stdout(Stdio::null()).stderr(fs::File::create(&err).unwrap());
    let mut report = report.spawn().unwrap();
    let said = || fs::read_to_string(&err).unwrap();
    let mut looks = 0;
    while !said().contains("waiting for another sockcap") {
        assert!(report.try_wait().unwrap().is_none(), "it did not wait: {}", said());
        looks += 1;
        assert!(looks < 60_000, "it says nothing");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(said().contains(&format!("process {}", std::process::id())), "{}", said());
    assert!(!place.data_dir().join("messages.parquet").exists());
    drop(lock);
    assert!(await_end(&mut report, &["report"]).success(), "{}", said());
}

#[test]
fn many_concurrent_commands_all_succeed() {
    let place = PlantedPlace::record_talker();
    let commands: [&[&str]; 6] = [
        &["report"],
        &["analyze"],
        &["reconcile"],
        &["export", "messages", "-o", "out"],
        &["requests"],
        &["info"],
    ];
    let mut running: Vec<_> = commands
        .iter()
        .enumerate()
        .map(|(number, command)| {
            let err = place.file_path(&format!("err-{number}"));
            let mut started = place.data_command(command);
            started.stdout(Stdio::null()).stderr(fs::File::create(&err).unwrap());
            (command, started.spawn().unwrap(), err)
        })
        .collect();
    for (command, child, err) in &mut running {
        let status = await_end(child, command);
        assert!(status.success(), "{command:?}: {}", fs::read_to_string(err).unwrap());
    }
}

#[test]
fn half_written_files_of_a_killed_command_are_removed() {
    let place = PlantedPlace::record_talker();
    let left = place.data_dir().join("messages.parquet.unfinished-0123456789abcdef");
    fs::write(&left, "half").unwrap();
    assert!(place.run_to_end(&["report"]).status.success());
    assert!(!left.exists());
    // A command that is killed in the middle blocks no other.
    let mut killed = place.data_command(&["analyze"]);
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(place.run_to_end(&["report"]).status.success());
}
