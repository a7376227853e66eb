//! Manual pages from the definitions that `--help` is made from, one for each command. The text
//! after the flags in a help text keeps its layout, with its examples under a heading of their own.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::Command;
use clap_mangen::roff::{Roff, bold, roman};

use crate::error::CommandError;

/// The beginning of a paragraph of examples in a help text.
const EXAMPLES: &str = "Examples:\n";
/// The program; the page of each command refers to its page.
const PROGRAM: &str = "sockcap";

/// Writes the pages of `command` and all commands below it into `directory`.
pub(crate) fn write_pages(command: Command, directory: &Path) -> Result<(), CommandError> {
    for below in command.get_subcommands() {
        write_pages(below.clone(), directory)?;
    }
    let path = directory.join(clap_mangen::Man::new(command.clone()).get_filename());
    let refused = |source| CommandError::file_error(&path, source);
    let mut file = BufWriter::new(File::create(&path).map_err(refused)?);
    write_page(command, &mut file).and_then(|()| file.flush()).map_err(refused)
}

/// Writes the page of one command.
pub(crate) fn write_page(command: Command, out: &mut dyn Write) -> io::Result<()> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_commands = command.has_subcommands();
    let is_root = command.get_name() == PROGRAM;
    let source = format!("{PROGRAM} {}", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command).source(source).manual(PROGRAM);
    page.render_title(out)?;
    page.render_name_section(out)?;
    page.render_synopsis_section(out)?;
    page.render_description_section(out)?;
    page.render_options_section(out)?;
    if has_commands {
        page.render_subcommands_section(out)?;
    }
    let (examples, notes): (Vec<&str>, Vec<&str>) = help
        .split("\n\n")
        .filter(|part| !part.is_empty())
        .partition(|part| part.starts_with(EXAMPLES));
    let mut rest = Roff::new();
    push_verbatim(&mut rest, "NOTES", &notes);
    let examples: Vec<&str> = examples.iter().map(|part| &part[EXAMPLES.len()..]).collect();
    push_verbatim(&mut rest, "EXAMPLES", &examples);
    if !is_root {
        rest.control("SH", ["SEE ALSO"]).text([bold(PROGRAM), roman("(1)")]);
    }
    rest.to_writer(out)
}

/// A section of lines that are not filled, if there are any.
fn push_verbatim(page: &mut Roff, heading: &str, parts: &[&str]) {
    if parts.is_empty() {
        return;
    }
    page.control("SH", [heading]).control("nf", []);
    for line in parts.join("\n\n").lines() {
        page.text([roman(line)]);
    }
    page.control("fi", []);
}
