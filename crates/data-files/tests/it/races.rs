//! A file that is swapped for a link between two steps is not followed either.

use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use data_files::DataPath;

/// Number of attempts while files are swapped. The naive way, which checks first and then opens by
/// name, fails within about ten.
const ATTEMPTS: usize = 20_000;

#[test]
fn a_link_that_takes_the_place_of_a_file_or_directory_is_never_followed() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    for directory in ["data/hosts/web1", "elsewhere"] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for directory in ["data/hosts/web1", "elsewhere"] {
        fs::write(at(directory).join("log"), directory).unwrap();
    }
    symlink(at("elsewhere"), at("link")).unwrap();
    symlink(at("elsewhere/log"), at("file-link")).unwrap();
    let log = DataPath::trusted(at("data")).join("hosts/web1/log");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // The directory and a link are exchanged, and so are the file and a link.
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                for (one, other) in
                    [("data/hosts/web1", "link"), ("data/hosts/web1/log", "file-link")]
                {
                    for _ in 0..2 {
                        let cwd = rustix::fs::CWD;
                        let _ = rustix::fs::renameat_with(cwd, at(one), cwd, at(other), exchange);
                    }
                }
            }
        });
        let (mut read, mut refused) = (0, 0);
        for _ in 0..ATTEMPTS {
            // An opened file is the file itself; whether it is in place at this moment is chance.
            for opened in [log.open(), log.open_to_write()] {
                let Ok(mut opened) = opened else {
                    refused += 1;
                    continue;
                };
                let mut text = String::new();
                opened.read_to_string(&mut text).unwrap();
                assert_eq!(text, "data/hosts/web1");
                read += 1;
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(read > 0 && refused > 0, "{read} were read and {refused} refused");
    });
    assert_eq!(fs::read_to_string(at("elsewhere/log")).unwrap(), "elsewhere");
}
