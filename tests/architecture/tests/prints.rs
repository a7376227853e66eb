//! Printing: recorded names may contain terminal escapes, so all text goes through the one writer
//! that escapes what is not printable (`sockcap/src/output/terminal_output.rs`). No other code may
//! use standard output and standard error.

use std::path::Path;

use architecture::workspace;

/// Ways to print.
const PRINTING: &[&str] = &[
    "println!",
    "print!(",
    "dbg!(",
    "io::stdout",
    "io::stderr",
    "stdout()",
    "stderr()",
    "anstream::",
    "rustix::stdio",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
];

/// Files that may print: the writer itself; code that asks whether there is a terminal; and
/// progress, which draws escaped text.
const MAY: &[(&str, &[&str])] = &[
    ("sockcap/src/output/terminal_output.rs", PRINTING),
    // A target of results for programs; text arrives through the writer.
    ("sockcap/src/target.rs", &["stdout()", "io::stdout"]),
    ("sockcap/src/output.rs", &["stdout()", "stderr()", "io::stdout", "io::stderr", "anstream::"]),
];

/// Lines of a source that print, each with its number, except in tests and comments.
fn printing_lines<'a>(text: &'a str, may: &[&str]) -> Vec<(usize, &'a str)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        // Code that follows a module of tests is tests, too.
        let is_test = line.trim() == "#[cfg(test)]";
        if is_test && lines.peek().is_some_and(|(_, next)| next.trim().starts_with("mod ")) {
            let (_, next) = lines.next().unwrap_or_default();
            if next.trim_end().ends_with('{') {
                break;
            }
            continue;
        }
        let code = line.split("//").next().unwrap_or_default();
        // The outputs of a child process are not our standard output.
        let code =
            code.replace(".stdout()", "").replace(".stderr()", "").replace(".use_stderr()", "");
        let prints = PRINTING.iter().any(|way| code.contains(way) && !may.contains(way));
        if prints {
            found.push((number + 1, line));
        }
    }
    found
}

/// Whether a file is part of a program or library that is shipped.
fn is_shipped(file: &Path) -> bool {
    let name = file.to_string_lossy();
    let is_test = file.file_stem().is_some_and(|stem| {
        let stem = stem.to_string_lossy();
        stem == "tests" || stem.ends_with("_tests")
    });
    let others = ["tests/", "scripts/"];
    name.contains("src/") && !is_test && !others.iter().any(|other| name.starts_with(other))
}

#[test]
fn everything_is_printed_by_one_writer() {
    let root = workspace::workspace_root();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for file in workspace::list_files(&root, "rs") {
        let name = file.strip_prefix(&root).unwrap_or(&file);
        if !is_shipped(name) {
            continue;
        }
        seen += 1;
        let may = MAY.iter().find(|(of, _)| Path::new(of) == name).map_or(&[][..], |(_, may)| may);
        let text = workspace::read_text(&file).unwrap();
        let lines = printing_lines(&text, may);
        wrong.extend(lines.iter().map(|(line, text)| format!("{}:{line}: {text}", name.display())));
    }
    assert!(seen > 500, "{seen} files");
    assert!(
        wrong.is_empty(),
        "these print directly; use tell! or the writers of sockcap's output:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn code_that_prints_is_found() {
    let source = "// println!(\nlet a = 1;\nprintln!(\"{a}\");\nlet out = std::io::stdout().lock();\n\
                  let child = Command::new(x).stdout(Stdio::null());\nlet all = child.stdout();\n\
                  #[cfg(test)]\nmod more;\neprintln!(\"x\");\n#[cfg(test)]\nmod tests {\n\
                  println!();\n}\n";
    let found: Vec<usize> = printing_lines(source, &[]).iter().map(|(line, _)| *line).collect();
    assert_eq!(found, [3, 4, 9]);
}
