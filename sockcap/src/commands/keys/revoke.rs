//! `sockcap keys revoke`: keys that are accepted no more.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use collector::keys::{self, Authority, Contents, Role, look};

use super::directory::{Directory, same_keys};
use super::words::{day, whose};
use crate::error::Error;
use crate::output::{self, tell};

pub(super) const HELP: &str = "\
Copy revoked.crl to the collector, beside its key or where its --revoked says. A collector that
runs reads it within a second, ends the connections of these keys and accepts no more of them.

Examples:
  sockcap keys revoke db1
  sockcap keys revoke sockcap.keys/web1.pem && sockcap keys host web1 --replace";

#[derive(Debug, Args)]
pub(super) struct Revoke {
    /// Hosts, to revoke all keys made for them so far, or key files
    #[arg(required = true, value_name = "NAME|FILE")]
    keys: Vec<String>,
    #[command(flatten)]
    directory: Directory,
}

impl Revoke {
    /// Revokes keys, all or none, and says what to do with the list.
    pub(super) fn run(&self) -> Result<ExitCode, Error> {
        let directory = &self.directory.path;
        let authority = Authority::open(directory)?;
        let before = authority.revoked()?;
        let mut keys: Vec<Contents> = Vec::new();
        for key in &self.keys {
            let of_key = keys_of(key, &authority, directory)?;
            if of_key.iter().any(|key| key.role != Some(Role::Host)) {
                return Err(Error::OnlyHosts(key.clone()));
            }
            keys.extend(of_key);
        }
        let certificates: Vec<_> = keys.iter().map(|key| key.certificate.clone()).collect();
        let path = authority.revoke(&certificates)?;
        let mut out = output::text();
        let mut told = BTreeSet::new();
        for key in keys.iter().filter(|key| told.insert(key.certificate.to_vec())) {
            let was = before.as_ref().is_some_and(|list| list.has(&key.certificate));
            let state = if was { "was revoked before" } else { "is revoked" };
            writeln!(
                out,
                "the key of {} until {} {state}",
                whose(key.role, &key.names),
                day(key.valid[1])
            )?;
        }
        out.flush()?;
        tell!(
            "sockcap: next: copy {} to the collector, beside its key; it is read within a second. A new key: \
         sockcap keys host NAME --replace{}",
            path.display(),
            same_keys(directory),
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// All keys that a word names: those of a host, whether their files are still here or not, or that
/// of a file.
fn keys_of(word: &str, authority: &Authority, directory: &Path) -> Result<Vec<Contents>, Error> {
    let path = Path::new(word);
    if word.contains('/') || word.ends_with(".pem") {
        return Ok(vec![look(path)?]);
    }
    let has = |key: &Contents| key.names.iter().any(|name| name == word);
    let mut keys: Vec<Contents> = authority.issued()?.into_iter().filter(has).collect();
    // One that was made before it was noted which are.
    let path = directory.join(format!("{word}.pem"));
    if path.exists() {
        let key = look(&path)?;
        if keys.iter().all(|known| known.certificate != key.certificate) {
            keys.push(key);
        }
    }
    if keys.is_empty() { Err(keys::Error::NoSuchKey(word.to_owned()).into()) } else { Ok(keys) }
}
