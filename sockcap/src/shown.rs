//! The source that a command shows of a data directory: messages that were recorded or imported, or
//! spans from tracers. A directory may have both.

use std::fmt;
use std::str::FromStr;

use message_trace::DataDir;

use crate::error::CommandError;
use crate::words;

/// The source of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathSource {
    /// Messages: their causes are inferred.
    Messages,
    /// Spans: their causes are recorded.
    Spans,
}

impl PathSource {
    /// All sources, in the order in which help lists them.
    pub(crate) const ALL: [PathSource; 2] = [PathSource::Messages, PathSource::Spans];

    /// The source that is shown of a directory with both, unless the user chooses.
    pub(crate) const PREFERRED: PathSource = PathSource::Messages;
}

impl fmt::Display for PathSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathSource::Messages => "messages",
            PathSource::Spans => "spans",
        })
    }
}

impl FromStr for PathSource {
    type Err = String;

    fn from_str(text: &str) -> Result<PathSource, String> {
        PathSource::ALL
            .into_iter()
            .find(|source| source.to_string() == text)
            .ok_or_else(|| format!("'{text}' is not a source; use messages or spans"))
    }
}

/// The part of a data directory that is shown.
#[derive(Clone, Debug)]
pub(crate) struct ShownData {
    /// The directory that the user named.
    pub(crate) whole: DataDir,
    /// The directory with the shown tables: `whole`, or the directory of spans within it.
    pub(crate) data: DataDir,
    /// The source that is shown.
    pub(crate) source: PathSource,
    /// Whether the directory has the other source, too.
    pub(crate) has_both: bool,
}

impl ShownData {
    /// Chooses the source of `whole` to show: the one `asked` for, otherwise messages if there are
    /// any.
    ///
    /// # Errors
    /// When the directory has no source, or not the requested one.
    pub(crate) fn choose_shown(
        whole: DataDir,
        asked: Option<PathSource>,
    ) -> Result<ShownData, CommandError> {
        let has_messages = has_messages(&whole)?;
        // The user may name the directory of spans itself.
        let is_of_spans = has_spans(&whole)?;
        let has_spans = is_of_spans || has_spans(&whole.spans_dir())?;
        let source = match (asked, has_messages, has_spans) {
            (Some(PathSource::Messages), false, true) => {
                return Err(CommandError::NoMessages(whole.path().to_owned()));
            }
            (Some(PathSource::Spans), _, false) => {
                return Err(CommandError::NoSpans(whole.path().to_owned()));
            }
            (Some(source), _, _) => source,
            (None, false, true) => PathSource::Spans,
            // If there is no source, the stage that makes messages reports it.
            (None, _, false) => PathSource::Messages,
            (None, true, true) => PathSource::PREFERRED,
        };
        let data = match source {
            PathSource::Spans if !is_of_spans => whole.spans_dir(),
            _ => whole.clone(),
        };
        Ok(ShownData { whole, data, source, has_both: has_messages && has_spans })
    }

    /// The directory of spans, whether or not it contains spans, and whatever source is shown.
    pub(crate) fn spans_dir(&self) -> DataDir {
        match self.source {
            PathSource::Messages => self.whole.spans_dir(),
            PathSource::Spans => self.data.clone(),
        }
    }

    /// The arguments by which a further command shows the same source.
    pub(crate) fn repeat_arguments(&self) -> String {
        let directory = words::same_directory(&self.whole);
        match self.source {
            PathSource::Spans if self.has_both => format!("{directory} --source spans"),
            _ => directory,
        }
    }

    /// How to see the other source, if there is one.
    pub(crate) fn other_source_hint(&self) -> Option<String> {
        let other = match self.source {
            PathSource::Messages => PathSource::Spans,
            PathSource::Spans => PathSource::Messages,
        };
        let words = format!("{} are shown; --source {other} shows the {other}", self.source);
        self.has_both.then_some(words)
    }
}

/// Whether `data` has recordings, imported messages, or a trace that was put there.
fn has_messages(data: &DataDir) -> Result<bool, CommandError> {
    let is_of_spans = data.causes_path().exists();
    let has_trace = data.messages_path().exists() && !is_of_spans;
    Ok(has_trace || !data.log_paths()?.is_empty() || !data.imported_messages()?.is_empty())
}

/// Whether `data` is a directory of spans that has some.
fn has_spans(data: &DataDir) -> Result<bool, CommandError> {
    Ok(data.causes_path().exists() || !data.imported_requests()?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A directory with these empty files.
    fn with_files(files: &[&str]) -> (tempfile::TempDir, DataDir) {
        let directory = tempfile::tempdir().unwrap();
        for file in files {
            let path = directory.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let data = DataDir::new(directory.path());
        (directory, data)
    }

    const SPANS: [&str; 2] = ["spans/imports/x/requests.parquet", "spans/imports/x/steps.parquet"];

    #[test]
    fn messages_are_shown_if_there_are_any() {
        let both = [SPANS[0], SPANS[1], "hosts/h/1-1.sclog"];
        let cases: [(&[&str], PathSource, bool); 5] = [
            (&[], PathSource::Messages, false),
            (&SPANS, PathSource::Spans, false),
            (&both, PathSource::Messages, true),
            (&["messages.parquet"], PathSource::Messages, false),
            (&["imports/x/requests.parquet", "imports/x/steps.parquet"], PathSource::Spans, false),
        ];
        for (files, source, has_both) in cases {
            let (_directory, data) = with_files(files);
            let shown = ShownData::choose_shown(data, None).unwrap();
            assert_eq!((shown.source, shown.has_both), (source, has_both), "{files:?}");
            assert_eq!(shown.other_source_hint().is_some(), has_both);
        }
    }

    #[test]
    fn missing_sources_are_not_shown() {
        let (_directory, data) = with_files(&SPANS);
        let error = ShownData::choose_shown(data.clone(), Some(PathSource::Messages))
            .unwrap_err()
            .to_string();
        assert!(error.contains("--source spans"), "{error}");
        assert_eq!(
            ShownData::choose_shown(data.clone(), Some(PathSource::Spans)).unwrap().data,
            data.spans_dir()
        );
        let (_directory, data) = with_files(&["hosts/h/1-1.sclog"]);
        let error = ShownData::choose_shown(data, Some(PathSource::Spans)).unwrap_err().to_string();
        assert!(error.contains("sockcap import otlp"), "{error}");
    }

    #[test]
    fn further_commands_show_the_same() {
        let (_directory, data) = with_files(&[SPANS[0], SPANS[1], "messages.parquet"]);
        let again = |source| {
            ShownData::choose_shown(data.clone(), Some(source)).unwrap().repeat_arguments()
        };
        let directory = format!(" -d {}", data.path().display());
        assert_eq!(again(PathSource::Messages), directory);
        assert_eq!(again(PathSource::Spans), format!("{directory} --source spans"));
    }

    #[test]
    fn a_source_is_known_by_its_name() {
        for source in PathSource::ALL {
            assert_eq!(source.to_string().parse(), Ok(source));
        }
        assert!("logs".parse::<PathSource>().is_err());
    }
}
