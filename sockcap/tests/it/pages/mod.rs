//! Pages of the documentation with runnable commands. A block fenced by ```console has commands
//! after `$ ` (continued after `> `), each followed by its output on both streams, preceded by `?
//! STATUS` if that is not 0. In the output, `[..]` matches a part of a line and `...` lines that
//! differ from run to run. All commands of a page run one after another in one directory, which is
//! empty at first. A block fenced by ```sh is shown, not run.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use snapbox::Data;
use snapbox::filter::NormalizeToExpected;

/// A page.
pub(crate) struct ManualPage {
    /// The file, from the root of the repository.
    pub(crate) name: String,
    lines: Vec<String>,
}

/// A command of a page.
pub(crate) struct PageCommand {
    /// The command for the shell.
    pub(crate) command: String,
    /// The lines of the page, from 0, with its output.
    printed: std::ops::Range<usize>,
    status: i32,
}

/// The root of the repository.
pub(crate) fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The pages with commands: README, guide, configuration, command pages, and the README of this
/// crate.
pub(crate) fn all_pages() -> Vec<ManualPage> {
    let mut names = ["README.md", "docs/guide.md", "docs/configuration.md", "sockcap/README.md"]
        .map(str::to_owned)
        .to_vec();
    for page in fs::read_dir(repository_root().join("docs/commands")).unwrap() {
        names.push(format!("docs/commands/{}", page.unwrap().file_name().to_str().unwrap()));
    }
    names.sort();
    names.into_iter().map(|name| ManualPage::read_page(&name)).collect()
}

impl ManualPage {
    pub(crate) fn read_page(name: &str) -> ManualPage {
        let text = fs::read_to_string(repository_root().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        ManualPage { name: name.to_owned(), lines: text.lines().map(str::to_owned).collect() }
    }

    /// The fenced blocks: the language, and the lines.
    pub(crate) fn fenced_blocks(&self) -> Vec<(&str, std::ops::Range<usize>)> {
        let mut blocks = Vec::new();
        let mut open = None;
        for (at, line) in self.lines.iter().enumerate() {
            match (open, line.strip_prefix("```")) {
                (None, Some(language)) => open = Some((language, at + 1)),
                (Some((language, from)), Some("")) => {
                    blocks.push((language, from..at));
                    open = None;
                }
                _ => {}
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.name);
        blocks
    }

    /// The lines of a block.
    pub(crate) fn lines_of_block(&self, block: &std::ops::Range<usize>) -> &[String] {
        &self.lines[block.clone()]
    }

    /// The commands to run.
    pub(crate) fn page_steps(&self) -> Vec<PageCommand> {
        let mut steps: Vec<PageCommand> = Vec::new();
        for (_, block) in self.fenced_blocks().iter().filter(|(language, _)| *language == "console")
        {
            let first = steps.len();
            for at in block.clone() {
                let line = &self.lines[at];
                let is_new = steps.len() == first;
                let step = steps.last_mut().filter(|_| !is_new);
                if let Some(command) = line.strip_prefix("$ ") {
                    steps.push(PageCommand {
                        command: command.to_owned(),
                        printed: at + 1..at + 1,
                        status: 0,
                    });
                    continue;
                }
                let step = step.unwrap_or_else(|| {
                    panic!("{}:{}: a block begins with '$ '", self.name, at + 1)
                });
                let directly_follows = step.printed.is_empty();
                if let Some(more) = line.strip_prefix('>').filter(|_| directly_follows) {
                    let _ = write!(step.command, "\n{}", more.strip_prefix(' ').unwrap_or(more));
                    step.printed = at + 1..at + 1;
                } else if let Some(status) = line.strip_prefix("? ").filter(|_| directly_follows) {
                    step.status = status.parse().unwrap();
                    step.printed = at + 1..at + 1;
                } else {
                    step.printed.end = at + 1;
                }
            }
        }
        steps
    }

    /// Runs the commands of the page and reports where the output differs. With `UPDATE_GOLDEN=1`
    /// the page is rewritten; wildcards in it are kept where they match, and reported where they do
    /// not.
    pub(crate) fn run_steps(&self) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let (mut wrong, mut open) = (Vec::new(), Vec::new());
        let mut lines = self.lines.clone();
        // From the end, so that the lines above keep their numbers when the page is rewritten.
        let mut printed: Vec<(PageCommand, String)> = Vec::new();
        for step in self.page_steps() {
            let (status, text) = run_shell(&step.command, directory.path());
            if status != step.status {
                wrong.push(format!(
                    "{}: $ {}\nstatus {status} instead of {}:\n{text}",
                    self.name, step.command, step.status
                ));
            }
            printed.push((step, text));
        }
        for (step, text) in printed.into_iter().rev() {
            let expected = self.lines[step.printed.clone()].join("\n");
            let text = text.trim_end_matches('\n');
            let fitted = NormalizeToExpected::new()
                .redact()
                .normalize(Data::text(text), &Data::text(&expected));
            let fitted = fitted.to_string();
            if fitted != expected {
                let mut difference = String::new();
                let (page, run) = (Data::text(&expected), Data::text(&fitted));
                let palette = snapbox::report::Palette::plain();
                snapbox::report::write_diff(
                    &mut difference,
                    &page,
                    &run,
                    Some(&"page"),
                    Some(&"run"),
                    palette,
                )
                .unwrap();
                let place = format!("{}:{}: $ {}", self.name, step.printed.start, step.command);
                // A wildcard that no longer matches is reported: only the author of the page knows
                // its reason.
                let openings =
                    |text: &str| text.matches("[..]").count() + text.matches("\n...").count();
                if openings(&expected) > openings(&fitted) {
                    open.push(format!(
                        "{place}\nwrite '[..]' again where the page was open:\n{difference}"
                    ));
                }
                wrong.push(format!("{place}\n{difference}"));
                lines.splice(step.printed, fitted.lines().map(str::to_owned));
            }
        }
        if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1")
            && lines != self.lines
        {
            fs::write(repository_root().join(&self.name), lines.join("\n") + "\n").unwrap();
            wrong.retain(|what| what.contains("\nstatus "));
            wrong.extend(open);
        }
        wrong
    }
}

/// Runs a command as a reader of the page does, and returns its status and its output on both
/// streams.
pub(crate) fn run_shell(command: &str, directory: &Path) -> (i32, String) {
    let program = Path::new(env!("CARGO_BIN_EXE_sockcap"));
    let path = format!(
        "{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        program.parent().unwrap().display()
    );
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(directory)
        .env_clear()
        .envs([("PATH", path.as_str()), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC")])
        .env("HOME", directory)
        .env("SOCKCAP_LIBRARY", built_library())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `libsockcap.so`, built once for each test program.
fn built_library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let program = Path::new(env!("CARGO_BIN_EXE_sockcap"));
        // In a target directory of its own, as in scripts/build.
        let target = program.ancestors().nth(2).unwrap().join("preload");
        let output = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "capture-shim", "--target-dir"])
            .arg(&target)
            // The shipped library is built by the compiler itself, see scripts/rustc-checked.
            .env_remove("RUSTC_WORKSPACE_WRAPPER")
            .current_dir(repository_root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("debug/libsockcap.so")
    })
}
