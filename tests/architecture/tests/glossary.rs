//! The glossary and the code agree: no definition has a replaced word in its name, and every name
//! in the glossary exists.

use std::collections::BTreeSet;
use std::path::Path;

use architecture::workspace;

/// The glossary, below the root.
const GLOSSARY: &str = "docs/glossary.md";

/// Keywords that a definition's name follows.
const DEFINING: &[&str] = &["fn ", "struct ", "enum ", "trait ", "type ", "union ", "mod "];

/// A word that is no longer used, and names in which it has another meaning.
#[derive(Debug, PartialEq)]
struct Replaced {
    words: Vec<String>,
    exceptions: BTreeSet<String>,
}

/// The rows of the table below a heading, by their cells.
fn table<'a>(page: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let after = page.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_default();
    let section = after.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with('|'));
    let cells = |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect();
    lines.skip(2).map(cells).collect()
}

/// The code spans of a cell.
fn code(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// The replaced words of a glossary.
fn replaced(page: &str) -> Vec<Replaced> {
    let rows = table(page, "Replaced words").into_iter();
    let words = rows.flat_map(|row| {
        let exceptions: BTreeSet<String> =
            row.get(2).into_iter().flat_map(|cell| code(cell)).map(str::to_owned).collect();
        let words: Vec<Replaced> = code(row[0])
            .map(|words| Replaced {
                words: words.split(' ').map(str::to_owned).collect(),
                exceptions: exceptions.clone(),
            })
            .collect();
        words
    });
    words.collect()
}

/// The words of an identifier in snake or camel case, in lower case.
fn words(identifier: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '_';
    for letter in identifier.chars() {
        if letter == '_' || words.is_empty() || letter.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The names that a source defines, except in its tests, with their line numbers.
fn definitions(text: &str) -> Vec<(usize, &str)> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut is_test = false;
    for (number, line) in code.lines().enumerate() {
        let (line_of_test, was_test) = (line.trim() == "#[test]", is_test);
        is_test = line_of_test || was_test && line.trim_start().starts_with("#[");
        // The name of a test is a sentence.
        if line.trim_start().starts_with("//") || was_test {
            continue;
        }
        for keyword in DEFINING {
            let Some(at) = line.find(keyword) else { continue };
            let is_word = line[..at].chars().next_back().is_none_or(|c| c == ' ' || c == '(');
            let rest = &line[at + keyword.len()..];
            let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
            // A type of a function (`fn(u8)`) has no name.
            if let Some(name) = name.filter(|name| is_word && !name.is_empty()) {
                found.push((number + 1, name));
            }
        }
    }
    found
}

/// Whether a name contains a replaced word.
fn has(name: &str, replaced: &Replaced) -> bool {
    let all = words(name);
    !replaced.exceptions.contains(name)
        && all.windows(replaced.words.len()).any(|some| some == replaced.words)
}

/// Whether a file belongs to the product: names in tests are sentences.
fn is_product(file: &Path) -> bool {
    let name = file.to_string_lossy();
    name.contains("/src/") && !name.starts_with("tests/") && !name.ends_with("tests.rs")
}

#[test]
fn no_name_has_a_replaced_word() {
    let root = workspace::workspace_root();
    let glossary = workspace::read_text(&root.join(GLOSSARY)).unwrap();
    let replaced = replaced(&glossary);
    assert!(replaced.len() > 40, "{} replaced words", replaced.len());
    let mut wrong = Vec::new();
    for file in workspace::list_files(&root, "rs") {
        let below = file.strip_prefix(&root).unwrap_or(&file);
        if !is_product(below) {
            continue;
        }
        for (line, name) in definitions(&workspace::read_text(&file).unwrap()) {
            for old in replaced.iter().filter(|old| has(name, old)) {
                wrong.push(format!("{}:{line}: {name} ({})", below.display(), old.words.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{GLOSSARY} replaces words of these names:\n{}", wrong.join("\n"));
}

#[test]
fn names_in_the_glossary_exist() {
    let root = workspace::workspace_root();
    let glossary = workspace::read_text(&root.join(GLOSSARY)).unwrap();
    let mut defined = BTreeSet::new();
    for file in workspace::list_files(&root, "rs") {
        let text = workspace::read_text(&file).unwrap();
        defined.extend(definitions(&text).into_iter().map(|(_, name)| name.to_owned()));
    }
    defined.extend(workspace::workspace_members().unwrap().into_iter().map(|member| member.name));
    let rows = table(&glossary, "Words");
    assert!(rows.len() > 60, "{} words", rows.len());
    let mut missing = Vec::new();
    for row in &rows {
        let names = row.get(3).into_iter().flat_map(|cell| code(cell));
        for name in names {
            let parts = name.split("::");
            let last = parts.last().unwrap_or_default();
            if !defined.contains(last) {
                missing.push(format!("{}: `{name}`", row[0]));
            }
        }
    }
    assert!(missing.is_empty(), "only in {GLOSSARY}:\n{}", missing.join("\n"));
}

#[test]
fn a_word_is_defined_once() {
    let glossary = workspace::read_text(&workspace::workspace_root().join(GLOSSARY)).unwrap();
    let mut seen = BTreeSet::new();
    let rows = table(&glossary, "Words");
    let twice: Vec<&str> =
        rows.iter().map(|row| row[0]).filter(|word| !seen.insert(*word)).collect();
    assert!(twice.is_empty(), "one word has one meaning: {twice:?}");
}

#[test]
fn a_replaced_word_in_a_name_is_found() {
    let page = "# G\n\n## Replaced words\n\n| old | instead | not in |\n|---|---|---|\n\
                | `told`, `let go` | operations | `untold_riches` |\n\n## Words\n";
    let replaced = replaced(page);
    assert_eq!(replaced.len(), 2);
    let is_wrong = |name: &str| replaced.iter().any(|old| has(name, old));
    for wrong in ["told", "Told", "ToldOfLog", "is_told", "who_is_let_go"] {
        assert!(is_wrong(wrong), "{wrong}");
    }
    for right in ["retold", "untold_riches", "let_it_go", "ToldX2".trim_start_matches("Told")] {
        assert!(!is_wrong(right), "{right}");
    }
    let source = "pub(crate) fn told() {}\n// fn a() {}\nlet f: fn(u8);\nstruct LetGo;\n\
                  #[test]\nfn told() {}\n#[cfg(test)]\nmod tests {\nfn told() {}\n}\n";
    assert_eq!(definitions(source), [(1, "told"), (4, "LetGo")]);
}
