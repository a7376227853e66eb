//! Files below a data directory are opened by `data-files` alone, which follows no links there.
//! Code that opens files in another way is listed here, with the files it opens.

use std::path::Path;

use architecture::workspace;

/// Ways to open, make, change or look at a file by its name.
const BY_NAME: &[&str] = &[
    "File::open(",
    "File::create(",
    "File::create_new(",
    "File::options(",
    "OpenOptions::new(",
    "DirBuilder::new(",
    "fs::canonicalize(",
    "fs::copy(",
    "fs::create_dir(",
    "fs::create_dir_all(",
    "fs::exists(",
    "fs::hard_link(",
    "fs::metadata(",
    "fs::read(",
    "fs::read_dir(",
    "fs::read_link(",
    "fs::read_to_string(",
    "fs::remove_dir(",
    "fs::remove_dir_all(",
    "fs::remove_file(",
    "fs::rename(",
    "fs::set_permissions(",
    "fs::symlink_metadata(",
    "fs::write(",
    "tempfile::tempdir(",
    "tempfile::tempfile(",
    "tempfile_in(",
    // On a path, or on a descriptor that was opened in another way.
    ".canonicalize()",
    ".read_dir()",
    ".read_link()",
    ".set_len(",
    ".symlink_metadata()",
    "mkdirat(",
    "openat(",
    "renameat(",
    "unlinkat(",
];

/// Code that opens files by name, and which files these are. The longest matching prefix counts.
const ELSEWHERE: &[(&str, &str)] = &[
    ("collector/src/keys/", "keys, in a directory of their own that only its owner may write to"),
    ("collector/src/collect.rs", "/dev/urandom"),
    ("collector/src/collect/store.rs", "a descriptor that `DataPath` opened"),
    ("crates/importers/src/events/ctf/repair.rs", "a trace that the user named, and a copy of it"),
    ("crates/importers/src/events/ctf/streams.rs", "a trace that the user named"),
    ("crates/importers/src/import_input.rs", "a file that the user named"),
    ("crates/importers/src/spans/kieker/", "a folder that the user named"),
    ("crates/importers/src/strace/lines.rs", "files that the user named"),
    ("crates/injector/", "programs, what /proc tells of processes, and a folder of surveys"),
    ("crates/out-of-core/", "temporary files, which have no name"),
    ("reconcile/src/write/call_ids.rs", "a temporary file, which has no name"),
    ("crates/socket-log/src/switches/write.rs", "a descriptor that `DataPath` opened"),
    ("sockcap/src/arguments/completion_candidates.rs", "the directories of PATH"),
    (
        "sockcap/src/arguments/destination.rs",
        "the directories that the user named, which are compared",
    ),
    ("sockcap/src/commands/man.rs", "a directory that the user named"),
    ("sockcap/src/commands/record/attach.rs", "processes in /proc"),
    ("sockcap/src/commands/record/folders.rs", "by descriptors, as `DataPath`, with exact rights"),
    ("sockcap/src/commands/record/injection.rs", "the library, and a folder in /tmp"),
    ("sockcap/src/commands/record/unix_peers.rs", "processes and namespaces in /proc"),
    ("sockcap/src/commands/requests/follow.rs", "a file that the user named"),
    ("sockcap/src/commands/requests/request_input.rs", "a schema that the user named"),
    ("sockcap/src/commands/synth.rs", "a configuration that the user named"),
    ("sockcap/src/commands/view/redirect.rs", "a new file in a new directory, which go at the end"),
    ("sockcap/src/commands/view/token.rs", "/dev/urandom"),
    ("sockcap/src/config/file.rs", "the user's own configuration"),
    ("sockcap/src/lock.rs", "the directories that the user named, which are compared"),
    ("sockcap/src/manual.rs", "a directory that the user named"),
    ("sockcap/src/target.rs", "a file that the user named"),
    ("sockcap/src/tidy.rs", "a descriptor that `DataPath` opened"),
    ("sockcap/src/toys", "tests"),
    ("sockcap/src/visibility.rs", "programs"),
    ("crates/synth/src/", "files that the user named"),
];

/// Code outside sockcap's commands: libraries that are loaded into programs, code for building or
/// testing only, and `data-files` itself.
const NO_COMMANDS: &[&str] = &[
    "tests/bench/",
    "capture-shim/",
    "crates/data-files/",
    "tests/demo/",
    "tests/fuzz/",
    "tests/",
];

/// Whether `line` contains `way`, but not as the end of a longer name.
fn has_word(line: &str, way: &str) -> bool {
    line.match_indices(way).any(|(at, _)| {
        way.starts_with('.')
            || !line
                .get(..at)
                .unwrap_or_default()
                .ends_with(|before: char| before.is_alphanumeric())
    })
}

/// Lines of a source that open files by name, with their numbers, without its tests and without
/// files of the kernel.
fn by_name(text: &str) -> Vec<(usize, &str)> {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = text.get(..tests).unwrap_or_default();
    let lines = code.lines().enumerate().filter(|(_, line)| {
        let is_comment = line.trim_start().starts_with("//");
        let is_kernel = ["\"/proc/", "\"/sys/"].iter().any(|root| line.contains(root));
        !is_comment && !is_kernel && BY_NAME.iter().any(|way| has_word(line, way))
    });
    lines.map(|(number, line)| (number + 1, line.trim())).collect()
}

/// Whether a source is tests, an example, or a build script.
fn is_aside(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let is_folder = |folder: &str| file.components().any(|part| part.as_os_str() == folder);
    name.ends_with("tests.rs")
        || ["build.rs", "fuzz.rs", "fixture.rs", "round_trip.rs", "damaged_logs.rs"]
            .contains(&name.as_ref())
        || name == "damaged_files.rs"
        || is_folder("tests")
        || is_folder("examples")
}

#[test]
fn only_listed_files_are_opened_by_name() {
    let root = workspace::workspace_root();
    let (mut wrong, mut used) = (Vec::new(), vec![false; ELSEWHERE.len()]);
    for file in workspace::list_files(&root, "rs") {
        let below = file.strip_prefix(&root).unwrap_or(&file);
        let path = below.to_string_lossy();
        if is_aside(below) || NO_COMMANDS.iter().any(|aside| path.starts_with(aside)) {
            continue;
        }
        let found = by_name(&workspace::read_text(&file).unwrap())
            .iter()
            .map(|(number, line)| format!("{path}:{number}: {line}"))
            .collect::<Vec<_>>();
        match ELSEWHERE.iter().position(|(beginning, _)| path.starts_with(beginning)) {
            Some(place) => used[place] |= !found.is_empty(),
            None => wrong.extend(found),
        }
    }
    assert!(
        wrong.is_empty(),
        "files are opened by name; use `DataPath` below a data directory, and list other files in \
         ELSEWHERE:\n{}",
        wrong.join("\n")
    );
    let unused: Vec<&str> =
        ELSEWHERE.iter().zip(used).filter(|(_, used)| !used).map(|((path, _), _)| *path).collect();
    assert!(unused.is_empty(), "these no longer open files by name: {unused:?}");
}

#[test]
fn a_file_that_is_opened_by_name_is_found() {
    let source = "fn f() {\n    let log = File::open(path)?;\n    // File::open(path)\n    \
                  fs::read_to_string(\"/proc/self/status\")\n    OurFile::open(path)\n}\n#[cfg(test)]\nmod tests {\n    \
                  fs::write(path, text)\n}\n";
    assert_eq!(by_name(source), [(2, "let log = File::open(path)?;")]);
}
