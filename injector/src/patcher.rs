//! Injections of one library into programs whose system calls the crate `patching` finds. What it
//! found in a file is kept, as a program is often executed again.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

use patching::{Entries, Image, Survey, assemble, survey};

use crate::blob::{Argument, Blob, Injection, Patch, Patches, Placed, Prepare, Reason, Target};
use crate::library::Library;
use crate::outcome::Error;
use crate::tuning::SURVEYS;

/// What a file is known by while it does not change: device, number, time of change and length.
type Known = (u64, u64, i64, i64, u64);

/// A library and what is known of programs.
#[derive(Debug)]
pub struct Patcher {
    blob: Arc<Blob>,
    before: u64,
    after: u64,
    /// `None` for a program that loads the library by itself.
    surveys: Mutex<HashMap<Known, Option<Arc<Survey>>>>,
}

impl Patcher {
    /// Patcher for a library. `before` and `after` are the names of its machine code for both sides
    /// of a system call, in C and in Go.
    ///
    /// # Errors
    /// The library lacks one of them.
    pub fn new(library: Library, before: &str, after: &str) -> Result<Patcher, Error> {
        let (Some(before), Some(after)) = (library.symbol(before), library.symbol(after)) else {
            return Err(Error::Blob("it lacks the code for one side of a system call"));
        };
        let (blob, surveys) = (Arc::new(library.blob), Mutex::default());
        Ok(Patcher { blob, before, after, surveys })
    }

    /// What is known of a program's file, which is looked at if it is not known.
    fn survey(&self, target: &Target) -> Result<Option<Arc<Survey>>, Reason> {
        let mut file = File::open(&target.executable)?;
        let known = known(&file)?;
        // Whoever panicked has left the map whole.
        let lock = || self.surveys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(survey) = lock().get(&known) {
            return Ok(survey.clone());
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let image = Image::parse(&bytes)?;
        let found = if target.interpreted && image.go_version().is_none() {
            None
        } else {
            Some(Arc::new(survey(&image)?))
        };
        let mut surveys = lock();
        if surveys.len() >= SURVEYS {
            surveys.clear();
        }
        surveys.insert(known, found.clone());
        Ok(found)
    }
}

/// What a file is known by.
fn known(file: &File) -> io::Result<Known> {
    let about = file.metadata()?;
    Ok((about.dev(), about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
}

impl Prepare for Patcher {
    /// Injection for a program that loads no library: a static one, or one of Go, which makes its
    /// system calls past the libraries that it loads.
    fn prepare(&self, target: &Target) -> Result<Option<Injection>, Reason> {
        let Some(survey) = self.survey(target)? else { return Ok(None) };
        let stubs_room = survey.stub_bytes() as u64;
        let (before, after) = (self.before, self.after);
        let patches = move |placed: &Placed| {
            let (before, after) = (placed.blob + before, placed.blob + after);
            let entries =
                Entries { before_c: before, after_c: after, before_go: before, after_go: after };
            let made = assemble(&survey, placed.bias, placed.stubs, &entries)?;
            let patches = made.patches.into_iter();
            let patches =
                patches.map(|patching::Patch { address, old, new }| Patch { address, old, new });
            Ok(Patches { stubs: made.stubs, patches: patches.collect() })
        };
        let blob = Arc::clone(&self.blob);
        let assemble = Box::new(patches);
        Ok(Some(Injection { blob, argument: Argument::Stack, stubs_room, assemble }))
    }
}
