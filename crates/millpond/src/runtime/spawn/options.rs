//! The options of a spawn.

use std::panic::Location;

use crate::error::Label;
use crate::record::Id;
use crate::task::Extras;

/// The options of a spawn, besides accesses and body.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    pub(crate) place: &'static Location<'static>,
    pub(crate) label: Option<Label>,
    pub(crate) bytes: usize,
    pub(crate) priority: i8,
    /// The task shares only its declared data with others, and its body does not wait. So a program
    /// cannot observe whether it runs at its spawn.
    pub(crate) portable: bool,
}

impl Options {
    #[inline]
    pub fn at(place: &'static Location<'static>) -> Self {
        Options { place, label: None, bytes: 0, priority: 0, portable: false }
    }

    /// The options of a portable task that is spawned at `place`.
    #[inline]
    pub fn portable(place: &'static Location<'static>) -> Self {
        Options { portable: true, ..Options::at(place) }
    }

    /// Whether no option needs extras.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.label.is_none() && self.bytes == 0
    }

    pub(crate) fn extras(&self) -> Extras {
        Extras { id: 0, label: self.label(), bytes: self.bytes }
    }

    /// The same, for a recorded task.
    pub(crate) fn recorded(&self, id: Id) -> Extras {
        Extras { id, label: self.label(), bytes: self.bytes }
    }

    #[inline]
    pub(crate) fn label(&self) -> Label {
        self.label.unwrap_or(Label::place(self.place))
    }
}
