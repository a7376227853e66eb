//! `sockcap record` and `sockcap info` for programs that cannot be seen, and the options of a
//! recording as a user gives them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{copy_program, program_path, run_successfully};
use end_to_end::command::{run_sockcap, to_text};
use end_to_end::sockcap_program;

/// Compiles a program that ends with status 7.
fn compile_program(directory: &Path, name: &str, arguments: &[&str], more: &str) -> PathBuf {
    let (source, binary) = (directory.join(format!("{name}.c")), directory.join(name));
    fs::write(&source, format!("{more}\nint main(void) {{ return 7; }}\n")).unwrap();
    run_successfully(
        Command::new(program_path("cc")).args(arguments).arg("-o").arg(&binary).arg(&source),
    );
    binary
}

fn write_script(directory: &Path, name: &str, first: &str) {
    fs::write(directory.join(name), format!("{first}\n")).unwrap();
    fs::set_permissions(directory.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn unrecordable_programs_are_reported_before_they_run() {
    const GO: &str = "__attribute__((section(\".go.buildinfo\"), used)) static int mark = 1;";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    compile_program(path, "static", &["-static"], "");
    compile_program(path, "static-pie", &["-static-pie"], "");
    compile_program(path, "go", &["-static"], GO);
    compile_program(path, "cgo", &[], GO);
    compile_program(path, "lost", &["-Wl,--dynamic-linker=/nowhere/ld.so"], "");
    let plain = compile_program(path, "plain", &[], "");
    let mut bytes = fs::read(&plain).unwrap();
    bytes[18] = 22; // e_machine: s390
    fs::write(path.join("foreign"), bytes).unwrap();
    fs::set_permissions(path.join("foreign"), fs::Permissions::from_mode(0o755)).unwrap();
    copy_program(&plain, &path.join("setuid"));
    chown(path.join("setuid"), Some(65534), None)
        .unwrap_or_else(|_| panic!("this test must run as root"));
    fs::set_permissions(path.join("setuid"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    write_script(path, "script", &format!("#!{}/static", path.display()));
    write_script(path, "orphan", "#!/nowhere/interpreter");

    let cases = [
        ("./static", "statically linked", 7),
        ("./static-pie", "statically linked", 7),
        ("./go", "a Go program, which loads no library", 7),
        ("./cgo", "a Go program, which calls the kernel past libc", 7),
        ("./setuid", "setuid", 7),
        ("./foreign", "another kind of machine (s390)", 126),
        ("./lost", "its interpreter /nowhere/ld.so is missing", 127),
        ("./script", "statically linked", 7),
        ("./orphan", "its interpreter /nowhere/interpreter is missing", 127),
    ];
    for (name, reason, status) in cases {
        let output = run_sockcap(&["record", "--", name], path);
        let error = to_text(&output.stderr);
        let warning = error.lines().next().unwrap_or("");
        assert!(
            warning.starts_with("sockcap: warning: ") && warning.contains(reason),
            "{name}: {error}"
        );
        assert_eq!(output.status.code(), Some(status), "{name} runs all the same: {error}");
        let output = run_sockcap(&["record", "--strict", "--", name], path);
        let error = to_text(&output.stderr);
        assert!(error.contains(reason) && error.contains("--strict"), "{name}: {error}");
        assert_eq!(output.status.code(), Some(125), "{name}");
    }
    // Through a shebang with env and a setting, and by its name alone.
    let output = run_sockcap(&["record", "--", "env", "A=1", "./static"], path);
    assert!(to_text(&output.stderr).contains("./static: a statically linked"), "{output:?}");
    for name in ["./plain", "sh"] {
        let command: &[&str] = if name == "sh" { &["sh", "-c", "exit 7"] } else { &[name] };
        let output = run_sockcap(&[&["record", "--strict", "--"], command].concat(), path);
        assert_eq!(output.status.code(), Some(7), "{name}: {output:?}");
        assert!(!to_text(&output.stderr).contains("warning"), "{output:?}");
    }
}

#[test]
fn info_lists_capture_gaps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    compile_program(path, "static", &["-static"], "");
    // A server that is not recorded, called by a recorded client, over TCP and over a unix socket.
    let script = r#"
import os, socket, subprocess
tcp = socket.create_server(("127.0.0.1", 0)); unix = socket.socket(socket.AF_UNIX); unix.bind("s"); unix.listen()
client = """
import socket, subprocess, sys
a = socket.create_connection(("127.0.0.1", int(sys.argv[2]))); b = socket.socket(socket.AF_UNIX); b.connect("s")
for s in (a, b): s.send(b"q"); s.recv(1)
one = socket.create_server(("127.0.0.1", 0)); two = socket.create_connection(one.getsockname()); three, _ = one.accept()
two.send(b"to myself"); three.recv(10)
subprocess.run(["/bin/true"]); subprocess.run(["./static"], close_fds=False)
"""
import sys
child = subprocess.Popen([sys.argv[1], "record", "--host", "web1", "--", "/usr/bin/python3", "-c", client, sys.argv[1],
                          str(tcp.getsockname()[1])])
for s in (tcp, unix): peer, _ = s.accept(); peer.recv(1); peer.send(b"a")
assert child.wait() == 0
print(tcp.getsockname()[1], os.getpid())
"#;
    let printed = run_successfully(
        Command::new("/usr/bin/python3")
            .args(["-c", script])
            .arg(sockcap_program())
            .current_dir(path),
    );
    let (port, pid) = printed.trim().split_once(' ').unwrap();
    let info = to_text(&run_sockcap(&["info"], path).stdout);
    let list = |heading: &str| -> Vec<String> {
        let lines = info.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
        lines.take_while(|line| line.starts_with("  ")).map(|line| line.trim().to_owned()).collect()
    };
    // /bin/true used no socket, and is not mentioned.
    let unseen = list("programs that recorded processes started and that are not recorded");
    assert_eq!(unseen.len(), 2, "{info}");
    assert!(unseen[0].starts_with("./static (statically linked): pid "), "{info}");
    assert!(
        unseen[0].contains(" on web1, started by ") && unseen[0].contains("python3 -c"),
        "{info}"
    );
    let advice = "statically linked: record with --inject (x86-64), or run it under strace, then \
                   'sockcap import strace'";
    assert_eq!(unseen[1], advice, "{info}");
    // The report mentions it in its first lines; the page shows the same as the JSON.
    let report = to_text(&run_sockcap(&["report"], path).stdout);
    let note = "1 process of ./static, not recorded: statically linked; record with --inject \
                (x86-64), or run it under strace, then 'sockcap import strace'";
    let first = report.lines().take(10).collect::<Vec<_>>().join(" ");
    let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(first.contains(note), "{report}");
    let json = to_text(&run_sockcap(&["report", "--json"], path).stdout);
    assert!(json.contains("process of ./static, not recorded: statically linked"), "{json}");
    let ends = list("connections with an unrecorded other end on a recorded host");
    assert_eq!(ends.len(), 2, "not what it has with itself: {info}");
    assert!(ends[0].starts_with(&format!("127.0.0.1:{port}: 1 flow of pid ")), "{info}");
    assert!(ends[1].contains(&format!("s of process {pid}: 1 flow of pid ")), "{info}");
}

/// C: the note by which Go marks its builds.
const NOTE_OF_GO: &str = r#"
__attribute__((section(".note.go.buildid"), aligned(4), used))
static const struct { unsigned name_size, size, kind; char name[4], id[4]; } note = {4, 4, 4, "Go", "id"};
"#;

/// A daemon that has used a socket, and prints its id.
const DAEMON: &str = r#"
import os, socket, time
one, other = socket.socketpair(); one.send(b"work"); other.recv(4)
open("started.part", "w").write(str(os.getpid())); os.rename("started.part", "started")
time.sleep(600)
"#;

#[test]
fn a_recording_names_unrecorded_and_surviving_programs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    compile_program(path, "static", &["-static"], "");
    compile_program(path, "go", &[], NOTE_OF_GO);
    fs::write(path.join("daemon.py"), DAEMON).unwrap();
    let script = "./static; ./go; /usr/bin/python3 daemon.py >/dev/null 2>&1 & \
                  n=0; until [ -e started ] || [ $((n += 1)) -gt 3000 ]; do /bin/sleep 0.02; done";
    let output = run_sockcap(&["record", "--", "sh", "-c", script], path);
    let errors = to_text(&output.stderr);
    let pid = fs::read_to_string(path.join("started")).unwrap();
    let listed = |heading: &str| -> Vec<String> {
        let info = to_text(&run_sockcap(&["info"], path).stdout);
        let lines = info.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
        lines.take_while(|line| line.starts_with("  ")).map(str::to_owned).collect()
    };
    let running = listed("still running and recorded");
    run_successfully(Command::new("kill").arg(&pid));
    // Its parent may take long to wait for it.
    while fs::read(format!("/proc/{pid}/maps")).is_ok_and(|maps| !maps.is_empty()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(output.status.success(), "{errors}");
    for (program, cause) in [("static", "statically linked"), ("go", "written in Go")] {
        let line = format!("sockcap: not recorded: {program}: {cause}");
        let line = errors
            .lines()
            .find(|errors| errors.starts_with(&line))
            .unwrap_or_else(|| panic!("{errors}"));
        assert!(line.contains("--inject"), "{line}");
    }
    let outlives = errors.lines().find(|line| line.contains("still running")).unwrap_or_default();
    assert!(outlives.contains(&format!("daemon.py (pid {pid})")), "{errors}");
    assert!(outlives.ends_with(&format!("'kill {pid}' ends them")), "{errors}");
    assert_eq!(running.len(), 1, "{running:?}");
    assert!(running[0].contains(&format!("pid {pid} on ")), "{running:?}");
    assert_eq!(listed("still running and recorded"), Vec::<String>::new(), "it has ended");
}

#[test]
fn options_of_a_recording_are_flags() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let script = r#"
import select, socket
a, b = socket.socketpair(); p = select.poll(); p.register(b, select.POLLIN)
a.send(b"abcdefgh"); p.poll(); b.recv(10)
"#;
    let python = ["--", "/usr/bin/python3", "-c", script];
    let dump = |host: &str| {
        let logs = fs::read_dir(path.join("sockcap.data/hosts").join(host));
        let mut all = String::new();
        for log in logs.into_iter().flatten() {
            all += &to_text(
                &run_sockcap(&["dump", log.unwrap().path().to_str().unwrap()], path).stdout,
            );
        }
        all
    };
    let record = |flags: &[&str]| {
        let output = run_sockcap(&[&["record"], flags, &python].concat(), path);
        assert!(output.status.success(), "{output:?}");
    };
    record(&["--host", "all", "--waits", "--cpu", "--fingerprint", "4", "--command", "x,python3"]);
    let all = dump("all");
    for line in [" wait Poll gave 1 took ", " cpu ", " send first 4 bytes crc ed82cd11"] {
        assert!(all.contains(line), "{line}: {all}");
    }
    assert!(!all.contains(" head "), "nothing of the payload without being asked: {all}");
    record(&["--host", "heads", "--protocols"]);
    // The recording ends with names in place of snippets.
    let heads = dump("heads");
    assert!(heads.contains(" head flow 1 send other byte 0 "), "{heads}");
    assert!(!heads.contains("byte 0 \"abcdefgh\""), "{heads}");
    record(&["--host", "names", "--protocols=http,grpc"]);
    assert!(!dump("names").contains(" head "), "it is none of these");
    record(&["--host", "ports", "--port", "80,443", "--port", "22"]);
    assert!(!dump("ports").contains("flow"), "no unix socket has such a port");
    record(&["--host", "none", "--command", "nginx"]);
    assert_eq!(dump("none"), "");
    record(&["--host", "size", "--max-size", "64K", "--keep", "newest"]);
    for wrong in [
        &["--max-size", "much"][..],
        &["--keep", "newest"],
        &["--port", "70000"],
        &["--fingerprint", "0"],
        &["--command", "/bin/sh"],
        &["--protocols=a/b"],
    ] {
        let output = run_sockcap(&[&["record"], wrong, &python].concat(), path);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
    let help = to_text(&run_sockcap(&["record", "--help"], path).stdout);
    for flag in [
        "--strict",
        "--max-size",
        "--keep",
        "--waits",
        "--cpu",
        "--fingerprint",
        "--protocols",
        "--port",
        "--command",
    ] {
        assert!(help.contains(flag), "{flag}");
    }
}
