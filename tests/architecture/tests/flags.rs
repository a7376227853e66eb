//! Flags: one way to declare them, and one place for each default (docs/decisions/0621).

use architecture::{SourceError, workspace};

/// Code that declares or reads a flag in another way than by a field of a type that derives clap's
/// `Args`, with what to write.
const OTHER_WAYS: &[(&str, &str)] = &[
    ("Arg::new(", "declare the flag as a field: #[arg(long)]"),
    ("arg!(", "declare the flag as a field: #[arg(long)]"),
    (": Flag<", "declare the flag as a field: #[arg(long)]"),
    (".get_one", "read the flag from its field: Flags::from_arg_matches(given)"),
    (".get_many", "read the flag from its field: Flags::from_arg_matches(given)"),
    (".get_flag(", "read the flag from its field: Flags::from_arg_matches(given)"),
];

/// Files that inspect the definitions of all commands, whatever these are.
const INSPECTING: &[&str] = &["sockcap/src/config.rs", "sockcap/src/config/file.rs"];

/// The code of a source before its module of tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
}

/// Lines that declare or read flags in other ways, with what to write.
fn other_ways(file: &str, text: &str) -> Vec<String> {
    let is_code = |(_, line): &(usize, &str)| !line.trim_start().starts_with("//");
    let found = text.lines().enumerate().filter(is_code).filter_map(|(number, line)| {
        let (way, instead) = OTHER_WAYS.iter().find(|(way, _)| line.contains(way))?;
        Some(format!("{file}:{}: {way}; {instead}", number + 1))
    });
    found.collect()
}

/// The arguments of each `#[arg(...)]`, on one line.
fn declarations(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for begun in text.split("#[arg(").skip(1) {
        let mut depth = 1;
        let end = begun.find(|letter| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            depth == 0
        });
        let inner = &begun[..end.unwrap_or(begun.len())];
        found.push(inner.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    found
}

/// Defaults that are literals, not constants.
fn literal_defaults(file: &str, text: &str) -> Vec<String> {
    let is_literal = |declaration: &String| {
        ["default_value = ", "default_value_t = ", "default_values_t = ", "ShownDefault::new("]
            .iter()
            .flat_map(|name| declaration.split(name).skip(1))
            .any(|value| value.starts_with(|first: char| first == '"' || first.is_ascii_digit()))
    };
    let literal = declarations(text).into_iter().filter(is_literal);
    literal.map(|declaration| format!("{file}: {declaration}")).collect()
}

/// Help that repeats a default: a number or a single word in `[default: ...]`. Words that describe
/// a default, such as `[default: after the first file]`, repeat no constant.
fn repeated_defaults(file: &str, text: &str) -> Vec<String> {
    let prose: Vec<&str> =
        text.lines().map(|line| line.trim().trim_start_matches("/// ")).collect();
    let prose = prose.join(" ");
    let repeats = |default: &&str| {
        let is_written = !default.contains(['{', '}']);
        let is_number = default.starts_with(|first: char| first.is_ascii_digit());
        // A file of the data directory is named by the directory's placeholder.
        is_written && (is_number || !default.contains(' ') && !default.starts_with("DIR/"))
    };
    let defaults = prose.split("[default: ").skip(1).filter_map(|rest| rest.split(']').next());
    defaults.filter(repeats).map(|default| format!("{file}: [default: {default}]")).collect()
}

/// What `check` finds in the sources of all crates. Tests and their tools may declare arguments in
/// any way.
fn find_in_sources(check: fn(&str, &str) -> Vec<String>) -> Result<Vec<String>, SourceError> {
    let root = workspace::workspace_root();
    let mut found = Vec::new();
    for member in workspace::workspace_members()? {
        for file in workspace::list_files(&member.folder.join("src"), "rs") {
            let name = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            let is_test = name.starts_with("tests/") || name.ends_with("tests.rs");
            if !is_test && !INSPECTING.contains(&name.as_str()) {
                found.extend(check(&name, without_tests(&workspace::read_text(&file)?)));
            }
        }
    }
    Ok(found)
}

#[test]
fn flags_are_declared_in_one_way() {
    let wrong = find_in_sources(other_ways).unwrap();
    assert!(wrong.is_empty(), "flags are fields of types that derive Args:\n{}", wrong.join("\n"));
}

#[test]
fn another_way_to_declare_a_flag_is_found() {
    let source = "let limit = Arg::new(\"limit\");\nstatic LIMIT: Flag<u64> = flag();\n\
                  // Arg::new(\"a\")\n#[cfg(test)]\nmod tests {\n    Arg::new(\"b\");\n}\n";
    let found = other_ways("a.rs", without_tests(source));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("a.rs:1: Arg::new(") && found[1].starts_with("a.rs:2: : Flag<"));
}

/// Folders of code that declares flags. All other code is independent of the command line.
const DECLARING: &[&str] = &[
    "sockcap/src/",
    "crates/registry/src/",
    "crates/importers/src/",
    "crates/exporters/src/",
    "analyze/src/infer/",
];

/// Lines that use clap where no flags are declared.
fn foreign_uses(file: &str, text: &str) -> Vec<String> {
    if DECLARING.iter().any(|folder| file.starts_with(folder)) {
        return Vec::new();
    }
    let uses = text.lines().enumerate().filter(|(_, line)| line.contains("clap::"));
    uses.map(|(number, line)| format!("{file}:{}: {}", number + 1, line.trim())).collect()
}

#[test]
fn only_code_that_declares_flags_knows_the_command_line() {
    let wrong = find_in_sources(foreign_uses).unwrap();
    assert!(wrong.is_empty(), "options are plain types elsewhere:\n{}", wrong.join("\n"));
}

#[test]
fn a_use_of_the_command_line_elsewhere_is_found() {
    let source = "use std::fs;\nuse clap::Args;\n";
    assert_eq!(foreign_uses("report/src/a.rs", source), ["report/src/a.rs:2: use clap::Args;"]);
    assert!(foreign_uses("analyze/src/infer/flags.rs", source).is_empty());
}

#[test]
fn defaults_are_constants() {
    let wrong = find_in_sources(literal_defaults).unwrap();
    assert!(wrong.is_empty(), "name the constant that is the default:\n{}", wrong.join("\n"));
}

#[test]
fn a_literal_default_is_found() {
    let source = "#[arg(long, default_value = \"1s\")]\n#[arg(\n    long,\n    \
                  default_value_t = 10\n)]\n#[arg(long, default_value_t = LIMIT)]\n\
                  #[arg(long, default_missing_value = \"true\", default_value = show(SIZE))]\n\
                  #[arg(long, default_value_t)]\n#[arg(add = ShownDefault::new(7))]\n";
    let expected = [
        "a.rs: long, default_value = \"1s\"",
        "a.rs: long, default_value_t = 10",
        "a.rs: add = ShownDefault::new(7)",
    ];
    assert_eq!(literal_defaults("a.rs", source), expected);
}

#[test]
fn help_repeats_no_default() {
    let wrong = find_in_sources(repeated_defaults).unwrap();
    assert!(wrong.is_empty(), "write add = ShownDefault::new(CONSTANT):\n{}", wrong.join("\n"));
}

#[test]
fn help_that_repeats_a_default_is_found() {
    let source = "    /// The node [default:\n    /// command]\n    /// Hold this [default: 64 MB]\n\
                  /// The file [default: DIR/report.html]\n/// It [default: the whole trace]\n\
                  format!(\"{help} [default: {default}]\")\n";
    let expected = ["a.rs: [default: command]", "a.rs: [default: 64 MB]"];
    assert_eq!(repeated_defaults("a.rs", source), expected);
}
