//! A process, from its log's header: which host and machine it is on, and what people call it.

use message_trace::Node;
use rustc_hash::FxHashMap;
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
        parent_pid: Some(header.parent_pid as i32).filter(|parent| !of_packets && *parent > 0),
        start: Some(header.start.realtime),
        command: match header.arguments.first().filter(|_| of_packets) {
            Some(name) => name.clone(),
            None => command(&header.executable, &header.arguments),
        },
        executable: header.executable.clone(),
        traced: true,
    }
}

/// A child's log begins at most so many nanoseconds before its parent notes that it started it, as the
/// child may run first,
const BEFORE: i64 = 10_000_000;
/// and at most so many after it.
const AFTER: i64 = 1_000_000_000;

/// Lets processes begin when their parents started them, as far as these say so in `children`: by the
/// place of the parent, the child's number, and when. A process has its log only when it runs.
pub(crate) fn start_by_parents(processes: &mut [Process], children: &[(u32, u32, i64)]) {
    let mut by_number: FxHashMap<(u32, u32, u32), Vec<u32>> = FxHashMap::default();
    for (place, process) in (0..).zip(&*processes) {
        by_number.entry((process.kernel, process.host, process.pid)).or_default().push(place);
    }
    for (parent, pid, time) in children {
        let Some(by) = processes.get(*parent as usize) else { continue };
        let parent_pid = Some(by.pid as i32);
        let known = by_number.get(&(by.kernel, by.host, *pid)).into_iter().flatten();
        let start = |place: u32| {
            let node = &processes.get(place as usize)?.node;
            let is_near = |start: &i64| (-BEFORE..=AFTER).contains(&start.saturating_sub(*time));
            node.start.filter(is_near).filter(|_| node.parent_pid == parent_pid)
        };
        // A process that became another program has several logs.
        let first = known.filter_map(|place| Some((start(*place)?, *place))).min();
        if let Some((start, place)) = first
            && let Some(child) = processes.get_mut(place as usize)
        {
            child.node.start = Some(start.min(*time));
        }
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

    fn process(pid: u32, parent: i32, start: i64) -> Process {
        let node = Node { start: Some(start), parent_pid: Some(parent), ..Node::default() };
        Process { host: 0, kernel: 0, machine: 0, boot: 0, source: 0, pid, ended: None, node }
    }

    #[test]
    fn a_child_begins_when_its_parent_started_it() {
        const MS: i64 = 1_000_000;
        // The second is the child, and the third what it became. The number came again much later, and
        // with another parent.
        let mut processes = [
            process(10, 1, 0),
            process(20, 10, 105 * MS),
            process(20, 10, 110 * MS),
            process(20, 11, 103 * MS),
            process(20, 10, 5_000 * MS),
        ];
        start_by_parents(&mut processes, &[(0, 20, 100 * MS), (0, 30, 100 * MS), (0, 20, 7_000 * MS)]);
        let starts = processes.map(|process| process.node.start.map(|start| start / MS));
        assert_eq!(starts, [Some(0), Some(100), Some(110), Some(103), Some(5_000)]);
    }

    #[test]
    fn a_child_that_ran_before_its_parent_noted_it_keeps_its_beginning() {
        const MS: i64 = 1_000_000;
        let mut processes = [process(10, 1, 0), process(20, 10, 99 * MS), process(20, 10, 104 * MS)];
        start_by_parents(&mut processes, &[(0, 20, 100 * MS)]);
        let starts = processes.map(|process| process.node.start.map(|start| start / MS));
        assert_eq!(starts, [Some(0), Some(99), Some(104)]);
    }

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
