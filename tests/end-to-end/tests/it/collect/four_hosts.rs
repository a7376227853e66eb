//! Four hosts, each recorded into a directory of its own, shipped while they run, gathered by a
//! fifth, reconciled and reported there: the result is the same as if all had been recorded in one
//! place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{program_path, python_path, run_successfully};
use end_to_end::command::assert_succeeds;
use end_to_end::gathering::{TestCollector, assert_same, logs_in};
use end_to_end::lab::{HostLab, LabHost};
use end_to_end::sockcap_program;
use rustix::process::Signal;

/// Each request calls the store once for every one of three keys.
const APPLICATION: &str = r#"
import http.server, socket, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        store = socket.create_connection((sys.argv[1], 6379))
        for key in ("a", "b", "c"):
            store.sendall(b"*2\r\n$3\r\nGET\r\n$1\r\n%s\r\n" % key.encode())
            store.recv(100)
        store.close()
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"done")
    def log_message(self, *arguments): pass
http.server.HTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
"#;

const REQUESTS: usize = 40;

/// Copies a directory of logs.
fn copy_logs(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for (name, bytes) in logs_in(from) {
        fs::write(to.join(name), bytes).unwrap();
    }
}

#[test]
fn four_hosts_are_recorded_shipped_gathered_reconciled_and_reported() {
    let mut lab = HostLab::new();
    let network = lab.add_network(3);
    let [client, front, app, store, gatherer] =
        ["client", "front", "app", "store", "gatherer"].map(|name| lab.add_host(name, network));
    let hosts = [&client, &front, &app, &store];
    let collector = TestCollector::new(&gatherer, &lab.file_path(""), &hosts.map(LabHost::name));
    let data = |host: &LabHost| -> PathBuf { lab.file_path(&format!("data-{}", host.name())) };
    let recorded = |host: &LabHost, program: &Path| {
        let mut command = host.recorded_command(program);
        command.env("SOCKCAP_DIR", data(host));
        command
    };
    let gathering = collector.start_collector();
    let shippers = hosts.map(|host| {
        host.start_program(&mut collector.ship_command(
            host,
            &data(host),
            &["--follow", "--interval", "100ms"],
        ))
    });

    let settings = lab.file_path("haproxy.conf");
    let text = format!(
        "defaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n\
         listen all\n bind 0.0.0.0:80\n server app {}\n",
        app.address_at(8000)
    );
    fs::write(&settings, text).unwrap();
    let redis = ["--bind", "0.0.0.0", "--protected-mode", "no", "--save", ""];
    let servers = [
        store.start_server(
            recorded(&store, &program_path("redis-server")).args(redis),
            &["tcp:6379"],
        ),
        app.start_server(
            recorded(&app, &python_path()).args([
                "-c",
                APPLICATION,
                &store.first_ipv4().to_string(),
            ]),
            &["tcp:8000"],
        ),
        front.start_server(
            recorded(&front, &program_path("haproxy")).arg("-db").arg("-f").arg(&settings),
            &["tcp:80"],
        ),
    ];
    for _ in 0..REQUESTS {
        let url = format!("http://{}/", front.address_at(80));
        assert_eq!(
            run_successfully(recorded(&client, &program_path("curl")).args(["-sS", &url])),
            "done"
        );
    }
    for server in servers.into_iter().rev() {
        server.stop_by(Signal::TERM);
    }
    for (host, shipper) in hosts.iter().zip(shippers) {
        collector.wait_for(host, &logs_in(&data(host).join("hosts").join(host.name())));
        shipper.stop_by(Signal::TERM);
    }
    let said = gathering.stop_by(Signal::TERM);
    assert!(said.contains("4 hosts gathered; next: sockcap report"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("store ") && line.contains(" no ")), "{said}");

    // The same in one place, without a network.
    let together = lab.file_path("together");
    for host in hosts {
        let logs_of = |data: &Path| logs_in(&data.join("hosts").join(host.name()));
        assert_same(&logs_of(&collector.data), &logs_of(&data(host)));
        copy_logs(
            &data(host).join("hosts").join(host.name()),
            &together.join("hosts").join(host.name()),
        );
        let hints = fs::read_to_string(
            collector.data.join("hosts").join(host.name()).join("clock-hints.csv"),
        )
        .unwrap();
        assert!(hints.lines().count() >= 5, "{hints}");
    }
    for data in [&collector.data, &together] {
        run_successfully(Command::new(sockcap_program()).args(["reconcile", "-d"]).arg(data));
    }
    let messages = |data: &Path| fs::read(data.join("messages.parquet")).unwrap();
    assert!(
        messages(&collector.data) == messages(&together),
        "other messages than without shipping"
    );

    let report =
        assert_succeeds(&["report", "-d", collector.data.to_str().unwrap()], &lab.file_path(""));
    // A request goes through all four hosts, and back.
    for hop in [
        "curl → front/haproxy:80",
        "front/haproxy → app/python3:8000",
        "app/python3 → store/redis-server:6379",
    ] {
        assert!(report.contains(hop), "{hop}\n{report}");
    }
    let links = assert_succeeds(
        &["export", "links", "-d", collector.data.to_str().unwrap()],
        &lab.file_path(""),
    );
    assert!(links.lines().count() > REQUESTS * 9, "{}", links.lines().count());
}
