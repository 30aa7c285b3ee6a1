//! One event as bytes, both ways.

use millpond::depend::Mode;
use millpond::record::{Cause, Event, Role, What};

use super::bytes::{Bytes, put_difference, put_number};

/// An event, as read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ev {
    pub(crate) at: u64,
    pub(crate) what: RawWhat,
}

/// [`What`], with numbers instead of labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RawWhat {
    Opened { scope: u64, within: u64, label: u32 },
    Session { scope: u64, label: u32 },
    Spawning { body: u64 },
    Spawned { role: Role, task: u64, spawner: u64, order: u64, label: u32 },
    Named { label: u32 },
    Indexed { count: u8, indices: [u32; 4] },
    Access { mode: Mode, datum: u64 },
    Issued { body: u64 },
    Granted { task: u64, by: u64, access: u16 },
    Handed { task: u64, by: u64, access: u16 },
    Started { task: u64 },
    Ended { body: u64, ok: bool },
    Completed { body: u64 },
    Waits { body: u64, cause: Cause, on: u64 },
    Resumed { body: u64 },
    Joined { body: u64, task: u64 },
    Set { body: u64, order: u64, datum: u64 },
    Stole,
    StoleClosures { closures: u32 },
    AtTheft,
    Idle,
    Awake,
}

const ROLES: [Role; 4] = [Role::Leaf, Role::Parent, Role::Combine, Role::Fork];
const MODES: [Mode; 6] = [Mode::Read, Mode::Write, Mode::Inout, Mode::Commutative, Mode::Concurrent, Mode::Reduce];
const CAUSES: [Cause; 5] = [Cause::Join, Cause::Datum, Cause::Written, Cause::Window, Cause::Others];

/// The previous values in a block, to which differences refer.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub(super) at: u64,
    pub(super) id: u64,
    pub(super) datum: u64,
}

/// Appends an event. `labels` numbers its labels.
pub(super) fn put(out: &mut Vec<u8>, event: &Event, before: &mut Before, labels: &mut impl Labels) {
    let kind_at = out.len();
    out.push(0);
    put_difference(out, before.at, event.at);
    before.at = event.at;
    let mut put = Put { out, before };
    let kind = match event.what {
        What::Opened { .. } | What::Session { .. } | What::Spawned { .. } | What::Named { .. } => {
            put.labelled(event.what, labels)
        }
        what => put.numbers(what),
    };
    out[kind_at] = kind;
}

/// Numbers labels.
pub(super) trait Labels {
    fn place(&mut self, place: &'static std::panic::Location<'static>) -> u32;
    fn name(&mut self, name: &'static str) -> u32;
}

struct Put<'a> {
    out: &'a mut Vec<u8>,
    before: &'a mut Before,
}

impl Put<'_> {
    /// Writes an event with a label. Returns its kind.
    fn labelled(&mut self, what: What, labels: &mut impl Labels) -> u8 {
        let (label, kind) = match what {
            What::Opened { scope, within, place } => {
                self.ids(&[scope, within]);
                (labels.place(place), 0)
            }
            What::Session { scope, place } => {
                self.ids(&[scope]);
                (labels.place(place), 34)
            }
            What::Spawned { role, task, spawner, order, place } => {
                self.ids(&[task, spawner]);
                put_number(self.out, order);
                (labels.place(place), 2 + role as u8)
            }
            What::Named { name } => (labels.name(name), 6),
            _ => unreachable!("an event without a label"),
        };
        put_number(self.out, label.into());
        kind
    }

    /// Writes an event of numbers only. Returns its kind.
    fn numbers(&mut self, what: What) -> u8 {
        match what {
            What::Spawning { body } => self.id(body, 1),
            What::Indexed { count, indices } => {
                put_number(self.out, count.into());
                indices.iter().take(count.into()).for_each(|&index| put_number(self.out, index.into()));
                7
            }
            What::Declared { mode, datum } => self.datum(datum, 8 + mode as u8),
            What::Issued { body } => self.id(body, 16),
            What::Granted { task, by, access } => self.release(task, by, access, 17),
            What::Handed { task, by, access } => self.release(task, by, access, 18),
            What::Started { task } => self.id(task, 19),
            What::Ended { body, ok } => self.id(body, 20 + u8::from(ok)),
            What::Completed { body } => self.id(body, 22),
            What::Waits { body, cause, on } => {
                self.ids(&[body]);
                match cause {
                    Cause::Datum | Cause::Written => self.datum(on, 23 + cause as u8),
                    _ => self.id(on, 23 + cause as u8),
                }
            }
            What::Resumed { body } => self.id(body, 28),
            What::Joined { body, task } => {
                self.ids(&[body, task]);
                29
            }
            What::Set { body, order, datum } => {
                self.ids(&[body]);
                put_number(self.out, order);
                self.datum(datum, 30)
            }
            What::Stole => 31,
            What::StoleClosures { closures } => {
                put_number(self.out, closures.into());
                35
            }
            What::AtTheft => 36,
            What::Idle => 32,
            What::Awake => 33,
            // This crate is built with the recorded runtime.
            _ => unreachable!("an event that the format has no kind for"),
        }
    }

    fn ids(&mut self, ids: &[u64]) {
        for &id in ids {
            put_difference(self.out, self.before.id, id);
            self.before.id = id;
        }
    }

    fn id(&mut self, id: u64, kind: u8) -> u8 {
        self.ids(&[id]);
        kind
    }

    fn datum(&mut self, datum: u64, kind: u8) -> u8 {
        put_difference(self.out, self.before.datum, datum);
        self.before.datum = datum;
        kind
    }

    fn release(&mut self, task: u64, by: u64, access: u16, kind: u8) -> u8 {
        self.ids(&[task, by]);
        put_number(self.out, access.into());
        kind
    }
}

/// Reads an event; `None` if the bytes are invalid.
pub(super) fn get(bytes: &mut Bytes<'_>, before: &mut Before, labels: u32) -> Option<Ev> {
    let kind = bytes.byte()?;
    before.at = bytes.difference(before.at)?;
    let at = before.at;
    let mut get = Get { bytes, before, labels };
    let what = match kind {
        0 => RawWhat::Opened { scope: get.id()?, within: get.id()?, label: get.label()? },
        1 => RawWhat::Spawning { body: get.id()? },
        2..=5 => {
            let (task, spawner) = (get.id()?, get.id()?);
            let role = ROLES[usize::from(kind - 2)];
            RawWhat::Spawned { role, task, spawner, order: get.bytes.number()?, label: get.label()? }
        }
        6 => RawWhat::Named { label: get.label()? },
        7 => get.indices()?,
        9..=14 => RawWhat::Access { mode: MODES[usize::from(kind - 9)], datum: get.datum()? },
        16 => RawWhat::Issued { body: get.id()? },
        17 => RawWhat::Granted { task: get.id()?, by: get.id()?, access: get.small()? },
        18 => RawWhat::Handed { task: get.id()?, by: get.id()?, access: get.small()? },
        19 => RawWhat::Started { task: get.id()? },
        20 | 21 => RawWhat::Ended { body: get.id()?, ok: kind == 21 },
        22 => RawWhat::Completed { body: get.id()? },
        23..=27 => {
            let (body, cause) = (get.id()?, CAUSES[usize::from(kind - 23)]);
            let data = matches!(cause, Cause::Datum | Cause::Written);
            RawWhat::Waits { body, cause, on: if data { get.datum()? } else { get.id()? } }
        }
        28 => RawWhat::Resumed { body: get.id()? },
        29 => RawWhat::Joined { body: get.id()?, task: get.id()? },
        30 => RawWhat::Set { body: get.id()?, order: get.bytes.number()?, datum: get.datum()? },
        31 => RawWhat::Stole,
        32 => RawWhat::Idle,
        33 => RawWhat::Awake,
        34 => RawWhat::Session { scope: get.id()?, label: get.label()? },
        35 => RawWhat::StoleClosures { closures: u32::try_from(get.bytes.number()?).ok()? },
        36 => RawWhat::AtTheft,
        _ => return None,
    };
    Some(Ev { at, what })
}

struct Get<'a, 'b> {
    bytes: &'a mut Bytes<'b>,
    before: &'a mut Before,
    labels: u32,
}

impl Get<'_, '_> {
    fn id(&mut self) -> Option<u64> {
        self.before.id = self.bytes.difference(self.before.id)?;
        Some(self.before.id)
    }

    fn datum(&mut self) -> Option<u64> {
        self.before.datum = self.bytes.difference(self.before.datum)?;
        Some(self.before.datum)
    }

    fn label(&mut self) -> Option<u32> {
        u32::try_from(self.bytes.number()?).ok().filter(|&label| label < self.labels)
    }

    fn small(&mut self) -> Option<u16> {
        u16::try_from(self.bytes.number()?).ok()
    }

    fn indices(&mut self) -> Option<RawWhat> {
        let count = u8::try_from(self.bytes.number()?).ok().filter(|&count| count <= 4)?;
        let mut indices = [0; 4];
        for index in &mut indices[..usize::from(count)] {
            *index = u32::try_from(self.bytes.number()?).ok()?;
        }
        Some(RawWhat::Indexed { count, indices })
    }
}
