//! The form of a workload's tasks: portable tasks or closures.

use crate::options::{Kind, Opt, Options, Value};

/// The option for the form.
pub(crate) const TASKS: Opt = Opt {
    name: "tasks",
    help: "Portable tasks, which another process could run, or closures",
    kind: Kind::Choice(&[Form::Portable.name(), Form::Closures.name()]),
};

/// The form of tasks. The program is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Structs with registered names.
    Portable,
    /// Closures, which stay in their process.
    Closures,
}

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Closures => "closures",
        }
    }

    /// The requested form.
    pub(crate) fn new(options: &Options) -> Self {
        if options.get_choice(&TASKS) == Self::Closures.name() { Self::Closures } else { Self::Portable }
    }

    /// The form as a parameter.
    pub(crate) fn value(self) -> (&'static str, Value) {
        (TASKS.name, Value::Text(self.name().to_owned()))
    }
}
