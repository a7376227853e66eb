//! Traces of other tools and the user's names, from the command line to the report.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run_sockcap(arguments: &[&str], directory: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sockcap"))
        .args(arguments)
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Output of a command that must succeed.
fn run_successfully(arguments: &[&str], directory: &Path) -> String {
    let output = run_sockcap(arguments, directory);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Error text of a command that must fail.
fn run_failing(arguments: &[&str], directory: &Path) -> String {
    let output = run_sockcap(arguments, directory);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Compares with the reviewed output in a file; `UPDATE_GOLDEN=1` rewrites it.
fn assert_golden(name: &str, text: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        fs::write(golden, text).unwrap();
        return;
    }
    assert_eq!(fs::read_to_string(golden).unwrap(), text, "{name}");
}

/// Fifty calls of a client to web-1, which alternately calls 10.0.0.5 and 10.0.0.6.
fn fifty_calls() -> String {
    let mut table =
        "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv\n".to_owned();
    for call in 0..50 {
        let at = call * 1_000_000_000;
        let db = 5 + call % 2;
        let time = |after: i64| at + after * 1_000_000;
        table += &format!("{call}a,client,web-1,{},{},{},{}\n", at, time(1), time(9), time(10));
        table +=
            &format!("{call}b,web-1,10.0.0.{db},{},{},{},{}\n", time(2), time(3), time(6), time(7));
    }
    table
}

#[test]
fn imported_calls_are_reported_and_their_ids_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("calls.csv"), fifty_calls()).unwrap();
    let said = run_sockcap(&["import", "calls", "calls.csv"], path);
    assert!(
        said.status.success() && !path.join("sockcap.data/messages.parquet").exists(),
        "{said:?}"
    );
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(
        said.contains("200 messages of 100 calls in 1 file") && said.contains("imports/calls"),
        "{said}"
    );
    let report = run_successfully(&["report"], path);
    assert!(report.contains("200 messages") && report.contains("CLIENT → web-1"), "{report}");
    assert!(report.contains("web-1 → 10.0.0.5") && report.contains("50"), "{report}");
    let messages = run_successfully(&["export", "messages"], path);
    let ids =
        |id: &str| messages.lines().filter(|line| line.split(',').any(|field| field == id)).count();
    assert_eq!((ids("0a"), ids("0b"), ids("49b")), (2, 2, 2));
    let info = run_successfully(&["info"], path);
    assert!(info.contains("imported calls: 200 messages between 4 nodes"), "{info}");

    // A further import makes the existing results out of date.
    fs::write(path.join("more.csv"), "send_ts,recv_ts,src,dst\n1,2,x,y\n").unwrap();
    run_successfully(&["import", "messages", "more.csv"], path);
    assert_eq!(run_successfully(&["export", "messages"], path).lines().count(), 202);
    fs::remove_dir_all(path.join("sockcap.data/imports/more")).unwrap();
    assert_eq!(run_successfully(&["export", "messages"], path).lines().count(), 201);
}

#[test]
fn an_exported_trace_comes_back_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("calls.csv"), fifty_calls()).unwrap();
    run_successfully(&["import", "calls", "calls.csv"], path);
    run_successfully(&["export", "messages", "-o", "messages.csv"], path);
    run_successfully(&["export", "nodes", "-o", "nodes.csv"], path);
    run_successfully(
        &["import", "messages", "messages.csv", "--nodes", "nodes.csv", "-d", "copy"],
        path,
    );
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(run_successfully(&["export", "messages", "-d", "copy"], path), read("messages.csv"));
    assert_eq!(run_successfully(&["export", "nodes", "-d", "copy"], path), read("nodes.csv"));
    let patterns = run_successfully(&["export", "patterns"], path);
    assert_eq!(run_successfully(&["export", "patterns", "-d", "copy"], path), patterns);
}

#[test]
fn a_trace_of_project_5_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let trace: String = (0..20)
        .map(|call| {
            format!(
                "{call}.0 CALL a b {call}\n{call}.1 CALL b c {call}c\n{call}.3 RETURN c b {call}c\n{call}.35 RETURN b a {call}\n"
            )
        })
        .collect();
    fs::write(path.join("trace.txt"), trace + "nonsense\n").unwrap();
    let said = run_sockcap(&["import", "project5", "trace.txt"], path);
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(
        said.contains("80 messages of 81 lines")
            && said.contains("trace.txt:81: it has too few columns"),
        "{said}"
    );
    let report = run_successfully(&["report"], path);
    assert!(
        report.contains("CLIENT → b") && report.contains("b → c") && report.contains("200ms"),
        "{report}"
    );
}

#[test]
fn names_are_the_users_and_need_no_reconciling() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("calls.csv"), fifty_calls()).unwrap();
    run_successfully(&["import", "calls", "calls.csv"], path);
    let hops = |more: &[&str]| run_successfully(&[&["report", "--json"], more].concat(), path);
    assert!(hops(&[]).contains("\"10.0.0.5\""));
    let reconciled =
        fs::metadata(path.join("sockcap.data/messages.parquet")).unwrap().modified().unwrap();

    fs::write(
        path.join("sockcap.data/aliases"),
        "address 10.0.0.0/24 = db # both\nhost web-* = shop\n",
    )
    .unwrap();
    let report = hops(&[]);
    assert!(
        report.contains("\"db\"") && report.contains("\"shop\"") && !report.contains("10.0.0."),
        "{report}"
    );
    for grain in ["host", "process", "command", "thread"] {
        let report = hops(&["--node", grain]);
        assert!(
            report.contains("\"db\"") && report.contains("\"shop\"") && !report.contains("10.0.0."),
            "{grain}: {report}"
        );
    }
    assert!(run_successfully(&["export", "patterns"], path).contains("shop"));
    assert_golden("names.txt", &run_successfully(&["report", "--node", "command"], path));

    fs::write(path.join("other"), "command web-1 = front").unwrap();
    let report = hops(&["--aliases", "other"]);
    assert!(report.contains("\"front\"") && report.contains("\"10.0.0.6\""), "{report}");
    assert!(hops(&[]).contains("\"front\""), "what is not said is as in the last analysis");
    run_successfully(&["analyze"], path);
    assert!(hops(&[]).contains("\"shop\""), "and an analysis without options goes back");
    let now = fs::metadata(path.join("sockcap.data/messages.parquet")).unwrap().modified().unwrap();
    assert_eq!(now, reconciled, "nothing was reconciled again");

    fs::write(path.join("sockcap.data/aliases"), "address 10.0.0.0/24 = db\nhots web-1 = shop\n")
        .unwrap();
    for command in [&["report"][..], &["analyze"], &["export", "patterns"], &["info"]] {
        let said = run_failing(command, path);
        assert!(
            said.contains("aliases:2: unknown kind of rule 'hots'")
                && said.contains("WHICH = NAME"),
            "{said}"
        );
    }
    let said = run_failing(&["report", "--aliases", "nowhere"], path);
    assert!(said.contains("nowhere") && said.contains("No such file"), "{said}");
}

#[test]
fn servers_of_one_role_are_one_pattern_on_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("calls.csv"), fifty_calls()).unwrap();
    run_successfully(&["import", "calls", "calls.csv"], path);
    // The number of instances of each pattern, and the destinations of its hops.
    let patterns = |more: &[&str]| {
        run_successfully(&[&["report"], more].concat(), path);
        let table = run_successfully(&["export", "patterns"], path);
        let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
        let column = |name| rows[0].iter().position(|column| *column == name).unwrap();
        let mut lines: Vec<String> = Vec::new();
        for row in &rows[1..] {
            if row[column("hop")] == "0" {
                lines.push(row[column("count")].to_owned());
            }
            *lines.last_mut().unwrap() += &format!(" {}", row[column("dst")]);
        }
        lines
    };
    let by_names = ["25 web-1 10.0.0.5 web-1 CLIENT", "25 web-1 10.0.0.6 web-1 CLIENT"];
    let by_roles = ["50 web-1 any web-1 CLIENT"];
    assert_eq!(patterns(&[]), by_names);
    assert_eq!(patterns(&["--roles"]), by_roles, "the analysis is made again");
    assert_eq!(patterns(&[]), by_roles, "what is not said is as in the last one");
    assert_eq!(patterns(&["--node", "host"]), by_roles);
    assert_golden("roles.txt", &run_successfully(&["report", "--node", "command"], path));
    assert!(
        run_successfully(&["export", "paths"], path).lines().count() > 200,
        "each path has its own messages"
    );
    assert_eq!(patterns(&["--roles=false"]), by_names);
    let said = run_sockcap(&["analyze", "--roles"], path);
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(
        said.contains("1 path pattern in 50 instances") && said.contains("distinguished by roles"),
        "{said}"
    );
    run_successfully(&["analyze"], path);
    assert_eq!(patterns(&[]), by_names, "an analysis without options goes back");

    fs::write(path.join("sockcap.data/aliases"), "role 10.0.0.* = db\n").unwrap();
    assert_eq!(patterns(&[]), by_names, "a role is none without --roles");
    assert_eq!(patterns(&["--roles"]), ["50 web-1 db web-1 CLIENT"]);
}

#[test]
fn exported_messages_and_nodes_have_the_users_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let table = "send_ts,recv_ts,src,dst,src_host,dst_host,src_endpoint,dst_endpoint\n\
        1,2,shop.py,10.0.0.5:80,ip-7,10.0.0.5,10.0.0.7:999,10.0.0.5:80\n\
        3,4,shop.py,10.0.0.9:443,ip-7,10.0.0.9,10.0.0.7:998,10.0.0.9:443\n\
        5,6,shop.py,log,ip-7,ip-8,unix:#7/3,unix:/run/log\n";
    fs::write(path.join("table.csv"), table).unwrap();
    run_successfully(&["import", "messages", "table.csv"], path);
    // The nodes without their ids, and the ends of the messages.
    let nodes = |more: &[&str]| {
        let table = run_successfully(&[&["export", "nodes"], more].concat(), path);
        let row = |row: &str| [1, 4].map(|at| row.split(',').nth(at).unwrap().to_owned()).join(" ");
        table.lines().skip(1).map(row).collect::<Vec<_>>()
    };
    let ends = |more: &[&str]| {
        let table = run_successfully(&[&["export", "messages"], more].concat(), path);
        let row =
            |row: &str| [9, 10].map(|at| row.split(',').nth(at).unwrap().to_owned()).join(" ");
        table.lines().skip(1).map(row).collect::<Vec<_>>()
    };
    let captured_nodes =
        ["ip-7 shop.py", "10.0.0.5 10.0.0.5:80", "10.0.0.9 10.0.0.9:443", "ip-8 log"]
            .map(str::to_owned);
    let captured_ends =
        ["10.0.0.7:999 10.0.0.5:80", "10.0.0.7:998 10.0.0.9:443", "unix:#7/3 unix:/run/log"]
            .map(str::to_owned);
    assert_eq!((nodes(&[]), ends(&[])), (captured_nodes.to_vec(), captured_ends.to_vec()));

    let aliases = "host ip-7 = web\ncommand shop.py = shop\naddress 10.0.0.5 = db\naddress 10.0.0.7 = gate\n\
        endpoint 10.0.0.9:443 = front\nendpoint unix:/run/* = journal\n";
    fs::write(path.join("sockcap.data/aliases"), aliases).unwrap();
    assert_eq!(nodes(&[]), ["web shop", "db db", "10.0.0.9 front", "ip-8 journal"]);
    assert_eq!(ends(&[]), ["gate:999 db:80", "gate:998 front", "unix:#7/3 journal"]);
    // The file named for the last analysis is used until another one is named, and a file without
    // rules shows all names as captured.
    fs::write(path.join("other"), "host ip-7 = other").unwrap();
    assert_eq!(nodes(&["--aliases", "other"])[0], "other shop.py");
    run_successfully(&["analyze", "--aliases", "other"], path);
    assert_eq!(nodes(&[])[0], "other shop.py");
    let none = ["--aliases", "/dev/null"];
    assert_eq!((nodes(&none), ends(&none)), (captured_nodes.to_vec(), captured_ends.to_vec()));
    run_successfully(&["analyze"], path);

    // The former output stays if the names cannot be read.
    run_successfully(&["export", "nodes", "-o", "nodes.csv"], path);
    let before = fs::read_to_string(path.join("nodes.csv")).unwrap();
    fs::write(path.join("sockcap.data/aliases"), "nonsense").unwrap();
    for table in ["nodes", "messages"] {
        let said = run_failing(&["export", table, "-o", "nodes.csv"], path);
        assert!(said.contains("aliases:1:"), "{said}");
    }
    assert_eq!(fs::read_to_string(path.join("nodes.csv")).unwrap(), before);
}

#[test]
fn datagrams_without_a_checksum_are_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // The payload of the second is incomplete, and so is that of the third.
    let sent = |time, payload: &str| {
        format!(
            "10 1700000000.{time} sendto(3<UDP:[10.0.0.1:4000]>, {payload}, 8, 0, {{sa_family=AF_INET, \
             sin_port=htons(53), sin_addr=inet_addr(\"10.0.0.2\")}}, 16) = 8 <0.000010>\n"
        )
    };
    let whole = sent("000100", "\"12345678\"");
    fs::write(path.join("x.strace"), &whole).unwrap();
    run_successfully(&["import", "strace", "x.strace", "--host", "one"], path);
    run_successfully(&["reconcile"], path);
    let note = "datagrams without a checksum, matched by ends, size and order";
    assert!(!run_successfully(&["info"], path).contains(note), "there are none");
    let cut = [sent("000200", "\"1234\"..."), sent("000300", "\"1234\"...")].concat();
    fs::write(path.join("x.strace"), whole + &cut).unwrap();
    run_successfully(&["import", "strace", "x.strace", "--host", "one"], path);
    run_successfully(&["reconcile"], path);
    let info = run_successfully(&["info"], path);
    assert!(info.contains(&format!("  {note}: 2\n")), "{info}");
}

#[test]
fn failed_imports_are_reported_with_advice() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("empty.csv"), "").unwrap();
    fs::write(path.join("other.csv"), "from,to\na,b\n").unwrap();
    for (arguments, words) in [
        (["import", "calls", "none.csv"], ["none.csv", "No such file"]),
        (["import", "calls", "empty.csv"], ["empty.csv:1", "no header"]),
        (["import", "messages", "other.csv"], ["other.csv:1", "no column 'src'"]),
        (
            ["import", "project5", "other.csv"],
            ["other.csv:1", "timestamp operation sender rcvr ID"],
        ),
        (["import", "calls", "."], [".", "name the files in it"]),
    ] {
        let said = run_failing(&arguments, path);
        assert!(words.iter().all(|word| said.contains(word)), "{arguments:?}: {said}");
    }
    assert_eq!(
        run_sockcap(&["import", "calls", "other.csv", "--unit", "h"], path).status.code(),
        Some(2)
    );
    let said = run_failing(&["report"], path);
    assert!(said.contains("no logs here and nothing imported"), "{said}");
}
