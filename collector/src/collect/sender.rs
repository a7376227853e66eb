//! Sender of a host's logs, for reconcile: the names that the key is for, in a file next to the
//! logs. Statements of a host about its machine are believed only for the hosts of the same key.

use std::io::{self, Write};

use message_trace::{DataDir, DataPath};

use crate::tuning::MAX_SENDER_BYTES;

/// Records in the host's directory that the key of its sender is for these names. If no key was
/// required, nothing is recorded.
///
/// # Errors
/// Fails if the file cannot be written. Without it, the logs would be treated as recorded on this
/// machine.
pub(super) fn write_sender(directory: &DataPath, names: Option<&[String]>) -> io::Result<()> {
    let Some(names) = names else { return Ok(()) };
    let mut names = names.to_vec();
    names.sort();
    let text: String = names.iter().map(|name| format!("{name}\n")).collect();
    let path = DataDir::sender_path_in(directory);
    match path.read_text_at_most(MAX_SENDER_BYTES) {
        Ok(noted) if noted == text => return Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // Written whole or not at all: half a list would be another sender.
    let mut new = path.create_as(0o640)?;
    new.write_all(text.as_bytes())?;
    new.commit_durably()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_names_are_sorted_and_rewritten_if_they_change() {
        let directory = tempfile::tempdir().unwrap();
        let note = |names: &[&str]| {
            write_sender(
                &directory.path().into(),
                Some(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()),
            )
            .unwrap();
            fs::read_to_string(DataDir::sender_path_in(&directory.path().into())).unwrap()
        };
        assert_eq!(note(&["b", "a"]), "a\nb\n");
        assert_eq!(note(&["a", "b"]), "a\nb\n");
        assert_eq!(note(&["c"]), "c\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        super::write_sender(&directory.path().join("not there").into(), None).unwrap();
    }
}
