//! The files: whole ones of every kind of call, one for each thread, compressed, imported again, of
//! the terminal, and files of another kind.

use std::fs;
use std::path::PathBuf;

use importers::{Importer, StraceImporter};
use message_trace::DataDir;

use super::imported::{golden, import, lines, refused, traces};

#[test]
fn every_kind_of_call_is_imported() {
    let imported = import(&[traces().join("every_call.strace")]);
    assert_eq!((imported.summary.skipped.total(), imported.summary.notes.as_slice()), (0, &[][..]));
    golden("every_call.golden", &imported.dump());
    // The connection that is refused carries nothing; all others have both ends here.
    let messages = imported.messages();
    assert_eq!(messages.len(), 16, "{messages:?}");
    assert!(messages.iter().all(|(.., both)| *both), "{messages:?}");
}

#[test]
fn batches_pipes_and_calls_without_durations() {
    let imported = import(&[traces().join("batches.strace")]);
    assert_eq!(imported.summary.skipped.total(), 0);
    assert_eq!(
        imported.summary.notes.len(),
        1,
        "of the durations only: {:?}",
        imported.summary.notes
    );
    golden("batches.golden", &imported.dump());
}

/// `strace -ff`: a thread that accepts, and a child that connects, each in a file of its own.
#[test]
fn a_file_for_each_thread() {
    let mut files: Vec<PathBuf> = fs::read_dir(traces())
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.display().to_string().contains("files.1"))
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension != "golden"));
    files.sort();
    assert_eq!(files.len(), 3);
    let imported = import(&files);
    assert_eq!((imported.summary.skipped.total(), imported.summary.notes.as_slice()), (0, &[][..]));
    golden("files.golden", &imported.dump());
    files.reverse();
    // The order of the files changes only the ids that distinguish their sockets.
    assert_eq!(import(&files).dump(), imported.dump());
    assert_eq!(imported.messages(), [(0, 0, 50, true), (0, 1, 50, true)]);
}

#[test]
fn compressed_files() {
    let plain = fs::read(traces().join("every_call.strace")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let packed = directory.path().join("every_call.strace");
    fs::write(&packed, zstd::encode_all(plain.as_slice(), 0).unwrap()).unwrap();
    assert_eq!(
        import(&[packed]).dump(),
        fs::read_to_string(traces().join("every_call.golden")).unwrap()
    );
}

#[test]
fn importing_again_replaces() {
    let first = import(&[traces().join("every_call.strace")]);
    let data = DataDir::new(first.directory.path());
    let logs = data.log_paths().unwrap();
    let before: Vec<Vec<u8>> = logs.iter().map(|log| fs::read(log).unwrap()).collect();
    let again = StraceImporter { host: "host".into() }
        .import_files(&[traces().join("every_call.strace")], &data, &())
        .unwrap();
    assert!(again.replaced && !first.summary.replaced);
    assert_eq!(data.log_paths().unwrap(), logs);
    assert_eq!(logs.iter().map(|log| fs::read(log).unwrap()).collect::<Vec<_>>(), before);
}

/// On the terminal, strace names threads only while there are several, and its remarks break lines
/// off.
#[test]
fn terminal_output_of_strace_is_read() {
    let text = r#"1700000000.000001 execve("/bin/a", ["a"], 0x7ffe /* 35 vars */) = 0
1700000000.000002 socketpair(AF_UNIX, SOCK_STREAM, 0, [3<UNIX-STREAM:[1->2]>, 4<UNIX-STREAM:[2->1]>]) = 0
1700000000.000003 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLDstrace: Process 12 attached
, child_tidptr=0x7f) = 12
[pid    12] 1700000000.000004 write(4<UNIX-STREAM:[2->1]>, "ab", 2) = 2
[pid    11] 1700000000.000005 <... clone resumed>, child_tidptr=0x7f) = 12
[pid    12] 1700000000.000006 +++ exited with 0 +++
1700000000.000007 --- SIGCHLD {si_signo=SIGCHLD} ---
1700000000.000008 read(3<UNIX-STREAM:[1->2]>, "ab", 10) = 2
this is of the program
1700000000.000009 +++ killed by SIGKILL +++
"#;
    let imported = lines(text);
    let dump = imported.dump();
    assert!(
        dump.contains("# (11, 0) 0 state 0") && dump.contains("# (12, 11) 3 state 1"),
        "{dump}"
    );
    assert!(dump.contains("12 3 Transfer { direction: Send, flow: 1, bytes: 2"), "{dump}");
    assert!(dump.contains("11 7 Transfer { direction: Receive, flow: 1, bytes: 2"), "{dump}");
    assert!(dump.contains("11 8 Process { event: Exit, value: 137 }"), "{dump}");
    let skipped = &imported.summary.skipped;
    assert_eq!(skipped.total(), 2, "{skipped:?}");
    assert!(
        skipped.first[1].to_string().ends_with("trace:10: this is of the program"),
        "{skipped:?}"
    );
}

#[test]
fn files_of_another_kind_are_refused_with_a_remedy() {
    let call = "read(3, \"\", 1) = 0";
    for (text, expected) in [
        ("src,dst\na,b\n".to_owned(), "/trace:1: this is not strace's output: 'src,dst'"),
        (format!("5 14:00:01 {call}\n"), "/trace:1: the times are without date (-t or -tt)"),
        (
            format!("strace: Process 5 attached\n[pid 5] 14:00:01.123 {call}\n"),
            "/trace:2: the times are without date",
        ),
        (
            format!("5      0.000012 {call}\n"),
            "/trace:1: the times are relative to the previous line (-r)",
        ),
        (format!("{call}\n"), "/trace:1: the lines have no times"),
        (String::new(), "/trace: it contains no call"),
    ] {
        let message = refused(&text);
        assert!(message.starts_with(expected), "{message}");
        assert!(message.contains("strace -f -ttt -T -yy -s 65535"), "{message}");
    }
}
