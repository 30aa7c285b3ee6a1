//! Call frames: a called body has one in place of a frame.

use std::cell::{Cell, UnsafeCell};
use std::mem::{MaybeUninit, offset_of};
use std::ptr::NonNull;

use super::MAX_PARENT_ACCESSES;
use crate::depend::tracker::SchemeOps;
use crate::error::Label;
use crate::handle::{Datum, Version};
use crate::stack::in_order::InOrder;
use crate::stack::layout::frames::Frames;
use crate::stack::owner::parent::open_version;
use crate::task::{Header, NewTask, TaskRef, Uses};
use crate::worker::scope_state::ScopeState;

#[repr(C, align(64))]
pub(super) struct CallFrameFields {
    scope_state: MaybeUninit<ScopeState>,
    virtual_frame: MaybeUninit<VirtualFrame>,
    views: [MaybeUninit<Datum>; MAX_PARENT_ACCESSES],
    after: Cell<Option<CallFrame>>,
    /// Whether all fields are initialised. Later bodies write only their own values. The next
    /// access sets the mode and the generation of views.
    made: Cell<bool>,
}

/// A parent as a compact task without its payload.
#[repr(C, align(64))]
struct VirtualFrame {
    header: Header,
    versions: [NonNull<Version>; MAX_PARENT_ACCESSES],
    /// Written if the parent has a name (`name_virtual_frame`).
    label: MaybeUninit<Label>,
}

/// A pointer to the call frame of one called body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallFrame(NonNull<CallFrameFields>);

impl CallFrameFields {
    pub(super) fn empty() -> CallFrameFields {
        CallFrameFields {
            scope_state: MaybeUninit::uninit(),
            // `TaskRef::place_at` does not write the header's state.
            virtual_frame: MaybeUninit::zeroed(),
            views: [const { MaybeUninit::uninit() }; MAX_PARENT_ACCESSES],
            after: Cell::new(None),
            made: Cell::new(false),
        }
    }
}

impl CallFrame {
    pub(super) fn of(fields: &UnsafeCell<CallFrameFields>) -> Self {
        CallFrame(NonNull::from(fields).cast())
    }

    /// The part of the call frame at this offset in bytes.
    #[inline(always)]
    fn at<T>(self, offset: usize) -> NonNull<T> {
        // SAFETY: the offset is inside the call frame.
        unsafe { self.0.byte_add(offset) }.cast()
    }

    pub(super) fn scope_state_at(self) -> NonNull<ScopeState> {
        self.at(offset_of!(CallFrameFields, scope_state))
    }

    /// The scope of the call frame's body.
    ///
    /// # Safety
    ///
    /// The scope was made, and the body is not over.
    #[inline(always)]
    pub(crate) unsafe fn scope_state<'a>(self) -> &'a ScopeState {
        // SAFETY: as the caller promises.
        unsafe { self.scope_state_at().as_ref() }
    }

    /// The parent of the call frame's body, without its payload.
    #[inline(always)]
    pub(crate) fn virtual_frame(self) -> TaskRef {
        TaskRef(self.at(offset_of!(CallFrameFields, virtual_frame)))
    }

    /// The first of the body's views of the data that it declared.
    #[inline(always)]
    pub(crate) fn views(self) -> NonNull<Datum> {
        self.at(offset_of!(CallFrameFields, views))
    }

    /// The next call frame.
    #[inline(always)]
    pub(super) fn after<'a>(self) -> &'a Cell<Option<CallFrame>> {
        // SAFETY: the cell is initialised with the call frame, and only the stack's owner uses it,
        // which calls this.
        unsafe { self.at(offset_of!(CallFrameFields, after)).as_ref() }
    }

    #[inline(always)]
    pub(super) fn made<'a>(self) -> &'a Cell<bool> {
        // SAFETY: as above.
        unsafe { self.at(offset_of!(CallFrameFields, made)).as_ref() }
    }

    /// Makes the virtual frame of a parent, except its versions.
    ///
    /// # Safety
    ///
    /// The call frame is not in use.
    #[inline(always)]
    pub(crate) unsafe fn push_virtual_frame(self, new: NewTask) {
        if self.made().get() {
            // SAFETY: as the caller promises; the other fields are as they were first made.
            unsafe { Header::place_again(self.virtual_frame().0, new) };
        } else {
            // SAFETY: as the caller promises.
            unsafe { TaskRef::place_at(self.at(offset_of!(CallFrameFields, virtual_frame)), 0, true, new) };
        }
    }

    /// Gives the parent its label.
    ///
    /// # Safety
    ///
    /// The virtual frame was made, and no other thread knows it.
    pub(crate) unsafe fn name_virtual_frame(self, label: Label) {
        // SAFETY: a virtual frame has room for a label there, and its offset is small.
        unsafe { self.virtual_frame().write_label_at(offset_of!(VirtualFrame, label), label) };
    }

    /// The parent has ended. The next one may have no name.
    #[inline]
    pub(crate) fn forget_name(self) {
        self.virtual_frame().forget_compact_label();
    }

    /// Makes the scope of a body, and its views.
    ///
    /// # Safety
    ///
    /// The call frame is not in use. Its virtual frame is that of a parent with these accesses,
    /// which scope `parent` calls on the worker of `seat`.
    #[inline(always)]
    pub(crate) unsafe fn make(self, frames: &Frames, parent: &ScopeState, seat: usize, uses: Uses<'_>) {
        if self.made().get() {
            // SAFETY: as the caller promises.
            unsafe { ScopeState::renew(self.scope_state_at(), parent, seat) };
        } else {
            // SAFETY: as above.
            unsafe { self.make_first(frames, parent, seat) };
        }
        for index in 0..uses.count() {
            open_version(uses.version(index), uses.mode(index));
            // SAFETY: the call frame has a view for each version.
            let view = unsafe { self.views().add(index) };
            // SAFETY: the view was made.
            unsafe { view.as_ref() }.renew_view(uses.at(index));
        }
    }

    /// # Safety
    ///
    /// As for `make`.
    #[cold]
    unsafe fn make_first(self, frames: &Frames, parent: &ScopeState, seat: usize) {
        // SAFETY: as the caller promises.
        unsafe {
            ScopeState::nest_in_frame(
                self.scope_state_at(),
                parent,
                self.virtual_frame(),
                seat,
                NonNull::from(frames).cast(),
            )
        };
        for index in 0..MAX_PARENT_ACCESSES {
            // SAFETY: the call frame has this many views.
            let view = unsafe { self.views().add(index) };
            // SAFETY: as the caller promises.
            unsafe { view.write(Datum::view(NonNull::dangling(), SchemeOps::of::<InOrder>())) };
        }
        self.made().set(true);
    }
}
