//! Injections of one library into programs whose system calls the crate `patching` finds.

use std::path::PathBuf;
use std::sync::Arc;

use patching::{Entries, assemble};

use crate::blob::{Argument, Blob, Injection, Patch, Patches, Placed, Prepare, Reason, Target};
use crate::library::Library;
use crate::outcome::Error;
use crate::surveys::Surveys;

/// A library, and what is known of programs: each is looked at once, as it is often executed again.
#[derive(Debug)]
pub struct Patcher {
    blob: Arc<Blob>,
    before: u64,
    after: u64,
    surveys: Surveys,
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
        let (blob, surveys) = (Arc::new(library.blob), Surveys::default());
        Ok(Patcher { blob, before, after, surveys })
    }

    /// Keeps what is found in programs in a folder, so that the next recorder need not look for it
    /// again. The folder is made, and is this user's alone. Where that cannot be, nothing is kept.
    #[must_use]
    pub fn keeping_in(mut self, folder: PathBuf) -> Patcher {
        self.surveys.keep_in(folder);
        self
    }
}

impl Prepare for Patcher {
    /// Injection for a program that loads no library: a static one, or one of Go, which makes its
    /// system calls past the libraries that it loads.
    fn prepare(&self, target: &Target) -> Result<Option<Injection>, Reason> {
        let Some(survey) = self.surveys.of(target)? else { return Ok(None) };
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
