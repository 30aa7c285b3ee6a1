//! The options of a workload as data. The command line, its help and `list` are made from them.

use crate::Error;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// One option of a workload.
#[derive(Debug, Clone, Copy)]
pub struct Opt {
    /// The name without its dashes.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Its possible values.
    pub kind: Kind,
}

impl Opt {
    /// An integer in `min..=max`.
    pub(crate) const fn integer(
        name: &'static str,
        help: &'static str,
        (min, max): (u64, u64),
        default: Option<u64>,
    ) -> Self {
        Self { name, help, kind: Kind::Integer { min, max, default } }
    }

    /// A text of some form.
    pub(crate) const fn text(name: &'static str, form: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Text { form } }
    }

    /// An option without a value.
    pub(crate) const fn flag(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Flag }
    }

    /// A file.
    pub(crate) const fn path(name: &'static str, help: &'static str) -> Self {
        Self { name, help, kind: Kind::Path }
    }
}

/// The possible values of an option.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An integer in `min..=max`. Without a default the workload computes one.
    Integer {
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
        /// The default value.
        default: Option<u64>,
    },
    /// One of a few words. The first one is the default.
    Choice(&'static [&'static str]),
    /// A text of this form. The default is empty.
    Text {
        /// The form in the help.
        form: &'static str,
    },
    /// A file.
    Path,
    /// No value: the option is given or not.
    Flag,
}

/// The value of an option, of a parameter after defaults, or of a result.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An exact integer.
    Integer(u64),
    /// A floating point number.
    Float(f64),
    /// Whether a condition holds.
    Flag(bool),
    /// A word.
    Text(String),
    /// A file.
    Path(PathBuf),
    /// A count per name.
    Counts(Vec<(String, u64)>),
    /// The parameter does not apply.
    None,
}

/// The given options, by name. Others have their defaults.
#[derive(Debug, Clone, Default)]
pub struct Options(BTreeMap<&'static str, Value>);

impl Options {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an integer.
    #[must_use]
    pub fn integer(mut self, name: &'static str, value: u64) -> Self {
        self.0.insert(name, Value::Integer(value));
        self
    }

    /// Adds a word.
    #[must_use]
    pub fn text(mut self, name: &'static str, value: &str) -> Self {
        self.0.insert(name, Value::Text(value.to_owned()));
        self
    }

    /// Adds a file.
    #[must_use]
    pub fn path(mut self, name: &'static str, value: impl Into<PathBuf>) -> Self {
        self.0.insert(name, Value::Path(value.into()));
        self
    }

    /// Adds an option without a value.
    ///
    /// ```
    /// let options = millpond_workloads::Options::new().path("input", "a.mtx").flag("lower");
    /// ```
    #[must_use]
    pub fn flag(mut self, name: &'static str) -> Self {
        self.0.insert(name, Value::Flag(true));
        self
    }

    /// The integer given for `opt`, checked against its range, or its default.
    pub(crate) fn get_integer(&self, opt: &Opt) -> Result<Option<u64>, Error> {
        let Kind::Integer { min, max, default } = opt.kind else { return Ok(None) };
        match self.0.get(opt.name) {
            Some(&Value::Integer(value)) if !(min..=max).contains(&value) => {
                Err(Error::Range { option: opt.name, value, min, max, why: "" })
            }
            Some(&Value::Integer(value)) => Ok(Some(value)),
            _ => Ok(default),
        }
    }

    /// The integer given for `opt`, which has a default.
    pub(crate) fn get(&self, opt: &Opt) -> Result<u64, Error> {
        Ok(self.get_integer(opt)?.unwrap_or_default())
    }

    /// The word given for `opt`, or the first of its choices.
    pub(crate) fn get_choice(&self, opt: &Opt) -> &'static str {
        let Kind::Choice(choices) = opt.kind else { return "" };
        let given = match self.0.get(opt.name) {
            Some(Value::Text(word)) => word.as_str(),
            _ => choices[0],
        };
        choices.iter().find(|c| **c == given).unwrap_or(&choices[0])
    }

    /// The text given for `opt`, or none.
    pub(crate) fn get_text(&self, opt: &Opt) -> &str {
        match self.0.get(opt.name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// The file given for `opt`.
    pub(crate) fn get_path(&self, opt: &Opt) -> Option<PathBuf> {
        match self.0.get(opt.name) {
            Some(Value::Path(path)) => Some(path.clone()),
            _ => None,
        }
    }

    /// Whether the option was given.
    pub(crate) fn has(&self, opt: &Opt) -> bool {
        self.0.contains_key(opt.name)
    }
}
