//! The versions that a stack's frames use, for their handles (`stack::in_order`).

use std::ptr::NonNull;

use super::frames::Frames;
use crate::handle::Version;
use crate::panics::PanicPayload;
use crate::stack::in_order::{InOrder, Noted};
use crate::stack::layout::{link, out_of_line};
use crate::stack::thief::scan;
use crate::task::TaskRef;
use crate::worker::complete::report_drop;

impl Frames {
    /// Records that the youngest frame uses a version from now on, unless it already does.
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

    /// Removes a version that no closure uses any more, and whose note is about to go. A nested
    /// scope, or a scope of another runtime, takes it over.
    #[cold]
    pub(crate) fn forget(&self, noted: &Noted) {
        let this = NonNull::from(noted).cast();
        let mut in_use = self.in_use.borrow_mut();
        // The other versions keep their places, which frames know.
        in_use.iter_mut().rfind(|version| **version == Some(this)).and_then(Option::take);
    }

    /// Releases what the youngest frame uses. All its closures have ended, and are still in memory.
    pub(crate) fn end_uses(&self) {
        let frame = self.frame();
        // SAFETY: a frame's scope lives as long as the frame.
        unsafe { frame.scope_state.as_ref() }.end_epoch();
        while self.in_use.borrow().len() > frame.used_before as usize {
            let Some(version) = self.in_use.borrow_mut().pop().expect("there are some") else { continue };
            // SAFETY: the version was in use until now.
            if unsafe { version.as_ref() }.meta().of::<InOrder>().end_use() {
                // SAFETY: its handle is gone, and no task uses it any more.
                let dropped = unsafe { Version::free(version) };
                dropped.unwrap_or_else(|caught| self.report_drop(version, &caught));
            }
        }
    }

    /// Reports a panic in the drop of a value, as a failure of the last closure that used it. The
    /// blocks of out-of-line tasks are gone by now.
    #[cold]
    fn report_drop(&self, version: NonNull<Version>, caught: &PanicPayload) {
        let uses =
            |this: &TaskRef| !out_of_line::is_one(*this) && scan::accesses(*this).any(|(used, _)| used == version);
        let closures = || link::closures(self.frame().first, self.top());
        let last = closures().filter(uses).last().or_else(|| closures().last());
        last.into_iter().for_each(|last| report_drop(last, caught));
    }

    /// Takes over a version whose handle was dropped on another thread while tasks of this stack
    /// use it. Returns false if no task uses it any more.
    #[cold]
    pub(crate) fn adopt_orphan(&self, noted: &Noted) -> bool {
        let mut orphans = self.orphans.lock();
        // Checked under the lock: if the version is in use, the orphans are taken later.
        let is_in_use = !noted.is_unused();
        if is_in_use {
            orphans.push(NonNull::from(noted).cast());
        }
        is_in_use
    }

    /// Frees the orphans, which no task uses any more. All tasks of the stack have ended, and
    /// `end_uses` has run.
    pub(crate) fn free_orphans(&self) {
        let orphans = std::mem::take(&mut *self.orphans.lock());
        for orphan in orphans {
            // SAFETY: its handle is gone, and all tasks have ended.
            let _tells_none = unsafe { Version::free(orphan) };
        }
    }
}
