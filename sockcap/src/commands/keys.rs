//! `sockcap keys`: makes keys and says what to do with each: which file goes where, and what is run
//! there.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use collector::keys::{
    self, AUTHORITY_FILE, Authority, Bundle, COLLECTOR_FILE, Contents, REVOKED_FILE, Revoked, Role,
    look,
};
use jiff::Timestamp;

use crate::cli::{DEFAULT_KEYS, Hosts, Keys, KeysCommand, New, Revoke, Show};
use crate::error::Error;
use crate::output::counted;

pub(crate) fn run(arguments: &Keys) -> Result<ExitCode, Error> {
    match &arguments.what {
        KeysCommand::New(new) => make_authority(new),
        KeysCommand::Host(hosts) => make_hosts(hosts),
        KeysCommand::Revoke(keys) => revoke(keys),
        KeysCommand::Show(files) => show(files),
    }
}

/// Makes what is missing of the authority and the collector's key.
fn make_authority(arguments: &New) -> Result<ExitCode, Error> {
    let directory = &arguments.directory.path;
    let mut out = io::stdout().lock();
    let path = directory.join(COLLECTOR_FILE);
    let authority = match Authority::create(directory, arguments.days) {
        Ok(authority) => {
            let until = day(authority.valid()?[1]);
            let path = directory.join(AUTHORITY_FILE);
            writeln!(out, "{}: the authority, until {until}; it stays here", path.display())?;
            authority
        }
        Err(keys::Error::Exists(_)) if !path.exists() => Authority::open(directory)?,
        Err(error) => return Err(error.into()),
    };
    let collector = authority.collector(arguments.days)?;
    authority.note(&collector)?;
    collector.write(&path, false)?;
    writeln!(out, "{}: the collector's key, until {}", path.display(), day(collector.valid()[1]))?;
    let same = same_keys(directory);
    anstream::eprintln!(
        "sockcap: next: copy {} to the collector; there: sockcap collect --key {COLLECTOR_FILE}; \
         here: sockcap keys host NAME...{same}",
        path.display(),
    );
    Ok(ExitCode::SUCCESS)
}

/// Makes a key for each host, or none if one of them cannot be made.
fn make_hosts(arguments: &Hosts) -> Result<ExitCode, Error> {
    let directory = &arguments.directory.path;
    let authority = Authority::open(directory)?;
    let names: BTreeSet<&String> = arguments.names.iter().collect();
    // The hosts of each key; it is called after the first that was named.
    let keys: Vec<Vec<&String>> = match arguments.together {
        true => vec![arguments.names.iter().filter(unique()).collect()],
        false => names.into_iter().map(|name| vec![name]).collect(),
    };
    let mut made: Vec<(&String, Bundle)> = Vec::new();
    for hosts in keys {
        let Some(name) = hosts.first().copied() else { continue };
        let path = directory.join(format!("{name}.pem"));
        if !arguments.replace && path.exists() {
            return Err(Error::KeyThere(path));
        }
        made.push((name, authority.host(&hosts, arguments.days)?));
    }
    let mut out = io::stdout().lock();
    for (name, bundle) in &made {
        let path = directory.join(format!("{name}.pem"));
        authority.note(bundle)?;
        bundle.write(&path, arguments.replace)?;
        let whose = whose(Some(bundle.role()), bundle.names());
        writeln!(out, "{}: the key of {whose}, until {}", path.display(), day(bundle.valid()[1]))?;
    }
    let (which, name) = match made.as_slice() {
        [(name, _)] => (directory.join(format!("{name}.pem")).display().to_string(), name.as_str()),
        several => (counted(several.len() as u64, "key", "keys, each"), "NAME"),
    };
    anstream::eprintln!(
        "sockcap: next: copy {which} to its host, keep no copy elsewhere; there: sockcap ship --to COLLECTOR:PORT \
         --key {name}.pem --follow"
    );
    Ok(ExitCode::SUCCESS)
}

/// Whether something comes for the first time.
fn unique<'a>() -> impl FnMut(&&'a String) -> bool {
    let mut seen = BTreeSet::new();
    move |name| seen.insert(*name)
}

/// Revokes keys, all or none, and says what to do with the list.
fn revoke(arguments: &Revoke) -> Result<ExitCode, Error> {
    let directory = &arguments.directory.path;
    let authority = Authority::open(directory)?;
    let before = authority.revoked()?;
    let mut keys: Vec<Contents> = Vec::new();
    for key in &arguments.keys {
        let of_key = keys_of(key, &authority, directory)?;
        if of_key.iter().any(|key| key.role != Some(Role::Host)) {
            return Err(Error::OnlyHosts(key.clone()));
        }
        keys.extend(of_key);
    }
    let certificates: Vec<_> = keys.iter().map(|key| key.certificate.clone()).collect();
    let path = authority.revoke(&certificates)?;
    let mut out = io::stdout().lock();
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
    anstream::eprintln!(
        "sockcap: next: copy {} to the collector, beside its key; it is read within a second. A new key: \
         sockcap keys host NAME --replace{}",
        path.display(),
        same_keys(directory),
    );
    Ok(ExitCode::SUCCESS)
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

/// A line for each file; those that are no keys are told apart from the others and make the command
/// fail.
fn show(arguments: &Show) -> Result<ExitCode, Error> {
    let now =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let mut out = io::stdout().lock();
    let mut code = ExitCode::SUCCESS;
    let directory = &arguments.directory.path;
    if arguments.files.is_empty() {
        let authority = Authority::open(directory)?;
        let revoked = authority.revoked()?;
        for key in authority.issued()? {
            writeln!(out, "{}", line(&key, is_revoked(revoked.as_ref(), &key), now))?;
        }
        return Ok(code);
    }
    for file in &arguments.files {
        match look(file) {
            Ok(contents) => {
                let revoked = Revoked::read(&file.with_file_name(REVOKED_FILE))?;
                let line = line(&contents, is_revoked(revoked.as_ref(), &contents), now);
                writeln!(out, "{}: {line}", file.display())?;
            }
            Err(error) => {
                anstream::eprintln!("sockcap: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Whether a machine's key is on a list.
fn is_revoked(list: Option<&Revoked>, key: &Contents) -> bool {
    key.role.is_some() && list.is_some_and(|list| list.has(&key.certificate))
}

/// Whose a key is.
fn whose(role: Option<Role>, names: &[String]) -> String {
    match role {
        None => "the authority".to_owned(),
        Some(Role::Collector) => "the collector".to_owned(),
        Some(Role::Host) => format!("host {}", names.join(", ")),
    }
}

/// Whose a key is and when it holds.
fn line(
    Contents { role, names, valid: [from, until], .. }: &Contents,
    revoked: bool,
    now: i64,
) -> String {
    let whose = whose(*role, names);
    let state = match now {
        _ if revoked => ", revoked",
        _ if now < *from => ", not yet valid",
        _ if now > *until => ", expired",
        _ => "",
    };
    format!("{whose}, from {} until {}{state}", day(*from), day(*until))
}

/// A time in a certificate, for people.
fn day(seconds: i64) -> String {
    Timestamp::from_second(seconds)
        .map_or_else(|_| format!("second {seconds}"), |time| time.to_string())
}

/// The `--keys` that a further command needs to find the authority.
fn same_keys(directory: &Path) -> String {
    match directory == Path::new(DEFAULT_KEYS) {
        true => String::new(),
        false => format!(" --keys {}", directory.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_whether_the_key_holds() {
        let contents = Contents {
            role: Some(Role::Host),
            names: vec!["a".into(), "b".into()],
            valid: [100, 200],
            certificate: Vec::new().into(),
        };
        let always = "host a, b, from 1970-01-01T00:01:40Z until 1970-01-01T00:03:20Z";
        for (now, state) in [(99, ", not yet valid"), (100, ""), (200, ""), (201, ", expired")] {
            assert_eq!(line(&contents, false, now), format!("{always}{state}"));
            assert_eq!(line(&contents, true, now), format!("{always}, revoked"));
        }
    }
}
