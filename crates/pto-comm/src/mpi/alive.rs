//! Who is alive, told by the operating system instead of by MPI.
//!
//! MPI does not say that a rank was killed, and most launchers end the survivors soon after. So every rank keeps a
//! connection to rank 0, on which both send a sign of life every second. The system closes the connections of a
//! process however it ends, rank 0 passes on whom it misses, and a rank that is silent for long counts as lost as well. A thread
//! looks after this; it never touches MPI.
//!
//! Launchers end the survivors of a rank that died with SIGTERM, and with SIGKILL a second later. The signal is
//! caught here, and means that the job is over: the next operation fails with the reason, and if none comes, the
//! thread says why the process ends and ends it.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mpi::ffi::{self, MPI_Comm};

use super::call::check;
use crate::CommError;

/// How often the thread looks.
const TICK: Duration = Duration::from_millis(20);
/// How often ranks give a sign of life.
const BEAT: Duration = Duration::from_secs(1);
/// A rank that is silent for this long is lost.
const SILENCE: Duration = Duration::from_secs(15);
/// How long ranks try to reach rank 0 at the start. Without a connection, losses are noticed by timeouts only.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a process that was asked to end waits to hear whom the job lost, and then for its own next operation. The
/// two together stay far below the second after which launchers kill: processors may be busy.
const LISTEN: Duration = Duration::from_millis(250);
const SPEAK: Duration = Duration::from_millis(100);
/// How long a process stays after its last words: launchers drop what they have not read when a process ends.
const LINGER: Duration = Duration::from_millis(400);

/// What is sent: a sign of life, a farewell, or the rank that was lost.
const SIGN: u8 = b'.';
const FAREWELL: u8 = b'b';
const LOST: u8 = b'L';

/// Set by SIGTERM.
static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

extern "C" fn on_terminate(_: libc::c_int) {
    ASKED_TO_END.store(true, Ordering::Relaxed);
}

/// Whom the job has lost, as far as this process knows.
#[derive(Clone, Default)]
pub(super) struct Losses(Arc<Shared>);

#[derive(Default)]
struct Shared {
    known: AtomicBool,
    lost: Mutex<Option<(CommError, Instant)>>,
    leaving: AtomicBool,
}

impl Losses {
    fn lose(&self, rank: usize, reason: &str) {
        let mut lost = self.0.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert_with(|| (CommError::RankLost { rank, reason: reason.into() }, Instant::now()));
        self.0.known.store(true, Ordering::Release);
    }

    /// The first rank that was lost, and since when that is known.
    pub(super) fn first(&self) -> Option<(CommError, Instant)> {
        if !self.0.known.load(Ordering::Acquire) {
            return None;
        }
        self.0.lost.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A connection to another rank.
struct Link {
    rank: usize,
    stream: TcpStream,
    heard: Instant,
    open: bool,
    /// A rank's number that has not arrived completely.
    pending: Vec<u8>,
}

/// The thread that finds out who is alive.
pub(super) struct Alive {
    losses: Losses,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Alive {
    /// All ranks call together.
    pub(super) fn start(
        comm: MPI_Comm,
        rank: usize,
        size: usize,
        one_machine: bool,
        losses: Losses,
    ) -> Result<Self, CommError> {
        let links = connect(comm, rank, size, one_machine)?;
        // SAFETY: the handler does nothing but store to an atomic, which signals may do.
        unsafe {
            let handler: extern "C" fn(libc::c_int) = on_terminate;
            libc::signal(libc::SIGTERM, handler as *const () as libc::sighandler_t);
        }
        let (stop, stopped) = channel::<()>();
        let known = losses.clone();
        let watch = move || {
            let mut watcher = Watcher { me: rank, links, losses: known, beat: Instant::now(), asked: None };
            while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                watcher.look();
            }
            watcher.farewell();
        };
        // Without a thread to spare, losses are noticed by timeouts.
        let thread = std::thread::Builder::new().name("alive".into()).spawn(watch).ok();
        Ok(Self { losses, stop: Some(stop), thread })
    }

    /// From here on, connections that end are no loss, and a launcher that ends the process ends it at once.
    pub(super) fn leave(&mut self) {
        self.losses.0.leaving.store(true, Ordering::Relaxed);
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        // SAFETY: gives the signal its first meaning back, and repeats one that came while it had another.
        unsafe {
            libc::signal(libc::SIGTERM, libc::SIG_DFL);
            if ASKED_TO_END.load(Ordering::Relaxed) {
                libc::raise(libc::SIGTERM);
            }
        }
    }
}

struct Watcher {
    me: usize,
    links: Vec<Link>,
    losses: Losses,
    beat: Instant,
    /// When this process was asked to end.
    asked: Option<Instant>,
}

impl Watcher {
    fn look(&mut self) {
        let beat = self.beat.elapsed() >= BEAT;
        if beat {
            self.beat = Instant::now();
        }
        let mut missed = Vec::new();
        for link in self.links.iter_mut().filter(|link| link.open) {
            if beat {
                // A write that fails shows in the next read.
                let _ = link.stream.write(&[SIGN]);
            }
            missed.extend(link.read());
        }
        for (rank, reason) in missed {
            self.losses.lose(rank, &reason);
            if self.me == 0 {
                for link in self.links.iter_mut().filter(|link| link.open && link.rank != rank) {
                    let mut message = vec![LOST];
                    message.extend((rank as u32).to_le_bytes());
                    message.extend((reason.len() as u32).to_le_bytes());
                    message.extend(reason.as_bytes());
                    let _ = link.stream.write_all(&message);
                }
            }
        }
        if ASKED_TO_END.load(Ordering::Relaxed) && !self.losses.0.leaving.load(Ordering::Relaxed) {
            self.end();
        }
    }

    /// The launcher ends the job: there is a moment left to say why.
    fn end(&mut self) {
        let asked = *self.asked.get_or_insert_with(Instant::now);
        if asked.elapsed() > LISTEN && self.losses.first().is_none() {
            self.losses.lose(self.me, "the launcher ends the job");
        }
        if let Some((error, known)) = self.losses.first()
            && known.max(asked).elapsed() > SPEAK
        {
            last_words(self.me, &error);
        }
    }

    fn farewell(&mut self) {
        for link in self.links.iter_mut().filter(|link| link.open) {
            let _ = link.stream.write_all(&[FAREWELL]);
        }
    }
}

pub(super) fn last_words(rank: usize, error: &CommError) -> ! {
    // In one piece, for other ranks say theirs at the same moment.
    let _ = std::io::stderr().write_all(format!("rank {rank} error: {error}\n").as_bytes());
    std::thread::sleep(LINGER);
    // Whatever the process is in the middle of is over, and there is nobody to finish it with.
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(1) }
}

impl Link {
    fn new(rank: usize, stream: TcpStream) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        Ok(Self { rank, stream, heard: Instant::now(), open: true, pending: Vec::new() })
    }

    /// Takes in what has arrived; the ranks that are lost, and how.
    fn read(&mut self) -> Vec<(usize, String)> {
        let mut lost = Vec::new();
        let mut buffer = [0; 256];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.open = false;
                    lost.push((self.rank, "its process ended".into()));
                }
                Ok(length) => {
                    self.heard = Instant::now();
                    self.pending.extend_from_slice(&buffer[..length]);
                    self.take(&mut lost);
                    if self.open {
                        continue;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.heard.elapsed() > SILENCE {
                        self.open = false;
                        lost.push((self.rank, format!("it has given no sign of life for {} s", SILENCE.as_secs())));
                    }
                }
                Err(error) => {
                    self.open = false;
                    lost.push((self.rank, format!("its connection broke: {error}")));
                }
            }
            return lost;
        }
    }

    /// Takes in the messages that are complete.
    fn take(&mut self, lost: &mut Vec<(usize, String)>) {
        let mut at = 0;
        while let Some(&kind) = self.pending.get(at) {
            match kind {
                FAREWELL => {
                    self.open = false;
                    at += 1;
                }
                LOST => {
                    let word = |from: usize| {
                        let bytes: [u8; 4] = self.pending.get(at + from..at + from + 4)?.try_into().ok()?;
                        Some(u32::from_le_bytes(bytes) as usize)
                    };
                    let (Some(rank), Some(length)) = (word(1), word(5)) else { break };
                    let Some(reason) = self.pending.get(at + 9..at + 9 + length) else { break };
                    lost.push((rank, String::from_utf8_lossy(reason).into_owned()));
                    at += 9 + length;
                }
                _ => at += 1,
            }
        }
        self.pending.drain(..at);
    }
}

/// Connects every rank to rank 0. Who cannot be reached is left out.
fn connect(comm: MPI_Comm, rank: usize, size: usize, one_machine: bool) -> Result<Vec<Link>, CommError> {
    if size == 1 {
        return Ok(Vec::new());
    }
    let host = if one_machine { "127.0.0.1".into() } else { host_name() };
    let listener =
        (rank == 0).then(|| TcpListener::bind(if one_machine { "127.0.0.1:0" } else { "0.0.0.0:0" }).ok()).flatten();
    let port = listener.as_ref().and_then(|listener| listener.local_addr().ok()).map_or(0, |address| address.port());
    // Rank 0 tells where it is, and a number that strangers do not know.
    let mut told = [0u8; 256];
    if rank == 0 {
        let secret = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), port);
        told[..8].copy_from_slice(&secret.to_le_bytes());
        told[8..10].copy_from_slice(&port.to_le_bytes());
        let name = &host.as_bytes()[..host.len().min(240)];
        told[10] = name.len() as u8;
        told[11..11 + name.len()].copy_from_slice(name);
    }
    // SAFETY: the buffer has as many bytes as it says at all ranks.
    let code = unsafe { ffi::MPI_Bcast(told.as_mut_ptr().cast(), told.len() as i32, ffi::RSMPI_UINT8_T, 0, comm) };
    check("MPI_Bcast", code)?;
    let links = match listener {
        Some(listener) => accept(&listener, &told[..8], size),
        None => {
            let port = u16::from_le_bytes([told[8], told[9]]);
            let name = String::from_utf8_lossy(&told[11..11 + told[10] as usize]).into_owned();
            dial(&name, port, &told[..8], rank).into_iter().collect()
        }
    };
    Ok(links)
}

fn accept(listener: &TcpListener, secret: &[u8], size: usize) -> Vec<Link> {
    let deadline = Instant::now() + CONNECT;
    let mut links: Vec<Link> = Vec::new();
    let _ = listener.set_nonblocking(true);
    while links.len() + 1 < size && Instant::now() < deadline {
        let Ok((mut stream, _)) = listener.accept() else {
            std::thread::sleep(Duration::from_micros(200));
            continue;
        };
        let mut said = [0u8; 12];
        let _ = stream.set_nonblocking(false);
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        if stream.read_exact(&mut said).is_ok() && said[..8] == *secret {
            let rank = u32::from_le_bytes([said[8], said[9], said[10], said[11]]) as usize;
            links.extend(Link::new(rank, stream));
        }
    }
    links
}

fn dial(name: &str, port: u16, secret: &[u8], rank: usize) -> Option<Link> {
    if port == 0 {
        return None;
    }
    let address = (name, port).to_socket_addrs().ok()?.next()?;
    let mut stream = TcpStream::connect_timeout(&address, CONNECT).ok()?;
    let mut said = secret.to_vec();
    said.extend((rank as u32).to_le_bytes());
    stream.write_all(&said).ok()?;
    Link::new(0, stream).ok()
}

/// The name of this machine, as others resolve it.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "localhost".into(),
        name => name.into(),
    }
}
