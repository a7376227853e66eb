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
        question: &str,
        ask: impl FnOnce() -> io::Result<String>,
    ) -> io::Result<String> {
        // One request at a time, as the demo's client sends them.
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = answers.iter().position(|[known, _]| known == question);
        let answer = match known.and_then(|place| answers.remove(place)) {
            Some([_, answer]) => answer,
            None => ask()?,
        };
        answers.push_back([question.to_owned(), answer.clone()]);
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
    fn what_was_not_wanted_for_longest_is_asked_again() {
        let cache = AnswerCache::new(2);
        let asked = ["a", "b", "a", "c", "a", "b"].map(|question| {
            let mut is_asked = false;
            let answer = cache.get_or_ask(question, || {
                is_asked = true;
                Ok(question.to_uppercase())
            });
            assert_eq!(answer.unwrap(), question.to_uppercase());
            is_asked
        });
        assert_eq!(asked, [true, true, false, true, false, true]);
    }
}
