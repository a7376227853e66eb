//! `sockcap synth`: a trace whose truth is known, from a configuration of tracelets.

use std::path::Path;
use std::process::ExitCode;

use message_trace::DataDir;
use synth::made_import;
use synth::maketrace::{self, Config, TruthTable};

use crate::cli::Synth;
use crate::error::Error;
use crate::output::counted;
use crate::progress::Terminal;
use crate::words;

pub(crate) fn run(arguments: &Synth) -> Result<ExitCode, Error> {
    let data = arguments.data.dir();
    let path = Path::new(&arguments.config);
    // A file goes before a configuration that comes with the program.
    let config = match maketrace::shipped(&arguments.config).filter(|_| !path.exists()) {
        Some(config) => config?,
        None if !path.exists() => {
            let known = maketrace::SHIPPED.map(|(name, _)| name).join(", ");
            return Err(Error::NoConfig(path.to_owned(), known));
        }
        None => Config::read(path)?,
    };
    let config = config.changed(&arguments.changes());
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if !config.call_ids && arguments.truth.is_some() {
        stands_alone(&data, &name)?;
    }
    let made = maketrace::make(&config, &Terminal::new())?;
    let place = made_import::write(&made.trace, &data, &name)?;
    if let Some(truth) = &arguments.truth {
        made.truth.write(truth)?;
    }
    anstream::eprintln!(
        "sockcap: {} of {} in {}{}; next: sockcap report{}",
        counted(made.trace.len() as u64, "message", "messages"),
        counted(made.instances, "path instance", "path instances"),
        place.display(),
        match (&arguments.truth, &made.truth) {
            (Some(truth), TruthTable::Calls(_)) =>
                format!(", the truth about calls in {}", truth.display()),
            (Some(truth), TruthTable::Messages(_)) =>
                format!(", the truth about messages in {}", truth.display()),
            (None, _) => String::new(),
        },
        words::same_directory(&data),
    );
    Ok(ExitCode::SUCCESS)
}

/// Sees to it that messages have the numbers that the truth gives them: nothing else may be in the
/// directory.
fn stands_alone(data: &DataDir, name: &str) -> Result<(), Error> {
    let alone =
        data.logs()?.is_empty() && data.imported()?.iter().all(|import| import.name == name);
    if alone { Ok(()) } else { Err(Error::NotAlone(data.path().to_owned())) }
}
