//! An endpoint of one host.

use message_trace::EndpointId;
use rustc_hash::FxHashMap;

/// The number of a host, and an endpoint there. Loopback addresses and unix sockets have the same
/// names on many hosts.
pub(super) type HostEndpoint = (u32, EndpointId);

/// Numbers the texts in the order of their first use.
pub(super) fn intern_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<u32> {
    let mut numbers: FxHashMap<&str, u32> = FxHashMap::default();
    texts
        .map(|text| {
            let next = numbers.len() as u32;
            *numbers.entry(text).or_insert(next)
        })
        .collect()
}
