//! `sockcap export`: a stage's table in another format, and traces and patterns for other tools.
//! What can be written is in the registry of exporters, and so are their flags.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use analyze::naming::Aliases;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use exporters::{Exporter, Kind, Needs, Output, Source, TraceCount};
use registry::Given;

use crate::arguments::{Data, Inference, SourceChoice, flags};
use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::output::{counted, say, tell};
use crate::progress::Terminal;
use crate::shown::Shown;
use crate::target::Target;
use crate::{kinds, lock, stages};

/// The argument that says what is exported.
const WHAT: &str = "exported";

/// One export.
#[derive(Debug)]
struct Export {
    kind: &'static Kind,
    given: Given,
    data: Data,
    source: SourceChoice,
    to: Destination,
}

/// The names of nodes, and the place that the export goes to.
#[derive(Debug, Args)]
struct Destination {
    /// A file that says what addresses, hosts, commands and endpoints are to be called [default:
    /// DIR/aliases, if there is one]
    #[arg(long, value_name = "FILE")]
    aliases: Option<PathBuf>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) const COMMAND: Subcommand = Subcommand { define, read };

fn define() -> Command {
    let all = kinds::exporters();
    let choice = |kind: &&Kind| PossibleValue::new(kind.about.name).help(kind.about.summary);
    let what = Arg::new(WHAT)
        .value_name("WHAT")
        .help("What is written")
        .required(true)
        .value_parser(PossibleValuesParser::new(all.iter().map(choice)));
    let command = Data::augment_args(Command::new("export").arg(what))
        .args(registry::union(&all).into_iter().map(flags::argument));
    Destination::augment_args(SourceChoice::augment_args(command))
        .about("Write tables, traces and patterns for other tools")
        .after_help(help(&all))
}

/// The end of help: the tools that open each format, and examples.
fn help(all: &[&Kind]) -> String {
    let mut text = "What opens what:\n".to_owned();
    for kind in all.iter().filter(|kind| !kind.opened_by.is_empty()) {
        text += &format!("  {:9} {}\n", kind.about.name, kind.opened_by);
    }
    let examples: Vec<&str> = all.iter().flat_map(|kind| kind.about.examples).copied().collect();
    text + "\nExamples:\n  " + &examples.join("\n  ")
}

fn read(matches: &ArgMatches, _program: &Command) -> Result<Box<dyn Run>, clap::Error> {
    let all = kinds::exporters();
    let name = matches.get_one::<String>(WHAT).map_or("", String::as_str);
    let missing = || clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument);
    Ok(Box::new(Export {
        kind: registry::find(&all, name).ok_or_else(missing)?,
        given: flags::given(matches, &registry::union(&all))?,
        data: Data::from_arg_matches(matches)?,
        source: SourceChoice::from_arg_matches(matches)?,
        to: Destination::from_arg_matches(matches)?,
    }))
}

impl Run for Export {
    fn run(&self) -> Result<ExitCode, Error> {
        let exporter = self
            .exporter()
            .map_err(|why| Error::Usage(format!("{why}; 'sockcap export --help' has examples")))?;
        exporter.check()?;
        if let Some(count) = self.write(&*exporter)? {
            if count.traces == 0 {
                // The output is well formed, and of no use.
                say("no trace was written: no call begins one of those that were asked for");
            }
            if let Some(url) = exporter.sent_to() {
                let spans = counted(count.spans, "span", "spans");
                let traces = counted(count.traces, "trace", "traces");
                tell!("sockcap: {spans} of {traces} sent to {url}");
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Export {
    /// The exporter that was asked for.
    fn exporter(&self) -> Result<Box<dyn Exporter>, String> {
        match registry::refusal(&kinds::exporters(), self.kind, &self.given) {
            Some(why) => Err(why),
            None => (self.kind.make)(&self.given),
        }
    }

    /// Runs what is missing and writes the export, to the file that was named or standard output. A
    /// file is tried out first and keeps what it holds until there is something to write.
    fn write(&self, exporter: &dyn Exporter) -> Result<Option<TraceCount>, Error> {
        let path = self.to.output.as_deref();
        let mut target = Target::try_out(path)?;
        let locks = lock::work_on(&[&self.data.dir()])?;
        let shown = self.source.of(&self.data)?;
        let aliases = self.ready(exporter.needs(), &shown)?;
        // Whoever reads standard output may wait for the lock.
        let _locks = path.is_some().then_some(locks);
        let source = Source { data: &shown.data, aliases: &aliases, progress: &Terminal::new() };
        let name = target.name().to_owned();
        let mut writer = BufWriter::new(&mut target);
        let written = exporter.write(&source, &mut Output { writer: &mut writer, name: &name });
        let flushed = writer.flush();
        drop(writer);
        let written = written.map_err(|error| match error {
            exporters::Error::Output(source) if source.kind() != io::ErrorKind::BrokenPipe => {
                Error::file(&name, source)
            }
            error => error.into(),
        })?;
        flushed.map_err(|source| target.refused(source))?;
        target.finish()?;
        Ok(written)
    }

    /// Runs the stages that are needed, and returns the user's names. The results of an analysis
    /// have them already.
    fn ready(&self, needs: Needs, shown: &Shown) -> Result<Aliases, Error> {
        let named = || Inference::named_by(self.to.aliases.clone());
        match needs {
            Needs::Messages => {
                stages::messages(shown)?;
                return stages::names(shown, self.to.aliases.as_deref());
            }
            Needs::Analysis => drop(stages::analysis(shown, &named())?),
            Needs::Resources => {
                stages::analysis(shown, &named())?;
                if shown.data.own_events().is_file() {
                    stages::requests(shown, &named())?;
                }
            }
            Needs::Requests => stages::requests(shown, &named())?,
            // Imported events need no stage; those of recordings are made with the messages.
            Needs::Events if shown.data.logs()?.is_empty() => {}
            Needs::Events => stages::messages(shown)?,
        }
        Ok(Aliases::default())
    }
}
