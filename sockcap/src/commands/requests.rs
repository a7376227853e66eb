//! `sockcap requests`: what requests cost, which of them are alike, and which are unusual.

mod asked;
mod follow;
mod given;
mod lanes;
mod nothing;
mod one_request;
mod overview;
mod rows;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use out_of_core::Names;
use workload::analysis::analyze;

use crate::command::{Run, Subcommand};
use crate::error::Error;
use crate::lock;
use crate::output::{Printed, say};
use crate::progress::Terminal;
use crate::target::Target;
use asked::Requests;
use given::Given;

pub(super) const COMMAND: Subcommand = Subcommand::of::<Requests>();

impl Run for Requests {
    fn run(&self) -> Result<ExitCode, Error> {
        if self.follow || self.events.is_some() {
            follow::run(self)?;
            return Ok(ExitCode::SUCCESS);
        }
        let path = self.output.as_deref();
        let mut target = Target::try_out(path)?;
        let locks = lock::work_on(&[&self.data.dir()])?;
        let given = Given::of(self)?;
        let mut names = Names::default();
        let written: Vec<u8> = match self.request {
            Some(number) => one_request::of(&given, number, self.json, &mut names)?,
            None => self.all(&given, &mut names, path)?,
        };
        // Whoever reads it may wait for the lock.
        drop(locks);
        let mut out = Printed::unless(self.json || self.format.is_some(), &mut target);
        let done = out.write_all(&written).and_then(|()| out.flush());
        done.map_err(|source| target.refused(source))?;
        target.finish()?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Requests {
    /// What is said of all requests.
    fn all(&self, given: &Given, names: &mut Names, path: Option<&Path>) -> Result<Vec<u8>, Error> {
        let progress = Terminal::new();
        let answer = analyze(given.source(), self.workload(), names, &|_| ())?;
        drop(progress);
        if answer.model.requests == 0 {
            say(&format!("no request was found: {}", nothing::why(answer.beginning.as_ref())));
        }
        let mut out = Vec::new();
        match self.format {
            Some(format) => rows::write(given, &answer, names, format, path, &mut out)?,
            None if self.json => {
                serde_json::to_writer(&mut out, &answer).map_err(io::Error::from)?;
                writeln!(out)?;
            }
            None => overview::write(&given.told(), &answer, self.limit, &mut out)?,
        }
        Ok(out)
    }
}
