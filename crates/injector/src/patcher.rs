//! Injections of one library into programs whose system calls the module `patching` finds.

use std::path::PathBuf;
use std::sync::Arc;

use crate::patching::{GoroutineFields, PatchKind, PatchPlan, StubEntries, assemble_patches};

use crate::blob::{
    Blob, EntryArgument, Handed, Injection, InjectionPatches, InjectionTarget, PlacedAddresses,
    Prepare, PrepareError, TextPatch,
};
use crate::library::BlobLibrary;
use crate::outcome::Error;
use crate::plan_cache::PlanCache;

/// What a library has for programs of Go: offsets in its memory.
#[derive(Clone, Copy, Debug)]
struct GoroutineSymbols {
    /// Machine code before a system call.
    before: u64,
    /// Machine code where one lets another go on, or starts it.
    ready: u64,
    /// Words that say where numbers of goroutines are.
    fields: u64,
}

/// A library, and what is known of programs: each is looked at once, as it is often executed again.
#[derive(Debug)]
pub struct LibraryPatcher {
    blob: Arc<Blob>,
    before: u64,
    after: u64,
    goroutines: Option<GoroutineSymbols>,
    handed: Option<Arc<Handed>>,
    surveys: PlanCache,
}

impl LibraryPatcher {
    /// Patcher for a library. `before` and `after` are the names of its machine code for both sides
    /// of a system call, in C and in Go.
    ///
    /// # Errors
    /// The library lacks one of them.
    pub fn new(library: BlobLibrary, before: &str, after: &str) -> Result<LibraryPatcher, Error> {
        let (Some(before), Some(after)) =
            (library.symbol_offset(before), library.symbol_offset(after))
        else {
            return Err(Error::Blob("it lacks the code for one side of a system call"));
        };
        let (blob, surveys) = (Arc::new(library.blob), PlanCache::default());
        Ok(LibraryPatcher { blob, before, after, goroutines: None, handed: None, surveys })
    }

    /// The same for a library that knows goroutines. `before` is the name of its machine code
    /// before a system call for which register 14 holds the goroutine, and `ready` where one lets
    /// another go on. `fields` is that of words in which the library is told where numbers of
    /// goroutines are: four offsets, in the order of [`GoroutineFields`], zeros where that is not
    /// known.
    ///
    /// # Errors
    /// The library lacks one of them.
    pub fn with_goroutines(
        self,
        library: &BlobLibrary,
        before: &str,
        ready: &str,
        fields: &str,
    ) -> Result<LibraryPatcher, Error> {
        let [Some(before), Some(ready), Some(fields)] =
            [before, ready, fields].map(|name| library.symbol_offset(name))
        else {
            return Err(Error::Blob("it lacks what it should have for goroutines"));
        };
        Ok(LibraryPatcher { goroutines: Some(GoroutineSymbols { before, ready, fields }), ..self })
    }

    /// The same for a library that has two words of four bytes, by the name `symbol`, for numbers
    /// of descriptors. Where one of the two paths does not lead a program to where it leads us, the
    /// library is handed the `directory`, in which logs are made, and a socket of the recorder that
    /// takes announcements at `socket` ([`crate::AnnouncementServer`]).
    ///
    /// # Errors
    /// The library lacks the words.
    pub fn with_handed(
        self,
        library: &BlobLibrary,
        symbol: &str,
        directory: PathBuf,
        socket: PathBuf,
    ) -> Result<LibraryPatcher, Error> {
        let end = library.blob.memory.saturating_sub(Handed::BYTES as u64);
        let place = library.symbol_offset(symbol).filter(|place| *place <= end);
        let place = place.ok_or(Error::Blob("it lacks the words for what it is handed"))?;
        Ok(LibraryPatcher { handed: Some(Arc::new(Handed::new(place, directory, socket))), ..self })
    }

    /// The library for a program: it is told where numbers of goroutines are.
    fn blob_for(&self, survey: &PatchPlan) -> Result<Arc<Blob>, Error> {
        let (Some(own), Some(of_program)) = (self.goroutines, survey.goroutine_fields) else {
            return Ok(Arc::clone(&self.blob));
        };
        let GoroutineFields { number, creator, thread, current } = of_program;
        let words = [number, creator, thread, current];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut blob = Blob::clone(&self.blob);
        let outside = Error::Blob("its words for goroutines lie outside");
        let place = own.fields as usize;
        let end = place.checked_add(bytes.len()).filter(|end| *end as u64 <= blob.memory);
        let Some(end) = end else { return Err(outside) };
        // What is zero at first is behind the image.
        blob.image.resize(blob.image.len().max(end), 0);
        if let Some(words) = blob.image.get_mut(place..end) {
            words.copy_from_slice(&bytes);
        }
        Ok(Arc::new(blob))
    }

    /// Keeps what is found in programs in a folder, so that the next recorder need not look for it
    /// again. The folder is made, and is this user's alone. Where that cannot be, nothing is kept.
    #[must_use]
    pub fn with_plan_folder(mut self, folder: PathBuf) -> LibraryPatcher {
        self.surveys.keep_in_folder(folder);
        self
    }
}

impl Prepare for LibraryPatcher {
    /// Injection for a program that loads no library: a static one, or one of Go, which makes its
    /// system calls past the libraries that it loads.
    fn prepare(&self, target: &InjectionTarget) -> Result<Option<Injection>, PrepareError> {
        let Some(mut survey) = self.surveys.plan_for(target)? else { return Ok(None) };
        if target.is_left_again {
            Arc::make_mut(&mut survey).sites.retain(|site| site.kind != PatchKind::Return);
        }
        let stubs_room = survey.stub_bytes() as u64;
        let (before, after) = (self.before, self.after);
        let before_goroutine = self.goroutines.map_or(before, |own| own.before);
        let ready = self.goroutines.map(|own| own.ready);
        let (blob, handed) = (self.blob_for(&survey)?, self.handed.clone());
        let patches = move |placed: &PlacedAddresses| {
            let (before, after) = (placed.blob + before, placed.blob + after);
            let entries = StubEntries {
                before_c: before,
                after_c: after,
                before_go: before,
                before_goroutine: placed.blob + before_goroutine,
                after_go: after,
                ready: ready.map(|ready| placed.blob + ready),
            };
            let made = assemble_patches(&survey, placed.bias, placed.stubs, &entries)?;
            let patches = made.patches.into_iter();
            let patches = patches.map(|crate::patching::ImagePatch { address, old, new, call }| {
                TextPatch { address, old, new, call }
            });
            Ok(InjectionPatches { stubs: made.stubs, patches: patches.collect() })
        };
        let assemble = Box::new(patches);
        Ok(Some(Injection { blob, argument: EntryArgument::Stack, stubs_room, handed, assemble }))
    }
}
