//! The libraries under a glibc that is older than the one they were linked with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use end_to_end::capture::{
    TestRecording, injected_library, preloaded_library, program_path, resources_library,
    run_successfully,
};
use end_to_end::{repository, target_directory};

/// Newest required version of glibc's symbols: of 2012, older than in any system still in use.
const NEWEST: [u32; 2] = [2, 17];

/// Symbols that a library needs, each with its version, or an empty version.
fn needed_symbols(library: &Path) -> Vec<(String, String)> {
    let listed = run_successfully(
        Command::new(program_path("nm"))
            .args(["-D", "--undefined-only", "--with-symbol-versions"])
            .arg(library),
    );
    let symbols = listed.lines().filter_map(|line| {
        let name = line.rsplit(' ').next()?;
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        Some((name.to_owned(), version.trim_start_matches('@').to_owned()))
    });
    symbols.collect()
}

#[test]
fn no_library_needs_a_symbol_that_is_newer_than_glibc_2_17() {
    for library in [preloaded_library(), resources_library()] {
        let needed = needed_symbols(library);
        assert!(needed.iter().any(|(name, _)| name == "getauxval"), "{needed:?}");
        for (name, version) in needed {
            if version.is_empty() {
                // Looked up regardless of their version, and optional.
                assert!(["_r_debug", "_dl_debug_addr"].contains(&name.as_str()), "{name}");
                continue;
            }
            let numbers = version.strip_prefix("GLIBC_").unwrap_or_else(|| panic!("{version}"));
            let numbers: Vec<u32> =
                numbers.split('.').map(|number| number.parse().unwrap()).collect();
            assert!(numbers.as_slice() <= NEWEST.as_slice(), "{name} of {version}");
        }
        let listed =
            run_successfully(Command::new(program_path("readelf")).arg("-dW").arg(library));
        let libraries: Vec<_> = listed.lines().filter(|line| line.contains("(NEEDED)")).collect();
        assert!(
            matches!(libraries[..], [one] if one.contains("[libc.so.6]")),
            "before glibc 2.34 programs need not have others: {libraries:?}"
        );
        assert!(!listed.contains("RELR"), "{listed}");
    }
    assert_eq!(needed_symbols(injected_library()), [], "what is injected needs nothing");
}

/// Removes the entry of a program's file through which its linker informs debuggers.
fn without_debug_entry(program: &Path) {
    const DYNAMIC: u32 = 2;
    const DEBUG: u64 = 21;
    const UNKNOWN: u64 = 0x6000_f000;
    let mut file = fs::read(program).unwrap();
    let word = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let half = |file: &[u8], at: usize| u16::from_le_bytes(file[at..at + 2].try_into().unwrap());
    let (table, count) = (word(&file, 32) as usize, usize::from(half(&file, 56)));
    let header = (0..count)
        .map(|index| table + 56 * index)
        .find(|at| u32::from_le_bytes(file[*at..*at + 4].try_into().unwrap()) == DYNAMIC);
    let header = header.expect("a dynamic section");
    let (start, length) = (word(&file, header + 8) as usize, word(&file, header + 32) as usize);
    let entry = (start..start + length).step_by(16).find(|at| word(&file, *at) == DEBUG).unwrap();
    file[entry..entry + 8].copy_from_slice(&UNKNOWN.to_le_bytes());
    let changed = program.with_extension("changed");
    fs::write(&changed, file).unwrap();
    // By another process, as a child of another test may have the file open at the moment.
    run_successfully(Command::new("cp").arg(&changed).arg(program));
}

#[test]
fn programs_are_recorded_however_their_libraries_are_listed() {
    let recording = TestRecording::new();
    let glibc = recording.compile_program("forked_talk");
    let musl = recording.file_path("musl");
    let source = repository().join("tests/programs/forked_talk.c");
    let headers = ["-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu"];
    run_successfully(
        Command::new(program_path("musl-gcc")).arg("-o").arg(&musl).arg(source).args(headers),
    );
    let linkers = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"];
    for (talk, linker) in [&glibc, &musl].into_iter().zip(linkers) {
        let check = |command: &mut dyn FnMut(&TestRecording) -> Command| {
            let recording = TestRecording::new();
            run_successfully(&mut command(&recording));
            let logs = recording.read_logs();
            assert_eq!(
                logs.iter().map(|log| log.traffic_by_flow().len()).sum::<usize>(),
                4,
                "{talk:?}"
            );
        };
        check(&mut |recording| recording.recorded_command(talk));
        // The linker is the program that the kernel starts.
        check(&mut |recording| {
            let mut command = recording.recorded_command(linker);
            command.arg(talk);
            command
        });
        without_debug_entry(talk);
        check(&mut |recording| recording.recorded_command(talk));
    }
}

/// Root directory of Debian 11 (glibc 2.31), made from Debian's packages.
fn debian_11() -> PathBuf {
    let root = target_directory().join("roots/bullseye");
    if !root.join("usr/bin/perl").exists() {
        fs::create_dir_all(root.parent().unwrap()).unwrap();
        let made = root.with_extension(std::process::id().to_string());
        let mirror = "http://deb.debian.org/debian";
        run_successfully(
            Command::new(program_path("debootstrap"))
                .args(["--variant=minbase", "bullseye"])
                .arg(&made)
                .arg(mirror),
        );
        let _ = fs::remove_dir_all(&root);
        fs::rename(made, &root).unwrap();
    }
    root
}

/// A connection between a program and one that it starts.
const TALK: &str = r#"
use Socket;
if (@ARGV) {
    socket(my $c, AF_INET, SOCK_STREAM, 0); connect($c, sockaddr_in($ARGV[0], INADDR_LOOPBACK)) or die;
    syswrite($c, "question\n"); sysread($c, my $a, 100); exit($a eq "answer\n" ? 0 : 1);
}
socket(my $l, AF_INET, SOCK_STREAM, 0); bind($l, sockaddr_in(0, INADDR_LOOPBACK)); listen($l, 5);
my $port = (sockaddr_in(getsockname($l)))[0];
my $pid = fork();
exec("sh", "-c", "exec perl $0 $port") unless $pid;
accept(my $s, $l); sysread($s, my $q, 200); syswrite($s, "answer\n"); waitpid($pid, 0);
print "status $?, ", length($q), " bytes\n";
"#;

#[test]
#[ignore = "makes a root directory of Debian 11, which takes a minute or more"]
fn programs_of_debian_11_are_recorded() {
    let root = debian_11();
    for library in [preloaded_library(), resources_library()] {
        let recording = TestRecording::new();
        let inside = Path::new("/tmp").join(format!("sockcap-{}", std::process::id()));
        let outside = root.join(inside.strip_prefix("/").unwrap());
        fs::create_dir_all(&outside).unwrap();
        fs::copy(library, outside.join("libsockcap.so")).unwrap();
        fs::write(outside.join("talk.pl"), TALK).unwrap();
        let mut command = Command::new(program_path("chroot"));
        command.arg(&root).args(["/usr/bin/env"]).args([
            format!("LD_PRELOAD={}/libsockcap.so", inside.display()),
            format!("SOCKCAP_DIR={}/data", inside.display()),
            "SOCKCAP_HOST=host".to_owned(),
            "perl".to_owned(),
            format!("{}/talk.pl", inside.display()),
        ]);
        assert_eq!(run_successfully(&mut command), "status 0, 9 bytes\n");
        run_successfully(
            Command::new("cp").arg("-a").arg(outside.join("data")).arg(recording.data_dir()),
        );
        fs::remove_dir_all(&outside).unwrap();
        let logs = recording.read_logs();
        let traffic: Vec<_> = logs.iter().flat_map(|log| log.traffic_by_flow()).collect();
        assert_eq!(traffic.len(), 4, "both programs, each both ways: {traffic:?}");
    }
}

/// A program without threads that opens a plug-in with some, linked with the libraries of Debian
/// 11.
#[test]
#[ignore = "makes a root directory of Debian 11, which takes a minute or more"]
fn a_plug_in_of_debian_11_that_brings_threads_has_them() {
    let root = debian_11();
    let source = repository().join("tests/programs/plug_in.c");
    let inside = Path::new("/tmp").join(format!("sockcap-plug-in-{}", std::process::id()));
    let outside = root.join(inside.strip_prefix("/").unwrap());
    fs::create_dir_all(&outside).unwrap();
    fs::copy(preloaded_library(), outside.join("libsockcap.so")).unwrap();
    let libraries = root.join("lib/x86_64-linux-gnu");
    let compile = |made: &str, arguments: &[&str], with: &[&str]| {
        let mut compiler = Command::new(program_path("cc"));
        compiler.args(["-O1", "-fPIC", "-fno-stack-protector", "-nostdlib"]).args(arguments);
        compiler.arg("-o").arg(outside.join(made)).arg(&source);
        run_successfully(compiler.args(with.iter().map(|name| libraries.join(name))));
    };
    compile("plug_in.so", &["-shared", "-DPLUG_IN"], &["libpthread.so.0", "libc.so.6"]);
    compile(
        "program",
        &["-no-pie", "-Wl,--dynamic-linker=/lib64/ld-linux-x86-64.so.2"],
        &["libdl.so.2", "libc.so.6"],
    );
    let mut command = Command::new(program_path("chroot"));
    command.arg(&root).args(["/usr/bin/env"]).args([
        format!("LD_PRELOAD={}/libsockcap.so", inside.display()),
        format!("SOCKCAP_DIR={}/data", inside.display()),
        format!("{}/program", inside.display()),
        format!("{}/plug_in.so", inside.display()),
    ]);
    assert_eq!(run_successfully(&mut command), "a thread ran\n");
    fs::remove_dir_all(&outside).unwrap();
}
