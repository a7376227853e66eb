//! Cache: what was answered last, so that it need not be asked for again.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Answers by what was asked; beyond a number of them, those that were not wanted for longest are
/// forgotten.
#[derive(Debug)]
pub struct AnswerCache {
    room: usize,
    /// Question and answer, the one that was wanted last at the end.
    answers: Mutex<VecDeque<[String; 2]>>,
}

impl AnswerCache {
    /// One with room for this number of answers.
    pub fn new(room: usize) -> AnswerCache {
        AnswerCache { room, answers: Mutex::default() }
    }

    /// The answer to a question, from `ask` where it is not known.
    ///
    /// # Errors
    /// Those of `ask`.
    pub fn get_or_ask(
        &self,
        question: &str,
        ask: impl FnOnce() -> io::Result<String>,
    ) -> io::Result<String> {
        // One question after the other, as the demo's client asks them.
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
