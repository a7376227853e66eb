//! Patch plan of an image: each system call with its kind of patch, or the reason for none.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::patching::error::PatchError;
use crate::patching::goready;
use crate::patching::goroutines::{self, GoroutineFields};
use crate::patching::image::{ElfImage, LoadMethod};
use crate::patching::kind::{PatchKind, UnpatchedReason};
use crate::patching::numbers::SyscallNumber;
use crate::patching::runtimes::incompatible_image;
use crate::patching::sites::go::{GoCallSite, match_site, syscall6_start};
use crate::patching::sites::jump_targets::JumpTargets;
use crate::patching::sites::{SyscallSite, SyscallSites, find_syscalls, number};
use crate::patching::windows::{PatchWindow, WindowSearch};

/// Runtime with the rules that the code around a site follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SiteRuntime {
    /// The platform's: the stack is large, and 128 bytes below its pointer are in use.
    C,
    /// Go's: no byte of the stack may be used.
    Go {
        /// Whether register 14 holds the goroutine at the site.
        has_goroutine: bool,
    },
}

/// A place where a system call is made. Addresses are as linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchSite {
    /// Address of the `syscall` instruction.
    pub address: u64,
    /// How the site is patched.
    pub kind: PatchKind,
    /// Runtime of the site's code.
    pub runtime: SiteRuntime,
    /// Numbers of the calls that the site makes.
    pub numbers: SyscallNumber,
    /// Window before the `syscall`. It may be empty for `Over`, and is present in all patched
    /// sites.
    pub before: Option<PatchWindow>,
    /// Window after the `syscall`; for `Over`, the instructions after it that are moved, too.
    /// Absent for `Return`, and possibly for a call that never returns. Two neighbours can share
    /// one window, after the first and before the second.
    pub after: Option<PatchWindow>,
}

/// Plan for an image, sufficient to assemble its patches without the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchPlan {
    /// All system calls in the order of addresses.
    pub sites: Vec<PatchSite>,
    /// Addresses of the image, as linked.
    pub span: Range<u64>,
    /// Address of the first instruction, as linked.
    pub entry: u64,
    /// How the image is loaded.
    pub load: LoadMethod,
    /// Go version that built the image.
    pub go_version: Option<String>,
    /// Offsets of goroutine fields, if they are known for the version.
    pub goroutine_fields: Option<GoroutineFields>,
    /// Place where a goroutine unblocks or starts another (`runtime.runqput`), if
    /// `goroutine_fields` are known. At this place `rbx` holds the other goroutine, and register 14
    /// the goroutine that unblocks or starts it.
    pub ready: Option<PatchWindow>,
    /// Build id of the file.
    pub build_id: Option<Vec<u8>>,
}

impl PatchPlan {
    /// Number of unpatched sites that could make wanted calls, by reason.
    #[must_use]
    pub fn count_unpatched(&self) -> std::collections::BTreeMap<UnpatchedReason, usize> {
        let mut left = std::collections::BTreeMap::new();
        for site in &self.sites {
            if let PatchKind::Unpatched(reason) = site.kind
                && reason != UnpatchedReason::Unwanted
            {
                *left.entry(reason).or_default() += 1;
            }
        }
        left
    }
}

/// Finds the system calls of an image, and plans their patches.
///
/// # Errors
///
/// Never so far: sites that cannot be patched are kept with their reason.
pub fn plan_patches(image: &ElfImage<'_>) -> Result<PatchPlan, PatchError> {
    if let Some(unsuited) = incompatible_image(image) {
        return Err(PatchError::Unsuited(unsuited));
    }
    let SyscallSites { found, uncertain } = find_syscalls(image);
    let runtimes: Vec<_> = found.iter().map(|site| site_runtime(image, site)).collect();
    // If everything is Go's, sites are recognised by their bytes, and no code jumps between these.
    let is_c = |runtime: &Option<SiteRuntime>| *runtime == Some(SiteRuntime::C);
    let of_c: &[SyscallSite<'_>] = if runtimes.iter().any(is_c) { &found } else { &[] };
    let reached = JumpTargets::gather(image, of_c);
    let mut sites: Vec<PatchSite> = Vec::with_capacity(found.len());
    for (place, (site, runtime)) in found.iter().zip(&runtimes).enumerate() {
        let numbers = number::number_at_site(site, &reached);
        let reason = match runtime {
            None => Some(UnpatchedReason::GoRuntime),
            Some(_) => (!numbers.may_be_wanted()).then_some(UnpatchedReason::Unwanted),
        };
        let mut planned = PatchSite {
            address: site.address,
            kind: PatchKind::Unpatched(reason.unwrap_or(UnpatchedReason::NoRoom)),
            runtime: runtime.unwrap_or(SiteRuntime::Go { has_goroutine: false }),
            numbers,
            before: None,
            after: None,
        };
        if reason.is_none() {
            let next = found.get(place + 1).map(|next| next.address);
            plan_site(
                &mut planned,
                sites.last_mut(),
                place.checked_sub(1).and_then(|at| found.get(at)),
                site,
                next,
                &reached,
            );
        }
        sites.push(planned);
    }
    // Possible calls that are not certain stay unpatched; in Go, an unknown one is not a wanted
    // call.
    if image.go_version().is_none() {
        sites.extend(uncertain.into_iter().map(|address| PatchSite {
            address,
            kind: PatchKind::Unpatched(UnpatchedReason::Uncertain),
            runtime: SiteRuntime::C,
            numbers: SyscallNumber::Variable,
            before: None,
            after: None,
        }));
        sites.sort_by_key(|site| site.address);
    }
    let goroutine_fields = image.go_version().and_then(goroutines::fields_of_version);
    let has_goroutine = SiteRuntime::Go { has_goroutine: true };
    let syscall6 = sites.iter().find(|site| site.runtime == has_goroutine);
    let ready = syscall6
        .filter(|_| goroutine_fields.is_some())
        .and_then(|site| goready::find_ready_window(image, syscall6_start(site.address)));
    Ok(PatchPlan {
        sites,
        ready,
        span: image.address_span(),
        entry: image.entry_point(),
        load: image.load_method(),
        go_version: image.go_version().map(str::to_owned),
        goroutine_fields,
        build_id: image.build_id().map(<[u8]>::to_vec),
    })
}

/// Runtime of a site. `None`: Go's runtime itself, or a site that is not certainly of another.
fn site_runtime(image: &ElfImage<'_>, site: &SyscallSite<'_>) -> Option<SiteRuntime> {
    if image.go_version().is_none() {
        return Some(SiteRuntime::C);
    }
    let at = usize::try_from(site.address.checked_sub(site.segment.address)?).ok()?;
    match match_site(site.segment.bytes, at) {
        Some(GoCallSite::Syscall6) => Some(SiteRuntime::Go { has_goroutine: true }),
        Some(GoCallSite::RawVfork | GoCallSite::AlternateStack) => {
            Some(SiteRuntime::Go { has_goroutine: false })
        }
        // Go writes no unwind records; C compilers do.
        None => image.has_unwind_record(site.address).then_some(SiteRuntime::C),
    }
}

/// Plans a site, given the bytes that its previous neighbour has taken.
fn plan_site(
    site: &mut PatchSite,
    neighbour: Option<&mut PatchSite>,
    found_before: Option<&SyscallSite<'_>>,
    found: &SyscallSite<'_>,
    next: Option<u64>,
    reached: &JumpTargets<'_>,
) {
    let floor = neighbour.as_ref().map_or(0, |neighbour| {
        let after = neighbour.after.as_ref().map_or(0, PatchWindow::taken_end);
        after.max(neighbour.address + 2)
    });
    let search = WindowSearch { site: found, reached, floor, ceiling: next.unwrap_or(u64::MAX) };
    let before = search.window_before();
    // Between two near neighbours, one window serves both.
    let shared = match (&before, &neighbour, found_before) {
        (Err(UnpatchedReason::Neighbour), Some(neighbour), Some(found_before))
            if neighbour.kind == PatchKind::Sandwich && neighbour.after.is_some() =>
        {
            let of_neighbour =
                WindowSearch { site: found_before, reached, floor: 0, ceiling: site.address };
            of_neighbour.shared_window(site.address).ok()
        }
        _ => None,
    };
    let before = shared.clone().map_or(before, Ok);
    let after = search.window_after();
    let is_c = site.runtime == SiteRuntime::C;
    let returns = is_c
        && search.returns_immediately()
        && !search.uses_red_zone()
        && !site.numbers.returns_twice();
    match (before, after) {
        (Ok(before), Ok(after)) => {
            site.kind = PatchKind::Sandwich;
            (site.before, site.after) = (Some(before), Some(after));
        }
        (Ok(before), Err(_)) if site.numbers.never_returns() => {
            site.kind = PatchKind::Sandwich;
            site.before = Some(before);
        }
        (Ok(before), Err(_)) if returns => {
            site.kind = PatchKind::Return;
            site.before = Some(before);
        }
        (before, after) => {
            match search.windows_over() {
                // To cancel threads, libc checks whether they wait at the call itself, which is
                // just before a return.
                Ok((first, last)) if is_c && (before.is_err() || !search.returns_immediately()) => {
                    site.kind = PatchKind::Over;
                    (site.before, site.after) = (Some(first), Some(last));
                }
                _ => {
                    let reason = before.err().or(after.err()).unwrap_or(UnpatchedReason::NoRoom);
                    site.kind = PatchKind::Unpatched(reason);
                }
            }
            return;
        }
    }
    if let (Some(shared), Some(neighbour)) = (shared, neighbour) {
        neighbour.after = Some(shared);
    }
}
