//! Encoding of plans for a cache: finding the system calls of a program takes up to some hundred
//! milliseconds, and reading the result takes none.
//!
//! ```text
//!  0  magic                          8  version, which changes with this crate's source
//! 24  XXH3-128 of the rest          40  the key and the plan, encoded by postcard
//! ```
//!
//! No byte is trusted: a plan is rejected if planning could not have produced it.

use twox_hash::XxHash3_128;

use crate::patching::goroutines::GoroutineFields;
use crate::patching::kind::PatchKind;
use crate::patching::plan::{PatchPlan, PatchSite};
use crate::patching::tuning::{MAX_KEPT_SITES, MAX_WINDOW_BYTES};
use crate::patching::windows::PatchWindow;

const MAGIC: &[u8; 8] = b"SCSURV\r\n";
const VERSION: &[u8] = env!("SURVEY_VERSION").as_bytes();

/// Size of the header before the content, in bytes.
#[cfg(test)]
pub(crate) const HEAD_BYTES: usize = MAGIC.len() + VERSION.len() + 16;

/// End of the addresses of programs.
const ADDRESS_END: u64 = 1 << 47;

impl PatchPlan {
    /// Encodes the plan of the file with `key`.
    ///
    /// # Errors
    /// If the plan cannot be encoded. No plan is known for which that happens.
    pub fn to_bytes(&self, key: &[u8]) -> Result<Vec<u8>, postcard::Error> {
        Ok(with_header(&postcard::to_stdvec(&(key, self))?))
    }

    /// Decodes the plan of the file with `key`. `None` if the bytes are the plan of another file,
    /// or of another version.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], key: &[u8]) -> Option<PatchPlan> {
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(VERSION)?;
        let (checksum, content) = rest.split_first_chunk()?;
        if XxHash3_128::oneshot(content).to_le_bytes() != *checksum {
            return None;
        }
        let (of, plan): (Vec<u8>, PatchPlan) = postcard::from_bytes(content).ok()?;
        (of == key && plan.is_possible()).then_some(plan)
    }

    /// Bytes that a file must have at linked addresses for this to be its plan: each patched system
    /// call, and the instructions that give way to jumps.
    pub fn evidence(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let patched =
            self.sites.iter().filter(|site| !matches!(site.kind, PatchKind::Unpatched(_)));
        let of_sites = patched.flat_map(move |site| {
            let windows = site.before.iter().chain(&site.after);
            windows.flat_map(window_bytes).chain([(site.address, &b"\x0f\x05"[..])])
        });
        of_sites.chain(self.ready.iter().flat_map(window_bytes))
    }

    /// Whether sites and windows are consistent with planning.
    fn is_possible(&self) -> bool {
        self.sites.len() <= MAX_KEPT_SITES
            && self.span.start <= self.span.end
            && self.span.end <= ADDRESS_END
            && self.sites.is_sorted_by(|one, next| one.address < next.address)
            && self.sites.iter().all(is_possible_site)
            && self.ready.iter().all(is_possible_window)
            && self.goroutine_fields.is_none_or(GoroutineFields::are_possible)
    }
}

/// Adds the header to the content.
pub(crate) fn with_header(content: &[u8]) -> Vec<u8> {
    let checksum = XxHash3_128::oneshot(content).to_le_bytes();
    [&MAGIC[..], VERSION, &checksum, content].concat()
}

/// Bytes at the beginning of a window.
fn window_bytes(window: &PatchWindow) -> [(u64, &[u8]); 2] {
    [(window.address, &window.old), (window.address, &window.displaced)]
}

/// Whether planning can have made the window.
fn is_possible_window(window: &PatchWindow) -> bool {
    window.address < ADDRESS_END
        && window.displaced.len() <= MAX_WINDOW_BYTES
        && window.displaced.iter().zip(&window.old).all(|(moved, old)| moved == old)
}

/// Whether planning can have made the site: its windows adjoin the two bytes of the `syscall`, and
/// it has windows if it is patched.
fn is_possible_site(site: &PatchSite) -> bool {
    site.address < ADDRESS_END
        && site.before.iter().chain(&site.after).all(is_possible_window)
        && site.before.as_ref().is_none_or(|before| before.end() == site.address)
        && site.after.as_ref().is_none_or(|after| after.address == site.address + 2)
        && matches!(site.kind, PatchKind::Unpatched(_)) == site.before.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patching::cases::look;
    use crate::patching::fuzz::fuzz_kept;

    fn plan() -> PatchPlan {
        let plan = look(b"\xb8\x2c\0\0\0\x0f\x05\x48\x3d\0\xf0\xff\xff\xc3");
        assert_eq!(plan.evidence().count(), 5);
        plan
    }

    #[test]
    fn encoded_values_round_trip() {
        let (plan, key) = (plan(), b"a key");
        let bytes = plan.to_bytes(key).unwrap();
        assert_eq!(PatchPlan::from_bytes(&bytes, key).as_ref(), Some(&plan));
        assert_eq!(PatchPlan::from_bytes(&bytes, b"another key"), None);
        fuzz_kept(&bytes);
    }

    #[test]
    fn each_damaged_byte_is_noticed() {
        let bytes = plan().to_bytes(b"a key").unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(PatchPlan::from_bytes(&damaged, b"a key"), None, "{at}");
            assert_eq!(PatchPlan::from_bytes(&bytes[..at], b"a key"), None, "{at}");
        }
    }

    #[test]
    fn inconsistent_plans_are_refused() {
        type Change = fn(&mut PatchPlan);
        const FAR: GoroutineFields =
            GoroutineFields { number: 1 << 20, creator: 8, thread: 8, current: 8 };
        let changes: [Change; 9] = [
            |plan| plan.sites[0].address = u64::MAX,
            |plan| plan.sites[0].before = None,
            |plan| plan.sites[0].before.as_mut().unwrap().address = u64::MAX - 2,
            |plan| plan.sites[0].after.as_mut().unwrap().address += 1,
            |plan| plan.sites[0].before.as_mut().unwrap().displaced = vec![0x90; 1 << 20],
            |plan| plan.sites.push(plan.sites[0].clone()),
            |plan| plan.span = 7..u64::MAX,
            |plan| {
                let before = plan.sites[0].before.clone().unwrap();
                plan.ready = Some(PatchWindow { address: ADDRESS_END, ..before });
            },
            |plan| plan.goroutine_fields = Some(FAR),
        ];
        for (place, change) in changes.iter().enumerate() {
            let mut plan = plan();
            change(&mut plan);
            let bytes = plan.to_bytes(b"a key").unwrap();
            assert_eq!(PatchPlan::from_bytes(&bytes, b"a key"), None, "{place}");
        }
    }
}
