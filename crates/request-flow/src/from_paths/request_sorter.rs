//! Sorts requests by their begin. Requests come nearly in order, in batches of bytes, which stay in
//! memory within a budget. Only the begins of requests and the positions of their bytes are sorted.

use std::path::Path;

use message_trace::PathError;
use out_of_core::{ExternalSorter, KeyedRecord, MemoryBudget, PartitionStore, ReadFailure};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::request::Request;
use crate::tuning::PLACES_AT_ONCE;
use out_of_core::NameId;

/// Requests of a batch, as bytes.
#[derive(Default)]
pub(super) struct RequestBatch {
    bytes: Vec<u8>,
    /// For each request, its begin in nanoseconds since the Unix epoch, and where its bytes end.
    ends: Vec<(i64, u64)>,
}

/// Position of the bytes of a request.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct RequestPlace {
    /// The begin of the request, in nanoseconds since the Unix epoch.
    begin: i64,
    batch: u64,
    /// Index of the first byte in the batch.
    from: u64,
    /// Number of bytes.
    length: u64,
}

impl KeyedRecord for RequestPlace {
    type Key = i64;

    fn key(&self) -> i64 {
        self.begin
    }
}

/// Sorter of all requests by their begins.
pub(super) struct RequestSorter<'a> {
    batches: PartitionStore<'a, u8>,
    /// By batch: the number of each of its names among the names of all batches.
    names: Vec<Vec<NameId>>,
    places: ExternalSorter<'a, RequestPlace>,
}

impl RequestBatch {
    /// Appends a request to the batch.
    pub(super) fn push_request(&mut self, request: &Request) {
        // Writing to memory does not fail.
        if let Ok(bytes) = postcard::to_extend(request, std::mem::take(&mut self.bytes)) {
            self.bytes = bytes;
        }
        let begin = request.begin().unwrap_or(i64::MIN);
        self.ends.push((begin, self.bytes.len() as u64));
    }
}

impl<'a> RequestSorter<'a> {
    /// Creates a sorter without requests. Data beyond `budget` is moved to a temporary file in
    /// `directory`.
    pub(super) fn new(budget: &'a MemoryBudget, directory: &Path) -> RequestSorter<'a> {
        RequestSorter {
            batches: PartitionStore::new(budget, directory, 0),
            names: Vec::new(),
            places: ExternalSorter::new(budget, directory, PLACES_AT_ONCE),
        }
    }

    /// Adds the next batch; `names` are the numbers of its names among the names of all batches.
    pub(super) fn push_batch(
        &mut self,
        batch: RequestBatch,
        names: Vec<NameId>,
    ) -> Result<(), PathError> {
        let (number, mut from) = (self.names.len() as u64, 0);
        for (begin, end) in batch.ends {
            self.places.push(RequestPlace { begin, batch: number, from, length: end - from })?;
            from = end;
        }
        self.names.push(names);
        self.batches.push_partition(batch.bytes)
    }

    /// Passes all requests to `each`, by begin. Requests with equal begins stay in the order in
    /// which they came.
    pub(super) fn for_each(
        self,
        mut each: impl FnMut(Request) -> Result<(), PathError>,
    ) -> Result<(), PathError> {
        let RequestSorter { batches, names, places } = self;
        let (sorted, failed) = (places.finish(), ReadFailure::default());
        let mut bytes = Vec::new();
        for RequestPlace { batch, from, length, .. } in sorted.iter(&failed) {
            batches.read_records(batch as usize, 0, from as usize, length as usize, &mut bytes)?;
            // Reading cannot fail, since the bytes were written here.
            let Ok(mut request) = postcard::from_bytes::<Request>(&bytes) else { continue };
            let numbers = names.get(batch as usize).map_or(&[][..], Vec::as_slice);
            request.map_names(|name| numbers.get(name.index()).copied().unwrap_or_default());
            each(request)?;
        }
        failed.check_failure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Step;

    #[test]
    fn requests_are_sorted_by_begin_in_memory_or_not() {
        let directory = tempfile::tempdir().unwrap();
        for memory in [0, u64::MAX] {
            let budget = MemoryBudget::new(memory);
            let mut sorted = RequestSorter::new(&budget, directory.path());
            for (batch, begins) in [[3, 1, 4], [1, 5, 9], [2, 6, 5]].into_iter().enumerate() {
                let mut requests = RequestBatch::default();
                for begin in begins {
                    let mut request = Request::default();
                    request.push_step(
                        Step {
                            begin: Some(begin),
                            ..Step::new(NameId::from_index(1), NameId::from_index(2))
                        },
                        [],
                    );
                    requests.push_request(&request);
                }
                // Names 1 and 2 have other numbers in each batch.
                sorted
                    .push_batch(
                        requests,
                        [0, 10 + batch, 20 + batch].map(NameId::from_index).to_vec(),
                    )
                    .unwrap();
            }
            let mut seen = Vec::new();
            sorted
                .for_each(|request| {
                    seen.push((request.begin().unwrap(), request.steps[0].node.index()));
                    Ok(())
                })
                .unwrap();
            let expected =
                [(1, 10), (1, 11), (2, 12), (3, 10), (4, 10), (5, 11), (5, 12), (6, 12), (9, 11)];
            assert_eq!(seen, expected);
        }
    }
}
