//! What ranks say when they meet.

use pto_comm::{CommError, Transport};
use serde::{Deserialize, Serialize};

use super::log::Segment;

/// Where a rank is when it comes to meet the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum At {
    /// It says how large its windows are.
    Windows(Vec<u64>),
    /// It is ready to run; these are the views of windows that its arguments decide.
    Ready(Vec<(u32, String)>),
    /// It has come to the barrier of a step.
    Barrier(u32),
    /// It has ended.
    End,
}

/// What a rank says when it meets the others.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Word {
    pub(super) at: At,
    /// Why it cannot go on.
    pub(super) error: Option<String>,
    /// Its cycle.
    pub(super) cycle: u64,
    /// Messages that it has posted to each rank so far.
    pub(super) posted: Vec<u64>,
    pub(super) clock: Vec<u64>,
    /// What it touched since the last meeting.
    pub(super) segments: Vec<Segment>,
}

impl Word {
    pub(super) fn new(at: At) -> Self {
        Self { at, error: None, cycle: 0, posted: Vec::new(), clock: Vec::new(), segments: Vec::new() }
    }

    /// Tells all ranks, and hears what they say, in rank order.
    pub(super) fn tell(&self, transport: &dyn Transport) -> Result<Vec<Self>, CommError> {
        let bytes = serde_json::to_vec(self).unwrap_or_default();
        let said = transport.all_to_all(vec![bytes; transport.size()])?;
        let read = |(rank, bytes): (usize, &Vec<u8>)| {
            serde_json::from_slice(bytes).map_err(|error| CommError::Peer { rank, message: error.to_string() })
        };
        said.iter().enumerate().map(read).collect()
    }
}
