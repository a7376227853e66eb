//! The inferred traces as spans: to a file, or straight to a collector.

use std::io::Write;

use analyze::calls::windows::in_windows;
use analyze::paths::pattern_roots;
use message_trace::{DataDir, Progress};
use report::export::chrome::Chrome;
use report::export::otlp::{Collector, JsonLines, Otlp, Protobuf, Retries};
use report::export::perfetto::Perfetto;
use report::export::{Error as ExportError, Selection, SpanWriter, TraceExport, Written};

use super::{Export, Exported, Format};
use crate::arguments::Inference;
use crate::error::Error;
use crate::output::{counted, say};
use crate::progress::Terminal;
use crate::stages;

pub(super) fn run(arguments: &Export) -> Result<(), Error> {
    let data = arguments.data.dir();
    if let Some(url) = &arguments.to {
        // A wrong address is told before the work.
        let collector = Collector::new(url, &arguments.headers, Retries::default());
        let mut otlp = Otlp::new(collector.map_err(ExportError::from)?);
        let written = write(arguments, &data, &ready(arguments, &data)?, &mut otlp)?;
        let (rejected, said) = otlp.into_requests().rejected;
        if rejected > 0 {
            let said = if said.is_empty() { said } else { format!(": {said}") };
            return Err(Error::Rejected { url: url.clone(), spans: rejected, said });
        }
        let (spans, traces) =
            (counted(written.spans, "span", "spans"), counted(written.traces, "trace", "traces"));
        anstream::eprintln!("sockcap: {spans} of {traces} sent to {url}");
        return Ok(());
    }
    super::to_output(
        arguments,
        || ready(arguments, &data),
        |options, output: &mut (dyn Write + Send), _| {
            let mut writer: Box<dyn SpanWriter + '_> = match (arguments.exported, arguments.format)
            {
                (Exported::Perfetto, _) => Box::new(Perfetto::new(output)),
                (Exported::Chrome, _) => Box::new(Chrome::new(output)),
                (_, Some(Format::Protobuf)) => Box::new(Otlp::new(Protobuf(output))),
                _ => Box::new(Otlp::new(JsonLines(output))),
            };
            write(arguments, &data, &options, &mut *writer).map(|_| ())
        },
    )
}

/// Sees to it that the analysis is there, and says how it was made.
fn ready(arguments: &Export, data: &DataDir) -> Result<analyze::AnalysisSummary, Error> {
    stages::analysis(data, &Inference::named_by(arguments.aliases.clone()))
}

fn write(
    arguments: &Export,
    data: &DataDir,
    analysis: &analyze::AnalysisSummary,
    writer: &mut dyn SpanWriter,
) -> Result<Written, Error> {
    let roots =
        arguments.pattern.map(|pattern| pattern_roots(&data.paths(), pattern)).transpose()?;
    if let (Some(pattern), true) =
        (arguments.pattern, roots.as_ref().is_some_and(|roots| roots.is_empty()))
    {
        return Err(super::patterns::no_pattern(data, pattern, analysis.totals.patterns));
    }
    let progress = Terminal::new();
    progress.step("writing spans", analysis.totals.messages);
    let limit = arguments.limit.map(|limit| limit as u64);
    let mut export = TraceExport::new(writer, Selection { roots, limit });
    in_windows::<Error>(data, &analysis.options, |window| {
        let goes_on = export.window(window)?;
        progress.advance(window.messages() as u64);
        Ok(goes_on)
    })?;
    let written = export.finish()?;
    drop(progress);
    if written.traces == 0 {
        // The output is well formed, and of no use.
        say("no trace was written: no call begins one of those that were asked for");
    }
    Ok(written)
}
