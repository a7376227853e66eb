//! The plan for an image: each system call, how it is patched, or why it is not.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::patching::error::Error;
use crate::patching::goroutines::{self, GoroutineFields};
use crate::patching::image::{Image, Load};
use crate::patching::kind::{Kind, Reason};
use crate::patching::numbers::Numbers;
use crate::patching::ready;
use crate::patching::runtimes::unsuited;
use crate::patching::sites::go::{GoPlace, place, syscall6_begin};
use crate::patching::sites::reached::Reached;
use crate::patching::sites::{Found, Sites, find, number};
use crate::patching::windows::{Ground, Window};

/// Whose rules the code around a site follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Runtime {
    /// The platform's: the stack is large, and 128 bytes below its pointer are in use.
    C,
    /// Go's: no byte of the stack may be used.
    Go {
        /// Whether register 14 holds the goroutine there.
        has_goroutine: bool,
    },
}

/// A place where a system call is made. Addresses are as linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Address of the `syscall` instruction.
    pub address: u64,
    /// How it is patched.
    pub kind: Kind,
    /// Whose code it is in.
    pub runtime: Runtime,
    /// What calls it makes.
    pub numbers: Numbers,
    /// The window before it. It may be empty for `Over`, and is there for all that are patched.
    pub before: Option<Window>,
    /// The window behind it; of `Over`, what is moved behind the `syscall`. A call that never
    /// comes back may have none, nor has `Return`. Two neighbours can share one window, behind the
    /// first and before the second.
    pub after: Option<Window>,
}

/// What is known of an image: enough to make its patches without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survey {
    /// All system calls in the order of addresses.
    pub sites: Vec<Site>,
    /// Addresses of the image, as linked.
    pub span: Range<u64>,
    /// Address of the first instruction, as linked.
    pub entry: u64,
    /// Whether a preloaded library gets in.
    pub load: Load,
    /// The version of Go that built it.
    pub go_version: Option<String>,
    /// Where Go's runtime keeps numbers of goroutines, if that is known of the version.
    pub goroutine_fields: Option<GoroutineFields>,
    /// Where a goroutine lets another go on, or starts it (`runtime.runqput`), if the fields above
    /// are known. There `rbx` holds the other one, and register 14 the goroutine of the runtime
    /// that does it.
    pub ready: Option<Window>,
    /// What the linker knows the file by.
    pub build_id: Option<Vec<u8>>,
}

impl Survey {
    /// How many sites are left that could make wanted calls, by reason.
    #[must_use]
    pub fn left(&self) -> std::collections::BTreeMap<Reason, usize> {
        let mut left = std::collections::BTreeMap::new();
        for site in &self.sites {
            if let Kind::Left(reason) = site.kind
                && reason != Reason::Unwanted
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
/// None so far: what can't be patched is left, with its reason.
pub fn survey(image: &Image<'_>) -> Result<Survey, Error> {
    if let Some(unsuited) = unsuited(image) {
        return Err(Error::Unsuited(unsuited));
    }
    let Sites { found, uncertain } = find(image);
    let runtimes: Vec<_> = found.iter().map(|site| runtime(image, site)).collect();
    // Where all is Go's, sites are known by their bytes, and nothing jumps between these.
    let is_c = |runtime: &Option<Runtime>| *runtime == Some(Runtime::C);
    let of_c: &[Found<'_>] = if runtimes.iter().any(is_c) { &found } else { &[] };
    let reached = Reached::gather(image, of_c);
    let mut sites: Vec<Site> = Vec::with_capacity(found.len());
    for (place, (site, runtime)) in found.iter().zip(&runtimes).enumerate() {
        let numbers = number::of_site(site, &reached);
        let reason = match runtime {
            None => Some(Reason::GoRuntime),
            Some(_) => (!numbers.can_be_wanted()).then_some(Reason::Unwanted),
        };
        let mut planned = Site {
            address: site.address,
            kind: Kind::Left(reason.unwrap_or(Reason::NoRoom)),
            runtime: runtime.unwrap_or(Runtime::Go { has_goroutine: false }),
            numbers,
            before: None,
            after: None,
        };
        if reason.is_none() {
            let next = found.get(place + 1).map(|next| next.address);
            plan(
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
    // What may be a call and is not certain is left; in Go, what is not known is no wanted call.
    if image.go_version().is_none() {
        sites.extend(uncertain.into_iter().map(|address| Site {
            address,
            kind: Kind::Left(Reason::Uncertain),
            runtime: Runtime::C,
            numbers: Numbers::Variable,
            before: None,
            after: None,
        }));
        sites.sort_by_key(|site| site.address);
    }
    let goroutine_fields = image.go_version().and_then(goroutines::fields);
    let has_goroutine = Runtime::Go { has_goroutine: true };
    let syscall6 = sites.iter().find(|site| site.runtime == has_goroutine);
    let ready = syscall6
        .filter(|_| goroutine_fields.is_some())
        .and_then(|site| ready::find(image, syscall6_begin(site.address)));
    Ok(Survey {
        sites,
        ready,
        span: image.span(),
        entry: image.entry(),
        load: image.load(),
        go_version: image.go_version().map(str::to_owned),
        goroutine_fields,
        build_id: image.build_id().map(<[u8]>::to_vec),
    })
}

/// Whose code a site is in. `None`: the runtime's of Go, or what is not known to be anything else.
fn runtime(image: &Image<'_>, site: &Found<'_>) -> Option<Runtime> {
    if image.go_version().is_none() {
        return Some(Runtime::C);
    }
    let at = usize::try_from(site.address.checked_sub(site.segment.address)?).ok()?;
    match place(site.segment.bytes, at) {
        Some(GoPlace::Syscall6) => Some(Runtime::Go { has_goroutine: true }),
        Some(GoPlace::RawVfork | GoPlace::AlternateStack) => {
            Some(Runtime::Go { has_goroutine: false })
        }
        // Go writes no records for unwinding, C compilers do.
        None => image.is_unwound(site.address).then_some(Runtime::C),
    }
}

/// Plans a site, with what its neighbour before it has taken.
fn plan(
    site: &mut Site,
    neighbour: Option<&mut Site>,
    found_before: Option<&Found<'_>>,
    found: &Found<'_>,
    next: Option<u64>,
    reached: &Reached<'_>,
) {
    let floor = neighbour.as_ref().map_or(0, |neighbour| {
        let after = neighbour.after.as_ref().map_or(0, Window::taken_end);
        after.max(neighbour.address + 2)
    });
    let ground = Ground { site: found, reached, floor, ceiling: next.unwrap_or(u64::MAX) };
    let before = ground.before();
    // Between two neighbours with little room, one window serves both.
    let shared = match (&before, &neighbour, found_before) {
        (Err(Reason::Neighbour), Some(neighbour), Some(found_before))
            if neighbour.kind == Kind::Sandwich && neighbour.after.is_some() =>
        {
            let of_neighbour =
                Ground { site: found_before, reached, floor: 0, ceiling: site.address };
            of_neighbour.shared(site.address).ok()
        }
        _ => None,
    };
    let before = shared.clone().map_or(before, Ok);
    let after = ground.after();
    let is_c = site.runtime == Runtime::C;
    let returns =
        is_c && ground.returns_at_once() && !ground.uses_red_zone() && !site.numbers.return_twice();
    match (before, after) {
        (Ok(before), Ok(after)) => {
            site.kind = Kind::Sandwich;
            (site.before, site.after) = (Some(before), Some(after));
        }
        (Ok(before), Err(_)) if site.numbers.never_return() => {
            site.kind = Kind::Sandwich;
            site.before = Some(before);
        }
        (Ok(before), Err(_)) if returns => {
            site.kind = Kind::Return;
            site.before = Some(before);
        }
        (before, after) => {
            match ground.over() {
                // Where libc cancels threads it looks whether they wait at the call itself, which
                // is right before a return.
                Ok((first, last)) if is_c && (before.is_err() || !ground.returns_at_once()) => {
                    site.kind = Kind::Over;
                    (site.before, site.after) = (Some(first), Some(last));
                }
                _ => {
                    let reason = before.err().or(after.err()).unwrap_or(Reason::NoRoom);
                    site.kind = Kind::Left(reason);
                }
            }
            return;
        }
    }
    if let (Some(shared), Some(neighbour)) = (shared, neighbour) {
        neighbour.after = Some(shared);
    }
}
