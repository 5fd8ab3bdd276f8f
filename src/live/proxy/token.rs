//! The token that a listener wants that others than this machine can reach.

use rustls::crypto::ring::default_provider;
use std::fmt;
use subtle::ConstantTimeEq;

/// Bytes of a token: 128 bits.
const LENGTH: usize = 16;

/// A secret that every client must bring, 32 hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

/// The system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes for a token")]
pub struct TokenError;

impl Token {
    pub fn new() -> Result<Self, TokenError> {
        let mut bytes = [0; LENGTH];
        let random = default_provider().secure_random;
        random.fill(&mut bytes).map_err(|_| TokenError)?;
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        Ok(Self(digits.collect()))
    }

    /// The token itself; it is shown once, to the operator.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether this is the token; takes as long for a near miss as for a far one.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c07_tokens_have_128_bits_and_only_the_whole_one_fits() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.reveal().len(), 32);
        assert_ne!(one.reveal(), other.reveal());
        assert!(one.is(one.reveal().as_bytes()));
        for wrong in [
            "",
            other.reveal(),
            &one.reveal()[..31],
            &format!("{}0", one.reveal()),
        ] {
            assert!(!one.is(wrong.as_bytes()));
        }
        assert_eq!(format!("{one:?}"), "Token");
    }
}
