//! Completions and manual pages, read by the programs they are for. A shell that is missing fails its test:
//! `scripts/test` installs them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of the tests fail them by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What sockcap prints; it must succeed and say nothing else.
fn sockcap(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sockcap"));
    let output = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What a program that reads our output prints; it must succeed and complain of nothing.
fn reads(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let command = command.args(arguments).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    let output =
        command.output().unwrap_or_else(|error| panic!("{program}: {error}; scripts/test installs it"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{program} {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The completions for a shell, in a file.
fn script(shell: &str, directory: &Path) -> PathBuf {
    let path = directory.join(shell);
    fs::write(&path, sockcap(&["completions", shell])).unwrap();
    path
}

#[test]
fn bash_completes() {
    let directory = tempfile::tempdir().unwrap();
    let script = script("bash", directory.path());
    // As bash calls it: the words of the line, and which of them is being written.
    let complete = |line: &str, function_arguments: &str| {
        let words = line.split(' ').count();
        let ask = format!(
            "source {}; COMP_WORDS=({line}); COMP_CWORD={}; _sockcap {function_arguments}; echo \"${{COMPREPLY[*]}}\"; complete -p sockcap",
            script.display(),
            words - 1,
        );
        let answer = reads("bash", &["-uc", &ask]);
        let (found, registered) = answer.split_once('\n').unwrap();
        assert!(registered.contains("-F _sockcap"), "{registered}");
        found.to_owned()
    };
    assert_eq!(complete("sockcap report --so", "sockcap --so report"), "--sort");
    assert_eq!(complete("sockcap repo", "sockcap repo sockcap"), "report");
    assert_eq!(complete("sockcap import pcap --addr", "sockcap --addr pcap"), "--address");
    assert_eq!(complete("sockcap record --keep n", "sockcap n --keep"), "newest");
}

#[test]
fn zsh_reads_its_completions() {
    let directory = tempfile::tempdir().unwrap();
    let script = script("zsh", directory.path());
    reads("zsh", &["-fn", script.to_str().unwrap()]);
    let ask = format!(
        "autoload -Uz compinit; compinit -D -u; source {}; print -r -- $_comps[sockcap]",
        script.display()
    );
    assert_eq!(reads("zsh", &["-fc", &ask]), "_sockcap\n");
}

#[test]
fn fish_completes() {
    let directory = tempfile::tempdir().unwrap();
    let script = script("fish", directory.path());
    let ask = |line: &str| {
        reads("fish", &["--no-config", "-c", &format!("source {}; complete -C '{line}'", script.display())])
    };
    assert_eq!(ask("sockcap report --so"), "--sort\tWhat to rank the patterns by\n");
    assert!(ask("sockcap imp").starts_with("import\t"));
}

#[test]
fn elvish_completes() {
    let directory = tempfile::tempdir().unwrap();
    let script = script("elvish", directory.path());
    // What the editor of an elvish with a terminal has.
    let editor = "var edit: = (ns [&completion:=(ns [&arg-completer=[&]]) \
                  &complex-candidate~={|text &display=''| put $text}])\n";
    let ask = "\n$edit:completion:arg-completer[sockcap] sockcap report --so | each {|found| echo $found}\n";
    fs::write(directory.path().join("ask"), [editor, &fs::read_to_string(script).unwrap(), ask].concat())
        .unwrap();
    let found = reads("elvish", &["-norc", directory.path().join("ask").to_str().unwrap()]);
    assert!(found.lines().any(|line| line == "--sort") && !found.contains("--truth"), "{found}");
}

/// Debian has no PowerShell: that its script names what there is must do.
#[test]
fn powershell_has_all_commands() {
    let script = sockcap(&["completions", "powershell"]);
    assert!(script.contains("Register-ArgumentCompleter -Native -CommandName 'sockcap'"));
    for path in ["sockcap;report", "sockcap;import;pcap", "sockcap;keys;host"] {
        assert!(script.contains(&format!("'{path}'")), "{path}");
    }
    assert!(script.contains("'--sort'"));
}

#[test]
fn manual_pages_are_read_without_a_warning() {
    let directory = tempfile::tempdir().unwrap();
    let pages = directory.path().join("made/man1");
    assert_eq!(sockcap(&["man", pages.to_str().unwrap()]), "");
    let mut names: Vec<String> =
        fs::read_dir(&pages).unwrap().map(|page| page.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    // A page for every command, also for those below others, and none for what clap adds by itself.
    for name in
        ["sockcap.1", "sockcap-report.1", "sockcap-import.1", "sockcap-import-pcap.1", "sockcap-keys-new.1"]
    {
        assert!(names.iter().any(|there| there == name), "{name} in {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("help")), "{names:?}");
    for name in &names {
        let page = pages.join(name);
        let page = page.to_str().unwrap();
        reads("groff", &["-ww", "-man", "-Tutf8", "-z", page]);
        let shown = reads("man", &["--warnings", "-l", page]);
        assert!(shown.contains("SYNOPSIS"), "{name}: {shown}");
    }
    let main = fs::read_to_string(pages.join("sockcap.1")).unwrap();
    assert_eq!(sockcap(&["man"]), main, "without a directory the program's own page is printed");
}

#[test]
fn a_manual_page_has_what_help_has() {
    let directory = tempfile::tempdir().unwrap();
    sockcap(&["man", directory.path().to_str().unwrap()]);
    let page = directory.path().join("sockcap-report.1");
    let shown = reads("man", &["-l", page.to_str().unwrap()]);
    for words in
        ["--sort <KEY>", "[default: total]", "EXAMPLES", "sockcap report --sort p99 --limit 5", "Sort keys:"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    // A line of its own for each line of an example.
    assert!(shown.lines().any(|line| line.trim() == "sockcap report"), "{shown}");
}

#[test]
fn a_directory_that_cannot_be_made_is_told() {
    let output = Command::new(env!("CARGO_BIN_EXE_sockcap")).args(["man", "/proc/no/such"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/proc/no/such"), "{output:?}");
}
