//! `sockcap keys`: makes keys and says what to do with each: which file goes where, and what is run there.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use collector::keys::{self, AUTHORITY_FILE, Authority, Bundle, COLLECTOR_FILE, Contents, Role, look};
use jiff::Timestamp;

use crate::cli::{DEFAULT_KEYS, Hosts, Keys, KeysCommand, New, Show};
use crate::error::Error;
use crate::output::counted;

pub(crate) fn run(arguments: &Keys) -> Result<ExitCode, Error> {
    match &arguments.what {
        KeysCommand::New(new) => make_authority(new),
        KeysCommand::Host(hosts) => make_hosts(hosts),
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
    let mut made: Vec<(&String, Bundle)> = Vec::new();
    for name in names {
        let path = directory.join(format!("{name}.pem"));
        if !arguments.replace && path.exists() {
            return Err(Error::KeyThere(path));
        }
        made.push((name, authority.host(&[name], arguments.days)?));
    }
    let mut out = io::stdout().lock();
    for (name, bundle) in &made {
        let path = directory.join(format!("{name}.pem"));
        bundle.write(&path, arguments.replace)?;
        writeln!(out, "{}: the key of host {name}, until {}", path.display(), day(bundle.valid()[1]))?;
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

/// A line for each file; those that are no keys are told apart from the others and make the command fail.
fn show(arguments: &Show) -> Result<ExitCode, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let mut out = io::stdout().lock();
    let mut code = ExitCode::SUCCESS;
    for file in &arguments.files {
        match look(file) {
            Ok(contents) => writeln!(out, "{}: {}", file.display(), line(&contents, now))?,
            Err(error) => {
                anstream::eprintln!("sockcap: {error}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

/// Whose a key is and when it holds.
fn line(Contents { role, names, valid: [from, until] }: &Contents, now: i64) -> String {
    let whose = match role {
        None => "the authority".to_owned(),
        Some(Role::Collector) => "the collector".to_owned(),
        Some(Role::Host) => format!("host {}", names.join(", ")),
    };
    let state = match now {
        _ if now < *from => ", not yet valid",
        _ if now > *until => ", expired",
        _ => "",
    };
    format!("{whose}, from {} until {}{state}", day(*from), day(*until))
}

/// A time in a certificate, for people.
fn day(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("second {seconds}"), |time| time.to_string())
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
        let contents =
            Contents { role: Some(Role::Host), names: vec!["a".into(), "b".into()], valid: [100, 200] };
        let always = "host a, b, from 1970-01-01T00:01:40Z until 1970-01-01T00:03:20Z";
        for (now, state) in [(99, ", not yet valid"), (100, ""), (200, ""), (201, ", expired")] {
            assert_eq!(line(&contents, now), format!("{always}{state}"));
        }
    }
}
