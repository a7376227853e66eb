//! Names of requests to real servers, end to end: the right operations and errors, and nothing a
//! client sent is in any file.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{program_path, run_successfully};
use end_to_end::oracle::free_port;
use end_to_end::sockcap_program;
use protocols::operations::OperationFile;

/// All files below a directory.
fn list_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { list_files(&path) } else { vec![path] }).collect()
}

/// Records a shell script with protocols, and returns the names and statuses in the result, each
/// with its protocol. The script gets a free port, a file with the client's input, and an empty
/// directory. The client's input is in no arguments, so its `secrets` must be in no file.
fn recorded_operations(script: &str, says: &str, secrets: &[&str]) -> BTreeSet<(String, String)> {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let data = at("data");
    // Servers that run as another user write logs, too.
    for directory in [place.path(), &data, &data.join("hosts"), &data.join("hosts/h"), &at("home")]
    {
        fs::create_dir_all(directory).unwrap();
        fs::set_permissions(directory, Permissions::from_mode(0o1777)).unwrap();
    }
    fs::write(at("script"), script).unwrap();
    fs::write(at("says"), says).unwrap();
    let mut record = Command::new(sockcap_program());
    record.args(["record", "--no-config", "--protocols", "--host", "h", "-d"]).arg(&data);
    record.args(["--", "sh"]).arg(at("script")).arg(free_port().to_string());
    run_successfully(record.arg(at("says")).arg(at("home")));

    let mut found = BTreeSet::new();
    for path in list_files(&data) {
        let bytes = fs::read(&path).unwrap();
        for secret in secrets {
            let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_there, "{secret} is in {}", path.display());
        }
        if path.extension().is_some_and(|extension| extension == protocols::operations::EXTENSION) {
            let file = OperationFile::open(&path).unwrap();
            let unread = file.for_each(|entry| {
                let of = entry.operation;
                let ended = format!("{}{}", of.status, if of.is_error { "!" } else { "" });
                found.insert((of.protocol.to_owned(), format!("{}{ended}", of.name)));
            });
            assert_eq!(unread.unwrap(), 0);
        }
    }
    found
}

/// The operations of one protocol.
fn operations_of_protocol<'a>(
    operations: &'a BTreeSet<(String, String)>,
    protocol: &str,
) -> Vec<&'a str> {
    operations.iter().filter(|(of, _)| of == protocol).map(|(_, said)| said.as_str()).collect()
}

#[test]
fn redis() {
    for name in ["redis-server", "redis-cli"] {
        program_path(name);
    }
    let script = "
        redis-server --port $1 --bind 127.0.0.1 --save '' >$3/log &
        until redis-cli -p $1 PING >$3/out 2>&1; do sleep 0.1; done
        redis-cli -p $1 <$2 >$3/out
        redis-cli -p $1 SHUTDOWN NOSAVE
        wait";
    let says = "SET patience sesame\nGET patience\nLPUSH patience hunter2\nFROB patience\n";
    let mut operations =
        recorded_operations(script, says, &["patience", "sesame", "hunter2", "FROB"]);
    // Some clients request the list of commands when they start.
    operations.retain(|(_, said)| said != "COMMAND");
    let expected = ["", "ERR!", "GET", "LPUSH", "PING", "SET", "SHUTDOWN", "WRONGTYPE!"];
    assert_eq!(operations_of_protocol(&operations, "redis"), expected);
}

#[test]
fn postgresql() {
    let folder = program_path("postgres").parent().unwrap().to_owned();
    let script = format!(
        "
        as=
        [ $(id -u) != 0 ] || as='setpriv --reuid=postgres --regid=postgres --init-groups --'
        PATH={}:$PATH
        $as initdb --auth=trust --no-sync -U postgres -D $3/cluster >$3/log
        cd $3/cluster
        $as postgres -D $3/cluster -c port=$1 -c listen_addresses=127.0.0.1 -c fsync=off \
            -c unix_socket_directories= 2>>$3/log &
        ask() {{ psql -h 127.0.0.1 -p $1 -U postgres \"$2\" \"$3\" >/dev/null 2>&1; }}
        until ask $1 -c COMMIT; do sleep 0.1; done
        ask $1 -f $2
        kill -INT $!
        wait",
        folder.display()
    );
    let says = "CREATE TABLE books (title text UNIQUE);
        INSERT INTO books VALUES ('patience');
        INSERT INTO books VALUES ('patience');
        SELECT title FROM books WHERE title = 'sesame';
        SET application_name = 'hunter2';";
    let mut operations = recorded_operations(&script, says, &["patience", "sesame", "hunter2"]);
    // The client may connect before the server is ready, and it closes remaining connections.
    operations.retain(|(_, said)| !said.contains("57P0"));
    let expected = [
        "",
        "23505!",
        "COMMIT",
        "CREATE TABLE books",
        "INSERT books",
        "SELECT books",
        "SET",
        "STARTUP",
        "TLS",
    ];
    assert_eq!(operations_of_protocol(&operations, "postgresql"), expected);
}

#[test]
fn dns() {
    for name in ["dnsmasq", "dig"] {
        program_path(name);
    }
    let script = "
        dnsmasq --keep-in-foreground --no-resolv --no-hosts --conf-file=/dev/null --pid-file= \
            --user=$(id -un) --port=$1 --listen-address=127.0.0.1 --bind-interfaces \
            --address=/test/10.4.9.9 2>$3/log &
        until dig @127.0.0.1 -p $1 +timeout=1 +tries=1 test >$3/out 2>&1; do sleep 0.1; done
        dig @127.0.0.1 -p $1 -f $2 >$3/out
        kill $!
        wait";
    let says = "patience.test A\nsesame.test MX\nhunter2.example A\n";
    let operations = recorded_operations(script, says, &["patience", "sesame", "hunter2"]);
    assert_eq!(operations_of_protocol(&operations, "dns"), ["A", "MX", "NOERROR", "REFUSED!"]);
}
