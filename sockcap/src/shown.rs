//! What a command shows of a data directory: messages that were recorded or imported, or spans that
//! tracers wrote down. A directory may have both.

use std::fmt;
use std::str::FromStr;

use message_trace::DataDir;

use crate::error::Error;
use crate::words;

/// What paths are made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Messages: what caused them is inferred.
    Messages,
    /// Spans: they tell what caused them.
    Spans,
}

impl Source {
    /// All of them, in the order in which they are offered.
    pub(crate) const ALL: [Source; 2] = [Source::Messages, Source::Spans];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Messages => "messages",
            Source::Spans => "spans",
        })
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Source, String> {
        Source::ALL
            .into_iter()
            .find(|source| source.to_string() == text)
            .ok_or_else(|| format!("'{text}' is no source; it is one of messages, spans"))
    }
}

/// The part of a data directory that is shown.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The directory that the user named.
    pub(crate) whole: DataDir,
    /// Where the tables are of what is shown: the same, or that of spans within it.
    pub(crate) data: DataDir,
    /// What is shown.
    pub(crate) source: Source,
    /// Whether the directory has the other source, too.
    pub(crate) has_both: bool,
}

impl Shown {
    /// What is shown of `whole`: what was `asked` for, else messages if there are any.
    ///
    /// # Errors
    /// When it has nothing, or not what was asked for.
    pub(crate) fn of(whole: DataDir, asked: Option<Source>) -> Result<Shown, Error> {
        let has_messages = has_messages(&whole)?;
        // Somebody may name the directory of spans itself.
        let is_of_spans = has_spans(&whole)?;
        let has_spans = is_of_spans || has_spans(&whole.spans())?;
        let source = match (asked, has_messages, has_spans) {
            (Some(Source::Messages), false, true) => {
                return Err(Error::NoMessages(whole.path().to_owned()));
            }
            (Some(Source::Spans), _, false) => {
                return Err(Error::NoSpans(whole.path().to_owned()));
            }
            (Some(source), _, _) => source,
            (None, false, true) => Source::Spans,
            // Where there is nothing, what makes messages says so.
            (None, _, _) => Source::Messages,
        };
        let data = match source {
            Source::Spans if !is_of_spans => whole.spans(),
            _ => whole.clone(),
        };
        Ok(Shown { whole, data, source, has_both: has_messages && has_spans })
    }

    /// The directory of spans, whether or not it has some, and whatever is shown.
    pub(crate) fn spans(&self) -> DataDir {
        match self.source {
            Source::Messages => self.whole.spans(),
            Source::Spans => self.data.clone(),
        }
    }

    /// What a further command needs to show the same.
    pub(crate) fn again(&self) -> String {
        let directory = words::same_directory(&self.whole);
        match self.source {
            Source::Spans if self.has_both => format!("{directory} --source spans"),
            _ => directory,
        }
    }

    /// How to see the other source, if there is one.
    pub(crate) fn other(&self) -> Option<String> {
        let other = match self.source {
            Source::Messages => Source::Spans,
            Source::Spans => Source::Messages,
        };
        let words = format!("{} are shown; --source {other} shows the {other}", self.source);
        self.has_both.then_some(words)
    }
}

/// Whether `data` has recordings, messages that were imported, or a trace that somebody put there.
fn has_messages(data: &DataDir) -> Result<bool, Error> {
    let is_of_spans = data.causes().exists();
    let has_trace = data.messages().exists() && !is_of_spans;
    Ok(has_trace || !data.logs()?.is_empty() || !data.imported()?.is_empty())
}

/// Whether `data` is a directory of spans that has some.
fn has_spans(data: &DataDir) -> Result<bool, Error> {
    Ok(data.causes().exists() || !data.imported_requests()?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// A directory with these empty files.
    fn with(files: &[&str]) -> (tempfile::TempDir, DataDir) {
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
        let cases: [(&[&str], Source, bool); 5] = [
            (&[], Source::Messages, false),
            (&SPANS, Source::Spans, false),
            (&both, Source::Messages, true),
            (&["messages.parquet"], Source::Messages, false),
            (&["imports/x/requests.parquet", "imports/x/steps.parquet"], Source::Spans, false),
        ];
        for (files, source, has_both) in cases {
            let (_directory, data) = with(files);
            let shown = Shown::of(data, None).unwrap();
            assert_eq!((shown.source, shown.has_both), (source, has_both), "{files:?}");
            assert_eq!(shown.other().is_some(), has_both);
        }
    }

    #[test]
    fn what_is_not_there_is_not_shown() {
        let (_directory, data) = with(&SPANS);
        let error = Shown::of(data.clone(), Some(Source::Messages)).unwrap_err().to_string();
        assert!(error.contains("--source spans"), "{error}");
        assert_eq!(Shown::of(data.clone(), Some(Source::Spans)).unwrap().data, data.spans());
        let (_directory, data) = with(&["hosts/h/1-1.sclog"]);
        let error = Shown::of(data, Some(Source::Spans)).unwrap_err().to_string();
        assert!(error.contains("sockcap import otlp"), "{error}");
    }

    #[test]
    fn further_commands_show_the_same() {
        let (_directory, data) = with(&[SPANS[0], SPANS[1], "messages.parquet"]);
        let again = |source| Shown::of(data.clone(), Some(source)).unwrap().again();
        let directory = format!(" -d {}", data.path().display());
        assert_eq!(again(Source::Messages), directory);
        assert_eq!(again(Source::Spans), format!("{directory} --source spans"));
    }

    #[test]
    fn a_source_is_known_by_its_name() {
        for source in Source::ALL {
            assert_eq!(source.to_string().parse(), Ok(source));
        }
        assert!("logs".parse::<Source>().is_err());
    }
}
