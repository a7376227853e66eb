//! Addresses near system calls that can be jumped to, other than from the previous instruction.
//!
//! Rather too many addresses than too few are kept, of all kinds that compilers produce: short
//! jumps of the surrounding code; jumps and calls with 32-bit distances, at every place where their
//! bytes can be read as such; addresses that code takes; tables of addresses and of distances
//! anywhere in the image; beginnings of functions, and places marked for indirect jumps.

use std::ops::Range;

use iced_x86::{Code, Instruction, OpKind};

use super::sweep;
use super::syscall_site::SyscallSite;
use crate::patching::image::ElfImage;
use crate::patching::tuning::{GRANULE_BYTES, MAX_TABLE_ENTRIES, NEAR_BYTES};

/// Jump targets near the sites for which they were gathered.
#[derive(Debug)]
pub(crate) struct JumpTargets<'a> {
    image: &'a ElfImage<'a>,
    /// Addresses with their source, in order.
    addresses: Vec<(u64, JumpSource)>,
}

/// Source of a jump target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum JumpSource {
    /// An instruction near a site.
    Code,
    /// Bytes at this address, which may be a jump. They are decoded when it matters whether they
    /// are.
    Bytes(u64),
    /// Metadata of the file, an address that code takes, or an entry of a table. Compilers never
    /// refer to the inside of an instruction in these.
    Data,
}

impl<'a> JumpTargets<'a> {
    /// Gathers the jump targets near any of the sites.
    pub(crate) fn gather(image: &'a ElfImage<'a>, sites: &[SyscallSite<'_>]) -> Self {
        let mut reached = Self { image, addresses: Vec::new() };
        if sites.is_empty() {
            return reached;
        }
        let near = NearbyAddresses::new(image, sites);
        let mut keep = |address: u64, source| {
            if near.contains(address) {
                reached.addresses.push((address, source));
            }
        };
        keep(image.entry_point(), JumpSource::Data);
        image.functions.iter().for_each(|function| keep(function.start, JumpSource::Data));
        for site in sites {
            site.code
                .iter()
                .filter_map(branch_target)
                .for_each(|address| keep(address, JumpSource::Code));
        }
        for segment in image.code_segments() {
            for_each_distance(segment.bytes, segment.address, |at, address| {
                keep(address, JumpSource::Bytes(at))
            });
        }
        let mut bases = Vec::new();
        for segment in image.code_segments() {
            for_each_taken_address(segment.bytes, segment.address, |address| bases.push(address));
        }
        bases.sort_unstable();
        bases.dedup();
        for base in bases {
            keep(base, JumpSource::Data);
            for_each_table_entry(image, base, &near, |address| keep(address, JumpSource::Data));
        }
        for segment in &image.segments {
            // Table entries are aligned.
            let skipped = (segment.address.wrapping_neg() % 8) as usize;
            let (words, _) = segment.bytes.get(skipped..).unwrap_or_default().as_chunks::<8>();
            words.iter().for_each(|word| keep(u64::from_le_bytes(*word), JumpSource::Data));
        }
        reached.addresses.sort_unstable();
        reached.addresses.dedup();
        reached
    }

    /// Whether an address is a jump target.
    pub(crate) fn contains(&self, address: u64) -> bool {
        self.has_target_in(address..address.saturating_add(1), true)
    }

    /// Whether a jump leads into an instruction: past its prefix, as some code does.
    pub(crate) fn is_inside(&self, instruction: &Instruction) -> bool {
        self.has_target_in(instruction.ip().saturating_add(1)..instruction.next_ip(), false)
    }

    /// Whether any of the addresses is a jump target; targets from data count only if `by_data`.
    fn has_target_in(&self, addresses: Range<u64>, by_data: bool) -> bool {
        let first = self.addresses.partition_point(|(reached, _)| *reached < addresses.start);
        let here = self.addresses.get(first..).unwrap_or_default().iter();
        here.take_while(|(reached, _)| *reached < addresses.end).any(|(_, source)| match source {
            JumpSource::Code => true,
            JumpSource::Data => by_data,
            JumpSource::Bytes(at) => self.image.code_segments().any(|segment| {
                segment.address_range().contains(at)
                    && sweep::may_begin(&segment, &self.image.functions, *at)
            }),
        })
    }
}

/// Map of the addresses near sites: exact enough to keep little, and fast enough to check every
/// address.
struct NearbyAddresses {
    segments: Vec<(Range<u64>, Vec<u64>)>,
}

impl NearbyAddresses {
    fn new(image: &ElfImage<'_>, sites: &[SyscallSite<'_>]) -> Self {
        let mut segments: Vec<_> = image
            .code_segments()
            .map(|segment| {
                let granules = segment.bytes.len() / GRANULE_BYTES as usize + 1;
                (segment.address_range(), vec![0u64; granules / 64 + 1])
            })
            .collect();
        for site in sites {
            let first = site.address.saturating_sub(NEAR_BYTES);
            let last = site.address.saturating_add(NEAR_BYTES);
            for (addresses, bits) in &mut segments {
                for granule in (first / GRANULE_BYTES)..=(last / GRANULE_BYTES) {
                    let at = (granule * GRANULE_BYTES).max(addresses.start);
                    if addresses.contains(&at) {
                        let bit = (at - addresses.start) / GRANULE_BYTES;
                        // Granules count from the segment's beginning, so two can be touched.
                        for bit in [bit, bit + 1] {
                            if let Some(word) = bits.get_mut(bit as usize / 64) {
                                *word |= 1 << (bit % 64);
                            }
                        }
                    }
                }
            }
        }
        Self { segments }
    }

    fn contains(&self, address: u64) -> bool {
        self.segments.iter().any(|(addresses, bits)| {
            addresses.contains(&address) && {
                let bit = (address - addresses.start) / GRANULE_BYTES;
                bits.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
            }
        })
    }

    fn is_code(&self, address: u64) -> bool {
        self.segments.iter().any(|(addresses, _)| addresses.contains(&address))
    }
}

/// Target of a jump, or address that an instruction takes.
fn branch_target(instruction: &Instruction) -> Option<u64> {
    if [Code::Endbr64, Code::Endbr32].contains(&instruction.code()) {
        return Some(instruction.ip());
    }
    match instruction.op0_kind() {
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            Some(instruction.near_branch_target())
        }
        _ if instruction.is_ip_rel_memory_operand() => Some(instruction.ip_rel_memory_address()),
        _ => None,
    }
}

/// Finds `call`, `jmp` and `jcc` with 32-bit distances, at any place that has their bytes.
fn for_each_distance(code: &[u8], address: u64, mut found: impl FnMut(u64, u64)) {
    for at in memchr::memchr3_iter(0xe8, 0xe9, 0x0f, code) {
        let after = match code.get(at..at + 2) {
            Some([0x0f, second]) if second & 0xf0 == 0x80 => at + 2,
            Some([0xe8 | 0xe9, _]) => at + 1,
            _ => continue,
        };
        if let Some(target) = relative_target(code, address, after) {
            found(address.wrapping_add(at as u64), target);
        }
    }
}

/// Finds `lea` with an address relative to itself, at any place that has its bytes.
fn for_each_taken_address(code: &[u8], address: u64, mut found: impl FnMut(u64)) {
    for at in memchr::memchr_iter(0x8d, code) {
        let is_relative = code.get(at + 1).is_some_and(|modes| modes & 0xc7 == 0x05);
        if is_relative && let Some(target) = relative_target(code, address, at + 2) {
            found(target);
        }
    }
}

/// Address that the four bytes at `at` encode, as a distance from their end.
fn relative_target(code: &[u8], address: u64, at: usize) -> Option<u64> {
    let distance = i32::from_le_bytes(*code.get(at..)?.first_chunk()?);
    Some(address.wrapping_add(at as u64 + 4).wrapping_add_signed(i64::from(distance)))
}

/// Addresses in a table at `base`, if it contains 32-bit distances from itself to code.
fn for_each_table_entry(
    image: &ElfImage<'_>,
    base: u64,
    near: &NearbyAddresses,
    found: impl FnMut(u64),
) {
    let Some(segment) =
        image.segments.iter().find(|segment| segment.address_range().contains(&base))
    else {
        return;
    };
    let (entries, _) = segment.bytes_from(base).unwrap_or_default().as_chunks::<4>();
    entries
        .iter()
        .take(MAX_TABLE_ENTRIES)
        .map(|entry| base.wrapping_add_signed(i64::from(i32::from_le_bytes(*entry))))
        .take_while(|target| near.is_code(*target))
        .for_each(found);
}
