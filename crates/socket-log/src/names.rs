//! Names that a host and its logs may have. They arrive over the network and become names of
//! directories and files, so every accepted name denotes a direct child of the directory it is
//! joined to, on every host that a log may be copied to.

use crate::host_name;

pub use crate::host_name::HOST_NAME_LENGTH;

/// Maximum length of a log's name, in bytes, the limit of file systems.
pub const LOG_NAME_LENGTH: usize = 255;

/// Separator at the collector between the name and the number of a log whose name was already taken
/// there. No name of a log on its host contains it.
pub const NUMBER_SEPARATOR: &str = "+";

/// Name that a log has on its host, by its `name` at the collector.
pub fn original_name(name: &str) -> String {
    match (name.split_once(NUMBER_SEPARATOR), name.rsplit_once('.')) {
        (Some((stem, _)), Some((_, extension))) => format!("{stem}.{extension}"),
        _ => name.to_owned(),
    }
}

/// Reason why a name is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is not valid for a host.
    #[error(
        "a host name has 1 to 127 letters, digits, '-', '_' and '.', and does not begin with '.'"
    )]
    Host,
    /// The name is not valid for a log.
    #[error(
        "a log's name has at most 255 letters, digits, '-', '_' and '.', does not begin with '.', and ends in .sclog, .spare, .switches or .operations"
    )]
    Log,
}

/// Whether a host may have this name.
///
/// # Errors
/// [`NameError::Host`], which states the valid names.
pub fn check_host_name(name: &str) -> Result<(), NameError> {
    if is_plain(name) && name.len() <= HOST_NAME_LENGTH { Ok(()) } else { Err(NameError::Host) }
}

/// Parses a host name from a user.
///
/// # Errors
/// A message to the user about valid host names.
pub fn read_host_name(text: &str) -> Result<String, String> {
    check_host_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// The environment variable with this host's name, for the preloaded library and for `sockcap`.
pub const HOST_VARIABLE: &str = "SOCKCAP_HOST";

/// Name of this host, by the same rule as in the preloaded library: the value of `SOCKCAP_HOST`,
/// otherwise the kernel's. Invalid characters become `_`.
#[cfg(feature = "reader")]
pub fn own_host_name() -> String {
    let given = std::env::var_os(HOST_VARIABLE).filter(|name| !name.is_empty());
    match given {
        Some(name) => plain(name.as_encoded_bytes()),
        None => plain(rustix::system::uname().nodename().to_bytes()),
    }
}

/// The name, with invalid characters replaced.
#[cfg(feature = "reader")]
fn plain(name: &[u8]) -> String {
    let plain: String = host_name::plain_bytes(name).map(char::from).collect();
    if plain.is_empty() { "localhost".to_owned() } else { plain }
}

/// Whether a log, a preallocated log, or a file of switches or operations may have this name.
///
/// # Errors
/// [`NameError::Log`], which states the valid names.
pub fn check_log_name(name: &str) -> Result<(), NameError> {
    let is_log =
        [".sclog", ".spare", ".switches", ".operations"].iter().any(|end| name.ends_with(end));
    if is_plain(name) && name.len() <= LOG_NAME_LENGTH && is_log {
        Ok(())
    } else {
        Err(NameError::Log)
    }
}

/// Whether the name contains no separator, no control character, and nothing special to a shell or
/// a terminal, and is neither hidden, nor `.` or `..`.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain_character)
}

fn is_plain_character(c: char) -> bool {
    u8::try_from(c).is_ok_and(host_name::is_plain)
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn host_names_are_checked() {
        for right in ["a", "web-1.example", "WEB_1", "-", "10.0.0.1", &"x".repeat(127)] {
            assert_eq!(check_host_name(right), Ok(()), "{right}");
        }
        for wrong in
            ["", ".", "..", ".x", "a/b", "a b", "a\0", "é", "a\n", "a\\b", &"x".repeat(128)]
        {
            assert_eq!(check_host_name(wrong), Err(NameError::Host), "{wrong}");
        }
    }

    #[test]
    fn every_kernel_host_name_becomes_a_valid_one() {
        assert_eq!(plain(b"web-1.example"), "web-1.example");
        assert_eq!(plain(b"a/b c"), "a_b_c");
        for name in ["", ".", "..", ".x", "a/../b", "é", "a\0", &"é".repeat(200)] {
            assert_eq!(check_host_name(&plain(name.as_bytes())), Ok(()), "{name}");
        }
    }

    #[test]
    fn log_names_are_checked() {
        let longest = |extra: usize| format!("{}.sclog", "x".repeat(249 + extra));
        for right in ["812-17638.sclog", "a-0.spare", "7-1.switches", "x.2.sclog", &longest(0)] {
            assert_eq!(check_log_name(right), Ok(()), "{right}");
        }
        for wrong in [
            "",
            ".sclog",
            "..sclog",
            "a.log",
            "sclog",
            "../a.sclog",
            "/a.sclog",
            "a.sclog/",
            &longest(1),
        ] {
            assert_eq!(check_log_name(wrong), Err(NameError::Log), "{wrong}");
        }
    }

    #[test]
    fn log_names_with_a_number_have_the_original_name() {
        assert_eq!(original_name("7-1.sclog"), "7-1.sclog");
        assert_eq!(original_name("7-1+2.sclog"), "7-1.sclog");
        assert_eq!(original_name("7+12.spare"), "7.spare");
        assert_eq!(original_name("+"), "+");
    }

    /// Names close to the limits: path tricks with and without a log's extension.
    fn name() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("..".to_owned()),
            Just("/".to_owned()),
            Just(".sclog".to_owned()),
            Just(".spare".to_owned()),
            Just("\0".to_owned()),
            "[-_.a-zA-Z0-9/]{0,8}",
            any::<String>(),
        ];
        proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn accepted_names_are_direct_children(name in name()) {
            let directory = Path::new("/data/hosts");
            for permitted in [check_host_name(&name), check_log_name(&name)] {
                if permitted.is_ok() {
                    let path = directory.join(&name);
                    prop_assert_eq!(path.parent(), Some(directory));
                    prop_assert_eq!(path.file_name().and_then(|last| last.to_str()), Some(name.as_str()));
                    prop_assert!(path.components().all(|part| part != Component::ParentDir));
                    prop_assert!(!name.contains(|c: char| c.is_control() || c.is_whitespace()));
                }
            }
        }
    }
}
