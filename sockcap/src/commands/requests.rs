//! `sockcap requests`: the costs of requests, which of them are alike, and which are unusual.

mod follow;
mod lanes;
mod no_requests;
mod one_request;
mod overview;
mod request_arguments;
mod request_input;
mod rows;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use out_of_core::NameInterner;
use workload::analysis::analyze_requests;

use crate::command::{RunnableCommand, Subcommand};
use crate::error::CommandError;
use crate::lock;
use crate::output::{EscapingWriter, print_message};
use crate::progress::TerminalProgress;
use crate::target::ResultTarget;
use request_arguments::RequestsCommand;
use request_input::RequestInput;

pub(super) const COMMAND: Subcommand = Subcommand::with_arguments::<RequestsCommand>();

impl RunnableCommand for RequestsCommand {
    fn run(&self) -> Result<ExitCode, CommandError> {
        if self.follow || self.events.is_some() {
            follow::follow_requests(self)?;
            return Ok(ExitCode::SUCCESS);
        }
        let path = self.output.as_deref();
        let mut target = ResultTarget::try_out(path)?;
        let locks = lock::lock_directories(&[&self.data.data_dir()])?;
        let given = RequestInput::open_input(self)?;
        let mut names = NameInterner::default();
        let written: Vec<u8> = match self.request {
            Some(number) => one_request::show_request(&given, number, self.json, &mut names)?,
            None => self.summarize_all(&given, &mut names, path)?,
        };
        // A reader of the output may wait for the lock.
        drop(locks);
        let mut out =
            EscapingWriter::unless_for_programs(self.json || self.format.is_some(), &mut target);
        let done = out.write_all(&written).and_then(|()| out.flush());
        done.map_err(|source| target.write_error(source))?;
        target.finish_target()?;
        Ok(ExitCode::SUCCESS)
    }
}

impl RequestsCommand {
    /// Prints the summary of all requests.
    fn summarize_all(
        &self,
        given: &RequestInput,
        names: &mut NameInterner,
        path: Option<&Path>,
    ) -> Result<Vec<u8>, CommandError> {
        let progress = TerminalProgress::new();
        let answer =
            analyze_requests(given.request_source(), self.empty_workload(), names, &|_| ())?;
        drop(progress);
        if answer.model.requests == 0 {
            print_message(&format!(
                "no request was found: {}",
                no_requests::no_request_reason(answer.beginning.as_ref())
            ));
        }
        let mut out = Vec::new();
        match self.format {
            Some(format) => {
                rows::write_request_rows(given, &answer, names, format, path, &mut out)?
            }
            None if self.json => {
                serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            None => overview::write_overview(&given.input_words(), &answer, self.limit, &mut out)?,
        }
        Ok(out)
    }
}
