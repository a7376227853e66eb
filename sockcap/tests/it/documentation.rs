//! Documentation tests: the commands of README, guide and command pages are run and their output is
//! compared, including `--help` of every command. `UPDATE_GOLDEN=1` rewrites the pages; review
//! them.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::pages::{ManualPage, repository_root, run_shell};

/// The pages with blocks that are shown and not run, as they need hosts, a network or programs of
/// the reader, with the number of such blocks. Each new one has to be added here.
const NOT_RUN: [(&str, usize); 19] = [
    ("README.md", 3),
    ("docs/commands/collect.md", 2),
    ("docs/commands/completions.md", 1),
    ("docs/commands/contexts.md", 1),
    ("docs/commands/diff.md", 1),
    ("docs/commands/dump.md", 1),
    ("docs/commands/export.md", 1),
    ("docs/commands/import.md", 5),
    ("docs/commands/man.md", 1),
    ("docs/commands/names.md", 1),
    ("docs/commands/record.md", 4),
    ("docs/commands/report.md", 1),
    ("docs/commands/requests.md", 1),
    ("docs/commands/score.md", 1),
    ("docs/commands/ship.md", 3),
    ("docs/commands/sockcap.md", 1),
    ("docs/commands/view.md", 1),
    ("docs/configuration.md", 1),
    ("docs/guide.md", 4),
];

#[test]
fn pages_show_the_actual_output() {
    let pages = crate::pages::all_pages();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(page) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = page.run_steps();
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}\nUPDATE_GOLDEN=1 rewrites the pages", wrong.join("\n"));
}

#[test]
fn blocks_that_are_not_run_are_listed() {
    let mut not_run = Vec::new();
    for page in crate::pages::all_pages() {
        let mut count = 0;
        for (language, block) in page.fenced_blocks() {
            count += usize::from(language == "sh");
            let begins = |line: &String| line.starts_with("sockcap ") || line.starts_with("$ ");
            let is_known = ["sh", "console"].contains(&language);
            let hidden = page.lines_of_block(&block).iter().find(|line| begins(line) && !is_known);
            assert!(
                hidden.is_none(),
                "{}: {hidden:?} is in a block that is neither ```console nor ```sh",
                page.name
            );
        }
        if count > 0 {
            not_run.push((page.name, count));
        }
    }
    let not_run: Vec<(&str, usize)> =
        not_run.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(not_run, NOT_RUN, "blocks that are not run");
}

/// All commands, as `import pcap`: each has a manual page.
fn all_commands() -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(run_shell("sockcap man .", directory.path()).0, 0);
    let mut commands = Vec::new();
    for page in fs::read_dir(directory.path()).unwrap() {
        let name = page.unwrap().file_name().into_string().unwrap();
        let name =
            name.trim_end_matches(".1").trim_start_matches("sockcap").trim_start_matches('-');
        commands.push(name.replace('-', " "));
    }
    commands.sort();
    assert!(commands.len() > 20 && commands[0].is_empty(), "{commands:?}");
    commands
}

/// The commands among the examples of a help text.
fn example_commands(help: &str) -> Vec<String> {
    let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_default();
    let lines = examples.lines().take_while(|line| !line.is_empty());
    // A description may follow a command.
    let command = |line: &str| line.trim().split("   ").next().unwrap_or_default().to_owned();
    lines.map(command).filter(|command| command.starts_with("sockcap ")).collect()
}

#[test]
fn every_command_has_examples_and_a_page_with_them_and_its_help() {
    let index = fs::read_to_string(repository_root().join("docs/README.md")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    for command in all_commands() {
        let top = command.split(' ').next().filter(|top| !top.is_empty()).unwrap_or("sockcap");
        let page = ManualPage::read_page(&format!("docs/commands/{top}.md"));
        assert!(
            index.contains(&format!("(commands/{top}.md)")),
            "docs/README.md has no link to {}",
            page.name
        );
        let ask = ["sockcap", &command, "--help"]
            .map(str::to_owned)
            .into_iter()
            .filter(|word| !word.is_empty());
        let ask = ask.collect::<Vec<_>>().join(" ");
        assert!(
            page.page_steps().iter().any(|step| step.command == ask),
            "{}: '$ {ask}' is missing; write it into a block, and UPDATE_GOLDEN=1 adds the rest",
            page.name
        );
        let (status, help) = run_shell(&ask, directory.path());
        let examples = example_commands(&help);
        assert!(status == 0 && !examples.is_empty(), "{ask}: it has no part 'Examples:'");
        for example in examples {
            let shown =
                |line: &String| line.strip_prefix("$ ").unwrap_or(line).starts_with(&example);
            let is_there = page
                .fenced_blocks()
                .iter()
                .any(|(_, block)| page.lines_of_block(block).iter().any(shown));
            assert!(is_there, "{}: the example '{example}' of {ask} is missing", page.name);
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/commands"] {
        for page in fs::read_dir(repository_root().join(folder)).unwrap() {
            let name = page.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                pages.push(format!("{folder}/{name}"));
            }
        }
    }
    for page in pages {
        let path = repository_root().join(&page);
        for link in fs::read_to_string(&path).unwrap().split("](").skip(1) {
            let link = link.split([')', '#']).next().unwrap();
            let is_elsewhere = link.is_empty() || link.starts_with("http");
            assert!(is_elsewhere || path.parent().unwrap().join(link).exists(), "{page}: {link}");
        }
    }
}
