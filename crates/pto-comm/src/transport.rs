//! What collectives need of the machine: ranks that meet, exchange bytes and open memory to each other.
//!
//! [`Transport`] and [`Window`] are object-safe, so that a program decides at run time whether its ranks are threads
//! or processes.

use crate::{CommError, Region};

/// One rank's end of a group of ranks.
///
/// The calls that every rank makes together are `expose`, `barrier`, `all_to_all` and `agree`. A rank that does not
/// come to one of them, because it died, left or came to another one, is an error at every rank that does, within a
/// bounded time.
pub trait Transport {
    /// This rank.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Opens `bytes` zeroed bytes of this rank to the others. All ranks call together; each may open another size.
    ///
    /// # Errors
    /// If the memory cannot be had at some rank, or a rank is lost.
    fn expose(&self, bytes: u64) -> Result<Box<dyn Window + '_>, CommError>;

    /// Returns when every rank has come. What was put before is visible after.
    ///
    /// # Errors
    /// If a rank is lost or does not come in time.
    fn barrier(&self) -> Result<(), CommError>;

    /// Sends part `r` to rank `r` and returns what each rank sent here, in rank order.
    ///
    /// # Errors
    /// If there is not one part for each rank, or a rank is lost.
    fn all_to_all(&self, parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CommError>;

    /// Sends a message to a rank, which need not wait for it: [`receive`](Self::receive) hands it out in time.
    ///
    /// # Errors
    /// If there is no such rank, or a rank is lost.
    fn post(&self, rank: usize, message: Vec<u8>) -> Result<(), CommError>;

    /// Waits for a message that was [`post`](Self::post)ed here: who sent it, and what it says. Those of one rank come in
    /// the order in which they were sent.
    ///
    /// ```
    /// use pto_comm::{Transport, launch};
    /// let heard = launch(2, |rank| {
    ///     rank.post(1 - rank.rank(), vec![rank.rank() as u8])?;
    ///     rank.receive()
    /// });
    /// assert_eq!(heard, [Ok((1, vec![1])), Ok((0, vec![0]))]);
    /// ```
    ///
    /// # Errors
    /// If a rank is lost, or no message comes in time.
    fn receive(&self) -> Result<(usize, Vec<u8>), CommError>;

    /// Makes an error of one rank an error of all: nobody goes on to write where one cannot.
    ///
    /// # Errors
    /// `mine`, if it is one; else [`CommError::Peer`] with the error of the first rank that has one.
    fn agree(&self, mine: Result<(), CommError>) -> Result<(), CommError> {
        let message = mine.as_ref().err().map(CommError::to_string).unwrap_or_default();
        let replies = self.all_to_all(vec![message.into_bytes(); self.size()])?;
        mine?;
        match replies.iter().enumerate().find(|(_, reply)| !reply.is_empty()) {
            Some((rank, reply)) => Err(CommError::Peer { rank, message: String::from_utf8_lossy(reply).into_owned() }),
            None => Ok(()),
        }
    }
}

/// Memory that every rank opened to the others.
pub trait Window {
    /// The rank that holds this end of the window.
    fn rank(&self) -> usize;

    /// Bytes that each rank opened, in rank order.
    fn sizes(&self) -> &[u64];

    /// Opens an epoch: until it is dropped, this rank alone accesses the window of every rank.
    ///
    /// `staging` lists the sizes of the buffers that accesses go through: they belong to the epoch, so that a transfer
    /// under way never outlives its buffer.
    ///
    /// # Errors
    /// If a rank is lost, or one holds on to its memory.
    fn lock(&self, staging: &[u64]) -> Result<Box<dyn Epoch + '_>, CommError>;

    /// Calls `access` with this rank's own memory. No other rank reads or writes it meanwhile.
    ///
    /// `access` must not wait for other ranks: one that is about to write here would wait for it.
    ///
    /// # Errors
    /// If another rank holds on to the memory.
    fn local(&self, access: &mut dyn FnMut(&mut [u8])) -> Result<(), CommError>;
}

/// One-sided access to the windows of all ranks, by the rank that locked them.
///
/// `put` and `get` only start a transfer: [`stage`](Self::stage) waits for those of one buffer, and
/// [`flush`](Self::flush) for all. With two buffers, one is filled while the other travels.
pub trait Epoch {
    /// A staging buffer, after every transfer that uses it has ended.
    ///
    /// # Errors
    /// If a transfer failed.
    fn stage(&mut self, slot: usize) -> Result<&mut [u8], CommError>;

    /// Starts to write a region of a staging buffer to a region of a rank's window.
    ///
    /// # Errors
    /// If a region leaves its buffer, or the rank is lost.
    fn put(&mut self, slot: usize, from: Region, rank: usize, to: Region) -> Result<(), CommError>;

    /// Starts to read a region of a rank's window into a region of a staging buffer.
    ///
    /// # Errors
    /// If a region leaves its buffer, or the rank is lost.
    fn get(&mut self, slot: usize, to: Region, rank: usize, from: Region) -> Result<(), CommError>;

    /// Writes whole pieces of this rank's own memory to windows: each to a rank, from a byte of its window on. Returns when
    /// the pieces may change again; [`flush`](Self::flush) waits for their arrival.
    ///
    /// # Errors
    /// If a piece leaves its window, or a rank is lost.
    fn put_pieces(&mut self, pieces: &[(&[u8], usize, u64)]) -> Result<(), CommError>;

    /// Reads whole pieces of windows into this rank's own memory.
    ///
    /// # Errors
    /// As [`put_pieces`](Self::put_pieces).
    fn get_pieces(&mut self, pieces: &mut [(&mut [u8], usize, u64)]) -> Result<(), CommError>;

    /// Returns when everything put is in the windows of the ranks.
    ///
    /// # Errors
    /// If a transfer failed.
    fn flush(&mut self) -> Result<(), CommError>;

    /// The windows as plain memory, where they are that: several threads can then move bytes at once.
    fn memories(&mut self) -> Option<Vec<&mut [u8]>> {
        None
    }
}

/// What must hold before a transfer between a staging buffer and a window touches anything.
pub(crate) fn check_transfer(
    rank: usize,
    (from, from_length): (Region, u64),
    (to, to_length): (Region, u64),
) -> Result<(), CommError> {
    let extents = |r: Region| (r.rows, r.cols, r.element);
    if extents(from) != extents(to) || !matches!(from.element, 1 | 2 | 4 | 8) {
        let words = |r: Region| format!("{}x{}x{}", r.rows, r.cols, r.element);
        return Err(CommError::Extents { from: words(from), to: words(to) });
    }
    for (region, length) in [(from, from_length), (to, to_length)] {
        match region.end() {
            Some(end) if end <= length => {}
            end => return Err(CommError::OutsideWindow { rank, needed: end.unwrap_or(u64::MAX), found: length }),
        }
    }
    Ok(())
}

/// `bytes` zeroed bytes, or an error where a plain allocation would end the program.
pub(crate) fn zeroed(bytes: u64) -> Result<Vec<u8>, CommError> {
    let failed = CommError::OutOfMemory { bytes };
    let length = usize::try_from(bytes).map_err(|_| failed.clone())?;
    let mut memory = Vec::new();
    memory.try_reserve_exact(length).map_err(|_| failed)?;
    memory.resize(length, 0);
    Ok(memory)
}

/// A staging buffer that is allocated when it is first used: transfers between plain memories use none.
pub(crate) struct Stage {
    bytes: Vec<u8>,
    size: u64,
}

impl Stage {
    pub(crate) fn new(size: u64) -> Self {
        Self { bytes: Vec::new(), size }
    }

    pub(crate) fn buffer(&mut self) -> Result<&mut [u8], CommError> {
        if self.bytes.is_empty() {
            self.bytes = zeroed(self.size)?;
        }
        Ok(&mut self.bytes)
    }
}
