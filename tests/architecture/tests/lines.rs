//! Form of lines: their length, and words that confuse a stranger.

use std::path::Path;

use architecture::workspace;

/// Maximum number of characters of a line of prose.
const COLUMNS: usize = 100;

/// The comments of a source, each with the number of its line.
fn comment_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with("//"))
}

/// The prose of a page, each line with its number: no tables, no examples, and no lines without a
/// space at which they could be broken.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_example = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        is_example ^= fence;
        let breakable = line.trim_start().trim_start_matches(['-', '*', ' ']).contains(' ');
        !fence && !is_example && !line.starts_with("    ") && !line.starts_with('|') && breakable
    })
}

/// Lines that are too long.
fn too_long<'a>(file: &Path, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let long = lines.filter(|(_, line)| line.chars().count() > COLUMNS && !line.contains("://"));
    long.map(|(number, _)| format!("{}:{}", file.display(), number + 1)).collect()
}

#[test]
fn comments_and_pages_fit_100_columns() {
    let mut wrong = Vec::new();
    for file in workspace::list_files(&workspace::workspace_root(), "rs") {
        wrong.extend(too_long(&file, comment_lines(&workspace::read_text(&file).unwrap())));
    }
    for file in workspace::list_files(&workspace::workspace_root(), "md") {
        wrong.extend(too_long(&file, prose_lines(&workspace::read_text(&file).unwrap())));
    }
    assert!(wrong.is_empty(), "lines of more than {COLUMNS} columns:\n{}", wrong.join("\n"));
}

#[test]
fn a_long_comment_and_a_long_line_of_a_page_are_found() {
    let long = "word ".repeat(21);
    let source = format!("// {long}\nlet text = \"{long}\";\n");
    assert_eq!(too_long(Path::new("a.rs"), comment_lines(&source)), ["a.rs:1"]);
    let page = format!("{long}\n```\n{long}\n```\n| {long} |\n- {long}\n");
    assert_eq!(too_long(Path::new("a.md"), prose_lines(&page)), ["a.md:1", "a.md:6"]);
}

/// Words that leave a stranger guessing. They are searched in comments and pages.
const GUESSING: &[&str] = &[
    "of which",
    "so many",
    "so much of it",
    "what is to be",
    "see the module",
    "see above",
    "at most as many",
];

/// Lines that contain words of [`GUESSING`].
fn guessing_lines<'a>(file: &Path, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let found = lines.filter_map(|(number, line)| {
        let line = line.to_lowercase();
        let words = GUESSING.iter().find(|words| line.contains(**words))?;
        Some(format!("{}:{}: {words}", file.display(), number + 1))
    });
    found.collect()
}

#[test]
fn comments_and_pages_can_be_understood_alone() {
    let mut wrong = Vec::new();
    for file in workspace::list_files(&workspace::workspace_root(), "rs") {
        wrong.extend(guessing_lines(&file, comment_lines(&workspace::read_text(&file).unwrap())));
    }
    for file in workspace::list_files(&workspace::workspace_root(), "md") {
        wrong.extend(guessing_lines(&file, prose_lines(&workspace::read_text(&file).unwrap())));
    }
    let this = |place: &String| place.contains(file!());
    wrong.retain(|place| !this(place));
    assert!(wrong.is_empty(), "name what is counted, and by which part:\n{}", wrong.join("\n"));
}

/// Words of a private dialect in comments, with the words that readers know.
const DIALECT: &[(&str, &str)] = &[
    ("told", "given, passed, recorded, reported"),
    ("beside", "next to, in addition to"),
    ("whom", "which"),
    ("whoever", "the process that, the user who"),
    ("nobody's", "that belongs to none"),
];

/// The lines with words of [`DIALECT`], each with what to write.
fn dialect_lines<'a>(file: &Path, lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<String> {
    let found = lines.filter_map(|(number, line)| {
        let words = line.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
        let words: Vec<String> = words.map(str::to_lowercase).collect();
        let is_there = |(word, _): &&(&str, &str)| words.iter().any(|there| there == word);
        let (word, instead) = DIALECT.iter().find(is_there)?;
        Some(format!("{}:{}: {word}; write {instead}", file.display(), number + 1))
    });
    found.collect()
}

#[test]
fn comments_are_in_the_words_of_the_field() {
    let mut wrong = Vec::new();
    for file in workspace::list_files(&workspace::workspace_root(), "rs") {
        wrong.extend(dialect_lines(&file, comment_lines(&workspace::read_text(&file).unwrap())));
    }
    assert!(wrong.is_empty(), "private words in comments:\n{}", wrong.join("\n"));
}

#[test]
fn a_word_of_the_dialect_is_found() {
    let source = "// Threads that were Told of it.\n// The untold rest.\nlet told = 1;\n";
    let found = dialect_lines(Path::new("a.rs"), comment_lines(source));
    assert_eq!(found, ["a.rs:1: told; write given, passed, recorded, reported"]);
}

/// Beginnings of a doc that leave its subject open.
const POINTING: &[&str] = &["Those ", "They are"];

/// Docs that begin with words of [`POINTING`].
fn pointing_docs(file: &Path, text: &str) -> Vec<String> {
    let doc = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("///").or(line.strip_prefix("//!")).map(|doc| doc.trim().to_owned())
    };
    let lines: Vec<Option<String>> = text.lines().map(doc).collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let is_first = number == 0 || lines[number - 1].is_none();
        let Some(line) = line.as_ref().filter(|_| is_first) else { continue };
        if POINTING.iter().any(|words| line.starts_with(words)) {
            found.push(format!("{}:{}: {line}", file.display(), number + 1));
        }
    }
    found
}

#[test]
fn a_doc_begins_with_its_subject() {
    let mut wrong = Vec::new();
    for file in workspace::list_files(&workspace::workspace_root(), "rs") {
        wrong.extend(pointing_docs(&file, &workspace::read_text(&file).unwrap()));
    }
    assert!(wrong.is_empty(), "name the subject:\n{}", wrong.join("\n"));
}

#[test]
fn a_doc_without_a_subject_is_found() {
    let source =
        "/// Calls of one flow.\n/// They are sorted.\nstruct A;\n\n/// Those of b.\nstruct B;\n";
    assert_eq!(pointing_docs(Path::new("a.rs"), source), ["a.rs:5: Those of b."]);
}

#[test]
fn a_maximum_names_its_quantity() {
    let mut wrong = Vec::new();
    for file in workspace::list_files(&workspace::workspace_root(), "rs") {
        for (number, line) in workspace::read_text(&file).unwrap().lines().enumerate() {
            let name = line.trim_start().trim_start_matches("pub").split_once("const ");
            let name = name.and_then(|(_, rest)| rest.split(':').next()).unwrap_or_default();
            if name.split('_').any(|word| ["MOST", "FEWEST", "LEAST"].contains(&word)) {
                wrong.push(format!("{}:{}: {name}", file.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "MAX_OPEN_REQUESTS, not MOST:\n{}", wrong.join("\n"));
}

#[test]
fn every_crate_begins_with_a_readme_that_has_an_example() {
    let mut wrong = Vec::new();
    for member in workspace::workspace_members().unwrap() {
        let readme = std::fs::read_to_string(member.folder.join("README.md")).unwrap_or_default();
        for part in ["```", "Invariants"] {
            if !readme.contains(part) {
                wrong.push(format!("{}: no {part} in README.md", member.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
