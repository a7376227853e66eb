//! Programs and blobs of the tests: real static C programs, and a blob of few instructions that
//! counts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use injector::{
    Blob, EntryArgument, Injection, InjectionOutcome, InjectionPatches, InjectionTarget,
    PlacedAddresses, PrepareError, TextPatch,
};

/// How a program is compiled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Build {
    pub name: &'static str,
    compiler: &'static str,
    flags: &'static [&'static str],
}

/// The kinds of static programs.
pub(crate) const BUILDS: [Build; 3] = [
    Build { name: "glibc", compiler: "gcc", flags: &["-static"] },
    Build { name: "glibc-pie", compiler: "gcc", flags: &["-static-pie", "-fPIE"] },
    Build { name: "musl", compiler: "musl-gcc", flags: &["-static"] },
];

/// A static program of each kind, compiled once.
static COUNTED: LazyLock<Vec<PathBuf>> =
    LazyLock::new(|| BUILDS.iter().map(|build| compile("counted", *build)).collect());

static ANNOUNCING: LazyLock<PathBuf> = LazyLock::new(|| compile("announcing", BUILDS[0]));

/// Copies a program in another process. If this process wrote it, a child that another test starts
/// meanwhile would have the file open for a moment, and the copy could not be executed (`ETXTBSY`).
pub(crate) fn copy_program(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

/// The program that writes, compiled as `build`.
pub(crate) fn counted(build: usize) -> &'static Path {
    &COUNTED[build]
}

static ECHOES: LazyLock<Vec<(&str, PathBuf)>> = LazyLock::new(|| {
    let dynamic = Build { name: "dynamic", compiler: "gcc", flags: &[] };
    let builds = BUILDS.into_iter().chain([dynamic]);
    builds.map(|build| (build.name, compile("echoes", build))).collect()
});

/// The program that echoes, of each kind: static, and with libraries.
pub(crate) fn echoes() -> impl Iterator<Item = (&'static str, &'static Path)> {
    ECHOES.iter().map(|(kind, program)| (*kind, program.as_path()))
}

static BUSY: LazyLock<PathBuf> = LazyLock::new(|| compile("busy", BUILDS[0]));

/// The program that makes calls without pause.
pub(crate) fn busy() -> &'static Path {
    &BUSY
}

/// The program that announces execs.
pub(crate) fn announcing() -> &'static Path {
    &ANNOUNCING
}

fn compile(source: &str, build: Build) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let made = folder.join(format!("{source}-{}", build.name));
    let new = folder.join(format!("{source}-{}.{}", build.name, std::process::id()));
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/programs/{source}.c"));
    let mut command = Command::new(build.compiler);
    command.args(["-O1", "-pthread"]).args(build.flags).arg(from).arg("-o").arg(&new);
    assert!(command.status().unwrap().success(), "{command:?} (apt-get install gcc musl-tools)");
    // Another run of these tests may execute the old one at this moment.
    fs::rename(&new, &made).unwrap();
    made
}

/// Offset of the slot that the GS base leads to, in which the blob counts.
const SLOT: u64 = 0x1000;
/// Offsets in the slot: the number of calls before a system call, the number after one, and the
/// argument of the blob's first function.
const BEFORE: u64 = 8;
const AFTER: u64 = 16;
const TOLD: u64 = 24;
/// Offsets of the blob's functions.
const BEFORE_AT: u64 = 0x100;
const AFTER_AT: u64 = 0x200;
const BEGIN_AT: u64 = 0x300;
const REFUSE_AT: u64 = 0x400;
const CRASH_AT: u64 = 0x500;
const HANG_AT: u64 = 0x600;

/// First function of a blob.
#[derive(Clone, Copy, Debug)]
pub(crate) enum First {
    Works,
    Refuses,
    Crashes,
    Hangs,
}

/// The blob that counts.
pub(crate) fn blob(first: First) -> Blob {
    let count =
        |at: u64| [b"\x65\x48\xff\x04\x25", &(at as u32).to_le_bytes()[..], b"\xff\xe1"].concat();
    // The first function keeps the argument's first 8 bytes, and makes a system call (getppid).
    let begin_at_slot = (SLOT + TOLD - (BEGIN_AT + 10)) as u32;
    let begin = [
        &b"\x48\x8b\x07\x48\x89\x05"[..],
        &begin_at_slot.to_le_bytes(),
        b"\xb8\x6e\x00\x00\x00\x0f\x05",
        // The function may change vector registers and all others.
        b"\x0f\x57\xc0\x66\x0f\x76\xc0\x31\xd2\xf7\xd2\x31\xc0\xc3",
    ]
    .concat();
    let mut image = vec![0xcc; 0x1000];
    for (at, code) in [
        (BEFORE_AT, &count(BEFORE)[..]),
        (AFTER_AT, &count(AFTER)),
        (BEGIN_AT, &begin),
        // mov eax, 5; ret
        (REFUSE_AT, b"\xb8\x05\x00\x00\x00\xc3"),
        // mov rax, [0]
        (CRASH_AT, b"\x48\x8b\x04\x25\x00\x00\x00\x00"),
        // jmp to itself
        (HANG_AT, b"\xeb\xfe"),
    ] {
        image[at as usize..at as usize + code.len()].copy_from_slice(code);
    }
    image.extend(*b"data");
    let initialise = Some(match first {
        First::Works => BEGIN_AT,
        First::Refuses => REFUSE_AT,
        First::Crashes => CRASH_AT,
        First::Hangs => HANG_AT,
    });
    Blob { image, memory: 0x5000, code: 0..0x1000, initialise, null_slot: SLOT, ending: None }
}

/// Bytes of a program, with headers according to which its code fills its last page.
pub(crate) fn with_full_pages(program: &Path) -> Vec<u8> {
    let mut file = fs::read(program).unwrap();
    let number = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let (headers, count) = (number(&file, 32) as usize, usize::from(file[56]));
    for header in (0..count).map(|header| headers + header * 56) {
        if number(&file, header) as u32 == 1 && number(&file, header) & 1 << 32 != 0 {
            let begin = number(&file, header + 16) % 4096;
            let bytes = (begin + number(&file, header + 32)).next_multiple_of(4096) - begin;
            for at in [header + 32, header + 40] {
                file[at..at + 8].copy_from_slice(&bytes.to_le_bytes());
            }
        }
    }
    file
}

/// Linked addresses at which a program has the bytes `mov eax, NUMBER; syscall; cmp rax, -N`.
fn sites(file: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let half = |at: usize| u16::from_le_bytes(file[at..at + 2].try_into().unwrap());
    let mut sites = Vec::new();
    for header in 0..usize::from(half(56)) {
        let header = number(32) as usize + header * usize::from(half(54));
        if number(header) & 1 << 32 == 0 || number(header) as u32 != 1 {
            continue;
        }
        let (offset, linked) = (number(header + 8) as usize, number(header + 16));
        let code = &file[offset..offset + number(header + 32) as usize];
        for (at, bytes) in code.windows(13).enumerate() {
            let fits = bytes[0] == 0xb8
                && bytes[3..5] == [0, 0]
                && bytes[5..9] == *b"\x0f\x05\x48\x3d"
                && bytes[10..13] == [0xf0, 0xff, 0xff];
            if fits {
                sites.push((linked + at as u64, bytes.to_vec()));
            }
        }
    }
    sites
}

/// Stubs and patches of all these places in a program, by the contract of stubs and blob.
fn assemble(sites: &[(u64, Vec<u8>)], placed: &PlacedAddresses) -> InjectionPatches {
    let mut made = InjectionPatches::default();
    made.stubs.extend((placed.blob + BEFORE_AT).to_le_bytes());
    made.stubs.extend((placed.blob + AFTER_AT).to_le_bytes());
    for (linked, bytes) in sites {
        let site = linked.wrapping_add(placed.bias);
        for (entry, site, displaced, first) in
            [(0u64, site, &bytes[..5], true), (8, site + 7, &bytes[7..], false)]
        {
            let stub = placed.stubs + made.stubs.len() as u64;
            let distance = |from: u64, to: u64| to.wrapping_sub(from) as u32;
            let displaced_first = if first { displaced } else { &[] };
            made.stubs.extend(displaced_first);
            // lea rcx, [rip + 6]; jmp [rip + entry]
            made.stubs.extend(b"\x48\x8d\x0d\x06\x00\x00\x00\xff\x25");
            let after = placed.stubs + made.stubs.len() as u64 + 4;
            made.stubs.extend(distance(after, placed.stubs + entry).to_le_bytes());
            if !first {
                made.stubs.extend(displaced);
            }
            let after = placed.stubs + made.stubs.len() as u64 + 5;
            made.stubs.push(0xe9);
            made.stubs.extend(distance(after, site + displaced.len() as u64).to_le_bytes());
            let mut new = vec![0xe9];
            new.extend(distance(site + 5, stub).to_le_bytes());
            new.resize(displaced.len(), 0x90);
            made.patches.push(TextPatch {
                address: site,
                old: displaced.to_vec(),
                new,
                call: site,
            });
        }
    }
    made
}

/// Argument of the tests' injections for the blob.
pub(crate) const ARGUMENT: u64 = 0x1122_3344_5566_7788;

/// Injection of the blob into a program.
pub(crate) fn injection(target: &InjectionTarget, first: First) -> Injection {
    let sites = sites(&fs::read(&target.executable).unwrap());
    assert!(!sites.is_empty());
    Injection {
        blob: Arc::new(blob(first)),
        argument: EntryArgument::Bytes(ARGUMENT.to_le_bytes().to_vec()),
        handed: None,
        stubs_room: 0x4000,
        assemble: Box::new(move |placed| Ok(assemble(&sites, placed))),
    }
}

/// Injects the blob into every program.
pub(crate) fn counting(target: &InjectionTarget) -> Result<Option<Injection>, PrepareError> {
    Ok(Some(injection(target, First::Works)))
}

/// Counts of a process: calls before, calls after, and the blob's argument.
pub(crate) fn counts(process: u32, placed: &PlacedAddresses) -> [u64; 3] {
    use std::os::unix::fs::FileExt;
    let memory = fs::File::open(format!("/proc/{process}/mem")).unwrap();
    [BEFORE, AFTER, TOLD].map(|at| {
        let mut bytes = [0; 8];
        memory.read_exact_at(&mut bytes, placed.blob + SLOT + at).unwrap();
        u64::from_le_bytes(bytes)
    })
}

/// Line of `/proc/PID/status`, without its name; empty if the process has ended.
pub(crate) fn status(process: u32, name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
    line.unwrap_or_default().to_owned()
}

/// The injection in an outcome.
#[track_caller]
pub(crate) fn injected(
    result: &Result<InjectionOutcome, injector::Error>,
) -> &injector::InjectedProgram {
    match result {
        Ok(InjectionOutcome::Injected(injected)) => injected,
        other => panic!("{other:?}"),
    }
}
