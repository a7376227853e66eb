//! Commands that listen, the page of `view` and a collector, against malicious users of the same
//! machine.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use socket_log::write::LogWriter;

/// A command that runs until this is dropped, with its output.
struct RunningCommand {
    child: Child,
    lines: Receiver<String>,
}

impl RunningCommand {
    fn start_command(command: &mut Command, directory: &Path) -> RunningCommand {
        command.current_dir(directory).env("XDG_CONFIG_HOME", directory);
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let (tell, lines) = channel();
        let errors = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    break;
                }
            }
        });
        RunningCommand { child, lines }
    }

    /// The text between `before` and the next blank or `;`, in the first line that has it.
    fn word_after(&self, before: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(60)).expect("a line");
            if let Some((_, following)) = line.split_once(before) {
                return following.split([' ', ';']).next().unwrap().to_owned();
            }
        }
    }

    /// All further lines, once it has ended.
    fn lines_until_end(self) -> Vec<String> {
        self.end_by("-TERM")
    }

    /// The same, ended by this signal.
    fn end_by(mut self, signal: &str) -> Vec<String> {
        let pid = self.child.id().to_string();
        Command::new("kill").args([signal, &pid]).status().unwrap();
        self.child.wait().unwrap();
        self.lines.iter().collect()
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `sockcap` with the default action of a hangup, even if tests run under `nohup`.
fn sockcap_command(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP", env!("CARGO_BIN_EXE_sockcap")]).args(arguments);
    command
}

/// Status and full text of the response to a request with these fields.
fn get_page(address: &str, path: &str, fields: &[&str]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let fields: String = fields.iter().map(|field| format!("{field}\r\n")).collect();
    stream.write_all(format!("GET {path} HTTP/1.1\r\n{fields}\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

/// A directory with the data directory `made`.
fn synthetic_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let made = sockcap_command(&["synth", "children-0-2", "-d", "made", "--instances", "5"])
        .current_dir(directory.path())
        .env("XDG_CONFIG_HOME", directory.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    directory
}

#[test]
fn the_page_is_only_for_the_user_who_started_it() {
    let directory = synthetic_directory();
    let view = ["view", "-d", "made", "--no-browser", "--port", "0"];
    let view = RunningCommand::start_command(&mut sockcap_command(&view), directory.path());
    let url = view.word_after("is shown at http://");
    let (address, token) = url.split_once("/?token=").expect("a token");
    let host = format!("Host: {address}");
    // Another user of the machine can find out the port.
    for path in ["/", "/api/overview", "/api/instances/0", "/?token=", "/?token=0123456789abcdef"] {
        let (status, answer) = get_page(address, path, &[&host]);
        assert_eq!(status, 403, "{path}");
        assert!(answer.contains("sockcap view") && !answer.contains(token), "{answer}");
        assert!(!answer.contains("<html"), "{answer}");
    }
    // A page from elsewhere may resolve its own name to this address, and may know the token.
    let with_token = format!("/?token={token}");
    assert_eq!(get_page(address, &with_token, &["Host: evil.example"]).0, 421);
    assert_eq!(get_page(address, &with_token, &[]).0, 421);
    assert_eq!(get_page(address, &with_token, &[&host, "Host: evil.example"]).0, 400);
    // The browser continues without the token in its address.
    let (status, answer) = get_page(address, &with_token, &[&host]);
    assert_eq!(status, 303, "{answer}");
    assert!(answer.contains("\r\nLocation: /\r\n"), "{answer}");
    assert!(answer.contains("HttpOnly") && answer.contains("SameSite=Lax"), "{answer}");
    let cookie = answer.split("Set-Cookie: ").nth(1).unwrap().split(';').next().unwrap();
    let cookie = format!("Cookie: other=1; {cookie}");
    // Silent clients do not block the browser.
    let silent: Vec<TcpStream> = (0..300).map(|_| TcpStream::connect(address).unwrap()).collect();
    for (path, kind) in [("/", "text/html"), ("/api/overview", "application/json")] {
        let (status, answer) = get_page(address, path, &[&host, &cookie]);
        assert_eq!(status, 200, "{answer}");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(kind) && head.contains("Referrer-Policy: no-referrer"), "{head}");
        assert!(head.contains("Cache-Control: no-store") && !body.contains(token), "{head}");
    }
    drop(silent);
}

/// Records its arguments: the program that opens files on a desktop, and the browser that it
/// starts.
const BROWSER: &str = r#"#!/bin/sh
printf '%s\n' "$0" "$@" >> arguments
case $0 in
    *xdg-open) exec "$BROWSER" "$@" ;;
    *) mv arguments all-arguments ;;
esac
"#;

/// `sockcap view` with a stand-in for the browser, in an environment in which the user has only the
/// directories in `variables`.
fn view_with_browser(directory: &Path, variables: &[(&str, &str)]) -> RunningCommand {
    let programs = directory.join("programs");
    fs::create_dir_all(&programs).unwrap();
    for name in ["xdg-open", "browser"] {
        fs::write(programs.join(name), BROWSER).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let mut command = sockcap_command(&["view", "-d", "made", "--port", "0"]);
    command.env("PATH", format!("{}:{path}", programs.display()));
    command.env("BROWSER", programs.join("browser"));
    for name in ["HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().map(|(name, place)| (name, directory.join(place))));
    RunningCommand::start_command(&mut command, directory)
}

/// The arguments of `xdg-open` and of the browser, once both were started.
fn browser_arguments(directory: &Path) -> Vec<String> {
    let path = directory.join("all-arguments");
    for _ in 0..6000 {
        if let Ok(text) = fs::read_to_string(&path) {
            fs::remove_file(&path).unwrap();
            return text.lines().map(str::to_owned).collect();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no browser was started");
}

#[test]
fn the_browser_of_view_is_started_without_the_token() {
    let directory = synthetic_directory();
    let at = |place: &str| directory.path().join(place);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    for (place, its_mode) in [
        ("runtime", 0o700),
        ("open-to-all", 0o777),
        ("home/.local/share", 0o755),
        ("data", 0o700),
        ("tmp", 0o1777),
    ] {
        fs::create_dir_all(at(place)).unwrap();
        fs::set_permissions(at(place), fs::Permissions::from_mode(its_mode)).unwrap();
    }
    let tmp = ("TMPDIR", "tmp");
    let (home, data) = (("HOME", "home"), ("XDG_DATA_HOME", "data"));
    for (variables, place, signal) in [
        (&[tmp, home, ("XDG_RUNTIME_DIR", "runtime")][..], "runtime", "-TERM"),
        // In a directory that is writable for all, others could replace the file.
        (&[tmp, home, ("XDG_RUNTIME_DIR", "open-to-all")], "home/.local/share", "-INT"),
        (&[tmp, home, data, ("XDG_RUNTIME_DIR", "none")], "data", "-HUP"),
        (&[tmp, ("HOME", "none")], "tmp", "-TERM"),
        (&[tmp], "tmp", "-HUP"),
    ] {
        let view = view_with_browser(directory.path(), variables);
        let url = view.word_after("is shown at ");
        let (_, token) = url.split_once("/?token=").expect("a token");
        let arguments = browser_arguments(directory.path());
        let [opener, file, browser, same_file] = &arguments[..] else { panic!("{arguments:?}") };
        assert!(opener.ends_with("/xdg-open") && browser.ends_with("/browser"), "{arguments:?}");
        assert!(!arguments.iter().any(|argument| argument.contains(token)), "{arguments:?}");
        assert_eq!(file, same_file);
        let file = PathBuf::from(file);
        let folder = file.parent().unwrap();
        assert_eq!(folder.parent(), Some(&*at(place)), "{variables:?}");
        assert_eq!((mode(&file), mode(folder)), (0o600, 0o700), "{place}");
        let html = fs::read_to_string(&file).unwrap();
        assert!(html.contains(&format!("content=\"0; url={url}\"")), "{html}");
        assert!(html.contains(&format!("href=\"{url}\"")), "{html}");
        assert!(html.contains("name=\"referrer\" content=\"no-referrer\""), "{html}");
        view.end_by(signal);
        assert_eq!(fs::read_dir(at(place)).unwrap().count(), 0, "{place} after {signal}");
    }
}

#[test]
fn without_a_private_directory_view_opens_no_browser_and_prints_the_address() {
    let directory = synthetic_directory();
    let view = view_with_browser(directory.path(), &[("TMPDIR", "none"), ("HOME", "none")]);
    let url = view.word_after("is shown at ");
    let why = view.word_after("no browser could be opened (");
    assert!(!why.is_empty());
    // It serves the page, and the printed address works.
    let (address, token) = url.split_once("/?token=").expect("a token");
    let address = address.strip_prefix("http://").unwrap();
    let host = format!("Host: {address}");
    assert_eq!(get_page(address, &format!("/?token={token}"), &[&host]).0, 303);
    view.lines_until_end();
    let is_there = |name: &str| directory.path().join(name).exists();
    assert!(!is_there("arguments") && !is_there("all-arguments"));
}

#[test]
fn silent_sockets_fill_neither_a_collector_nor_its_log() {
    let directory = tempfile::tempdir().unwrap();
    let host = directory.path().join("here/hosts/web");
    fs::create_dir_all(&host).unwrap();
    let bytes = LogWriter::new("web", 7, "/bin/x").to_bytes();
    fs::write(host.join("7-1.sclog"), &bytes).unwrap();
    // The collector has fewer descriptors than the clients have sockets.
    let mut command = Command::new("prlimit");
    command.arg("--nofile=64:64").arg(env!("CARGO_BIN_EXE_sockcap"));
    command.args(["collect", "-d", "gathered", "--plain", "--listen", "127.0.0.1:0"]);
    command.args(["--metrics", "127.0.0.1:0"]);
    let collector = RunningCommand::start_command(&mut command, directory.path());
    let address = collector.word_after("collecting on ");
    let silent: Vec<TcpStream> = (0..700).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let ship = ["ship", "-d", "here", "--host", "web", "--plain", "--once", "--to", &address];
    let shipped = sockcap_command(&ship)
        .current_dir(directory.path())
        .env("XDG_CONFIG_HOME", directory.path())
        .output()
        .unwrap();
    assert!(shipped.status.success(), "{shipped:?}");
    let gathered = directory.path().join("gathered/hosts/web/7-1.sclog");
    assert_eq!(fs::read(gathered).unwrap(), bytes);
    drop(silent);
    // Each of these is reported by itself, or counted.
    for _ in 0..2000 {
        let mut stream = TcpStream::connect(&address).unwrap();
        let _ = stream.write_all(b"no greeting");
    }
    let lines = collector.lines_until_end();
    let refusals = lines.iter().filter(|line| line.contains("refused ")).count();
    assert!((1..300).contains(&refusals), "{refusals} lines");
    assert!(lines.iter().any(|line| line.contains("more lines")), "{lines:?}");
}
