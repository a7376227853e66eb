//! `sockcap keys show`: the owners of keys.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use collector::keys::{Authority, REVOKED_FILE, RevocationList, inspect_key_file};

use super::directory::KeysDirectory;
use super::words::{is_revoked, key_line};
use crate::error::CommandError;
use crate::output::{self, tell};

pub(super) const HELP: &str = "\
Examples:
  sockcap keys show
  sockcap keys show sockcap.keys/*.pem";

#[derive(Debug, Args)]
pub(super) struct ShowKeysCommand {
    /// Key files [default: all keys that the authority has made]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    directory: KeysDirectory,
}

impl ShowKeysCommand {
    /// Prints a line for each file. Files that are not keys are reported separately and make the
    /// command fail.
    pub(super) fn run(&self) -> Result<ExitCode, CommandError> {
        let now =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
        let mut out = output::text_output();
        let mut code = ExitCode::SUCCESS;
        let directory = &self.directory.path;
        if self.files.is_empty() {
            let authority = Authority::open(directory)?;
            let revoked = authority.revocation_list()?;
            for key in authority.issued_certificates()? {
                writeln!(out, "{}", key_line(&key, is_revoked(revoked.as_ref(), &key), now))?;
            }
            out.flush()?;
            return Ok(code);
        }
        for file in &self.files {
            match inspect_key_file(file) {
                Ok(contents) => {
                    let revoked = RevocationList::read(&file.with_file_name(REVOKED_FILE))?;
                    let line = key_line(&contents, is_revoked(revoked.as_ref(), &contents), now);
                    let file = output::escape_line_breaks(&file.display().to_string());
                    writeln!(out, "{file}: {line}")?;
                }
                Err(error) => {
                    out.flush()?;
                    tell!("sockcap: {error}");
                    code = ExitCode::FAILURE;
                }
            }
        }
        out.flush()?;
        Ok(code)
    }
}
