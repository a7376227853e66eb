//! Common parts of tests with running processes: a library, programs that echo, and recorders in
//! processes of their own.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use injector::{AttachedProcess, BlobLibrary, Error, LibraryPatcher, SkipReason, attach_process};
use rustix::process::{Pid, Signal, kill_process};

use crate::made::status;

/// Size of the memory that the library below maps as it begins, in bytes: more than the threads of
/// the programs here do.
pub(crate) const MAPPED: u64 = 1 << 30;

/// Library that counts on both sides of system calls, with its last function.
const SOURCE: &str = r#"
    long slot[4];
    const unsigned long waiting[13] = {24};
    long mapped[2];
    static long ranges[2];
    static long anonymous(long length)
    {
        register long flags __asm__("r10") = 0x4022;
        register long file __asm__("r8") = -1, offset __asm__("r9") = 0;
        long at = 9;
        __asm__ volatile("syscall" : "+a"(at) : "D"(0L), "S"(length), "d"(3L), "r"(flags),
                         "r"(file), "r"(offset) : "rcx", "r11", "memory");
        return at;
    }
    int begin(const long *stack)
    {
        ranges[0] = anonymous(ranges[1] = 1 << 30);
        mapped[0] = (long)ranges, mapped[1] = 1;
        return stack[0] < 1;
    }
    int end(void) { return 0; }
    __asm__(".globl before\nbefore: incq %gs:8\n jmp *%rcx\n"
            ".globl after\nafter: incq %gs:16\n jmp *%rcx\n");
"#;

/// The library, compiled once.
static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| compiled("ending", SOURCE));

/// A compiled library. In a recorder, its environment names the file.
pub(crate) fn compiled(name: &str, source: &str) -> PathBuf {
    if let Some(made) = std::env::var_os("LIBRARY") {
        return made.into();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let from = folder.join(format!("{name}-{}.c", std::process::id()));
    let (new, made) = (from.with_extension("so"), folder.join(format!("{name}.so")));
    fs::write(&from, source).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-shared", "-fPIC", "-nostdlib", "-Wl,-Bsymbolic"]);
    assert!(gcc.arg(&from).arg("-o").arg(&new).status().unwrap().success());
    fs::remove_file(from).unwrap();
    fs::rename(new, &made).unwrap();
    made
}

/// The library's file.
pub(crate) fn library() -> PathBuf {
    LIBRARY.clone()
}

/// Patcher with the library.
pub(crate) fn patcher() -> LibraryPatcher {
    patcher_of(&LIBRARY)
}

pub(crate) fn patcher_of(library: &Path) -> LibraryPatcher {
    let bytes = fs::read(library).unwrap();
    let library = BlobLibrary::parse(&bytes, "begin", "slot").unwrap();
    let library = library.with_detach("end", "waiting").unwrap();
    let maps = library.symbol_offset("mapped").is_some();
    let library = if maps { library.with_mapped_list("mapped").unwrap() } else { library };
    let switches = library.symbol_offset("switched").is_some();
    let library = if switches { library.with_kill_switch("switched").unwrap() } else { library };
    let patcher = LibraryPatcher::new(library, "before", "after");
    patcher.unwrap().with_plan_folder(Path::new(env!("CARGO_TARGET_TMPDIR")).join("surveys"))
}

/// Attaches without variables.
pub(crate) fn attached(process: u32) -> Result<AttachedProcess, Error> {
    attach_process(process, &patcher(), &[])
}

/// Running program that echoes.
pub(crate) struct Echoes(pub(crate) Child);

impl Echoes {
    pub(crate) fn begin(program: &Path) -> Echoes {
        let mut command = Command::new(program);
        command.arg("6").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut echoes = Echoes(command.spawn().unwrap());
        echoes.answers("first");
        echoes
    }

    /// Sends some bytes, which must come back.
    #[track_caller]
    pub(crate) fn answers(&mut self, text: &str) {
        self.0.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        let mut bytes = vec![0; text.len()];
        self.0.stdout.as_mut().unwrap().read_exact(&mut bytes).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), text);
    }

    /// Ends it in the regular way.
    #[track_caller]
    pub(crate) fn ends(mut self) {
        drop(self.0.stdin.take());
        assert_eq!(self.0.wait().unwrap().code(), Some(7));
    }
}

impl Drop for Echoes {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Size of the mapped memory of a process, in bytes.
pub(crate) fn mapped(process: u32) -> u64 {
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap();
    let number = |word: &str| u64::from_str_radix(word, 16).unwrap();
    let ranges = maps.lines().map(|line| line.split(' ').next().unwrap().split_once('-').unwrap());
    ranges.map(|(start, end)| number(end) - number(start)).sum()
}

/// Stops a process by a signal.
pub(crate) fn stop(process: u32) {
    signal(process, Signal::STOP);
    while !status(process, "State").starts_with('T') {
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(crate) fn signal(process: u32, signal: Signal) {
    kill_process(Pid::from_raw(process as i32).unwrap(), signal).unwrap();
}

/// Whether the threads of a process are not traced and block no signals.
pub(crate) fn are_whole(process: u32) -> bool {
    let whole = |status: String| {
        let has = |line: &str| status.lines().any(|other| other == line);
        has("TracerPid:\t0") && has("SigBlk:\t0000000000000000")
    };
    let mut threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    threads.all(|thread| fs::read_to_string(thread.unwrap().path().join("status")).is_ok_and(whole))
}

/// Attaches and detaches in turn with another recorder, as often as given here.
pub(crate) fn attach_beside_another(process: u32) {
    let (patcher, mut done) = (patcher(), 0);
    for _ in 0..2000 {
        match attach_process(process, &patcher, &[]) {
            Ok(attached) => {
                // The other recorder may be working on the threads.
                let left = (0..20).any(|_| attached.detach().is_ok());
                assert!(left, "it stays");
                done += 1;
            }
            Err(
                Error::NotAttached {
                    why: SkipReason::Recorded { .. } | SkipReason::UsesGs, ..
                }
                | Error::NotAllowed { .. }
                | Error::Seize { .. },
            ) => std::thread::sleep(Duration::from_millis(1)),
            Err(other) => panic!("{other}"),
        }
        if done == 20 {
            break;
        }
    }
    eprintln!("tried");
}

/// Attaches, and waits to be killed.
pub(crate) fn attach_and_stay(process: u32) {
    attached(process).unwrap();
    eprintln!("attached");
    std::thread::sleep(Duration::from_secs(60));
}

/// Attaches and detaches repeatedly, until it is killed.
pub(crate) fn attach_for_ever(process: u32) -> ! {
    let patcher = patcher();
    let attach_and_go = || attach_process(process, &patcher, &[]).unwrap().detach().unwrap();
    // From the second time on, the plans of the files are cached.
    attach_and_go();
    eprintln!("begins");
    loop {
        attach_and_go();
    }
}

/// Attaches, detaches and reports the result.
pub(crate) fn attach_once(process: u32) {
    match attached(process).and_then(|attached| attached.detach()) {
        Ok(count) => eprintln!("attached and left: {count}"),
        Err(error) => eprintln!("{error}"),
    }
}
