//! Errors of the command line, and the exit status that each leads to.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use message_trace::PathError;

use crate::output::tell;
use crate::visibility::InvisibleProgram;

/// An error that ends the command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Table(#[from] PathError),
    #[error(transparent)]
    Reconcile(#[from] reconcile::Error),
    #[error(transparent)]
    Import(#[from] importers::Error),
    #[error(transparent)]
    Aliases(#[from] analyze::naming::AliasError),
    #[error(transparent)]
    Synth(#[from] synth::Error),
    #[error(transparent)]
    Log(#[from] socket_log::OpenError),
    #[error(transparent)]
    Operations(#[from] protocols::operations::OperationFileError),
    #[error(transparent)]
    Keys(#[from] collector::keys::KeyError),
    #[error("{}: the key exists already, and its host may be using it; nothing was made; --replace \
             makes a new one in its place", .0.display())]
    KeyThere(PathBuf),
    #[error(
        "{0}: only hosts' keys can be revoked, as only the collector reads the list; see \
         docs/keys.md"
    )]
    OnlyHosts(String),
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Export(#[from] exporters::Error),
    /// A file that is not a table: a closed pipe there is an error.
    #[error(transparent)]
    File(PathError),
    #[error(
        "{}: no logs here and nothing imported; record some with 'sockcap record -d {} -- CMD', or name another directory with -d",
        .0.display(), .0.display()
    )]
    NoLogs(PathBuf),
    #[error("{}: there are no requests here; 'sockcap info -d {}' shows the \
             contents", .0.display(), .0.display())]
    NoRequests(PathBuf),
    #[error(
        "{}: no messages here, only spans of tracers; omit '--source messages', or use '--source \
         spans'",
        .0.display()
    )]
    NoMessages(PathBuf),
    #[error(
        "{}: no spans of tracers here; import some with 'sockcap import otlp FILE -d {}', or omit \
         '--source spans'",
        .0.display(), .0.display()
    )]
    NoSpans(PathBuf),
    #[error(
        "{}: spans record their causes, so nothing is inferred; omit --{}", .0.display(), .1
    )]
    KnownCauses(PathBuf, String),
    #[error("{}: it has other contents already, so messages would not have the numbers in the \
             ground truth; choose another directory with -d", .0.display())]
    NotAlone(PathBuf),
    #[error("{}: no such file, and no included configuration of that name; the included ones are \
             {}", .0.display(), .1)]
    NoConfig(PathBuf, String),
    #[error("{}: this is the directory that is read; choose another one with --to", .0.display())]
    Onto(PathBuf),
    #[error(transparent)]
    Tls(#[from] collector::tls::TlsError),
    #[error(transparent)]
    Ship(#[from] collector::ship::ShipError),
    #[error(transparent)]
    Collect(#[from] collector::collect::CollectError),
    #[error("{address}: {source}; give an address and a port, such as 127.0.0.1:9712")]
    Address { address: String, source: io::Error },
    #[error(
        "{0}: other machines can reach this address, and with --plain any of them could read and \
         write; use --key, or --force if the network is private"
    )]
    PlainAbroad(String),
    #[error("127.0.0.1:{port}: {source}; choose another port with --port, or omit it")]
    Port { port: u16, source: io::Error },
    #[error("it is not clear which host's logs to send: name it with --host")]
    WhichHost,
    #[error("signals cannot be received: {0}")]
    Signals(io::Error),
    #[error("the kernel gives no random bytes for the id of the recording: {0}")]
    Random(io::Error),
    #[error("standard output: {0}")]
    Output(#[from] io::Error),
    #[error("{library} was not found next to sockcap ({}); build it with '{build}' or set \
             SOCKCAP_LIBRARY to its path", beside.display())]
    NoLibrary { library: &'static str, build: &'static str, beside: PathBuf },
    #[error("{}: the dynamic linker accepts no library with a space or a colon in its path; move \
             it, or make a link to it elsewhere and set SOCKCAP_LIBRARY to the link", .0.display())]
    LibraryPath(PathBuf),
    #[error("{0}; it was not run, because of --strict{1}")]
    Unseen(InvisibleProgram, String),
    #[error("{}: it would not be recorded: {why}; it was ended, because of \
             --strict", program.display())]
    NotInjected { program: PathBuf, why: String },
    #[error("no library can be put into programs: {0}; omit --inject")]
    Injector(#[from] injector::Error),
    #[error(transparent)]
    NotAttached(injector::Error),
    #[error("{command}: {source}; {hint}")]
    Command { command: String, source: io::Error, hint: &'static str },
}

impl CommandError {
    /// Error of the operating system on a file that is not a table.
    pub(crate) fn file_error(path: &Path, source: io::Error) -> CommandError {
        CommandError::File(PathError::io(path, source))
    }

    /// Whether the error is that a file may not be written, not that writing it failed.
    pub(crate) fn is_about_rights(&self) -> bool {
        let kinds = [
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
            io::ErrorKind::IsADirectory,
        ];
        matches!(self, CommandError::File(PathError::Io { source, .. }) if kinds.contains(&source.kind()))
    }

    /// Prints the error on standard error and returns the exit status, which is `failed` unless the
    /// recorded command is to blame. An output that its reader closed is no error: the reader has
    /// read enough.
    pub(crate) fn report_error(&self, failed: u8) -> ExitCode {
        if let CommandError::Output(error)
        | CommandError::Table(PathError::Io { source: error, .. })
        | CommandError::Export(
            exporters::Error::Output(error)
            | exporters::Error::Table(PathError::Io { source: error, .. }),
        ) = self
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            return ExitCode::SUCCESS;
        }
        match self {
            // Commands to copy, one per line.
            CommandError::Unseen(unseen, remedy) => {
                let (end, commands) = remedy.split_once('\n').unwrap_or((remedy, ""));
                tell!("sockcap: {unseen}; it was not run, because of --strict{end}");
                commands.lines().for_each(|command| tell!("{command}"));
            }
            CommandError::Import(error) => {
                for (number, line) in error.lines().into_iter().enumerate() {
                    tell!("{}{line}", if number == 0 { "sockcap: " } else { "  " });
                }
            }
            _ => tell!("sockcap: {self}"),
        }
        ExitCode::from(match self {
            CommandError::Command { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            CommandError::Command { .. } => 126,
            CommandError::Usage(_) => 2,
            _ => failed,
        })
    }
}
