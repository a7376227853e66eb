//! `sockcap record`: runs a command under the library, ends as it ends, and says in one line what
//! was recorded.

mod signals;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{SystemTime, UNIX_EPOCH};

use importers::how_to_run_strace;
use message_trace::DataDir;
use socket_log::Log;
use socket_log::layout::state;

use crate::cli::Record;
use crate::error::Error;
use crate::output::{bytes, counted};
use crate::words::same_directory;
use crate::{tidy, visibility};

pub(crate) fn run(arguments: &Record) -> Result<ExitCode, Error> {
    let library = library()?;
    let mut is_unseen = false;
    if let Some(program) = arguments.command.first()
        && let Some(unseen) = visibility::look(program, arguments.command.get(1..).unwrap_or(&[]))
    {
        let way_out = if unseen.is_seen_by_strace() { by_strace(arguments) } else { String::new() };
        if arguments.strict {
            return Err(Error::Unseen(unseen, way_out));
        }
        anstream::eprintln!("sockcap: warning: {unseen}{way_out}");
        is_unseen = true;
    }
    let data = arguments.data.dir();
    std::fs::create_dir_all(data.path())
        .map_err(|source| Error::File { path: data.path().to_owned(), source })?;
    let directory = std::path::absolute(data.path())
        .map_err(|source| Error::File { path: data.path().to_owned(), source })?;

    let began =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i64);
    let status = run_under(&library, &directory, arguments)?;
    tidy::tidy(&data);
    summarise(&data, began, arguments, is_unseen);
    // A shell reports a signal in the same way.
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(code as u8))
}

/// How what is recorded can be had of a program that loads no library: strace sees its calls, and
/// what it saw becomes logs beside those of the others.
fn by_strace(arguments: &Record) -> String {
    let quoted = |word: &OsString| {
        shlex::try_quote(&word.to_string_lossy()).map(|word| word.into_owned()).ok()
    };
    let command: Vec<String> = arguments.command.iter().filter_map(quoted).collect();
    let host = arguments.host.as_ref().map_or_else(String::new, |host| format!(" --host {host}"));
    format!(
        "; strace sees what it does:\n  {}\n  sockcap import strace trace.strace{host}{}",
        how_to_run_strace("trace.strace", &command.join(" ")),
        same_directory(&arguments.data.dir()),
    )
}

/// Runs the command with the library preloaded, and waits for its end.
fn run_under(library: &Path, directory: &Path, arguments: &Record) -> Result<ExitStatus, Error> {
    let (program, rest) =
        arguments.command.split_first().map_or((None, [].as_slice()), |(p, r)| (Some(p), r));
    let program = program.cloned().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(rest).env("LD_PRELOAD", preload(library)).env("SOCKCAP_DIR", directory);
    command.envs(arguments.options.variables());
    if let Some(host) = &arguments.host {
        command.env("SOCKCAP_HOST", host);
    }
    let failed = |source: io::Error| Error::Command {
        command: program.to_string_lossy().into_owned(),
        hint: match source.kind() {
            io::ErrorKind::NotFound => "give a command that is in PATH, or its path",
            _ => "give a program that you may run",
        },
        source,
    };
    let signals = signals::Forward::begin().map_err(Error::Signals)?;
    let mut child = command.spawn().map_err(failed)?;
    let signals = signals.to(&child);
    let status = child.wait().map_err(failed);
    signals.close();
    status
}

/// The library: named in `SOCKCAP_LIBRARY`, or beside this program, or in the `lib` directory
/// beside its own.
fn library() -> Result<PathBuf, Error> {
    const NAME: &str = "libsockcap.so";
    let program = env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("."));
    let library = match env::var_os("SOCKCAP_LIBRARY") {
        Some(named) => Some(PathBuf::from(named)).filter(|path| path.is_file()),
        None => [
            beside.join(NAME),
            beside.join("../lib/sockcap").join(NAME),
            beside.join("../lib").join(NAME),
        ]
        .into_iter()
        .find(|path| path.is_file()),
    };
    let library = library.ok_or_else(|| Error::NoLibrary(beside.to_owned()))?;
    let library = std::path::absolute(&library).unwrap_or(library);
    if library.to_string_lossy().contains([' ', ':']) {
        return Err(Error::LibraryPath(library));
    }
    Ok(library)
}

/// The value of `LD_PRELOAD`: the library first, then what the user has there already.
fn preload(library: &Path) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}

/// Says what this run left in the data directory; of a program that is unseen, the way out was said
/// before.
fn summarise(data: &DataDir, began: i64, arguments: &Record, is_unseen: bool) {
    let (mut logs, mut processes, mut records, mut lost, mut size) = (0, 0, 0, 0u64, 0);
    for path in data.logs().unwrap_or_default() {
        let Ok(log) = Log::open(&path) else { continue };
        let header = log.header();
        if header.start.realtime < began {
            continue;
        }
        logs += 1;
        // A process that became another program goes on in that one's log.
        processes += u64::from(header.state != state::REPLACED);
        lost = header.total_lost().saturating_add(lost);
        size += log.on_disk();
        log.for_each(|_| records += 1);
    }
    if logs == 0 {
        let program =
            arguments.command.first().map(|program| program.to_string_lossy()).unwrap_or_default();
        let why = match is_unseen {
            true => format!("{program} did not load libsockcap.so"),
            false => format!(
                "{program} and what it started used no socket, or could not write to {}",
                data.path().display()
            ),
        };
        anstream::eprintln!("sockcap: nothing was recorded: {why}");
        return;
    }
    anstream::eprintln!(
        "sockcap: {}, {}, {lost} lost, {}; next: sockcap report{}",
        counted(processes, "process", "processes"),
        counted(records, "record", "records"),
        bytes(size),
        same_directory(data),
    );
}
