//! Program names as people use them: the name by which a program was started or, for an
//! interpreter, the name of the program that it runs.

/// Facts of the system about a program that determine its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramDescription {
    /// The name of the program.
    pub(crate) name: String,
    /// The file of the program, as given: the executable or, for an interpreter, the script, the
    /// archive, the module or the class.
    pub(crate) file: String,
    /// Whether the first argument is a title that the program set, which has replaced the
    /// arguments.
    pub(crate) is_titled: bool,
}

impl ProgramDescription {
    /// The program of a process with this executable and these arguments, its own name first.
    pub(crate) fn from_arguments(executable: &str, arguments: &[String]) -> ProgramDescription {
        // The kernel marks an executable that was replaced while it runs.
        let executable = executable.strip_suffix(" (deleted)").unwrap_or(executable);
        let started_as = arguments.first().map_or("", String::as_str);
        let name = own_name(executable, started_as);
        let rest = arguments.get(1..).unwrap_or(&[]);
        let run = find_interpreter(name).and_then(|interpreter| match interpreter {
            Interpreter::Java => find_java_program(rest),
            Interpreter::Erlang => find_erlang_name(rest),
            Interpreter::Script(options) => find_script(rest, &options),
        });
        let (name, file) = match run {
            Some(run) => run,
            None => (in_own_folder(executable, name), executable.to_owned()),
        };
        let file = if file.is_empty() { started_as.to_owned() } else { file };
        ProgramDescription { name, file, is_titled: is_title(executable, arguments) }
    }
}

/// The program's name, by its executable and the first argument. One executable can be several
/// programs, distinguished by that argument (busybox; Debian's redis-server is redis-check-rdb);
/// but programs also use it to show their state ("nginx: master process", "[celeryd: worker]
/// -active-"), after a blank or a colon.
fn own_name<'a>(executable: &'a str, started_as: &'a str) -> &'a str {
    let file = base_name(executable);
    if base_name(started_as) == file {
        return file;
    }
    let shown =
        started_as.trim_start_matches('[').split([' ', ':', ']']).next().unwrap_or_default();
    // A login shell is started as "-bash".
    match base_name(shown.trim_start_matches('-')) {
        "" => file,
        name => name,
    }
}

/// Whether the only argument is a title: it has more words than a program's name. The executable's
/// path may contain blanks itself.
fn is_title(executable: &str, arguments: &[String]) -> bool {
    let mut arguments = arguments.iter().filter(|argument| !argument.is_empty());
    let (Some(first), None) = (arguments.next(), arguments.next()) else { return false };
    first.contains([' ', ':', '[']) && base_name(first) != base_name(executable)
}

/// The program's name with the folder that it shares with the other programs of one package:
/// `/usr/lib/postfix/sbin/smtpd` is `postfix/smtpd`, and there are other programs called `smtpd`.
fn in_own_folder(executable: &str, name: &str) -> String {
    let parts: Vec<&str> = executable.split('/').collect();
    let place = match parts.as_slice() {
        [.., lib, folder, "bin" | "sbin" | "libexec", _] | [.., lib, folder, _] => {
            Some((*lib, *folder))
        }
        _ => None,
    };
    match place {
        Some(("lib" | "lib64" | "libexec", folder))
            if is_own_folder(folder) && !name.contains(folder) =>
        {
            format!("{folder}/{name}")
        }
        _ => name.to_owned(),
    }
}

/// Whether a folder of libraries belongs to one package and not to one kind of machine.
fn is_own_folder(folder: &str) -> bool {
    !matches!(folder, "bin" | "sbin" | "libexec") && !folder.contains("-linux-")
}

/// An interpreter, by how its arguments name the program that it runs.
enum Interpreter {
    Java,
    Erlang,
    Script(InterpreterOptions),
}

/// Meaning of an interpreter's options, as far as needed to find the script after them.
struct InterpreterOptions {
    /// Options that are followed by a program's text: there is no script.
    text: &'static [&'static str],
    /// Options that are followed by a separate value.
    value: &'static [&'static str],
    /// Options that name the program themselves: a module, or a file.
    program: &'static [&'static str],
    /// Words before the script that select an action.
    verbs: &'static [&'static str],
    /// Whether several options of one letter may be combined: `-um`.
    joins: bool,
}

/// The interpreter with this name; `None` for other programs.
fn find_interpreter(name: &str) -> Option<Interpreter> {
    // python3.11, perl5.36, php8.2, ruby3.1
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let script = |text, value, program, verbs| {
        let joins = stem != "php" && stem != "dotnet";
        Some(Interpreter::Script(InterpreterOptions { text, value, program, verbs, joins }))
    };
    match stem {
        "java" => Some(Interpreter::Java),
        "beam.smp" | "beam" => Some(Interpreter::Erlang),
        "python" | "pypy" => {
            script(&["-c"], &["-W", "-X", "--check-hash-based-pycs"], &["-m"], &[])
        }
        "perl" => script(&["-e", "-E"], &["-I"], &[], &[]),
        "ruby" => script(&["-e"], &["-I", "-r", "-C", "-E"], &[], &[]),
        "node" | "nodejs" => script(
            &["-e", "-p", "--eval", "--print"],
            &["-r", "--require", "--import", "-C", "--conditions", "--loader", "--env-file"],
            &[],
            &[],
        ),
        "deno" => script(&["eval"], &["-c", "--config"], &[], &["run", "serve"]),
        "bun" => script(&["-e", "--eval"], &["-r", "--preload"], &[], &["run"]),
        "dotnet" => script(&[], &["--depsfile", "--runtimeconfig", "--fx-version"], &[], &["exec"]),
        "sh" | "bash" | "dash" | "zsh" | "ksh" => script(&["-c"], &["-o", "-O"], &[], &[]),
        "php" => script(&["-r"], &["-c", "-d", "-z"], &["-f"], &[]),
        "lua" | "luajit" => script(&["-e"], &["-l"], &[], &[]),
        _ => None,
    }
}

/// The script of an interpreter, by its name and its file; `None` for a program given on the
/// command line or typed in.
fn find_script(arguments: &[String], options: &InterpreterOptions) -> Option<(String, String)> {
    let mut arguments = arguments.iter().map(String::as_str);
    let named = |script: &str| (base_name(script).to_owned(), script.to_owned());
    while let Some(argument) = arguments.next() {
        // Of combined options, only the last one can have a value.
        let last = match argument.strip_prefix('-') {
            Some(letters)
                if options.joins
                    && letters.len() > 1
                    && letters.chars().all(char::is_alphabetic) =>
            {
                letters.chars().last().map(|letter| format!("-{letter}"))
            }
            _ => None,
        };
        let means = |meaning: &[&str]| {
            meaning.contains(&argument)
                || last.as_deref().is_some_and(|last| meaning.contains(&last))
        };
        if means(options.text) || argument.is_empty() {
            return None;
        }
        if argument == "--" || means(options.program) {
            return arguments.next().map(named);
        }
        if means(options.value) {
            arguments.next();
        } else if !argument.starts_with('-') && !options.verbs.contains(&argument) {
            return Some(named(argument));
        }
    }
    None
}

/// Names of classes with which many programs begin, and of the packages that contain these classes.
const COMMON_CLASSES: [&str; 16] = [
    "Main",
    "Bootstrap",
    "Launcher",
    "App",
    "Application",
    "Server",
    "Start",
    "Starter",
    "Run",
    "Runner",
    "main",
    "boot",
    "bootstrap",
    "startup",
    "server",
    "launcher",
];

/// The main class, the archive or the module in java's arguments, by its name and its file.
fn find_java_program(arguments: &[String]) -> Option<(String, String)> {
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument {
            "-jar" => {
                return arguments
                    .next()
                    .map(|archive| (without_version(base_name(archive)), archive.to_owned()));
            }
            "-m" | "--module" => {
                let module = arguments.next()?;
                return Some((
                    module.split('/').next().unwrap_or(module).to_owned(),
                    module.to_owned(),
                ));
            }
            "-cp"
            | "-classpath"
            | "--class-path"
            | "-p"
            | "--module-path"
            | "--add-opens"
            | "--add-exports"
            | "--add-reads"
            | "--add-modules"
            | "--limit-modules"
            | "--upgrade-module-path" => {
                arguments.next();
            }
            option if option.starts_with('-') || option.starts_with('@') => {}
            "" => return None,
            class => return Some((class_name(class), class.to_owned())),
        }
    }
    None
}

/// The name of a class without its package or, if that is not distinctive, with a distinctive part
/// of the package: `org.apache.catalina.startup.Bootstrap` is `catalina.Bootstrap`.
fn class_name(class: &str) -> String {
    let mut parts = class.rsplit('.');
    let own = parts.next().unwrap_or(class);
    if !COMMON_CLASSES.contains(&own) {
        return own.to_owned();
    }
    match parts.find(|part| !COMMON_CLASSES.contains(part)) {
        Some(package) => format!("{package}.{own}"),
        None => own.to_owned(),
    }
}

/// An archive without the version in its name: `shop-1.4.2-SNAPSHOT.jar` is `shop.jar`, in every
/// release.
fn without_version(archive: &str) -> String {
    let Some(stem) = archive.strip_suffix(".jar") else { return archive.to_owned() };
    let starts = stem.match_indices('-').map(|(at, _)| at);
    let version =
        starts.into_iter().find(|at| stem[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    match version {
        Some(at) if at > 0 => format!("{}.jar", &stem[..at]),
        _ => archive.to_owned(),
    }
}

/// The name of an Erlang node without its host (`-sname rabbit@web1`), or of the application that
/// is started.
fn find_erlang_name(arguments: &[String]) -> Option<(String, String)> {
    let value_after = |options: &[&str]| {
        let at = arguments.iter().position(|argument| options.contains(&argument.as_str()))?;
        arguments.get(at + 1).filter(|value| !value.is_empty() && !value.starts_with('-'))
    };
    let name = value_after(&["-sname", "-name"]).or_else(|| value_after(&["-s", "-run"]))?;
    let own = name.split('@').next().filter(|own| !own.is_empty())?;
    Some((own.to_owned(), name.clone()))
}

/// The last part of a path.
pub(crate) fn base_name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(executable: &str, arguments: &[&str]) -> ProgramDescription {
        let arguments: Vec<String> =
            arguments.iter().map(|argument| (*argument).to_owned()).collect();
        ProgramDescription::from_arguments(executable, &arguments)
    }

    #[test]
    fn programs_have_the_names_that_people_use() {
        let tomcat = "org.apache.catalina.startup.Bootstrap";
        let cases: &[(&str, &[&str], &str)] = &[
            ("/usr/sbin/nginx", &["nginx: master process", "-g"], "nginx"),
            ("/usr/bin/python3.11", &["python3", "-u", "/srv/app.py", "--port", "80"], "app.py"),
            ("/usr/bin/python3.11", &["python3", "-W", "error", "app.py"], "app.py"),
            ("/usr/bin/python3.11", &["python3", "-m", "http.server", "8000"], "http.server"),
            ("/usr/bin/python3.11", &["python3", "-um", "celery", "-A", "shop"], "celery"),
            ("/usr/bin/python3.11", &["python3", "-Ic", "import socket"], "python3"),
            ("/usr/bin/python3.11", &["python3", "-c", "import socket"], "python3"),
            ("/usr/bin/python3.11", &["python3"], "python3"),
            ("/usr/bin/redis-check-rdb", &["redis-server *:6379"], "redis-server"),
            ("/usr/bin/bash", &["-bash"], "bash"),
            ("/opt/my app/run it", &["/opt/my app/run it"], "run it"),
            ("/usr/bin/python3.11", &["gunicorn: master [shop]"], "gunicorn"),
            (
                "/usr/bin/python3.11",
                &["[celeryd: celery@web1:MainProcess] -active- (worker)"],
                "celeryd",
            ),
            (
                "/usr/bin/java",
                &["java", "-Xmx1g", "-cp", "a:b", "org.example.shop.Orders", "x"],
                "Orders",
            ),
            (
                "/usr/bin/java",
                &["java", "-Dcatalina.base=/x", "-classpath", "a", tomcat, "start"],
                "catalina.Bootstrap",
            ),
            ("/usr/bin/java", &["java", "-cp", "a", "Main"], "Main"),
            ("/usr/bin/java", &["java", "-jar", "/opt/shop.jar"], "shop.jar"),
            ("/usr/bin/java", &["java", "-jar", "log4j-tools-2.1-SNAPSHOT.jar"], "log4j-tools.jar"),
            ("/usr/bin/java", &["java", "-p", "mods", "-m", "org.shop/org.shop.Main"], "org.shop"),
            ("/usr/bin/node", &["node", "--require", "./hook.js", "dist/index.js"], "index.js"),
            (
                "/usr/bin/dotnet",
                &["dotnet", "exec", "--depsfile", "a.json", "/srv/Shop.dll"],
                "Shop.dll",
            ),
            ("/usr/bin/deno", &["deno", "run", "--allow-net", "main.ts"], "main.ts"),
            ("/bin/bash", &["bash", "-e", "/x/run.sh"], "run.sh"),
            ("/bin/bash", &["bash", "-lc", "ls | wc"], "bash"),
            ("/bin/bash", &["bash", "-c", "ls | wc"], "bash"),
            ("/usr/bin/dash", &["sh", "/x/run.sh"], "run.sh"),
            ("/usr/bin/perl", &["perl", "-w", "tool.pl"], "tool.pl"),
            ("/usr/bin/php8.2", &["php", "-f", "index.php"], "index.php"),
            (
                "/usr/lib/erlang/erts-13/bin/beam.smp",
                &["beam.smp", "--", "-sname", "rabbit@web1"],
                "rabbit",
            ),
            ("/usr/lib/erlang/erts-13/bin/beam.smp", &["beam.smp", "-W", "w"], "beam.smp"),
            ("/usr/lib/postfix/sbin/lmtp", &["lmtp", "-t", "unix", "-u"], "postfix/lmtp"),
            ("/usr/lib/dovecot/lmtp", &["dovecot/lmtp"], "dovecot/lmtp"),
            ("/usr/lib/postgresql/15/bin/postgres", &["postgres: checkpointer"], "postgres"),
            (
                "/usr/lib/systemd/systemd-resolved",
                &["/usr/lib/systemd/systemd-resolved"],
                "systemd-resolved",
            ),
            ("/usr/lib/x86_64-linux-gnu/tool", &["tool"], "tool"),
            ("/opt/server (deleted)", &[], "server"),
            ("", &["./server"], "server"),
        ];
        for (executable, arguments, name) in cases {
            assert_eq!(program(executable, arguments).name, *name, "{executable} {arguments:?}");
        }
    }

    #[test]
    fn a_title_is_not_an_argument() {
        assert!(program("/usr/sbin/nginx", &["nginx: worker process", "", ""]).is_titled);
        assert!(program("/usr/bin/python3.11", &["[celeryd: a:MainProcess]"]).is_titled);
        assert!(!program("/usr/sbin/nginx", &["nginx", "-g", "daemon off;"]).is_titled);
        assert!(!program("/opt/my app/run it", &["/opt/my app/run it"]).is_titled);
        assert!(!program("/usr/sbin/nginx", &["nginx"]).is_titled);
    }

    #[test]
    fn the_file_belongs_to_the_program_that_runs() {
        assert_eq!(
            program("/usr/bin/python3", &["python3", "/srv/shop/app.py"]).file,
            "/srv/shop/app.py"
        );
        assert_eq!(program("/opt/a/server", &["server"]).file, "/opt/a/server");
        assert_eq!(program("", &["./server"]).file, "./server");
    }
}
