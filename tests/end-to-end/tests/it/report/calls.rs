//! `sockcap export calls`: an imported table of calls is exported with the inferred parents, and
//! calls of a captured connection are paired by its turns.

use std::fs;

use end_to_end::command::{assert_succeeds, run_sockcap};

const CALLS: &str = "\
call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv,req_bytes,resp_bytes
a,client,web,1000,2000,8000,9000,10,20
b,web,db,3000,4000,5000,6000,30,40
c,web,log,7000,7500,,,50,
";

#[test]
fn imported_calls_come_back_with_their_parents() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("calls.csv"), CALLS).unwrap();
    assert_succeeds(&["import", "calls", "calls.csv"], directory.path());
    let csv = assert_succeeds(&["export", "calls"], directory.path());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "call_id,parent_call_id,probability,caller,callee,src_endpoint,dst_endpoint,protocol,\
         request_send,request_recv,response_send,response_recv,request_bytes,response_bytes"
    );
    assert_eq!(lines[1], "a,,1.0,client,web,,,other,1000,2000,8000,9000,10,20");
    let fields: Vec<&str> = lines[2].split(',').collect();
    assert_eq!([fields[0], fields[1], fields[3], fields[4]], ["b", "a", "web", "db"]);
    let probability: f64 = fields[2].parse().unwrap();
    assert!(probability > 0.5 && probability <= 1.0, "{csv}");
    // A call without a response, which was also made for the first call. Its time of receipt is
    // empty: with only one message, the clock of the receiver is not known.
    let fields: Vec<&str> = lines[3].split(',').collect();
    assert_eq!(fields[..2], ["c", "a"], "{csv}");
    assert_eq!((fields[8], &fields[10..]), ("7000", &["", "", "50", ""][..]), "{csv}");
    assert_eq!(lines.len(), 4);
}

#[test]
fn calls_and_links_are_written_in_every_format() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("calls.csv"), CALLS).unwrap();
    assert_succeeds(&["import", "calls", "calls.csv"], directory.path());
    let json = assert_succeeds(&["export", "calls", "--format", "json"], directory.path());
    assert_eq!(json.lines().count(), 3);
    assert!(
        json.starts_with(r#"{"call_id":"a","probability":1.0,"caller":"client","callee":"web""#),
        "{json}"
    );
    for table in ["calls", "links", "paths", "patterns"] {
        for format in ["csv", "json", "parquet"] {
            let output =
                run_sockcap(&["export", table, "--format", format], directory.path()).stdout;
            assert!(!output.is_empty(), "{table} as {format}");
            assert_eq!(output.starts_with(b"PAR1"), format == "parquet", "{table} as {format}");
        }
    }
}

/// A client that sends three requests over one connection, and a server in another process.
const TALK: &str = r#"
import os, socket
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer, _ = server.accept()
    while data := peer.recv(100):
        peer.sendall(data + data)
    os._exit(0)
client = socket.create_connection(server.getsockname())
for size in (10, 20, 30):
    client.sendall(b"q" * size)
    received = 0
    while received < 2 * size:
        received += len(client.recv(100))
client.close()
os.wait()
"#;

#[test]
fn a_captured_connection_is_a_call_a_turn() {
    let directory = tempfile::tempdir().unwrap();
    assert_succeeds(&["record", "--", "/usr/bin/python3", "-c", TALK], directory.path());
    let csv = assert_succeeds(&["export", "calls"], directory.path());
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 3, "{csv}");
    for (row, size) in rows.iter().zip([10, 20, 30]) {
        assert_eq!((row[1], row[7]), ("", "tcp"), "{csv}");
        assert_eq!(row[12..], [size.to_string(), (2 * size).to_string()], "{csv}");
        let times: Vec<i64> = row[8..12].iter().map(|time| time.parse().unwrap()).collect();
        assert!(times.is_sorted(), "{csv}");
    }
}
