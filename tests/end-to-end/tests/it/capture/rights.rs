//! A setuid program that drops its rights and executes itself to regain them: no library is loaded
//! then, and sockcap's advice works.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use end_to_end::capture::{TestRecording, program_path, run_successfully};
use end_to_end::command::{assert_succeeds, run_sockcap, to_text};

/// Number of requests.
const REQUESTS: usize = 3;

#[test]
fn the_advice_for_a_program_that_regains_its_rights_works() {
    let recording = TestRecording::new();
    let regains = recording.compile_program("regains");
    let folder = recording.file_path("");
    for (path, mode) in [(&folder, 0o755), (&regains, 0o4755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    let (command, requests) = (regains.display().to_string(), REQUESTS.to_string());
    let output = run_sockcap(&["record", "-d", "recorded", "--", &command, &requests], &folder);
    let said = to_text(&output.stderr);
    assert!(output.status.success(), "{said}");
    for words in ["has the rights of another user", "as root under strace", "import strace --help"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    let info = assert_succeeds(&["info", "-d", "recorded"], &folder);
    assert!(info.contains(&format!("and that are not recorded: {REQUESTS}")), "{info}");
    assert!(info.contains("as root under strace"), "{info}");

    // As advised, with the command lines in the help.
    program_path("strace");
    let help = assert_succeeds(&["import", "strace", "--help"], &folder);
    let lines = help.lines().map(str::trim);
    let lines = lines.filter(|line| line.starts_with("CALLS=") || line.starts_with("strace "));
    let script = lines.collect::<Vec<_>>().join("\n");
    let script = script.replace("FILE CMD", &format!("trace {command} {requests}"));
    assert!(script.contains("-o trace"), "{help}");
    run_successfully(Command::new("sh").args(["-c", &script]).current_dir(&folder));
    assert_succeeds(&["import", "strace", "trace", "-d", "traced"], &folder);
    let report = assert_succeeds(&["report", "-d", "traced", "--json"], &folder);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    // A request, its delivery by the executed program, and their responses.
    let patterns = report["patterns"].as_array().unwrap().iter();
    let whole = patterns.filter(|pattern| pattern["hops"].as_array().unwrap().len() == 4);
    let seen: u64 = whole.map(|pattern| pattern["count"].as_u64().unwrap()).sum();
    assert_eq!(seen, REQUESTS as u64, "{report:#}");
}
