//! Cache: recent responses, which need not be requested again.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Responses by request; beyond the maximum number, the least recently used ones are evicted.
#[derive(Debug)]
pub struct AnswerCache {
    room: usize,
    /// Request and response, the most recently used one at the end.
    answers: Mutex<VecDeque<[String; 2]>>,
}

impl AnswerCache {
    /// A cache with room for this number of responses.
    pub fn new(room: usize) -> AnswerCache {
        AnswerCache { room, answers: Mutex::default() }
    }

    /// The response to a request, from `ask` if it is not cached.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn get_or_ask(
        &self,
        request: &str,
        ask: impl FnOnce() -> io::Result<String>,
    ) -> io::Result<String> {
        // One request at a time, as the demo's client sends them.
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = answers.iter().position(|[known, _]| known == request);
        let answer = match known.and_then(|place| answers.remove(place)) {
            Some([_, answer]) => answer,
            None => ask()?,
        };
        answers.push_back([request.to_owned(), answer.clone()]);
        while answers.len() > self.room {
            answers.pop_front();
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_response_is_requested_again() {
        let cache = AnswerCache::new(2);
        let requests = ["a", "b", "a", "c", "a", "b"].map(|request| {
            let mut is_requested = false;
            let answer = cache.get_or_ask(request, || {
                is_requested = true;
                Ok(request.to_uppercase())
            });
            assert_eq!(answer.unwrap(), request.to_uppercase());
            is_requested
        });
        assert_eq!(requests, [true, true, false, true, false, true]);
    }
}
