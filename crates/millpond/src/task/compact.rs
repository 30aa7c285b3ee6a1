//! A compact task of a stack (`stack::layout::push`). Data common to all tasks of its type are
//! stored with the type.
//!
//! The frame of a compact parent is made when the parent runs (`stack::owner::parent`).
//!
//! ```text
//!   0  Header                        its first word is not used, since such a task has no join
//!  56  the version × accesses        8 bytes each; with the mode, if the type does not give it
//!   …  payload                       the closure and the shape of its accesses
//!   …  Label                         only of a task with a name; the header says where
//! ```
//!
//! The type of most tasks says which modes their accesses have ([`Form::Fixed`]). For the others,
//! such as those with a `Vec`, the header has the number of accesses, and the low bits of each
//! version's address hold the mode ([`Form::Counted`]).

use std::alloc::Layout;
use std::ptr::NonNull;

use super::{Block, Extras, Header, NewTask, Record, Role, Shape, TaskRef, flag};
use crate::error::{Error, Label};
use crate::handle::Version;
use crate::mode::Mode;

/// The part of a vtable for compact tasks.
#[derive(Debug)]
pub(crate) struct CompactKind {
    /// Runs the body of the next task in reference order, so everything before it has finished. The
    /// worker is passed erased. If it fails without an error, the body must not run, and has not.
    pub(crate) run: unsafe fn(TaskRef, *const ()) -> Result<(), Option<Error>>,
    /// The payload's layout.
    pub(crate) payload: Layout,
    /// The modes, if the type fixes them. Otherwise they are with the versions.
    modes: Option<Modes>,
    /// Bit `n` is set if access `n` is a `write`. If the type does not fix the modes: [`COUNTED`].
    writes: u64,
}

/// See `CompactKind::writes`. The number of a bit, above those of all modes that a type fixes.
const COUNTED: u32 = 63;

impl CompactKind {
    /// The compact form of tasks whose accesses have this form. `None` if they have none.
    pub(crate) const fn new(
        form: Form,
        payload: Layout,
        run: unsafe fn(TaskRef, *const ()) -> Result<(), Option<Error>>,
    ) -> Option<Self> {
        let writes = match form {
            Form::Fixed(modes) => modes.writes(),
            Form::Counted => 1 << COUNTED,
            Form::Other => return None,
        };
        Some(CompactKind { run, payload, modes: form.modes(), writes })
    }
}

/// What the type of a task's accesses says about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The modes, and how many there are.
    Fixed(Modes),
    /// Each mode is `read`, `write` or `inout`. The spawn knows how many there are.
    Counted,
    /// There may be other modes.
    Other,
}

impl Form {
    /// No access.
    pub(crate) const NONE: Form = Form::Fixed(Modes::NONE);

    /// One access of this mode.
    pub(crate) const fn of(mode: Mode) -> Form {
        match Modes::of(mode) {
            Some(modes) => Form::Fixed(modes),
            None => Form::Other,
        }
    }

    /// The accesses of both, one after the other.
    pub(crate) const fn then(first: Form, next: Form) -> Form {
        match (first, next) {
            (Form::Other, _) | (_, Form::Other) => Form::Other,
            (Form::Fixed(first), Form::Fixed(next)) => match Modes::then(first, next) {
                Some(modes) => Form::Fixed(modes),
                None => Form::Counted,
            },
            _ => Form::Counted,
        }
    }

    /// The modes, if the type fixes them.
    #[inline(always)]
    pub(crate) const fn modes(self) -> Option<Modes> {
        match self {
            Form::Fixed(modes) => Some(modes),
            Form::Counted | Form::Other => None,
        }
    }

    /// Whether a compact task keeps the mode of each access.
    #[inline(always)]
    pub(crate) const fn keeps_modes(self) -> bool {
        matches!(self, Form::Counted)
    }

    /// Such accesses, any number of times.
    pub(crate) const fn repeated(self) -> Form {
        match self {
            Form::Fixed(_) | Form::Counted => Form::Counted,
            Form::Other => Form::Other,
        }
    }
}

/// The modes of some accesses, each `read`, `write` or `inout`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    bits: u64,
    pub(crate) count: usize,
}

/// Bits of a mode.
const WIDTH: usize = 3;

impl Modes {
    /// The modes of no access.
    pub(crate) const NONE: Modes = Modes { bits: 0, count: 0 };

    /// The mode of one access. `None` if it is not one of these three modes.
    pub(crate) const fn of(mode: Mode) -> Option<Modes> {
        match mode {
            Mode::Read | Mode::Write | Mode::Inout => Some(Modes { bits: mode as u64, count: 1 }),
            _ => None,
        }
    }

    /// The modes of both. `None` if there is no room for all of them.
    const fn then(first: Modes, next: Modes) -> Option<Modes> {
        let count = first.count + next.count;
        if count * WIDTH >= u64::BITS as usize {
            return None;
        }
        Some(Modes { bits: first.bits | next.bits << (first.count * WIDTH), count })
    }

    /// Bit `n` is set if access `n` is a `write`.
    const fn writes(self) -> u64 {
        let (mut writes, mut index) = (0, 0);
        while index < self.count {
            if self.bits >> (index * WIDTH) & MODE as u64 == Mode::Write as u64 {
                writes |= 1 << index;
            }
            index += 1;
        }
        writes
    }

    /// The mode of the access `index`.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> Mode {
        Mode::of((self.bits >> (index * WIDTH)) as u32 & ((1 << WIDTH) - 1))
    }
}

/// Bits of a version's address that hold a mode.
const MODE: usize = (1 << WIDTH) - 1;

const _: () = assert!(align_of::<Version>() > MODE && size_of::<Version>() > MODE);

/// A version with the mode of an access to it, in one word.
#[inline]
pub(crate) fn with_mode(version: NonNull<Version>, mode: Mode) -> NonNull<Version> {
    // SAFETY: a mode is less than the version's size.
    unsafe { version.byte_add(mode as usize) }
}

/// The version of such a word.
#[inline]
pub(crate) fn without_mode(word: NonNull<Version>) -> NonNull<Version> {
    // SAFETY: `with_mode` added as much, because versions are aligned.
    unsafe { word.byte_sub(word.addr().get() & MODE) }
}

/// The accesses of a compact task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uses<'a> {
    /// The versions, with their modes if the type does not fix these.
    words: &'a [NonNull<Version>],
    modes: Option<Modes>,
}

impl<'a> Uses<'a> {
    /// The accesses to these versions.
    ///
    /// # Safety
    ///
    /// There is a version for each mode, or each word was made by `with_mode`. The versions are in
    /// use for `'a`.
    #[inline(always)]
    pub(crate) unsafe fn new(words: &'a [NonNull<Version>], modes: Option<Modes>) -> Self {
        Uses { words, modes }
    }

    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.words.len()
    }

    /// The words, and whether they have the modes.
    #[inline(always)]
    pub(crate) fn words(self) -> (&'a [NonNull<Version>], bool) {
        (self.words, self.modes.is_none())
    }

    /// The version of the access `index`.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> NonNull<Version> {
        if self.modes.is_some() { self.words[index] } else { without_mode(self.words[index]) }
    }

    /// The same version.
    #[inline(always)]
    pub(crate) fn version(self, index: usize) -> &'a Version {
        // SAFETY: it is in use (`new`).
        unsafe { self.at(index).as_ref() }
    }

    /// The mode of the access `index`.
    #[inline(always)]
    pub(crate) fn mode(self, index: usize) -> Mode {
        match self.modes {
            Some(modes) => modes.at(index),
            None => Mode::of((self.words[index].addr().get() & MODE) as u32),
        }
    }

    /// Whether all inputs are available.
    #[inline(always)]
    pub(crate) fn may_run(self) -> bool {
        let Some(modes) = self.modes else { return first_without_value(self.words, false).is_none() };
        // SAFETY: it is in use (`new`).
        let is_produced = |index: usize| unsafe { self.words[index].as_ref() }.is_produced();
        (0..self.count()).all(|index| modes.at(index) == Mode::Write || is_produced(index))
    }

    /// The first `write` whose version has no value.
    #[inline(always)]
    #[expect(clippy::manual_find, reason = "a closure would be a call instead of one comparison")]
    pub(crate) fn first_unwritten(self) -> Option<usize> {
        let Some(modes) = self.modes else { return first_without_value(self.words, true) };
        for index in 0..self.count() {
            // SAFETY: it is in use (`new`).
            if modes.at(index) == Mode::Write && !unsafe { self.words[index].as_ref() }.is_produced() {
                return Some(index);
            }
        }
        None
    }
}

/// The first `write`, or the first other access, whose version has no value. The words have the
/// modes. It is one function for all types that do not fix these. It takes no `Uses`, which would
/// have to be in memory for that.
#[inline(never)]
fn first_without_value(words: &[NonNull<Version>], writes: bool) -> Option<usize> {
    // SAFETY: the words are those of `Uses`.
    let uses = unsafe { Uses::new(words, None) };
    (0..words.len()).find(|&at| (uses.mode(at) == Mode::Write) == writes && !uses.version(at).is_produced())
}

/// The offset of the payload from the header in bytes, for a task with this many accesses.
#[inline(always)]
const fn payload_at(accesses: usize, align: usize) -> usize {
    (size_of::<Header>() + accesses * size_of::<NonNull<Version>>()).next_multiple_of(align)
}

/// The size of a task in bytes.
#[inline(always)]
pub(crate) const fn size(accesses: usize, payload: Layout, has_label: bool) -> usize {
    if has_label {
        label_at(accesses, payload) + size_of::<Label>()
    } else {
        payload_at(accesses, payload.align()) + payload.size()
    }
}

/// The offset of a task's label from the header in bytes.
const fn label_at(accesses: usize, payload: Layout) -> usize {
    (payload_at(accesses, payload.align()) + payload.size()).next_multiple_of(LABEL_UNIT)
}

/// A header has the offset of the label in this unit, in bytes.
const LABEL_UNIT: usize = 8;

const _: () = assert!(align_of::<Label>() <= LABEL_UNIT && size_of::<Header>().is_multiple_of(LABEL_UNIT));

/// Whether a task of this size may have a label.
pub(crate) const fn may_have_label(size: usize) -> bool {
    size / LABEL_UNIT <= u16::MAX as usize
}

impl TaskRef {
    /// Makes a compact task, except its versions and its payload. `stride` is the distance to the
    /// next closure.
    ///
    /// # Safety
    ///
    /// There is room for it, which no other code uses.
    #[inline(always)]
    pub(crate) unsafe fn place_at(at: NonNull<u8>, stride: usize, is_portable: bool, new: NewTask) -> TaskRef {
        let flags = match new.vtable.role {
            Role::Nest if is_portable => flag::COMPACT_PARENT | flag::PORTABLE,
            Role::Nest => flag::COMPACT_PARENT,
            _ => flag::COMPACT,
        };
        let header: NonNull<Header> = at.cast();
        // SAFETY: the caller provides the place, and it is large enough.
        unsafe { Header::place_at(header, stride as u32, flags, new) };
        TaskRef(header)
    }

    /// The compact form in the vtable of a compact task.
    #[inline(always)]
    fn compact(self) -> &'static CompactKind {
        debug_assert!(self.header().is_compact());
        // SAFETY: a compact task is made only of types that have this entry
        // (`stack::layout::push`).
        unsafe { self.header().vtable().compact.as_ref().unwrap_unchecked() }
    }

    /// Where the versions of a compact task are.
    #[inline(always)]
    pub(crate) fn compact_versions(self) -> NonNull<NonNull<Version>> {
        self.at(size_of::<Header>())
    }

    /// The accesses of a compact task.
    pub(crate) fn compact_accesses(self) -> impl Iterator<Item = (NonNull<Version>, Mode)> {
        let uses = self.compact_uses();
        (0..uses.count()).map(move |index| (uses.at(index), uses.mode(index)))
    }

    /// The same.
    #[inline(always)]
    pub(crate) fn compact_uses<'a>(self) -> Uses<'a> {
        // SAFETY: the modes are those of its type, and the header has their number.
        unsafe { self.some_uses(self.header().accesses() as usize, self.compact().modes) }
    }

    /// The same, for code that knows the modes.
    ///
    /// # Safety
    ///
    /// The task's type has these modes.
    #[inline(always)]
    pub(crate) unsafe fn compact_uses_of<'a>(self, modes: Option<Modes>) -> Uses<'a> {
        let count = modes.map_or_else(|| self.header().accesses() as usize, |modes| modes.count);
        // SAFETY: as the caller promises.
        unsafe { self.some_uses(count, modes) }
    }

    /// # Safety
    ///
    /// The task's type has these modes, and this is the number of its accesses.
    #[inline(always)]
    unsafe fn some_uses<'a>(self, count: usize, modes: Option<Modes>) -> Uses<'a> {
        // SAFETY: this many versions were written, and stay.
        let words = unsafe { std::slice::from_raw_parts(self.compact_versions().as_ptr(), count) };
        // SAFETY: the spawn wrote them for these modes, and the task has them in use.
        unsafe { Uses::new(words, modes) }
    }

    /// Whether some `write` of a compact task has no value: `first_unwritten`, for code that does
    /// not know the modes.
    #[inline(always)]
    pub(crate) fn has_unwritten(self) -> bool {
        let mut writes = self.compact().writes;
        while writes != 0 {
            let index = writes.trailing_zeros();
            if index == COUNTED {
                return self.compact_uses().first_unwritten().is_some();
            }
            // SAFETY: the task has an access with this index.
            let at = unsafe { self.compact_versions().add(index as usize) };
            // SAFETY: the version was written, and no mode is with it.
            let version = unsafe { at.read() };
            // SAFETY: the task has an access to it.
            if !unsafe { version.as_ref() }.is_produced() {
                return true;
            }
            writes &= writes - 1;
        }
        false
    }

    /// Writes the label of a compact task with this payload.
    ///
    /// # Safety
    ///
    /// There is room for it (`size`), the task [may have one](may_have_label), and no other thread
    /// knows the task.
    pub(crate) unsafe fn write_compact_label(self, accesses: usize, payload: Layout, label: Label) {
        // SAFETY: as the caller promises.
        unsafe { self.write_label_at(label_at(accesses, payload), label) };
    }

    /// The same, for a label at any offset.
    ///
    /// # Safety
    ///
    /// As above, for this offset.
    pub(crate) unsafe fn write_label_at(self, offset: usize, label: Label) {
        let at: NonNull<Label> = self.at(offset);
        // SAFETY: as the caller promises.
        unsafe { at.write(label) };
        self.header().label_or_link.set((offset / LABEL_UNIT) as u16);
    }

    /// Makes the label void. Another task will be made in this place.
    pub(crate) fn forget_compact_label(self) {
        self.header().label_or_link.set(0);
    }

    /// The label with a name that the spawn gave to this task, if it is a compact task.
    ///
    /// The word of any other task may be a pool's link. If the task has a join, the pool may even
    /// change the word while the join's thread asks for the label.
    #[inline]
    pub(crate) fn compact_label(self) -> Option<Label> {
        let header = self.header();
        // The flags of a future may be those of a compact leaf (`flag::SUSPENDED`).
        if header.role() == Role::Future || !header.is_compact() {
            return None;
        }
        let offset = usize::from(header.label_or_link.get()) * LABEL_UNIT;
        // SAFETY: the header says that a label was written there. It stays as long as the header.
        (offset != 0).then(|| unsafe { self.at::<Label>(offset).read() })
    }

    /// Where the payload of a compact task is.
    #[inline(always)]
    pub(crate) fn compact_payload(self, accesses: usize, align: usize) -> NonNull<()> {
        self.at(payload_at(accesses, align))
    }

    /// Runs a compact task, as `CompactKind::run` does.
    ///
    /// # Safety
    ///
    /// It comes next in reference order, and no other thread runs it. The worker belongs to a
    /// runtime of its engine.
    #[inline(always)]
    pub(crate) unsafe fn run_compact(self, worker: *const ()) -> Result<(), Option<Error>> {
        // SAFETY: as the caller promises.
        unsafe { (self.compact().run)(self, worker) }
    }

    /// Expands a compact task: moves it into a block of the usual form from `alloc`, with its
    /// payload.
    #[cold]
    pub(crate) fn expand(self, alloc: impl FnOnce(usize) -> Block) -> TaskRef {
        let (header, payload) = (self.header(), self.compact().payload);
        let (vtable, accesses) = (header.vtable(), header.accesses() as usize);
        let extras = self.compact_label().map(|label| Extras { id: 0, label, bytes: 0 });
        let shape = Shape { extras: extras.is_some(), accesses, nest: vtable.role == Role::Nest };
        let new = NewTask {
            vtable,
            scope: header.scope(),
            order: header.order(),
            place: header.place(),
            priority: 0,
            extras,
            accesses,
        };
        // SAFETY: the block is new and has that size.
        let task = unsafe { TaskRef::create(alloc(shape.block_size(payload)), new) };
        for (index, (version, mode)) in self.compact_accesses().enumerate() {
            let record = Record::new(version.cast(), task.record_behind(index), 0, mode, false);
            // SAFETY: the block has room for this many records.
            let at = unsafe { task.records_at().add(index) };
            // SAFETY: as above; no other code uses it.
            unsafe { at.write(record) };
            if mode == Mode::Write {
                task.add_flags(flag::WRITE);
            }
        }
        let (from, to) = (self.compact_payload(accesses, payload.align()), task.payload_at(payload.align()));
        // SAFETY: the payload is moved to another block, which has room for it.
        unsafe { from.cast::<u8>().copy_to_nonoverlapping(to.cast(), payload.size()) };
        task
    }
}
