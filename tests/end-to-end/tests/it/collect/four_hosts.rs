//! Four hosts, each recorded into a directory of its own, shipped while they run, gathered by a
//! fifth, reconciled and reported there: the same as if all had been recorded in one place.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{program, python, successful};
use end_to_end::command::succeeds;
use end_to_end::gathering::{Collector, assert_same, logs};
use end_to_end::lab::{Host, Lab};
use end_to_end::sockcap;
use rustix::process::Signal;

/// Each request asks the store once for every one of three keys.
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
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for (name, bytes) in logs(from) {
        fs::write(to.join(name), bytes).unwrap();
    }
}

#[test]
fn four_hosts_are_recorded_shipped_gathered_reconciled_and_reported() {
    let mut lab = Lab::new();
    let network = lab.network(3);
    let [client, front, app, store, gatherer] =
        ["client", "front", "app", "store", "gatherer"].map(|name| lab.host(name, network));
    let hosts = [&client, &front, &app, &store];
    let collector = Collector::new(&gatherer, &lab.file(""), &hosts.map(Host::name));
    let data = |host: &Host| -> PathBuf { lab.file(&format!("data-{}", host.name())) };
    let recorded = |host: &Host, program: &Path| {
        let mut command = host.recorded(program);
        command.env("SOCKCAP_DIR", data(host));
        command
    };
    let gathering = collector.start();
    let shippers = hosts.map(|host| {
        host.start(&mut collector.ship(host, &data(host), &["--follow", "--interval", "100ms"]))
    });

    let settings = lab.file("haproxy.conf");
    let text = format!(
        "defaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n\
         listen all\n bind 0.0.0.0:80\n server app {}\n",
        app.at(8000)
    );
    fs::write(&settings, text).unwrap();
    let redis = ["--bind", "0.0.0.0", "--protected-mode", "no", "--save", ""];
    let servers = [
        store.serve(recorded(&store, &program("redis-server")).args(redis), &["tcp:6379"]),
        app.serve(
            recorded(&app, &python()).args(["-c", APPLICATION, &store.v4().to_string()]),
            &["tcp:8000"],
        ),
        front.serve(
            recorded(&front, &program("haproxy")).arg("-db").arg("-f").arg(&settings),
            &["tcp:80"],
        ),
    ];
    for _ in 0..REQUESTS {
        let url = format!("http://{}/", front.at(80));
        assert_eq!(successful(recorded(&client, &program("curl")).args(["-sS", &url])), "done");
    }
    for server in servers.into_iter().rev() {
        server.stop(Signal::TERM);
    }
    for (host, shipper) in hosts.iter().zip(shippers) {
        collector.wait_for(host, &logs(&data(host).join("hosts").join(host.name())));
        shipper.stop(Signal::TERM);
    }
    let said = gathering.stop(Signal::TERM);
    assert!(said.contains("4 hosts gathered; next: sockcap report"), "{said}");
    assert!(said.lines().any(|line| line.starts_with("store ") && line.contains(" no ")), "{said}");

    // The same in one place, without a network.
    let together = lab.file("together");
    for host in hosts {
        let logs_of = |data: &Path| logs(&data.join("hosts").join(host.name()));
        assert_same(&logs_of(&collector.data), &logs_of(&data(host)));
        copy(
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
        successful(Command::new(sockcap()).args(["reconcile", "-d"]).arg(data));
    }
    let messages = |data: &Path| fs::read(data.join("messages.parquet")).unwrap();
    assert!(
        messages(&collector.data) == messages(&together),
        "other messages than without shipping"
    );

    let report = succeeds(&["report", "-d", collector.data.to_str().unwrap()], &lab.file(""));
    // A request goes through all four hosts, and back.
    for hop in [
        "curl → front/haproxy:80",
        "front/haproxy → app/python3:8000",
        "app/python3 → store/redis-server:6379",
    ] {
        assert!(report.contains(hop), "{hop}\n{report}");
    }
    let links =
        succeeds(&["export", "links", "-d", collector.data.to_str().unwrap()], &lab.file(""));
    assert!(links.lines().count() > REQUESTS * 9, "{}", links.lines().count());
}
