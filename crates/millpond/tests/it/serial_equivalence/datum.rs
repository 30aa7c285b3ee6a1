//! The interpreter's data: a value, whether it was produced, and generations.

use super::model::{Causes, Why};
use super::program::{Id, Mode};
use super::value::{Plain, mix};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Unset,
    Produced,
    Failed(Causes),
}

#[derive(Clone, Debug)]
pub struct Datum {
    pub value: Plain,
    pub state: State,
    mode: Option<Mode>,
    generation: u64,
    /// The generation whose member failed: its other members run all the same.
    failed_in: u64,
}

/// What a datum holds at the start.
pub fn first(id: Id) -> Plain {
    Plain::fresh(mix(7, id as u64))
}

impl Datum {
    fn new(value: Plain, state: State) -> Self {
        Datum { value, state, mode: None, generation: 0, failed_in: 0 }
    }

    pub fn root(id: Id, set: bool) -> Self {
        Datum::new(first(id), if set { State::Produced } else { State::Unset })
    }

    /// What a parent with this access is given.
    pub fn hold(&self, mode: Mode) -> Self {
        match mode {
            Mode::Write => Datum::new(self.value, State::Unset),
            mode if mode.is_reduction() => Datum::new(Plain::IDENTITY, State::Produced),
            _ => Datum::new(self.value, State::Produced),
        }
    }

    /// Takes a parent's datum back; a private copy is combined unless its owner `panicked`.
    pub fn take_back(&mut self, mode: Mode, generation: u64, held: Datum, panicked: bool) {
        match mode {
            Mode::Read => {}
            Mode::Write | Mode::Inout => (self.value, self.state) = (held.value, held.state),
            Mode::Commutative | Mode::Concurrent => {
                self.value = held.value;
                self.fail_later(generation, held.state);
            }
            Mode::Add | Mode::Xor | Mode::Compose => {
                if held.state == State::Produced && !panicked {
                    self.combine(mode, held.value);
                }
                self.fail_later(generation, held.state);
            }
        }
    }

    /// Combines a part into the value. Nothing is checked: contributions order nothing.
    pub fn combine(&mut self, mode: Mode, part: Plain) {
        match mode {
            Mode::Add => self.value.add(part.sum),
            Mode::Xor => self.value.xor(part.bits),
            _ => self.value.compose(part.map),
        }
    }

    fn fail_later(&mut self, generation: u64, state: State) {
        if let State::Failed(causes) = state {
            self.fail_in(generation, causes);
        }
    }

    /// Enters an access; the number of its generation.
    pub fn enter(&mut self, mode: Mode) -> u64 {
        if self.mode != Some(mode) || matches!(mode, Mode::Write | Mode::Inout) {
            self.generation += 1;
            self.mode = Some(mode);
        }
        self.generation
    }

    /// Ends the generation: the scope itself waits for the value.
    pub fn interrupt(&mut self) {
        self.mode = None;
    }

    pub fn set(&mut self, value: Plain) {
        self.enter(Mode::Write);
        self.set_value(value);
    }

    pub fn set_value(&mut self, value: Plain) {
        self.value = value;
        self.state = State::Produced;
    }

    /// What a reader finds.
    pub fn look(&self) -> Result<Plain, Why> {
        match &self.state {
            State::Produced => Ok(self.value),
            State::Unset => Err(Why::NeverWritten(0)),
            State::Failed(causes) => Err(Why::Poisoned(causes.clone())),
        }
    }

    /// Why an access cannot be served.
    pub fn refuses(&self, mode: Mode, generation: u64, arg: usize) -> Option<Why> {
        match &self.state {
            State::Produced => None,
            _ if mode == Mode::Write => None,
            State::Unset => Some(Why::NeverWritten(arg)),
            State::Failed(_) if mode.is_group() && self.failed_in == generation => None,
            State::Failed(causes) => Some(Why::Poisoned(causes.clone())),
        }
    }

    /// A task with this access failed.
    pub fn poison(&mut self, mode: Mode, generation: u64, causes: Causes) {
        match mode {
            Mode::Read => {}
            Mode::Write | Mode::Inout => self.state = State::Failed(causes),
            _ => self.fail_in(generation, causes),
        }
    }

    pub fn fail_if_unset(&mut self, causes: Causes) {
        if self.state == State::Unset {
            self.state = State::Failed(causes);
        }
    }

    /// A member of a generation failed. A datum that was never written stays so.
    fn fail_in(&mut self, generation: u64, causes: Causes) {
        match &mut self.state {
            State::Unset => {}
            State::Produced => {
                self.state = State::Failed(causes);
                self.failed_in = generation;
            }
            State::Failed(known) if self.failed_in == generation => known.extend(causes),
            State::Failed(_) => {}
        }
    }
}
