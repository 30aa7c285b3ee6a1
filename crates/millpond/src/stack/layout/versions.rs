//! The versions that a stack's frames use, for their handles (`depend::in_order`).

use std::ptr::NonNull;

use super::frames::Frames;
use crate::depend::in_order::{InOrder, Noted};
use crate::handle::Version;
use crate::panics::PanicPayload;
use crate::stack::layout::{link, out_of_line};
use crate::stack::thief::scan;
use crate::task::TaskRef;
use crate::worker::complete::report_drop;

impl Frames {
    /// The youngest frame uses a version from now on, if it does not yet.
    #[inline(always)]
    pub(crate) fn note(&self, noted: &Noted) {
        if !noted.is_in_use() {
            self.note_first(noted);
        }
    }

    #[inline(never)]
    fn note_first(&self, noted: &Noted) {
        noted.begin_use(self);
        self.in_use.borrow_mut().push(Some(NonNull::from(noted).cast()));
    }

    /// No closure uses the version any more, and its note is about to go: a scope further in, or of another runtime, takes over.
    #[cold]
    pub(crate) fn forget(&self, noted: &Noted) {
        let this = NonNull::from(noted).cast();
        let mut in_use = self.in_use.borrow_mut();
        // The others keep their places, which frames know.
        in_use.iter_mut().rfind(|version| **version == Some(this)).and_then(Option::take);
    }

    /// All closures of the youngest frame have ended, and are still there: it lets go of what it uses.
    pub(crate) fn end_uses(&self) {
        let frame = self.frame();
        // SAFETY: a frame's scope is there as long as the frame.
        unsafe { frame.scope_state.as_ref() }.end_epoch();
        while self.in_use.borrow().len() > frame.used_before as usize {
            let Some(version) = self.in_use.borrow_mut().pop().expect("there are some") else { continue };
            // SAFETY: in use until now.
            if unsafe { version.as_ref() }.meta().of::<InOrder>().end_use() {
                // SAFETY: its handle is gone, and nobody uses it any more.
                let dropped = unsafe { Version::free(version) };
                dropped.unwrap_or_else(|caught| self.report_drop(version, &caught));
            }
        }
    }

    /// The drop of a value panicked: that is told as a failure of the closure that was the last to use it. Blocks that lie
    /// elsewhere are gone by now.
    #[cold]
    fn report_drop(&self, version: NonNull<Version>, caught: &PanicPayload) {
        let uses =
            |this: &TaskRef| !out_of_line::is_one(*this) && scan::accesses(*this).any(|(used, _)| used == version);
        let closures = || link::closures(self.frame().first, self.top());
        let last = closures().filter(uses).last().or_else(|| closures().last());
        last.into_iter().for_each(|last| report_drop(last, caught));
    }

    /// A handle was dropped on another thread while tasks of this stack use its version; false if none does any more.
    #[cold]
    pub(crate) fn adopt_orphan(&self, noted: &Noted) -> bool {
        let mut orphans = self.orphans.lock();
        // Looked at under the lock: if it is in use, the orphans are taken later.
        let is_in_use = !noted.is_unused();
        if is_in_use {
            orphans.push(NonNull::from(noted).cast());
        }
        is_in_use
    }

    /// Frees the versions that nobody uses any more: all tasks of the stack have ended, and `end_uses` has come before.
    pub(crate) fn free_orphans(&self) {
        let orphans = std::mem::take(&mut *self.orphans.lock());
        for orphan in orphans {
            // SAFETY: its handle is gone, and all tasks have ended.
            let _has_nobody_to_tell = unsafe { Version::free(orphan) };
        }
    }
}
