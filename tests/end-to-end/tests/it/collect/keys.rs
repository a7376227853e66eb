//! `sockcap keys` from the user's point of view: the files, the messages, and the refusals.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use end_to_end::command::{self, assert_succeeds, run_sockcap, to_text};
use end_to_end::gathering::wait_until;
use end_to_end::lab::RunningProgram;
use end_to_end::sockcap_program;
use rustix::process::Signal;

/// The permissions of a file.
fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn keys_for_a_collector_and_its_hosts() {
    let directory = tempfile::tempdir().unwrap();
    let made = run_sockcap(&["keys", "new"], directory.path());
    assert!(made.status.success(), "{made:?}");
    let (lines, next) = (to_text(&made.stdout), to_text(&made.stderr));
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(next.contains("copy sockcap.keys/collector.pem to the collector"), "{next}");
    assert!(
        next.contains("sockcap collect ") && next.contains("sockcap keys host NAME...\n"),
        "{next}"
    );
    let keys = directory.path().join("sockcap.keys");
    assert_eq!((mode_of(&keys), fs::read_dir(&keys).unwrap().count()), (0o700, 3));

    let one = run_sockcap(&["keys", "host", "web1"], directory.path());
    let next = to_text(&one.stderr);
    assert!(
        one.status.success() && next.contains("copy sockcap.keys/web1.pem to its host"),
        "{next}"
    );
    assert!(next.contains("sockcap ship --to COLLECTOR:PORT --key web1.pem --follow\n"), "{next}");
    let lines = assert_succeeds(&["keys", "host", "db1", "web2", "--days", "7"], directory.path());
    assert_eq!(lines.lines().count(), 2, "{lines}");

    let shown = assert_succeeds(
        &[
            "keys",
            "show",
            "sockcap.keys/authority.pem",
            "sockcap.keys/collector.pem",
            "sockcap.keys/db1.pem",
            "sockcap.keys/web1.pem",
        ],
        directory.path(),
    );
    let owners: Vec<&str> =
        shown.lines().map(|line| line.split([':', ',']).nth(1).unwrap_or_default()).collect();
    assert_eq!(owners, [" the authority", " the collector", " host db1", " host web1"], "{shown}");
    assert!(!shown.contains("expired") && !shown.contains("not yet"), "{shown}");
    for name in ["authority", "collector", "web1", "web2", "db1"] {
        assert_eq!(mode_of(&keys.join(format!("{name}.pem"))), 0o600, "{name}");
    }
}

#[test]
fn another_program_agrees_with_what_keys_show() {
    let directory = tempfile::tempdir().unwrap();
    assert_succeeds(&["keys", "new", "--keys", "k"], directory.path());
    assert_succeeds(
        &["keys", "host", "web1.example", "--keys", "k", "--days", "3"],
        directory.path(),
    );
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").args(arguments).current_dir(directory.path()).output();
        let output = output.expect("install openssl");
        to_text(&output.stdout) + &to_text(&output.stderr)
    };
    // Only the authority's certificate, in the form that openssl accepts.
    let authority = fs::read_to_string(directory.path().join("k/authority.pem")).unwrap();
    let at = authority.find("-----BEGIN CERTIFICATE-----").unwrap();
    fs::write(directory.path().join("ca.pem"), &authority[at..]).unwrap();
    for (name, purpose, other) in
        [("web1.example", "sslclient", "sslserver"), ("collector", "sslserver", "sslclient")]
    {
        let file = format!("k/{name}.pem");
        let verify = |purpose| {
            openssl(&["verify", "-x509_strict", "-CAfile", "ca.pem", "-purpose", purpose, &file])
        };
        assert!(verify(purpose).contains(": OK"), "{}", verify(purpose));
        assert!(verify(other).contains("unsuitable certificate purpose"), "{}", verify(other));
    }
    let said =
        openssl(&["x509", "-noout", "-dates", "-dateopt", "iso_8601", "-in", "k/web1.example.pem"]);
    let shown = assert_succeeds(&["keys", "show", "k/web1.example.pem"], directory.path());
    for line in said.lines() {
        let time = line.split_once('=').map(|(_, time)| time.replace(' ', "T")).unwrap_or_default();
        assert!(time.len() == 20 && shown.contains(&time), "{said}{shown}");
    }
    let names = openssl(&["x509", "-noout", "-ext", "subjectAltName", "-in", "k/web1.example.pem"]);
    assert!(names.contains("DNS:web1.example\n"), "{names}");
}

/// A collector that ends with the test.
struct KeyedCollector {
    process: Child,
    address: String,
    said: Arc<Mutex<String>>,
}

impl KeyedCollector {
    /// Runs with the key of `k/`.
    fn start_collector(directory: &Path) -> KeyedCollector {
        KeyedCollector::start_with(directory, "k/collector.pem")
    }

    fn start_with(directory: &Path, key: &str) -> KeyedCollector {
        let mut process = Command::new(sockcap_program())
            .args(["collect", "--listen", "127.0.0.1:0", "--key", key, "--metrics", "none"])
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        let address =
            first.split(' ').find(|word| word.starts_with("127.0.0.1:")).unwrap().to_owned();
        // Its later output is read, so that it does not block.
        let said = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&said);
        thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| *kept.lock().unwrap() += &format!("{line}\n"));
        });
        KeyedCollector { process, address, said }
    }

    /// Its output since it was started.
    fn printed_text(&self) -> String {
        self.said.lock().unwrap().clone()
    }
}

impl Drop for KeyedCollector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn another_program_connects_only_with_a_key_and_tls_1_3() {
    let directory = tempfile::tempdir().unwrap();
    assert_succeeds(&["keys", "new", "--keys", "k"], directory.path());
    assert_succeeds(&["keys", "host", "web1", "--keys", "k"], directory.path());
    let authority = fs::read_to_string(directory.path().join("k/authority.pem")).unwrap();
    let at = authority.find("-----BEGIN CERTIFICATE-----").unwrap();
    fs::write(directory.path().join("ca.pem"), &authority[at..]).unwrap();
    let collector = KeyedCollector::start_collector(directory.path());
    let connect = |more: &[&str]| {
        let common = [
            "s_client",
            "-connect",
            &collector.address,
            "-CAfile",
            "ca.pem",
            "-verify_return_error",
        ];
        let name = ["-verify_hostname", "collector.sockcap.internal"];
        let output = Command::new("openssl")
            .args(common)
            .args(name)
            .args(more)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .output();
        let output = output.expect("install openssl");
        to_text(&output.stdout) + &to_text(&output.stderr)
    };
    let key = ["-cert", "k/web1.pem", "-key", "k/web1.pem"];
    let with_key = connect(&[&["-tls1_3"], key.as_slice()].concat());
    assert!(
        with_key.contains("Verify return code: 0 (ok)") && !with_key.contains("alert"),
        "{with_key}"
    );
    let old = connect(&[&["-tls1_2"], key.as_slice()].concat());
    assert!(old.contains("alert protocol version"), "{old}");
    // Until the collector ends the connection, so that its alert is received.
    let without = connect(&["-tls1_3", "-ign_eof"]);
    assert!(without.contains("alert certificate required"), "{without}");
}

#[test]
fn nothing_is_overwritten_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let file =
        |name: &str| fs::read_to_string(directory.path().join("sockcap.keys").join(name)).ok();
    assert_succeeds(&["keys", "new"], directory.path());
    assert_succeeds(&["keys", "host", "web1"], directory.path());
    let before = ["authority.pem", "collector.pem", "web1.pem"].map(file);
    let again = run_sockcap(&["keys", "new"], directory.path());
    assert_eq!(again.status.code(), Some(1));
    assert!(to_text(&again.stderr).contains("authority.pem: there is a key already"), "{again:?}");
    let again = run_sockcap(&["keys", "host", "db1", "web1"], directory.path());
    assert!(
        to_text(&again.stderr).contains("web1.pem") && to_text(&again.stderr).contains("--replace"),
        "{again:?}"
    );
    assert_eq!((again.status.code(), file("db1.pem")), (Some(1), None), "all or none");
    assert_eq!(["authority.pem", "collector.pem", "web1.pem"].map(file), before);

    assert_succeeds(&["keys", "host", "web1", "--replace"], directory.path());
    assert!(file("web1.pem").is_some() && file("web1.pem") != before[2]);
    // A missing key of the collector is made again by the same authority.
    fs::remove_file(directory.path().join("sockcap.keys/collector.pem")).unwrap();
    let lines = assert_succeeds(&["keys", "new"], directory.path());
    assert!(lines.lines().count() == 1 && lines.contains("collector.pem"), "{lines}");
    assert_eq!(file("authority.pem"), before[0]);
}

#[test]
fn errors_give_advice() {
    let directory = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], status, words: &[&str]| {
        command::assert_fails(arguments, directory.path(), status, words);
    };
    fails(&["keys", "host", "web1"], 1, &["sockcap.keys", "sockcap keys new", "--keys"]);
    assert_succeeds(&["keys", "new"], directory.path());
    fails(&["keys", "host"], 2, &["NAME"]);
    fails(&["keys", "host", "../web1"], 2, &["host name"]);
    fails(&["keys", "host", "web1", "--days", "0"], 2, &["days"]);
    fails(&["keys", "host", "10.0.0.1"], 1, &["10.0.0.1", "not a number"]);
    fails(&["keys", "host", "authority", "--replace"], 1, &["authority", "choose another one"]);
    let key = directory.path().join("sockcap.keys/collector.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    fails(
        &["keys", "show", "sockcap.keys/collector.pem"],
        1,
        &["644", "chmod 600 sockcap.keys/collector.pem"],
    );
    // Valid keys are shown, whatever else is named.
    let output =
        run_sockcap(&["keys", "show", "no.pem", "sockcap.keys/authority.pem"], directory.path());
    assert!(
        to_text(&output.stderr).contains("no.pem") && output.status.code() == Some(1),
        "{output:?}"
    );
    assert!(to_text(&output.stdout).contains("the authority"), "{output:?}");
}

#[test]
fn a_revoked_key_is_rejected_by_a_running_collector() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for arguments in
        [&["keys", "new", "--keys", "k"][..], &["keys", "host", "web1", "db1", "--keys", "k"]]
    {
        assert_succeeds(arguments, at);
    }
    // The collector looks for the list next to its key.
    fs::create_dir(at.join("c")).unwrap();
    fs::rename(at.join("k/collector.pem"), at.join("c/collector.pem")).unwrap();
    let collector = KeyedCollector::start_with(at, "c/collector.pem");
    let make_log = |host: &str, pid: u32| {
        let name = at.join(format!("data/hosts/{host}/{pid}-1.sclog"));
        fs::create_dir_all(name.parent().unwrap()).unwrap();
        fs::write(name, socket_log::write::LogWriter::new(host, pid, "/bin/x").to_bytes()).unwrap();
    };
    let gathered =
        |host: &str, pid: u32| at.join(format!("sockcap.data/hosts/{host}/{pid}-1.sclog")).exists();
    let ship = |host: &str, options: &[&str]| {
        let key = format!("k/{host}.pem");
        let mut command = Command::new(sockcap_program());
        command.args([
            "ship",
            "-d",
            "data",
            "--to",
            &collector.address,
            "--key",
            &key,
            "--interval",
            "50ms",
        ]);
        command.args(options).current_dir(at);
        RunningProgram::start_program(&format!("ship {host}"), &mut command)
    };
    make_log("web1", 1);
    make_log("db1", 1);
    let [web, db] = ["web1", "db1"].map(|host| ship(host, &["--follow"]));
    wait_until("both are there", || gathered("web1", 1) && gathered("db1", 1));

    let revoked = run_sockcap(&["keys", "revoke", "web1", "--keys", "k"], at);
    assert!(revoked.status.success(), "{revoked:?}");
    assert!(to_text(&revoked.stdout).contains("the key of host web1 until"), "{revoked:?}");
    assert!(
        to_text(&revoked.stderr).contains("copy k/revoked.crl to the collector"),
        "{revoked:?}"
    );
    fs::copy(at.join("k/revoked.crl"), at.join("c/revoked.crl")).unwrap();
    // The open connection ends, and no other is accepted.
    web.wait_for("its key was revoked");
    web.wait_for("our certificate was revoked");
    make_log("web1", 2);
    make_log("db1", 2);
    let refused = run_sockcap(
        &["ship", "-d", "data", "--to", &collector.address, "--key", "k/web1.pem", "--once"],
        at,
    );
    assert!(
        !refused.status.success() && to_text(&refused.stderr).contains("revoked"),
        "{refused:?}"
    );
    wait_until("the other goes on", || gathered("db1", 2));
    assert!(!gathered("web1", 2));

    // The revoked key is listed, even if its file is missing, and openssl reads the list.
    fs::rename(at.join("k/web1.pem"), at.join("web1.former")).unwrap();
    let listed = assert_succeeds(&["keys", "show", "--keys", "k"], at);
    let states: Vec<bool> = listed.lines().map(|line| line.ends_with(", revoked")).collect();
    let of_web = |line: &str| line.starts_with("host web1,");
    assert_eq!(states, listed.lines().map(of_web).collect::<Vec<_>>(), "{listed}");
    assert!(listed.lines().any(of_web) && listed.lines().count() == 3, "{listed}");
    let openssl = Command::new("openssl")
        .args(["crl", "-noout", "-text", "-in", "c/revoked.crl"])
        .current_dir(at)
        .output()
        .expect("install openssl");
    assert_eq!(to_text(&openssl.stdout).matches("Serial Number:").count(), 1, "{openssl:?}");

    // A damaged list, or another authority's, does not make a revoked key valid again; a new key is
    // valid.
    assert_succeeds(&["keys", "new", "--keys", "other"], at);
    assert_succeeds(&["keys", "host", "x", "--keys", "other"], at);
    assert_succeeds(&["keys", "revoke", "x", "--keys", "other"], at);
    fs::copy(at.join("other/revoked.crl"), at.join("c/revoked.crl")).unwrap();
    wait_until("it is told", || {
        collector.printed_text().contains("the collector's authority has not signed it")
    });
    fs::write(at.join("c/revoked.crl"), "half a li").unwrap();
    wait_until("it is told", || collector.printed_text().contains("it is not whole"));
    let key = ["ship", "-d", "data", "--to", &collector.address, "--once", "--key"];
    let refused = run_sockcap(&[&key[..], &["web1.former"]].concat(), at);
    assert!(to_text(&refused.stderr).contains("revoked"), "{refused:?}");
    assert_succeeds(&["keys", "host", "web1", "--keys", "k"], at);
    assert_succeeds(&[&key[..], &["k/web1.pem"]].concat(), at);
    assert!(gathered("web1", 2));
    // By name, all keys of a host are revoked, and those of other hosts stay on the list.
    assert_succeeds(&["keys", "revoke", "web1", "--keys", "k"], at);
    let listed = assert_succeeds(&["keys", "show", "--keys", "k"], at);
    assert_eq!(listed.matches(", revoked").count(), 2, "{listed}");
    fs::copy(at.join("k/revoked.crl"), at.join("c/revoked.crl")).unwrap();
    wait_until("the new one is revoked, too", || {
        let refused = run_sockcap(&[&key[..], &["k/web1.pem"]].concat(), at);
        to_text(&refused.stderr).contains("revoked")
    });
    db.stop_by(Signal::TERM);
    web.stop_by(Signal::TERM);
}

#[test]
fn keys_that_cannot_be_revoked_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fails = |arguments: &[&str], words: &[&str]| {
        command::assert_fails(arguments, directory.path(), 1, words);
    };
    assert_succeeds(&["keys", "new"], directory.path());
    fails(&["keys", "revoke", "web1"], &["no key of 'web1' is known here"]);
    fails(&["keys", "revoke", "collector"], &["only hosts' keys"]);
    fails(&["keys", "revoke", "sockcap.keys/authority.pem"], &["only hosts' keys"]);
    assert!(!directory.path().join("sockcap.keys/revoked.crl").exists());
    // A damaged list is not overwritten, as its entries are unknown.
    assert_succeeds(&["keys", "host", "web1"], directory.path());
    fs::write(directory.path().join("sockcap.keys/revoked.crl"), "damaged").unwrap();
    fails(&["keys", "revoke", "web1"], &["revoked.crl", "not whole"]);
    fails(
        &[
            "collect",
            "--plain",
            "--listen",
            "127.0.0.1:0",
            "--metrics",
            "none",
            "-d",
            "/dev/null/x",
        ],
        &["/dev/null/x"],
    );
    fails(
        &["collect", "--key", "sockcap.keys/collector.pem", "--listen", "127.0.0.1:0"],
        &["not whole"],
    );
}

#[test]
fn one_key_for_a_machine_and_its_containers() {
    let directory = tempfile::tempdir().unwrap();
    let made = assert_succeeds(&["keys", "new"], directory.path());
    assert_eq!(made.lines().count(), 2);
    let made =
        assert_succeeds(&["keys", "host", "node1", "c2", "c1", "--together"], directory.path());
    assert!(made.contains("node1.pem: the key of host node1, c2, c1, until"), "{made}");
    assert_eq!(made.lines().count(), 1);
    let shown = assert_succeeds(&["keys", "show", "sockcap.keys/node1.pem"], directory.path());
    assert!(shown.contains("host node1, c2, c1, from"), "{shown}");
    // Any of the key's names revokes the key.
    assert_succeeds(&["keys", "revoke", "c1"], directory.path());
    let shown = assert_succeeds(&["keys", "show", "sockcap.keys/node1.pem"], directory.path());
    assert!(shown.ends_with(", revoked\n"), "{shown}");
}
