//! `sockcap record`: runs a command under the library, ends with its exit status, and prints in one
//! line what was recorded.

mod attach;
mod folders;
mod injection;
mod options;
mod recording;
mod signals;
mod summary;
mod switches;
mod unix_peers;

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use clap::Parser;
use importers::how_to_run_strace;
use message_trace::DataDir;
use rustix::time::{ClockId, clock_gettime};
use socket_log::RecordingId;
use socket_log::names::{HOST_VARIABLE, own_host_name};

use crate::arguments::DataArguments;
use crate::arguments::completion_candidates::program_completer;
use crate::arguments::values::host_name;
use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::output::{count_noun, tell};
use crate::own_logs::{self, OwnLogs};
use crate::visibility::{self, InvisibleProgram};
use crate::words::same_directory;
use crate::{operation_naming, tidy};
use injection::{InjectionSession, StartError};
use options::RecordOptions;
use summary::{EndedRecording, NamedPrograms};
use switches::{SwitchRecording, SwitchTally, refusal_line};

const HELP: &str = "\
Every program that CMD starts is recorded too, each process in a log of its
own. Several commands can be recorded into one directory, one after another or
concurrently; all of them become one trace.

Not recorded: programs that load no libraries (static, most Go), setuid
programs, and sockets used without libc. CMD itself is inspected before it
starts: if it is such a program, sockcap warns and runs it anyway; with
--strict it does not run and the exit status is 125. Static programs and Go
programs are recorded with --inject (x86-64), or with strace: see 'sockcap
import strace --help'.

With -p, the library is put into running processes, whatever they load, and
taken out at the end. Connections that are already open are recorded, too.

Examples:
  sockcap record -- ./server --port 8080
  sockcap record -d /tmp/run1 --host web1 -- nginx -g 'daemon off;'
  sockcap record --inject -- caddy run
  sockcap record -p $(pgrep -d, redis-server)

Manually:
  LD_PRELOAD=/path/to/libsockcap.so SOCKCAP_DIR=DIR SOCKCAP_HOST=NAME CMD";

/// Run a command under libsockcap.so and log its socket calls
#[derive(Debug, Parser)]
#[command(name = "record", after_help = HELP)]
pub(crate) struct RecordCommand {
    #[command(flatten)]
    data: DataArguments,
    /// The name of this host in the trace [default: SOCKCAP_HOST or, if that is not set, the
    /// kernel's name]
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(crate) host: Option<String>,
    /// Refuse to run a program that cannot be recorded, instead of warning
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    library: RecordOptions,
    /// Record these running processes, and their children, until Ctrl-C; comma-separated (x86-64)
    #[arg(short, long = "pid", value_name = "PID", value_delimiter = ',', conflicts_with_all = ["command", "resources"], value_parser = clap::value_parser!(u32).range(1..))]
    processes: Vec<u32>,
    /// The command and its arguments
    #[arg(required_unless_present = "processes", trailing_var_arg = true, value_name = "CMD", add = program_completer())]
    pub(crate) command: Vec<OsString>,
}

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<RecordCommand>();

impl RunnableCommand for RecordCommand {
    fn failure_status(&self) -> u8 {
        // As the exit status of `env` and `timeout`, 125 means that sockcap failed and not the
        // command.
        125
    }

    fn run(&self) -> Result<ExitCode, CommandError> {
        let library = find_library(self.library.resources)?;
        if !self.processes.is_empty() {
            return record_running(self, &library);
        }
        let (mut named, mut injected) = (NamedPrograms::Nothing, None);
        if let Some(program) = self.command.first()
            && let Some(unseen) =
                visibility::inspect_program(program, self.command.get(1..).unwrap_or(&[]))
        {
            injected = unseen.can_be_injected().filter(|_| self.library.inject).map(Path::to_owned);
            if injected.is_some() {
                // The program is visible now, or the reason why not was reported.
            } else if self.strict {
                return Err(CommandError::Unseen(unseen.clone(), remedy_for_unseen(self, &unseen)));
            } else {
                let remedy = remedy_for_unseen(self, &unseen);
                let (end, commands) = remedy.split_once('\n').unwrap_or((&remedy, ""));
                tell!("sockcap: warning: {unseen}{end}");
                commands.lines().for_each(|command| tell!("{command}"));
                named = NamedPrograms::Command;
            }
        }
        let (data, directory) = make_directory(self)?;
        let began = kernel_time();
        let recording = begin_recording(&data)?;
        let (variables, injected) = (self.library_variables()?, injected.as_deref());
        let (status, has_failures) =
            run_under(&library, &directory, self, (recording, variables), injected)?;
        let named = if has_failures { NamedPrograms::NotInjected } else { named };
        end_recording(&data, began, recording, self, named, Some(status));
        // A shell reports a signal in the same way.
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(ExitCode::from(code as u8))
    }
}

impl RecordCommand {
    /// The variables for the library, with the key of this recording.
    fn library_variables(&self) -> Result<Vec<(&'static str, String)>, CommandError> {
        let words = recording::word_variable(self.library.no_words);
        let mut variables = self.library.library_variables();
        variables.push(words.map_err(CommandError::Random)?);
        Ok(variables)
    }
}

/// Records running processes.
fn record_running(arguments: &RecordCommand, library: &Path) -> Result<ExitCode, CommandError> {
    let (data, directory) = make_directory(arguments)?;
    let began = kernel_time();
    let recording = begin_recording(&data)?;
    attach::record_attached(&attach::AttachArguments {
        processes: &arguments.processes,
        strict: arguments.strict,
        host: arguments.host.as_deref(),
        directory: &directory,
        library,
        recording,
        options: arguments.library_variables()?,
    })?;
    end_recording(&data, began, recording, arguments, NamedPrograms::Nothing, None);
    Ok(ExitCode::SUCCESS)
}

/// Draws the id of a recording, and notes it for later commands.
fn begin_recording(data: &DataDir) -> Result<RecordingId, CommandError> {
    let recording = recording::draw_recording_id().map_err(CommandError::Random)?;
    if let Err(error) = own_logs::note_recording(data, recording) {
        // The recording itself is the same; later commands of root need --all-users.
        tell!("sockcap: warning: {}/.recordings: {error}", data.path().display());
    }
    Ok(recording)
}

/// Post-processes a recording: only its own logs, if this process has rights that users who may put
/// files there do not have.
fn end_recording(
    data: &DataDir,
    began: i64,
    recording: RecordingId,
    arguments: &RecordCommand,
    named: NamedPrograms,
    status: Option<ExitStatus>,
) {
    let own = OwnLogs::for_recording(recording);
    if let Err(error) = own_logs::print_skipped(data) {
        tell!("sockcap: warning: {error}");
    }
    tidy::tidy_logs(data, &own);
    operation_naming::name_ended_logs(data, &own);
    let program = arguments.command.first().map_or_else(
        || attach::process_list(&arguments.processes),
        |program| program.to_string_lossy().into_owned(),
    );
    summary::print_summary(&EndedRecording { data, began, own: &own, program, named, status });
}

/// Makes the data directory if necessary, and returns it with its absolute path.
fn make_directory(arguments: &RecordCommand) -> Result<(DataDir, PathBuf), CommandError> {
    let data = arguments.data.data_dir();
    let failed = |source| CommandError::file_error(data.path(), source);
    data.root_path().create_dir_all().map_err(failed)?;
    let directory = std::path::absolute(data.path()).map_err(failed)?;
    Ok((data, directory))
}

/// Nanoseconds since the Unix epoch, by the kernel's own clock: libc's may be faked, and logs use
/// the kernel's.
fn kernel_time() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Advice on how to record a program that will not be seen, if there is a way.
fn remedy_for_unseen(arguments: &RecordCommand, unseen: &InvisibleProgram) -> String {
    if !unseen.is_visible_to_strace() {
        return String::new();
    }
    let what_sees_it = match unseen.can_be_injected() {
        Some(_) => "--inject records it, or strace sees what it does:",
        None => "strace sees what it does:",
    };
    format!("; {what_sees_it}{}", strace_advice(arguments))
}

/// Commands by which strace sees the calls of a program that loads no library, and its output
/// becomes logs next to the other logs.
fn strace_advice(arguments: &RecordCommand) -> String {
    let quoted = |word: &OsString| {
        shlex::try_quote(&word.to_string_lossy()).map(|word| word.into_owned()).ok()
    };
    let command: Vec<String> = arguments.command.iter().filter_map(quoted).collect();
    let host = arguments.host.as_ref().map_or_else(String::new, |host| format!(" --host {host}"));
    format!(
        "\n  {}\n  sockcap import strace trace.strace{host}{}",
        how_to_run_strace("trace.strace", &command.join(" ")),
        same_directory(&arguments.data.data_dir()),
    )
}

/// Runs the command with the library preloaded, or injected if `injected` names the command's file,
/// and waits for its end. Also returns whether the library could not be put into some programs.
fn run_under(
    library: &Path,
    directory: &Path,
    arguments: &RecordCommand,
    (recording, variables): (RecordingId, Vec<(&'static str, String)>),
    injected: Option<&Path>,
) -> Result<(ExitStatus, bool), CommandError> {
    let (program, rest) =
        arguments.command.split_first().map_or((None, [].as_slice()), |(p, r)| (Some(p), r));
    let program = program.cloned().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(rest).env("LD_PRELOAD", preload_value(library)).env("SOCKCAP_DIR", directory);
    command.env(recording::VARIABLE, recording.to_string());
    command.envs(variables);
    // Everything that is recorded together uses one host name, whatever sets it.
    let host = arguments.host.clone().unwrap_or_else(own_host_name);
    command.env(HOST_VARIABLE, &host);
    let failed = |source: io::Error| CommandError::Command {
        command: program.to_string_lossy().into_owned(),
        hint: match source.kind() {
            io::ErrorKind::NotFound => "give a command that is in PATH, or its path",
            _ => "give a program that you may execute",
        },
        source,
    };
    if let Err(error) = folders::make_host_folder(directory, &host) {
        // The library may still find a place for its logs, and the command runs anyway.
        tell!("sockcap: warning: {}: {error}", directory.join("hosts").join(&host).display());
    }
    let logs = folders::host_folder(directory, &host);
    let injection = arguments
        .library
        .inject
        .then(|| InjectionSession::begin_injection(library, logs))
        .transpose()?;
    if let Some(injection) = &injection {
        injection.announce_to(&mut command);
    }
    let switches = arguments.library.resources.then(|| begin_switches(directory, &host, recording));
    let signals = signals::SignalForwarder::hold_signals().map_err(CommandError::Signals)?;
    let child = match (&injection, injected) {
        (Some(injection), Some(file)) => {
            injection.spawn_injected(command, file, arguments.strict).map_err(|error| match error {
                StartError::Command(source) => failed(source),
                StartError::Other(error) => error,
            })
        }
        _ => command.spawn().map_err(failed),
    };
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            switches.flatten().into_iter().for_each(SwitchRecording::abandon_recording);
            return Err(error);
        }
    };
    let signals = signals.forward_to(&child);
    // While execs of other children are followed, only this wait leaves their stops alone.
    let status = match &injection {
        Some(_) => injector::wait_child(&mut child).map_err(failed),
        None => child.wait().map_err(failed),
    };
    let has_failures = injection.is_some_and(InjectionSession::end_injection);
    signals.close();
    if let Some(switches) = switches.flatten() {
        end_switches(switches);
    }
    status.map(|status| (status, has_failures))
}

/// Begins to record the thread switches of the processes that this thread starts; `None`, with a
/// message, if the kernel does not permit it.
fn begin_switches(directory: &Path, host: &str, recording: RecordingId) -> Option<SwitchRecording> {
    match SwitchRecording::begin_switches(directory, host, recording) {
        Ok(switches) => Some(switches),
        Err(error) => {
            tell!("sockcap: {}", refusal_line(&error));
            None
        }
    }
}

/// Ends the recording of switches, and reports what is missing.
fn end_switches(switches: SwitchRecording) {
    let SwitchTally { records, lost, failed } = switches.finish_recording();
    if lost > 0 {
        let (lost, records) = (count_noun(lost, "switch", "switches"), records);
        tell!("sockcap: {lost} lost in addition to {records}: times around them are unknown");
    }
    if let Some(failed) = failed {
        tell!("sockcap: some switches could not be written: {failed}");
    }
}

/// The library, in the build that records resources if `resources` is set: from `SOCKCAP_LIBRARY`,
/// next to this program, or in the `lib` directory next to the program's own directory.
fn find_library(resources: bool) -> Result<PathBuf, CommandError> {
    let (name, build) = match resources {
        true => ("libsockcap_resources.so", "scripts/build"),
        false => ("libsockcap.so", "cargo build --release -p capture-shim"),
    };
    let program = env::current_exe().unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("."));
    let library = match env::var_os("SOCKCAP_LIBRARY") {
        Some(named) => Some(PathBuf::from(named)).filter(|path| path.is_file()),
        None => [
            beside.join(name),
            beside.join("../lib/sockcap").join(name),
            beside.join("../lib").join(name),
        ]
        .into_iter()
        .find(|path| path.is_file()),
    };
    let library = library.ok_or_else(|| CommandError::NoLibrary {
        library: name,
        build,
        beside: beside.to_owned(),
    })?;
    let library = std::path::absolute(&library).unwrap_or(library);
    if library.to_string_lossy().contains([' ', ':']) {
        return Err(CommandError::LibraryPath(library));
    }
    Ok(library)
}

/// The value of `LD_PRELOAD`: the library first, then the user's own value.
fn preload_value(library: &Path) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    value
}
