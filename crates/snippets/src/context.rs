//! State of a conversation that is carried from one turn to the next, in one word.

/// Expectation that a turn creates for the next turn of the other end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TurnExpectation {
    /// Nothing in particular.
    #[default]
    Nothing = 0,
    /// The text of a mail.
    WantsMail,
    /// A user name or a password.
    WantsLogin,
    /// One letter that states whether TLS follows.
    WantsTls,
}

/// State of a conversation. It fits in one word, so that it can be stored in an atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnContext {
    /// Expectation that the latest turn of each direction created.
    expectations: [TurnExpectation; 2],
    /// Whether a Kafka request was seen.
    pub(crate) is_kafka: bool,
}

impl TurnContext {
    /// Encodes the context as a number.
    pub fn to_word(self) -> u8 {
        let [sent, received] = self.expectations.map(|state| state as u8);
        sent | received << 2 | u8::from(self.is_kafka) << 4
    }

    /// Decodes the context from a number.
    pub fn from_word(word: u8) -> TurnContext {
        let state = |bits: u8| match bits & 3 {
            1 => TurnExpectation::WantsMail,
            2 => TurnExpectation::WantsLogin,
            3 => TurnExpectation::WantsTls,
            _ => TurnExpectation::Nothing,
        };
        TurnContext { expectations: [state(word), state(word >> 2)], is_kafka: word & 16 != 0 }
    }

    /// Whether no turn created an expectation for the next one.
    #[inline(always)]
    pub(crate) fn expects_nothing(self) -> bool {
        self.expectations == [TurnExpectation::Nothing; 2]
    }

    /// Records the expectation that a direction creates.
    pub(crate) fn note_expectation(&mut self, direction: u8, state: TurnExpectation) {
        if let Some(of) = self.expectations.get_mut(usize::from(direction & 1)) {
            *of = state;
        }
    }

    /// Expectation that the direction opposite to `direction` created.
    pub(crate) fn expectation_of_peer(&self, direction: u8) -> TurnExpectation {
        self.expectations.get(usize::from(direction & 1 ^ 1)).copied().unwrap_or_default()
    }
}
