//! Programs with the same name are distinguished by their container and pod: real processes in
//! control groups with names like those of Docker and Kubernetes.

use std::fs;
use std::process::{Command, Stdio};

use end_to_end::capture::{program_path, python_path, run_successfully};
use end_to_end::command::assert_succeeds;
use end_to_end::sockcap_program;
use serde_json::Value;

const CONTAINER: &str = "docker/3f4e5d6c7b8a99887766554433221100ffeeddccbbaa00112233445566778899";
const POD: &str = "kubepods/besteffort/pod8a7b6c5d-0000-1111-2222-333344445555/\
                   00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// A server of `asks` requests if it is given one port, and a client of the servers at all ports if
/// it is given several.
const SHOP: &str = r#"
import socket, sys
ports, asks = [int(port) for port in sys.argv[2:]], 20
if sys.argv[1] == "serve":
    listener = socket.create_server(("127.0.0.1", ports[0]))
    with listener.accept()[0] as peer:
        for _ in range(asks):
            peer.sendall(peer.recv(100))
else:
    for port in ports:
        for _ in range(1000):
            try:
                peer = socket.create_connection(("127.0.0.1", port))
                break
            except ConnectionRefusedError:
                __import__("time").sleep(0.01)
        for _ in range(asks):
            peer.sendall(b"a question")
            assert peer.recv(100)
        peer.close()
"#;

/// Mounts the control groups, records a command in two of them, and removes them.
const OUTSIDE: &str = r#"
ip link set lo up && mkdir groups && mount -t cgroup2 cgroup2 groups || exit
mkdir -p "groups/$1" "groups/$2" || exit
"$SOCKCAP" record -- sh inside.sh "$1" "$2"
status=$?
cd groups && rmdir -p "$1" "$2" 2>/dev/null
exit $status
"#;

/// Two servers, each in a control group, and their client.
const INSIDE: &str = r#"
serve() { echo 0 >"groups/$1/cgroup.procs" && exec "$PYTHON" shop.py serve "$2"; }
(serve "$1" 7001) & (serve "$2" 7002) &
"$PYTHON" shop.py ask 7001 7002 && wait
"#;

#[test]
fn a_container_and_a_pod_are_part_of_a_programs_name() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path();
    fs::write(work.join("shop.py"), SHOP).unwrap();
    fs::write(work.join("inside.sh"), INSIDE).unwrap();
    let mut command = Command::new(program_path("unshare"));
    command.args(["--mount", "--net", "sh", "-c", OUTSIDE, "sh", CONTAINER, POD]);
    command.env("PYTHON", python_path()).env("SOCKCAP", sockcap_program());
    run_successfully(command.current_dir(work).stdin(Stdio::null()));
    let nodes = assert_succeeds(&["export", "nodes", "--format", "json"], work);
    let nodes: Vec<Value> = nodes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let units: Vec<&str> = nodes.iter().filter_map(|node| node["unit"].as_str()).collect();
    for unit in ["3f4e5d6c7b8a", "pod-8a7b6c5d-000"] {
        assert!(units.contains(&unit), "{nodes:?}");
    }
    let report = assert_succeeds(&["report"], work);
    for name in ["3f4e5d6c7b8a/shop.py", "pod-8a7b6c5d-000/shop.py"] {
        assert!(report.contains(name), "{report}");
    }
}
