//! The library compared with the kernel's own view: real programs run under both `strace` and the
//! library, and both must have the same messages on sockets, thread by thread. Activities that the
//! library cannot see are in `docs/capture.md`, and here as the exact missing messages. This file
//! has the servers, each with a client.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use end_to_end::capture::{TestRecording, preloaded_library, program_path, run_successfully};
use end_to_end::oracle::{StracedRecording, free_port};

/// A command to be recorded, with arguments.
fn recorded_command<const N: usize>(
    recording: &TestRecording,
    name: &str,
    arguments: [&str; N],
) -> Command {
    let mut command = recording.recorded_command(program_path(name));
    command.args(arguments);
    command
}

/// Makes the directory accessible to servers that drop their rights.
fn open_to_all(recording: &TestRecording) {
    fs::set_permissions(recording.file_path(""), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn nginx_curl_and_wget() {
    let mut witnessed = StracedRecording::new();
    let file =
        |name: &str| witnessed.recording.file_path(name).into_os_string().into_string().unwrap();
    open_to_all(&witnessed.recording);
    fs::write(file("page"), "p".repeat(300_000)).unwrap();
    let (key, certificate) = (file("key"), file("certificate"));
    run_successfully(Command::new(program_path("openssl")).args([
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-keyout",
        &key,
        "-out",
        &certificate,
    ]));
    let (plain, tls, behind) = (free_port(), free_port(), free_port());
    let locations = format!(
        "root {}; location /short {{ return 200 short; }} location /proxy {{ proxy_pass http://127.0.0.1:{behind}/; }}",
        file("")
    );
    let configuration = format!(
        "daemon off; worker_processes 2; pid {0}pid; error_log {0}errors; events {{}}
         http {{ access_log off; sendfile on; client_body_temp_path {0}a; proxy_temp_path {0}b;
                 fastcgi_temp_path {0}c; uwsgi_temp_path {0}d; scgi_temp_path {0}e;
           server {{ listen 127.0.0.1:{plain}; {locations} }}
           server {{ listen 127.0.0.1:{tls} ssl; ssl_certificate {certificate}; ssl_certificate_key {key};
                     {locations} }}
           server {{ listen 127.0.0.1:{behind}; location / {{ return 200 behind; }} }} }}",
        file("")
    );
    let (settings, prefix, output) = (file("nginx.conf"), file(""), file("output"));
    fs::write(&settings, configuration).unwrap();
    let nginx = recorded_command(
        &witnessed.recording,
        "nginx",
        ["-e", "stderr", "-p", &prefix, "-c", &settings],
    );
    let server = witnessed.start_server("nginx", &nginx, plain);
    for (path, length) in [("short", 5), ("proxy", 6), ("page", 300_000)] {
        for url in
            [format!("http://127.0.0.1:{plain}/{path}"), format!("https://127.0.0.1:{tls}/{path}")]
        {
            // Several requests on one connection.
            let curl = recorded_command(&witnessed.recording, "curl", ["-sk", &url, &url, &url]);
            assert_eq!(witnessed.run_command(&curl).len(), 3 * length);
            let wget = recorded_command(
                &witnessed.recording,
                "wget",
                ["-q", "--no-check-certificate", "-O", &output, &url],
            );
            witnessed.run_command(&wget);
            assert_eq!(fs::read(&output).unwrap().len(), length);
        }
    }
    witnessed.stop_server(server, "QUIT");
    assert!(witnessed.compare_logs(&[]).bytes > 8 * 300_000);
}

#[test]
fn redis() {
    let mut witnessed = StracedRecording::new();
    witnessed.run_redis(1500, 5);
    assert!(witnessed.compare_logs(&[]).calls > 2 * 2 * 1500);
}

#[test]
fn memcached() {
    let mut witnessed = StracedRecording::new();
    open_to_all(&witnessed.recording);
    let port = free_port();
    let server = ["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-u", "nobody", "-t", "3"];
    let server = recorded_command(&witnessed.recording, "memcached", server);
    let server = witnessed.start_server("memcached", &server, port);
    for client in 0..5 {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut ask = |question: String, answer: String| {
            connection.write_all(question.as_bytes()).unwrap();
            let mut got = vec![0; answer.len()];
            connection.read_exact(&mut got).unwrap();
            assert_eq!(got, answer.as_bytes());
        };
        for size in [1, 100, 5000, 200_000] {
            let value = "v".repeat(size);
            ask(format!("set key{client} 0 0 {size}\r\n{value}\r\n"), "STORED\r\n".into());
            ask(
                format!("get key{client}\r\n"),
                format!("VALUE key{client} 0 {size}\r\n{value}\r\nEND\r\n"),
            );
        }
    }
    witnessed.stop_server(server, "TERM");
    assert!(witnessed.compare_logs(&[]).bytes > 5 * 205_000);
}

/// Echoes each connection, until the test ends.
fn serve_echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            std::thread::spawn(move || {
                let mut both = (connection.try_clone().unwrap(), connection);
                let _ = std::io::copy(&mut both.0, &mut both.1);
            });
        }
    });
    port
}

#[test]
fn haproxy() {
    let mut witnessed = StracedRecording::new();
    let (port, behind) = (free_port(), serve_echo());
    let settings = witnessed.recording.file_path("haproxy.cfg");
    fs::write(
        &settings,
        format!(
            "global\n nbthread 2\n\
             defaults\n mode tcp\n timeout connect 5s\n timeout client 50s\n timeout server 50s\n option splice-auto\n\
             listen through\n bind 127.0.0.1:{port}\n server s 127.0.0.1:{behind}\n"
        ),
    )
    .unwrap();
    let server = recorded_command(
        &witnessed.recording,
        "haproxy",
        ["-db", "-f", settings.to_str().unwrap()],
    );
    let server = witnessed.start_server("haproxy", &server, port);
    for size in [1, 1000, 100_000, 1_000_000] {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let mut sender = connection.try_clone().unwrap();
        let writer = std::thread::spawn(move || sender.write_all(&vec![7; size]).unwrap());
        connection.read_exact(&mut vec![0; size]).unwrap();
        writer.join().unwrap();
    }
    witnessed.stop_server(server, "TERM");
    assert!(witnessed.compare_logs(&[]).bytes >= 2 * 1_101_001);
}

#[test]
fn dnsmasq_and_dig() {
    let mut witnessed = StracedRecording::new();
    let port = free_port();
    let text = port.to_string();
    let server = [
        "--no-daemon",
        "--conf-file=/dev/null",
        "--no-resolv",
        "--no-hosts",
        "--bind-interfaces",
        "--user=root",
        "--listen-address=127.0.0.1",
        "--address=/test.example/10.1.2.3",
        "--pid-file",
        "--port",
        &text,
    ];
    let server = recorded_command(&witnessed.recording, "dnsmasq", server);
    let server = witnessed.start_server("dnsmasq", &server, port);
    for name in ["a.test.example", "b.test.example", "nowhere.example"] {
        for over in ["+notcp", "+tcp"] {
            let dig = ["@127.0.0.1", "-p", &text, over, "+short", "+tries=1", name];
            let printed =
                witnessed.run_command(&recorded_command(&witnessed.recording, "dig", dig));
            assert_eq!(printed, if name.contains("test") { "10.1.2.3\n" } else { "" });
        }
    }
    witnessed.stop_server(server, "TERM");
    assert!(witnessed.compare_logs(&[]).calls >= 12);
}

/// A command that runs as a user without rights, if the test has them: postgres refuses to run with
/// them.
pub(super) fn without_rights(recording: &TestRecording, name: &str) -> Command {
    let is_root = run_successfully(Command::new("id").arg("-u")).trim() == "0";
    let mut command = if is_root {
        let mut command = recording.recorded_command(program_path("setpriv"));
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program_path(name));
        command
    } else {
        recording.recorded_command(program_path(name))
    };
    // This copy is readable for that user, wherever the library was built.
    let copy = recording.file_path("libsockcap.so");
    if !copy.exists() {
        fs::copy(preloaded_library(), &copy).unwrap();
    }
    command.env("LD_PRELOAD", copy);
    command
}

#[test]
fn postgres_and_psql() {
    let mut witnessed = StracedRecording::new();
    fs::set_permissions(witnessed.recording.file_path(""), fs::Permissions::from_mode(0o777))
        .unwrap();
    let cluster = witnessed.recording.file_path("cluster").into_os_string().into_string().unwrap();
    let mut initdb = without_rights(&witnessed.recording, "initdb");
    initdb.env_remove("LD_PRELOAD").args([
        "-D",
        &cluster,
        "-U",
        "test",
        "-A",
        "trust",
        "--no-sync",
        "-E",
        "UTF8",
    ]);
    run_successfully(&mut initdb);
    let port = free_port();
    let text = port.to_string();
    let mut server = without_rights(&witnessed.recording, "postgres");
    server.args(["-D", &cluster, "-k", &cluster, "-h", "127.0.0.1", "-p", &text, "-F"]);
    let server = witnessed.start_server("postgres", &server, port);
    // It accepts connections before it is ready for requests.
    let is_ready = || {
        let mut ask = Command::new(program_path("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &text]).status().unwrap().success()
    };
    let ready = (0..200).any(|_| {
        let ready = is_ready();
        if !ready {
            std::thread::sleep(Duration::from_millis(50));
        }
        ready
    });
    assert!(ready, "postgres does not come up");
    for host in ["127.0.0.1", &cluster] {
        let mut psql = without_rights(&witnessed.recording, "psql");
        psql.args(["-h", host, "-p", &text, "-U", "test", "-d", "postgres", "-At"]);
        psql.args(["-c", "create table if not exists t (n int, s text)"]);
        psql.args([
            "-c",
            "insert into t select n, repeat('x', 100) from generate_series(1, 2000) n",
        ]);
        for _ in 0..20 {
            psql.args(["-c", "select count(*) from t where n % 7 = 3"]);
        }
        psql.args(["-c", "copy t to stdout"]);
        assert!(witnessed.run_command(&psql).lines().count() > 2000);
    }
    witnessed.stop_server(server, "INT");
    assert!(witnessed.compare_logs(&[]).bytes > 2 * 2000 * 100);
}

#[test]
fn the_library_depends_only_on_libc() {
    let needed =
        run_successfully(Command::new(program_path("readelf")).arg("-d").arg(preloaded_library()));
    let needed: Vec<&str> = needed.lines().filter(|line| line.contains("NEEDED")).collect();
    assert_eq!(needed.len(), 1, "{needed:?}");
    assert!(needed[0].contains("[libc.so"), "{needed:?}");
}

#[test]
fn only_hooks_are_exported() {
    let symbols = run_successfully(
        Command::new(program_path("nm")).args(["-D", "--defined-only"]).arg(preloaded_library()),
    );
    for symbol in symbols.lines().map(|line| line.rsplit(' ').next().unwrap()) {
        // Copies of the library recognise each other by this name.
        let is_own = symbol.contains("sockcap") && symbol != "sockcap_library";
        assert!(!symbol.contains("rust") && !is_own, "{symbol}");
    }
}
