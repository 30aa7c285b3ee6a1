//! Reads a recording.

use std::fs::File;
use std::io::Read;
use std::ops::RangeInclusive;
use std::path::Path;

use millpond::record::Track;

use super::bytes::Bytes;
use super::events::{Before, Ev, get};
use super::{MAGIC, ReadError, Reason, VERSION, block};

/// A recording, in the format of its file.
///
/// Every block was checked: it is complete and unchanged.
pub struct Recording {
    bytes: Vec<u8>,
    /// The program that made it.
    pub program: String,
    /// The workers of the runtime.
    pub workers: usize,
    /// Ticks per second.
    pub ticks_per_second: f64,
    pub(crate) labels: Vec<LabelText>,
    blocks: Vec<EventBlock>,
    events: u64,
}

/// The maximum number of workers of a runtime.
const MAX_WORKERS: usize = 4096;
/// The range of a clock's rate, in ticks per second.
const RATES: RangeInclusive<f64> = 1e3..=1e12;

/// The text of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LabelText {
    Name(String),
    Place(String, u32),
}

/// The position of a block of events.
#[derive(Debug)]
struct EventBlock {
    track: Track,
    count: u64,
    /// The range of the payload.
    start: usize,
    end: usize,
    /// The start of the first event.
    events: usize,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recording")
            .field("program", &self.program)
            .field("events", &self.events)
            .finish_non_exhaustive()
    }
}

fn wrong(offset: usize, reason: Reason) -> ReadError {
    ReadError { file: None, offset: offset as u64, reason }
}

fn damaged(offset: usize, what: &str) -> ReadError {
    wrong(offset, Reason::Damaged(what.to_owned()))
}

impl Recording {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is no recording, has another version, is cut off, or is damaged. The
    /// error has the offset.
    pub fn read(path: &Path) -> Result<Recording, ReadError> {
        let in_file = |error: ReadError| ReadError { file: Some(path.to_owned()), ..error };
        let cannot = |error: std::io::Error| in_file(wrong(0, error.into()));
        let mut file = File::open(path).map_err(cannot)?;
        let mut bytes = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(cannot)?;
        // Other files may be huge or endless.
        if bytes == MAGIC {
            file.read_to_end(&mut bytes).map_err(cannot)?;
        }
        Recording::parse(bytes).map_err(in_file)
    }

    /// Parses a recording.
    ///
    /// # Errors
    ///
    /// Like [`read`](Recording::read).
    pub fn parse(bytes: Vec<u8>) -> Result<Recording, ReadError> {
        let mut parser = Parser { bytes: &bytes, at: 0 };
        parser.head()?;
        let mut found = Found::default();
        while !found.ended {
            parser.block(&mut found)?;
        }
        if parser.at != bytes.len() {
            return Err(damaged(parser.at, "there is more after its end"));
        }
        let Some((program, workers)) = found.about else {
            return Err(damaged(MAGIC.len() + 2, "it does not say what it is about"));
        };
        let Found { labels, blocks, events, ticks_per_second, .. } = found;
        let counted = blocks.iter().try_fold(0_u64, |sum, block| sum.checked_add(block.count));
        if counted != Some(events) {
            let what = format!("its blocks do not have the {events} events that its end says");
            return Err(wrong(parser.at, Reason::Damaged(what)));
        }
        let mut blocks = blocks;
        // A stable sort: the blocks of a track stay in order.
        blocks.sort_by_key(|block| block.track);
        Ok(Recording { bytes, program, workers, ticks_per_second, labels, blocks, events })
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The tracks, in ascending order.
    pub(crate) fn tracks(&self) -> Vec<Track> {
        let mut tracks: Vec<_> = self.blocks.iter().map(|block| block.track).collect();
        tracks.sort_unstable();
        tracks.dedup();
        tracks
    }

    /// Calls `each` with the events of a track, in order.
    pub(crate) fn replay(&self, track: Track, mut each: impl FnMut(Ev)) -> Result<(), ReadError> {
        let first = self.blocks.partition_point(|block| block.track < track);
        for block in self.blocks[first..].iter().take_while(|block| block.track == track) {
            let mut bytes = Bytes { rest: &self.bytes[block.events..block.end] };
            let at =
                bytes.array().map(u64::from_le_bytes).ok_or_else(|| damaged(block.start, "events without a time"))?;
            let mut before = Before { at, ..Before::default() };
            for _ in 0..block.count {
                let offset = block.end - bytes.rest.len();
                let event = get(&mut bytes, &mut before, self.labels.len() as u32);
                each(event.ok_or_else(|| damaged(offset, "an event that is none"))?);
            }
            if !bytes.rest.is_empty() {
                return Err(damaged(block.end - bytes.rest.len(), "more bytes than events"));
            }
        }
        Ok(())
    }
}

/// The content of the blocks.
#[derive(Default)]
struct Found {
    about: Option<(String, usize)>,
    labels: Vec<LabelText>,
    blocks: Vec<EventBlock>,
    ticks_per_second: f64,
    events: u64,
    ended: bool,
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn head(&mut self) -> Result<(), ReadError> {
        let begins = self.bytes.len().min(MAGIC.len());
        if self.bytes[..begins] != MAGIC[..begins] || self.bytes.is_empty() {
            return Err(wrong(0, Reason::NotOurs));
        }
        let Some(&[low, high]) = self.bytes.get(MAGIC.len()..MAGIC.len() + 2) else {
            return Err(wrong(self.bytes.len(), Reason::CutOff("before its version".to_owned())));
        };
        self.at = MAGIC.len() + 2;
        match u16::from_le_bytes([low, high]) {
            VERSION => Ok(()),
            other => Err(wrong(MAGIC.len(), Reason::Version(other))),
        }
    }

    fn block(&mut self, found: &mut Found) -> Result<(), ReadError> {
        let (start, rest) = (self.at, &self.bytes[self.at..]);
        let Some(head) = rest.get(..block::HEAD) else {
            let what = if rest.is_empty() { "it has no end" } else { "in the head of a block" };
            return Err(wrong(self.bytes.len(), Reason::CutOff(what.to_owned())));
        };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, checksum) = (word(1) as usize, word(5));
        let Some(payload) = rest[block::HEAD..].get(..length) else {
            let what = format!("a block of {length} bytes has only {}", rest.len() - block::HEAD);
            return Err(wrong(self.bytes.len(), Reason::CutOff(what)));
        };
        if crc32fast::hash(payload) != checksum {
            return Err(damaged(start, "the checksum of a block is wrong"));
        }
        self.at = start + block::HEAD + length;
        let payload_at = start + block::HEAD;
        let mut bytes = Bytes { rest: payload };
        let understood = match head[0] {
            block::ABOUT => about(&mut bytes).map(|about| found.about = Some(about)),
            block::LABEL => label(&mut bytes).map(|label| found.labels.push(label)),
            block::EVENTS => events(&mut bytes).map(|(track, count)| {
                let end = payload_at + length;
                found.blocks.push(EventBlock { track, count, start, end, events: end - bytes.rest.len() });
            }),
            block::END => end(&mut bytes).map(|(rate, events)| {
                (found.ticks_per_second, found.events, found.ended) = (rate, events, true);
            }),
            _ => None,
        };
        understood.ok_or_else(|| damaged(start, &format!("a block of kind {} that is none", head[0])))
    }
}

fn about(bytes: &mut Bytes<'_>) -> Option<(String, usize)> {
    let about = (bytes.text()?.to_owned(), usize::try_from(bytes.number()?).ok().filter(|&n| n <= MAX_WORKERS)?);
    bytes.byte().map(|_real_time| about)
}

fn label(bytes: &mut Bytes<'_>) -> Option<LabelText> {
    match bytes.byte()? {
        0 => Some(LabelText::Name(bytes.text()?.to_owned())),
        1 => Some(LabelText::Place(bytes.text()?.to_owned(), u32::try_from(bytes.number()?).ok()?)),
        _ => None,
    }
}

fn events(bytes: &mut Bytes<'_>) -> Option<(Track, u64)> {
    let number = u32::try_from(bytes.number()?).ok()?;
    let worker = match bytes.number()? {
        0 => None,
        more => Some(u32::try_from(more - 1).ok()?),
    };
    Some((Track { number, worker }, bytes.number()?))
}

fn end(bytes: &mut Bytes<'_>) -> Option<(f64, u64)> {
    let rate = f64::from_le_bytes(bytes.array()?);
    Some((rate, bytes.number()?)).filter(|_| RATES.contains(&rate))
}
