//! `sockcap keys revoke`: revokes keys, so that they are no longer accepted.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use collector::keys::{self, Authority, KeyContents, KeyRole, inspect_key_file};

use super::directory::{KeysDirectory, same_keys};
use super::words::{format_day, owner_words};
use crate::error::CommandError;
use crate::output::{self, tell};

pub(super) const HELP: &str = "\
Copy revoked.crl to the collector, next to its key or to the path of its
--revoked. A running collector reads it within a second, ends the connections
of these keys and accepts no new ones.

Examples:
  sockcap keys revoke db1
  sockcap keys revoke sockcap.keys/web1.pem && sockcap keys host web1 --replace";

#[derive(Debug, Args)]
pub(super) struct RevokeCommand {
    /// Hosts, to revoke all keys made for them so far, or key files
    #[arg(required = true, value_name = "NAME|FILE")]
    keys: Vec<String>,
    #[command(flatten)]
    directory: KeysDirectory,
}

impl RevokeCommand {
    /// Revokes keys, all or none, and prints what to do with the list.
    pub(super) fn run(&self) -> Result<ExitCode, CommandError> {
        let directory = &self.directory.path;
        let authority = Authority::open(directory)?;
        let before = authority.revocation_list()?;
        let mut keys: Vec<KeyContents> = Vec::new();
        for key in &self.keys {
            let of_key = keys_of(key, &authority, directory)?;
            if of_key.iter().any(|key| key.role != Some(KeyRole::Host)) {
                return Err(CommandError::OnlyHosts(key.clone()));
            }
            keys.extend(of_key);
        }
        let certificates: Vec<_> = keys.iter().map(|key| key.certificate.clone()).collect();
        let path = authority.revoke_certificates(&certificates)?;
        let mut out = output::text_output();
        let mut listed = BTreeSet::new();
        for key in keys.iter().filter(|key| listed.insert(key.certificate.to_vec())) {
            let was = before.as_ref().is_some_and(|list| list.contains(&key.certificate));
            let state = if was { "was revoked before" } else { "is revoked" };
            writeln!(
                out,
                "the key of {} until {} {state}",
                owner_words(key.role, &key.names),
                format_day(key.valid[1])
            )?;
        }
        out.flush()?;
        tell!(
            "sockcap: next: copy {} to the collector, next to its key; it is read within a second. \
             A new key: sockcap keys host NAME --replace{}",
            path.display(),
            same_keys(directory),
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// All keys that a word names: the keys of a host, whether their files still exist or not, or the
/// key in a file.
fn keys_of(
    word: &str,
    authority: &Authority,
    directory: &Path,
) -> Result<Vec<KeyContents>, CommandError> {
    let path = Path::new(word);
    if word.contains('/') || word.ends_with(".pem") {
        return Ok(vec![inspect_key_file(path)?]);
    }
    let has = |key: &KeyContents| key.names.iter().any(|name| name == word);
    let mut keys: Vec<KeyContents> =
        authority.issued_certificates()?.into_iter().filter(has).collect();
    // A key from a version that did not note its keys.
    let path = directory.join(format!("{word}.pem"));
    if path.exists() {
        let key = inspect_key_file(&path)?;
        if keys.iter().all(|known| known.certificate != key.certificate) {
            keys.push(key);
        }
    }
    if keys.is_empty() { Err(keys::KeyError::NoSuchKey(word.to_owned()).into()) } else { Ok(keys) }
}
