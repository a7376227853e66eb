//! Injections of one library into programs, at the system calls that the module `patching` finds.

use std::path::PathBuf;
use std::sync::Arc;

use crate::patching::{GoroutineFields, PatchKind, PatchPlan, StubEntries, assemble_patches};

use crate::blob::{
    Blob, EntryArgument, HandedDescriptors, Injection, InjectionPatches, InjectionTarget,
    PlacedAddresses, Prepare, PrepareError, TextPatch,
};
use crate::library::BlobLibrary;
use crate::outcome::Error;
use crate::plan_cache::PlanCache;

/// Offsets in a library's memory that are for Go programs.
#[derive(Clone, Copy, Debug)]
struct GoroutineSymbols {
    /// Machine code before a system call.
    before: u64,
    /// Machine code for a goroutine that is unblocked or started.
    ready: u64,
    /// Words for the offsets of goroutine fields.
    fields: u64,
}

/// Patcher for one library. It caches the plan of each program, as programs are often executed
/// again.
#[derive(Debug)]
pub struct LibraryPatcher {
    blob: Arc<Blob>,
    /// Offset of the machine code before a system call.
    before: u64,
    /// Offset of the machine code after a system call.
    after: u64,
    goroutines: Option<GoroutineSymbols>,
    handed: Option<Arc<HandedDescriptors>>,
    plans: PlanCache,
}

impl LibraryPatcher {
    /// Creates a patcher for a library. `before` and `after` are the symbols of its machine code
    /// for both sides of a system call, in C and in Go.
    ///
    /// # Errors
    /// If the library lacks one of the symbols.
    pub fn new(library: BlobLibrary, before: &str, after: &str) -> Result<LibraryPatcher, Error> {
        let (Some(before), Some(after)) =
            (library.symbol_offset(before), library.symbol_offset(after))
        else {
            return Err(Error::Blob("it lacks the code for one side of a system call"));
        };
        let (blob, plans) = (Arc::new(library.blob), PlanCache::default());
        Ok(LibraryPatcher { blob, before, after, goroutines: None, handed: None, plans })
    }

    /// Adds support for goroutines. `before` is the symbol of the machine code before a system call
    /// for which register 14 holds the goroutine, and `ready` the symbol of the machine code for a
    /// goroutine which another one unblocks or starts. `fields` is the symbol of four words of 8
    /// bytes that receive the offsets of goroutine fields, in the order of [`GoroutineFields`], or
    /// zeros if they are not known.
    ///
    /// # Errors
    /// If the library lacks one of the symbols.
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
            return Err(Error::Blob("it lacks a symbol for goroutines"));
        };
        Ok(LibraryPatcher { goroutines: Some(GoroutineSymbols { before, ready, fields }), ..self })
    }

    /// Adds descriptors for a library that has two words of four bytes for their numbers, at
    /// `symbol`. If one of the two paths leads a program elsewhere than this process, the library
    /// is handed the `directory` in which logs are created, and a socket of the recorder that
    /// accepts announcements at `socket` ([`crate::AnnouncementServer`]).
    ///
    /// # Errors
    /// If the library lacks the words.
    pub fn with_handed(
        self,
        library: &BlobLibrary,
        symbol: &str,
        directory: PathBuf,
        socket: PathBuf,
    ) -> Result<LibraryPatcher, Error> {
        let end = library.blob.memory.saturating_sub(HandedDescriptors::BYTES as u64);
        let place = library.symbol_offset(symbol).filter(|place| *place <= end);
        let place = place.ok_or(Error::Blob("it lacks the words for handed descriptors"))?;
        Ok(LibraryPatcher {
            handed: Some(Arc::new(HandedDescriptors::new(place, directory, socket))),
            ..self
        })
    }

    /// Library for a program, with the offsets of its goroutine fields.
    fn blob_for(&self, plan: &PatchPlan) -> Result<Arc<Blob>, Error> {
        let (Some(own), Some(of_program)) = (self.goroutines, plan.goroutine_fields) else {
            return Ok(Arc::clone(&self.blob));
        };
        let GoroutineFields { number, creator, thread, current } = of_program;
        let words = [number, creator, thread, current];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut blob = Blob::clone(&self.blob);
        let outside = Error::Blob("its words for goroutines lie outside of its memory");
        let place = own.fields as usize;
        let end = place.checked_add(bytes.len()).filter(|end| *end as u64 <= blob.memory);
        let Some(end) = end else { return Err(outside) };
        // Zero-initialised data follows the image.
        blob.image.resize(blob.image.len().max(end), 0);
        if let Some(words) = blob.image.get_mut(place..end) {
            words.copy_from_slice(&bytes);
        }
        Ok(Arc::new(blob))
    }

    /// Keeps the plans of programs in a folder for the next recorder. The folder is created, for
    /// this user only. If it cannot be created, no plans are kept.
    #[must_use]
    pub fn with_plan_folder(mut self, folder: PathBuf) -> LibraryPatcher {
        self.plans.keep_in_folder(folder);
        self
    }
}

impl Prepare for LibraryPatcher {
    /// Injection for a program that loads no library: a static one, or a Go program, which bypasses
    /// the libraries that it loads in its system calls.
    fn prepare(&self, target: &InjectionTarget) -> Result<Option<Injection>, PrepareError> {
        let Some(mut plan) = self.plans.plan_for(target)? else { return Ok(None) };
        if target.is_left_again {
            Arc::make_mut(&mut plan).sites.retain(|site| site.kind != PatchKind::Return);
        }
        let stubs_room = plan.stub_bytes() as u64;
        let (before, after) = (self.before, self.after);
        let before_goroutine = self.goroutines.map_or(before, |own| own.before);
        let ready = self.goroutines.map(|own| own.ready);
        let (blob, handed) = (self.blob_for(&plan)?, self.handed.clone());
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
            let made = assemble_patches(&plan, placed.bias, placed.stubs, &entries)?;
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
