//! Completions and manual pages, read by the programs that they are for. A missing shell fails its
//! test: `scripts/test` installs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The output of sockcap, which must succeed and print nothing else.
fn run_sockcap(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The output of a program that reads ours; it must succeed without complaints.
fn run_reader(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let command = command.args(arguments).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; scripts/test installs it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{program} {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The completions for a shell, in a file.
fn write_script(shell: &str, directory: &Path) -> PathBuf {
    let path = directory.join(shell);
    fs::write(&path, run_sockcap(&["completions", shell])).unwrap();
    path
}

/// A data directory with an analysis, and next to it files to which paths can be completed.
fn analysed_directory(directory: &Path) {
    sockcap_in(directory, &["synth", "children-0-2", "--instances", "20", "-d", "made"]);
    sockcap_in(directory, &["report", "-d", "made"]);
    fs::write(directory.join("truth-of-made.csv"), "").unwrap();
}

fn sockcap_in(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    let output =
        command.args(arguments).current_dir(directory).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

/// Runs a shell's script in `directory`, with sockcap in the search path.
fn ask_shell(shell: &str, arguments: &[&str], directory: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_sockcap")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", program.display());
    let mut command = Command::new(shell);
    let command =
        command.args(arguments).current_dir(directory).env("PATH", path).env("LC_ALL", "C.UTF-8");
    let output = command
        .env("HOME", directory)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{shell}: {error}; scripts/test installs it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{shell} {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// What each shell has to find at the end of a line: all of the first list, and none of the second.
const LINES: [(&str, &[&str], &[&str]); 12] = [
    ("sockcap repo", &["report"], &["record"]),
    ("sockcap report --so", &["--sort"], &["--node"]),
    ("sockcap import pcap --addr", &["--address"], &[]),
    ("sockcap record --keep n", &["newest"], &["oldest"]),
    ("sockcap report --sort ", &["total", "p99", "evidence"], &[]),
    ("sockcap analyze --node ", &["host", "process", "command", "thread"], &[]),
    ("sockcap analyze --algorithm n", &["nesting"], &["linking"]),
    ("sockcap analyze --without delays,con", &["delays,context", "delays,connections"], &[]),
    ("sockcap export calls --format p", &["parquet", "protobuf"], &["csv"]),
    ("sockcap score -d made --truth truth", &["truth-of-made.csv"], &[]),
    ("sockcap report -d made --pattern ", &["0"], &[]),
    ("sockcap record -- pytho", &["python3"], &["bash"]),
];

/// Compares the completions of a shell, one word each, with the list.
fn check_shell(shell: &str, find: impl Fn(&str) -> Vec<String>) {
    for (line, wanted, unwanted) in LINES {
        let found = find(line);
        let has = |word: &&&str| found.iter().any(|found| found == *word);
        let missing: Vec<_> = wanted.iter().filter(|word| !has(word)).collect();
        let superfluous: Vec<_> = unwanted.iter().filter(has).collect();
        assert!(
            missing.is_empty() && superfluous.is_empty(),
            "{shell}: {line:?}: {missing:?} {superfluous:?}: {found:?}"
        );
    }
    let nodes = find("sockcap report -d made --through ");
    assert!(
        !nodes.is_empty() && nodes.iter().all(|node| !node.starts_with('-')),
        "{shell}: {nodes:?}"
    );
    assert!(
        find("sockcap report --data ma").iter().any(|found| found.starts_with("made")),
        "{shell}"
    );
}

#[test]
fn bash_completes() {
    let directory = tempfile::tempdir().unwrap();
    analysed_directory(directory.path());
    let script = write_script("bash", directory.path());
    check_shell("bash", |line| {
        // The way bash calls it: the words of the line, and the index of the word being written.
        let words: Vec<&str> = line.split(' ').collect();
        let (last, before) = (words[words.len() - 1], words[words.len() - 2]);
        let list: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let call = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={}; COMP_TYPE=9; _clap_complete_sockcap sockcap '{last}' '{before}'; \
             printf '%s\\n' \"${{COMPREPLY[@]-}}\"",
            script.display(),
            list.join(" "),
            words.len() - 1,
        );
        ask_shell("bash", &["-uc", &call], directory.path()).lines().map(str::to_owned).collect()
    });
    let registered = format!("source {}; complete -p sockcap", script.display());
    assert!(
        ask_shell("bash", &["-c", &registered], directory.path())
            .contains("-F _clap_complete_sockcap")
    );
}

#[test]
fn zsh_completes() {
    let directory = tempfile::tempdir().unwrap();
    analysed_directory(directory.path());
    let script = write_script("zsh", directory.path());
    run_reader("zsh", &["-fn", script.to_str().unwrap()]);
    // A stand-in for the line editor: the words, the index of the one being written, and a function
    // that prints the completions.
    let shows = "_describe() { local list one; for list in dirs other; do [[ \" $* \" == *\" $list \"* ]] && \
                 for one in \"${(@P)list}\"; do print -r -- \"${one%%:*}\"; done; done; return 0 }";
    check_shell("zsh", |line| {
        let list: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let call = format!(
            "autoload -Uz compinit; compinit -D -u; source {}; {shows}; words=({}); CURRENT={}; _clap_dynamic_completer_sockcap; true",
            script.display(),
            list.join(" "),
            list.len(),
        );
        ask_shell("zsh", &["-fc", &call], directory.path()).lines().map(str::to_owned).collect()
    });
    let registered = format!(
        "autoload -Uz compinit; compinit -D -u; source {}; print -r -- $_comps[sockcap]",
        script.display()
    );
    assert_eq!(
        ask_shell("zsh", &["-fc", &registered], directory.path()),
        "_clap_dynamic_completer_sockcap\n"
    );
}

#[test]
fn fish_completes() {
    let directory = tempfile::tempdir().unwrap();
    analysed_directory(directory.path());
    let script = write_script("fish", directory.path());
    check_shell("fish", |line| {
        let call = format!("source {}; complete -C '{line}'", script.display());
        let found = ask_shell("fish", &["--no-config", "-c", &call], directory.path());
        found.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    });
}

#[test]
fn elvish_completes() {
    let directory = tempfile::tempdir().unwrap();
    analysed_directory(directory.path());
    let script = write_script("elvish", directory.path());
    // A stand-in for the editor of an elvish with a terminal.
    let editor = "var edit: = (ns [&completion:=(ns [&arg-completer=[&]]) \
                  &complex-candidate~={|text &display=''| put $text}])\n";
    check_shell("elvish", |line| {
        let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
        let call = format!(
            "\n$edit:completion:arg-completer[sockcap] {} | each {{|found| echo $found}}\n",
            words.join(" ")
        );
        let all = [editor, &fs::read_to_string(&script).unwrap(), &call].concat();
        fs::write(directory.path().join("ask"), all).unwrap();
        let file = directory.path().join("ask");
        let found = ask_shell("elvish", &["-norc", file.to_str().unwrap()], directory.path());
        found.lines().map(str::to_owned).collect()
    });
}

/// Completion must print no message and no error if there is nothing to complete with.
#[test]
fn a_directory_without_an_analysis_completes_to_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["--", "sockcap", "report", "-d", "nowhere", "--pattern", ""];
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    let asked =
        command.args(words).env("SOCKCAP_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", "5");
    let output = asked.current_dir(directory.path()).output().unwrap();
    assert!(
        output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// Debian has no PowerShell: only the script's call of sockcap and the answer are tested.
#[test]
fn powershell_is_answered() {
    let script = run_sockcap(&["completions", "powershell"]);
    assert!(script.contains("Register-ArgumentCompleter -Native -CommandName sockcap"), "{script}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    let asked = command
        .args(["--", "sockcap", "report", "--sort", "p"])
        .env("SOCKCAP_COMPLETE", "powershell");
    let output = asked.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "p99\tp99 duration\n");
}

#[test]
fn manual_pages_are_read_without_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("made/man1");
    assert_eq!(run_sockcap(&["man", pages.to_str().unwrap()]), "");
    let mut names: Vec<String> = fs::read_dir(&pages)
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    // A page for every command, including subcommands, and none for commands that clap adds by
    // itself.
    for name in [
        "sockcap.1",
        "sockcap-report.1",
        "sockcap-import.1",
        "sockcap-import-pcap.1",
        "sockcap-keys-new.1",
    ] {
        assert!(names.iter().any(|there| there == name), "{name} in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
    for name in &names {
        let page = pages.join(name);
        let page = page.to_str().unwrap();
        run_reader("groff", &["-ww", "-man", "-Tutf8", "-z", page]);
        let shown = run_reader("man", &["--warnings", "-l", page]);
        assert!(shown.contains("SYNOPSIS"), "{name}: {shown}");
    }
    let main = fs::read_to_string(pages.join("sockcap.1")).unwrap();
    assert_eq!(
        run_sockcap(&["man"]),
        main,
        "without a directory the program's own page is printed"
    );
}

#[test]
fn a_manual_page_has_what_help_has() {
    let directory = tempfile::tempdir().unwrap();
    run_sockcap(&["man", directory.path().to_str().unwrap()]);
    let page = directory.path().join("sockcap-report.1");
    let shown = run_reader("man", &["-l", page.to_str().unwrap()]);
    for words in [
        "--sort <KEY>",
        "[default: total]",
        "EXAMPLES",
        "sockcap report --sort p99 --limit 5",
        "Sort keys:",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // Each line of an example is a line of its own.
    assert!(shown.lines().any(|line| line.trim() == "sockcap report"), "{shown}");
}

#[test]
fn a_directory_that_cannot_be_made_is_reported() {
    let output = Command::new(env!("CARGO_BIN_EXE_sockcap"))
        .args(["man", "/proc/no/such"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/proc/no/such"), "{output:?}");
}
