//! A process, from its log's header: which host and machine it is on, and what people call it.

use message_trace::Node;
use socket_log::Header;
use socket_log::layout::source;

/// A traced process. Its place among the processes is also its node.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// The host, by its place among the hosts.
    pub(crate) host: u32,
    /// The kernel (one boot of one), by its place among the kernels. It owns the paths of unix sockets.
    pub(crate) kernel: u32,
    /// The machine (one network namespace of a kernel), by its place among the machines. It owns loopback
    /// addresses and abstract unix names; its processes need not have one clock, as they may be of several hosts.
    pub(crate) machine: u32,
    /// The kernel's id of its boot; 0 if unknown.
    pub(crate) boot: u128,
    /// What saw its calls, one of [`socket_log::layout::source`].
    pub(crate) source: u32,
    pub(crate) pid: u32,
    /// When the process ended, as far as its log knows.
    pub(crate) ended: Option<i64>,
    pub(crate) node: Node,
}

/// The node of the process whose log begins with `header`.
pub(crate) fn node(header: &Header, host: &str) -> Node {
    // Packets know of no processes: their log says what the node is to be called, and is of none.
    let of_packets = header.source == source::PACKETS;
    Node {
        host: host.to_owned(),
        pid: Some(header.pid as i32).filter(|_| !of_packets),
        start: Some(header.start.realtime),
        command: match header.arguments.first().filter(|_| of_packets) {
            Some(name) => name.clone(),
            None => command(&header.executable, &header.arguments),
        },
        executable: header.executable.clone(),
        traced: true,
    }
}

/// What people call a program: the name it was started by or, where that only runs other programs, of the program
/// that it runs.
fn command(executable: &str, arguments: &[String]) -> String {
    let name = program(executable, arguments.first().map_or("", String::as_str));
    let arguments = arguments.get(1..).unwrap_or(&[]);
    let program = match interpreter(name) {
        Some(Interpreter::Java) => java(arguments),
        Some(Interpreter::Script(options)) => script(arguments, &options),
        None => None,
    };
    program.unwrap_or_else(|| name.to_owned())
}

/// The program's name, by its executable and the first argument. One executable can be many programs, told apart
/// by that argument (busybox; Debian's redis-server is redis-check-rdb); but programs also use it to show what they
/// do ("nginx: master process"), behind a blank or a colon.
fn program<'a>(executable: &'a str, started_as: &'a str) -> &'a str {
    // The kernel marks an executable that was replaced while it runs.
    let file = base(executable.strip_suffix(" (deleted)").unwrap_or(executable));
    if base(started_as) == file {
        return file;
    }
    let shown = started_as.split([' ', ':']).next().unwrap_or_default();
    // A login shell is started as "-bash".
    match base(shown.trim_start_matches('-')) {
        "" => file,
        name => name,
    }
}

enum Interpreter {
    Java,
    Script(Options),
}

/// What an interpreter's options mean, as far as needed to find the script behind them.
struct Options {
    /// Those that are followed by a program's text: there is no script.
    text: &'static [&'static str],
    /// Those that are followed by a value of their own.
    value: &'static [&'static str],
    /// Those that name the program themselves: a module, or a file.
    program: &'static [&'static str],
}

fn interpreter(name: &str) -> Option<Interpreter> {
    // python3.11, perl5.36, php8.2, ruby3.1
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let script = |text, value, program| Some(Interpreter::Script(Options { text, value, program }));
    match stem {
        "java" => Some(Interpreter::Java),
        "python" | "pypy" => script(&["-c"], &["-W", "-X", "--check-hash-based-pycs"], &["-m"]),
        "perl" => script(&["-e", "-E"], &["-I"], &[]),
        "ruby" => script(&["-e"], &["-I", "-r", "-C", "-E"], &[]),
        "node" | "nodejs" => script(
            &["-e", "-p", "--eval", "--print"],
            &["-r", "--require", "--import", "-C", "--loader"],
            &[],
        ),
        "sh" | "bash" | "dash" | "zsh" | "ksh" => script(&["-c", "-ec", "-lc"], &["-o", "-O"], &[]),
        "php" => script(&["-r"], &["-c", "-d", "-z"], &["-f"]),
        "lua" | "luajit" => script(&["-e"], &["-l"], &[]),
        _ => None,
    }
}

/// The script that an interpreter was given; `None` for a program given on the command line or typed in.
fn script(arguments: &[String], options: &Options) -> Option<String> {
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        if options.text.contains(&argument) || argument.is_empty() {
            return None;
        }
        if argument == "--" || options.program.contains(&argument) {
            return arguments.next().map(|script| base(script).to_owned());
        }
        if options.value.contains(&argument) {
            arguments.next();
        } else if !argument.starts_with('-') {
            return Some(base(argument).to_owned());
        }
    }
    None
}

/// The main class or the archive that java was given.
fn java(arguments: &[String]) -> Option<String> {
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "-jar" => return arguments.next().map(|archive| base(archive).to_owned()),
            "-m" | "--module" => return arguments.next().map(str::to_owned),
            "-cp" | "-classpath" | "--class-path" | "-p" | "--module-path" | "--add-opens"
            | "--add-exports" | "--add-modules" => {
                arguments.next();
            }
            option if option.starts_with('-') || option.starts_with('@') => {}
            "" => return None,
            class => return Some(base(class).to_owned()),
        }
    }
    None
}

fn base(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_called_what_people_call_them() {
        let cases: &[(&str, &[&str], &str)] = &[
            ("/usr/sbin/nginx", &["nginx: master process", "-g"], "nginx"),
            ("/usr/bin/python3.11", &["python3", "-u", "/srv/app.py", "--port", "80"], "app.py"),
            ("/usr/bin/python3.11", &["python3", "-W", "error", "app.py"], "app.py"),
            ("/usr/bin/python3.11", &["python3", "-m", "http.server", "8000"], "http.server"),
            ("/usr/bin/python3.11", &["python3", "-c", "import socket"], "python3"),
            ("/usr/bin/python3.11", &["python3"], "python3"),
            ("/usr/bin/redis-check-rdb", &["redis-server *:6379"], "redis-server"),
            ("/usr/bin/bash", &["-bash"], "bash"),
            ("/opt/my app/run it", &["/opt/my app/run it"], "run it"),
            ("/usr/bin/python3.11", &["gunicorn: master [shop]"], "gunicorn"),
            ("/usr/bin/java", &["java", "-Xmx1g", "-cp", "a:b", "org.example.Main", "x"], "org.example.Main"),
            ("/usr/bin/java", &["java", "-jar", "/opt/shop.jar"], "shop.jar"),
            ("/usr/bin/node", &["node", "--require", "./hook.js", "dist/index.js"], "index.js"),
            ("/bin/bash", &["bash", "-e", "/x/run.sh"], "run.sh"),
            ("/bin/bash", &["bash", "-c", "ls | wc"], "bash"),
            ("/usr/bin/dash", &["sh", "/x/run.sh"], "run.sh"),
            ("/usr/bin/perl", &["perl", "-w", "tool.pl"], "tool.pl"),
            ("/usr/bin/php8.2", &["php", "-f", "index.php"], "index.php"),
            ("/opt/server (deleted)", &[], "server"),
            ("", &["./server"], "server"),
        ];
        for (executable, arguments, name) in cases {
            let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            assert_eq!(command(executable, &arguments), *name, "{executable} {arguments:?}");
        }
    }
}
