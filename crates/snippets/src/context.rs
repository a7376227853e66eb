//! What is known of a conversation from one turn to the next, in a word.

/// What a turn lets expect of the other end's next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum TurnExpectation {
    /// Nothing in particular.
    #[default]
    Nothing = 0,
    /// A mail.
    WantsMail,
    /// A name or a password.
    WantsLogin,
    /// A letter that says whether TLS follows.
    WantsTls,
}

/// What is known of a conversation. It fits a word, so that it can be kept in an atomic one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnContext {
    /// State that each direction has said.
    said: [TurnExpectation; 2],
    /// Whether there was a request of Kafka.
    pub(crate) is_kafka: bool,
}

impl TurnContext {
    /// The context as a number.
    pub fn to_word(self) -> u8 {
        let [sent, received] = self.said.map(|state| state as u8);
        sent | received << 2 | u8::from(self.is_kafka) << 4
    }

    /// The context of a number.
    pub fn from_word(word: u8) -> TurnContext {
        let state = |bits: u8| match bits & 3 {
            1 => TurnExpectation::WantsMail,
            2 => TurnExpectation::WantsLogin,
            3 => TurnExpectation::WantsTls,
            _ => TurnExpectation::Nothing,
        };
        TurnContext { said: [state(word), state(word >> 2)], is_kafka: word & 16 != 0 }
    }

    /// Whether no turn lets expect anything of the next one.
    #[inline(always)]
    pub(crate) fn expects_nothing(self) -> bool {
        self.said == [TurnExpectation::Nothing; 2]
    }

    /// Notes what a direction lets expect.
    pub(crate) fn note_expectation(&mut self, direction: u8, state: TurnExpectation) {
        if let Some(of) = self.said.get_mut(usize::from(direction & 1)) {
            *of = state;
        }
    }

    /// What the direction that is not `direction` lets expect.
    pub(crate) fn expectation_of_peer(&self, direction: u8) -> TurnExpectation {
        self.said.get(usize::from(direction & 1 ^ 1)).copied().unwrap_or_default()
    }
}
