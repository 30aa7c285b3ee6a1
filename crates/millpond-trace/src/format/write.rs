//! Writes a recording: a sink that turns events into bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use millpond::record::{Event, Sink, Track, ticks};

use super::bytes::{put_number, put_text};
use super::events::{Before, Labels, put};
use super::{MAGIC, Recording, VERSION, block};

/// A sink that writes the file format of this crate, to a file or to memory.
///
/// It writes a block whenever an event buffer is full, so it needs little memory.
/// [`finish`](Writer::finish) writes the end. A recording without its end is refused as cut off.
///
/// ```
/// use millpond::{Runtime, Spawn};
/// use millpond_trace::{Recording, Writer};
///
/// let rt = Runtime::builder().workers(2).build()?;
/// let writer = Writer::to_memory("example", rt.workers());
/// let recording = rt.recorder().add(writer.clone());
/// rt.scope(|s| (0..10).for_each(|_| drop(s.spawn((), |()| ()))))?;
/// drop(recording);
/// let recording: Recording = writer.finish_in_memory()?;
/// assert_eq!(recording.report()?.tasks, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer(Mutex<State>);

#[derive(Debug)]
struct State {
    out: Out,
    known: Known,
    /// The payload of the next block.
    payload: Vec<u8>,
    events: u64,
    real_time: bool,
    began: (Instant, u64),
    failed: Option<io::Error>,
    ended: bool,
}

#[derive(Debug)]
enum Out {
    File(BufWriter<File>, PathBuf),
    Memory(Vec<u8>),
}

/// The labels that were written.
#[derive(Debug, Default)]
struct Known {
    /// By address. Copies of a text may exist.
    numbers: HashMap<(usize, usize), u32>,
    new: Vec<Label>,
}

#[derive(Debug)]
enum Label {
    Name(&'static str),
    Place(&'static Location<'static>),
}

impl Labels for Known {
    fn place(&mut self, place: &'static Location<'static>) -> u32 {
        self.number((std::ptr::from_ref(place).addr(), usize::MAX), Label::Place(place))
    }

    fn name(&mut self, name: &'static str) -> u32 {
        self.number((name.as_ptr().addr(), name.len()), Label::Name(name))
    }
}

impl Known {
    fn number(&mut self, key: (usize, usize), label: Label) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            self.new.push(label);
            next
        })
    }
}

impl Writer {
    /// Writes to a file, which is created or truncated now, and complete only after
    /// [`finish`](Writer::finish).
    ///
    /// # Errors
    ///
    /// If the file cannot be created.
    pub fn to_file(path: &Path, program: &str, workers: usize) -> io::Result<Arc<Writer>> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self::made(Out::File(file, path.to_owned()), program, workers, true))
    }

    /// Writes to memory.
    pub fn to_memory(program: &str, workers: usize) -> Arc<Writer> {
        Self::made(Out::Memory(Vec::new()), program, workers, true)
    }

    /// Like [`to_memory`](Writer::to_memory), for a recorder with its own clock that counts
    /// nanoseconds ([`Recorder::with_clock`](millpond::record::Recorder::with_clock)).
    pub fn of_clock(program: &str, workers: usize) -> Arc<Writer> {
        Self::made(Out::Memory(Vec::new()), program, workers, false)
    }

    fn made(out: Out, program: &str, workers: usize, real_time: bool) -> Arc<Writer> {
        let mut state = State {
            out,
            known: Known::default(),
            payload: Vec::new(),
            events: 0,
            real_time,
            began: (Instant::now(), ticks()),
            failed: None,
            ended: false,
        };
        state.write(MAGIC);
        state.write(&VERSION.to_le_bytes());
        let mut about = Vec::new();
        put_text(&mut about, program);
        put_number(&mut about, workers as u64);
        about.push(u8::from(real_time));
        state.write_block(block::ABOUT, &about);
        Arc::new(Writer(Mutex::new(state)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the recording. First remove the writer from its recorder: drop the value that
    /// [`Recorder::add`](millpond::record::Recorder::add) returned.
    ///
    /// # Errors
    ///
    /// The first failure to write, if any. The useless file is then removed.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.state();
        state.end();
        let failed = state.failed.as_ref().map(|error| io::Error::new(error.kind(), error.to_string()));
        let Out::File(file, path) = &mut state.out else { return Ok(()) };
        let result = failed.map_or_else(|| file.flush(), Err);
        if result.is_err() {
            // The write error is reported, not an error of the removal.
            let _ = std::fs::remove_file(path);
        }
        result
    }

    /// Like [`finish`](Writer::finish), and returns the recording. A writer to a file reads the
    /// file.
    ///
    /// # Errors
    ///
    /// If the recording cannot be read. This does not happen to a writer to memory.
    pub fn finish_in_memory(&self) -> Result<Recording, super::ReadError> {
        let mut state = self.state();
        state.end();
        match &mut state.out {
            Out::Memory(bytes) => Recording::parse(std::mem::take(bytes)),
            Out::File(_, path) => {
                let path = path.clone();
                drop(state);
                let failed =
                    |error: io::Error| super::ReadError { file: Some(path.clone()), offset: 0, reason: error.into() };
                self.finish().map_err(failed)?;
                Recording::read(&path)
            }
        }
    }
}

impl Sink for Writer {
    fn take(&self, track: Track, events: &[Event]) {
        let mut state = self.state();
        if state.failed.is_none() && !state.ended {
            state.take(track, events);
        }
    }
}

impl State {
    fn take(&mut self, track: Track, events: &[Event]) {
        let Some(first) = events.first() else { return };
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        put_number(&mut payload, track.number.into());
        put_number(&mut payload, track.worker.map_or(0, |worker| u64::from(worker) + 1));
        put_number(&mut payload, events.len() as u64);
        payload.extend_from_slice(&first.at.to_le_bytes());
        let mut before = Before { at: first.at, ..Before::default() };
        for event in events {
            put(&mut payload, event, &mut before, &mut self.known);
        }
        self.write_labels();
        self.write_block(block::EVENTS, &payload);
        self.payload = payload;
        self.events += events.len() as u64;
    }

    fn write_labels(&mut self) {
        for label in std::mem::take(&mut self.known.new) {
            let mut payload = Vec::new();
            match label {
                Label::Name(name) => {
                    payload.push(0);
                    put_text(&mut payload, name);
                }
                Label::Place(place) => {
                    payload.push(1);
                    put_text(&mut payload, place.file());
                    put_number(&mut payload, place.line().into());
                }
            }
            self.write_block(block::LABEL, &payload);
        }
    }

    fn end(&mut self) {
        if self.ended {
            return;
        }
        let (began, first) = self.began;
        let elapsed = began.elapsed().as_secs_f64();
        let rate = if self.real_time { ticks().wrapping_sub(first) as f64 / elapsed } else { 1e9 };
        let mut payload = rate.to_le_bytes().to_vec();
        put_number(&mut payload, self.events);
        self.write_block(block::END, &payload);
        self.ended = true;
    }

    fn write_block(&mut self, kind: u8, payload: &[u8]) {
        self.write(&[kind]);
        self.write(&(payload.len() as u32).to_le_bytes());
        self.write(&crc32fast::hash(payload).to_le_bytes());
        self.write(payload);
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        match &mut self.out {
            Out::Memory(memory) => memory.extend_from_slice(bytes),
            Out::File(file, _) => self.failed = file.write_all(bytes).err(),
        }
    }
}
