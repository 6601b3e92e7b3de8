//! What ranks tell each other before rows move: which call they are in, whether their part of it is sound, and which
//! rows they mean.

use pto_isa::{Opcode, Policy};

use crate::CommError;

/// A call, as the ranks must agree on it.
pub(super) struct Request {
    pub(super) opcode: Opcode,
    pub(super) policy: Policy,
}

/// First byte of a message: what follows is a length, the call's words and lanes, or the words of an error.
const LANES: u8 = 0;
const ERROR: u8 = 1;

impl Request {
    fn words(&self) -> String {
        let Policy { coalesce, oob, atomic, conflict } = self.policy;
        let mut words = self.opcode.to_string();
        let names =
            [coalesce.map(|p| p.name()), oob.map(|p| p.name()), atomic.map(|p| p.name()), conflict.map(|p| p.name())];
        for (kind, name) in ["coalesce", "oob", "atomic", "conflict"].into_iter().zip(names) {
            if let Some(name) = name {
                words += &format!(" {kind}={name}");
            }
        }
        words
    }

    /// A message with lanes, or with the error that keeps this rank from sending any.
    pub(super) fn encode(&self, lanes: Result<&[u64], &CommError>) -> Vec<u8> {
        match lanes {
            Ok(lanes) => {
                let words = self.words();
                // A name is short; its length fits a byte.
                let mut message = Vec::with_capacity(2 + words.len() + lanes.len() * 8);
                message.extend([LANES, words.len() as u8]);
                message.extend(words.as_bytes());
                message.extend(lanes.iter().flat_map(|lane| lane.to_le_bytes()));
                message
            }
            Err(error) => [&[ERROR], error.to_string().as_bytes()].concat(),
        }
    }

    /// The lanes of a message: positions in this rank's shard, 8 bytes each.
    pub(super) fn decode(&self, rank: usize, mut message: Vec<u8>) -> Result<Vec<u8>, CommError> {
        let mine = self.words();
        match message.as_slice() {
            [ERROR, words @ ..] => Err(CommError::Peer { rank, message: String::from_utf8_lossy(words).into_owned() }),
            [LANES, length, rest @ ..] if rest.starts_with(mine.as_bytes()) && *length as usize == mine.len() => {
                message.drain(..2 + mine.len());
                if message.len().is_multiple_of(8) {
                    return Ok(message);
                }
                check_length(rank, (message.len() as u64).next_multiple_of(8), message.len() as u64).map(|()| message)
            }
            [LANES, length, rest @ ..] => {
                let theirs = String::from_utf8_lossy(&rest[..rest.len().min(*length as usize)]).into_owned();
                Err(CommError::Mismatch { rank, theirs, mine })
            }
            _ => Err(CommError::Mismatch { rank, theirs: "another operation".into(), mine }),
        }
    }
}

/// A message has the length that the call implies.
pub(super) fn check_length(rank: usize, expected: u64, found: u64) -> Result<(), CommError> {
    if expected == found {
        return Ok(());
    }
    Err(CommError::Peer { rank, message: format!("it sent {found} bytes where {expected} belong") })
}
