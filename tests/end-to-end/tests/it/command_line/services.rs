//! A hardened systemd service is recorded by the drop-in that docs/systemd.md shows. A separate
//! systemd runs in its own namespaces; the machine's own, if there is one, is not involved. This
//! needs root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use end_to_end::capture::{preloaded_library, program_path};
use end_to_end::{repository, sockcap_program};

/// Answers one request.
const SERVER: &str = "import socket; s = socket.create_server(('127.0.0.1', 18997)); c, _ = s.accept(); c.send(c.recv(9))";

/// Calls the server as soon as it exists. The namespace has no network except loopback.
const CLIENT: &str = "import socket, time
while True:
    try: c = socket.create_connection(('127.0.0.1', 18997)); break
    except ConnectionRefusedError: time.sleep(0.05)
c.send(b'question'); assert c.recv(9) == b'question'";

/// The drop-in that the page of the manual shows.
fn drop_in() -> String {
    let page = fs::read_to_string(repository().join("docs/systemd.md")).unwrap();
    let (_, block) = page.split_once("```ini\n").unwrap();
    block.split_once("```").unwrap().0.to_owned()
}

/// The work of the first process: it prepares the folders of a systemd, and executes it. The unit
/// `exit` ends systemd.
fn boot_services(files: &Path, data: &Path) -> String {
    format!(
        "set -e
         mount --make-rprivate /
         mount -t tmpfs -o mode=755 tmpfs /run
         mount -t proc proc /proc
         ip link set lo up
         mkdir -p /run/lock /run/systemd/system/server.service.d /run/bin /run/usr/lib/sockcap
         cp {library} /run/usr/lib/sockcap/libsockcap.so
         cp {files}/server.service {files}/client.service /run/systemd/system/
         cp {files}/sockcap.conf /run/systemd/system/server.service.d/
         cp {files}/client.py {files}/server.py /run/bin/
         mkdir -p /run/data && mount --bind {data} /run/data
         export container=other
         exec {systemd} --system --unit=client.service --log-target=null --show-status=no",
        library = preloaded_library().display(),
        files = files.display(),
        data = data.display(),
        systemd = "/lib/systemd/systemd",
    )
}

#[test]
fn a_service_is_recorded_by_the_drop_in_of_the_page() {
    assert!(Path::new("/lib/systemd/systemd").exists(), "this test needs systemd: install it");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    let data = path.join("data");
    for directory in ["", "hosts", "hosts/web1"] {
        let directory = data.join(directory);
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o1777)).unwrap();
    }
    // The paths of the page, replaced by those of this test.
    let drop_in = drop_in()
        .replace("/usr/lib/sockcap/libsockcap.so", "/run/usr/lib/sockcap/libsockcap.so")
        .replace("/var/lib/sockcap", "/run/data");
    fs::write(path.join("sockcap.conf"), drop_in).unwrap();
    fs::write(path.join("server.py"), SERVER).unwrap();
    fs::write(path.join("client.py"), CLIENT).unwrap();
    let hardened = "DynamicUser=yes\nProtectSystem=strict\nProtectHome=yes\nNoNewPrivileges=yes\n\
                    MemoryDenyWriteExecute=yes\nSystemCallFilter=@system-service\nCapabilityBoundingSet=\n";
    fs::write(
        path.join("server.service"),
        format!(
            "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/usr/bin/python3 /run/bin/server.py\n{hardened}\
             StandardError=file:/run/data/said\n"
        ),
    )
    .unwrap();
    // When the client has its response the server ends by itself; only then everything ends.
    fs::write(
        path.join("client.service"),
        "[Unit]\nDefaultDependencies=no\nRequires=server.service\nAfter=server.service\n\
         SuccessAction=exit\nFailureAction=exit\n[Service]\nType=oneshot\nTimeoutStartSec=60\n\
         ExecStart=/usr/bin/python3 /run/bin/client.py\nStandardError=file:/run/data/client\n",
    )
    .unwrap();
    let status = Command::new(program_path("unshare"))
        .args([
            "--mount",
            "--pid",
            "--fork",
            "--ipc",
            "--uts",
            "--net",
            "--kill-child",
            "bash",
            "-c",
        ])
        .arg(boot_services(path, &data))
        .stdin(Stdio::null())
        .status()
        .unwrap();
    let said = |name: &str| fs::read_to_string(data.join(name)).unwrap_or_default();
    assert!(status.success(), "{status}: {}", said("client"));
    assert_eq!(said("said"), "");
    let output = Command::new(sockcap_program())
        .args(["info", "--all-users", "--json", "-d"])
        .arg(&data)
        .output()
        .unwrap();
    let info: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let processes = info["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 1, "{info:#}");
    assert_eq!(
        (&processes[0]["host"], &processes[0]["has_sockets"]),
        (&"web1".into(), &true.into()),
        "{info:#}"
    );
}
