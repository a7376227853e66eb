//! Initial stack of a blob in a running process: laid out like the kernel's for a new program, with
//! variables of ours in place of the environment.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::memory::ProcessMemory;
use crate::outcome::Error;

/// Contents of the initial stack.
#[derive(Debug)]
pub(crate) struct InitialStack {
    arguments: Vec<Vec<u8>>,
    variables: Vec<Vec<u8>>,
    vector: Vec<u8>,
    mark: [u8; MARK_BYTES],
}

/// Size of a mark, which no other blob has, in bytes.
pub(crate) const MARK_BYTES: usize = 16;

impl InitialStack {
    /// Contents for a process, with these variables.
    pub(crate) fn for_process(
        memory: &ProcessMemory,
        variables: &[(OsString, OsString)],
    ) -> Result<InitialStack, Error> {
        let mut arguments: Vec<Vec<u8>> =
            memory.command_line()?.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect();
        // Each argument ends with a zero.
        arguments.pop();
        let text = |(name, value): &(OsString, OsString)| {
            [name.as_bytes(), b"=", value.as_bytes()].concat()
        };
        let variables = variables.iter().map(text).collect();
        // No other recorder produces the same: it has another process id, or another start time.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let own = u128::from(std::process::id()) << 96;
        let mark = (own | since.as_nanos() & ((1 << 96) - 1)).to_le_bytes();
        Ok(InitialStack { arguments, variables, vector: memory.auxiliary_bytes()?, mark })
    }

    /// Mark by which this stack differs from all others: its last bytes.
    pub(crate) fn mark(&self) -> [u8; MARK_BYTES] {
        self.mark
    }

    /// Size in bytes.
    pub(crate) fn byte_count(&self) -> usize {
        let texts = self.arguments.iter().chain(&self.variables);
        self.word_count() * 8
            + self.vector.len()
            + texts.map(|text| text.len() + 1).sum::<usize>()
            + MARK_BYTES
    }

    fn word_count(&self) -> usize {
        // The argument count, the ends of both lists, and the end of the vector.
        1 + self.arguments.len() + 1 + self.variables.len() + 1 + 2
    }

    /// Encodes the contents for an address.
    pub(crate) fn to_bytes_at(&self, at: u64) -> Vec<u8> {
        let mut words = vec![self.arguments.len() as u64];
        let mut texts = Vec::new();
        let texts_at = at + (self.word_count() * 8 + self.vector.len()) as u64;
        for list in [&self.arguments, &self.variables] {
            for text in list {
                words.push(texts_at + texts.len() as u64);
                texts.extend(text);
                texts.push(0);
            }
            words.push(0);
        }
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        words
            .chain(self.vector.iter().copied())
            .chain([0; 16])
            .chain(texts)
            .chain(self.mark)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_stack_is_laid_out_like_the_kernels() {
        let stack = InitialStack {
            arguments: vec![b"a".to_vec(), b"bc".to_vec()],
            variables: vec![b"X=1".to_vec()],
            vector: [7u64, 8].iter().flat_map(|word| word.to_le_bytes()).collect(),
            mark: *b"the recorder, it",
        };
        let bytes = stack.to_bytes_at(1000);
        assert_eq!(bytes.len(), stack.byte_count());
        let word =
            |place: usize| u64::from_le_bytes(bytes[place * 8..place * 8 + 8].try_into().unwrap());
        let words: Vec<u64> = (0..10).map(word).collect();
        assert_eq!(words, [2, 1080, 1082, 0, 1085, 0, 7, 8, 0, 0]);
        assert_eq!(&bytes[80..], b"a\0bc\0X=1\0the recorder, it");
    }
}
