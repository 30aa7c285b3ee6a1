//! Stealing: whom a thief asks, what it takes, what comes of it.

use super::{Machine, What};
use crate::config::Error;
use crate::frame::StackId;
use crate::program::Program;
use crate::stack::{Place, Stack};

/// A request for work, and the refusal of one.
const REQUEST_BYTES: u64 = 64;

impl<P: Program> Machine<'_, P> {
    /// A processor without work looks for some: first on its own suspended stacks, then at another.
    pub(super) fn look(&mut self, number: usize) {
        // What it awaited before does not count any more.
        self.processors[number].stamp += 1;
        if !self.processors[number].alive {
            return;
        }
        if let Some(place) = self.find_suspended(number) {
            self.outcome.own_steals += 1;
            let id = self.take(number, place);
            return self.go_on(number, id);
        }
        let processors = self.processors.len();
        if processors > 1 {
            let victim = self.processors[number].victims.pick(processors, number);
            self.push(self.now + self.config.latency / 2.0, number, What::Asks { victim });
        }
    }

    /// The first ready child on the suspended stacks of a processor, the oldest stack first.
    fn find_suspended(&mut self, number: usize) -> Option<Place> {
        let (program, end, stacks) = (self.program, self.config.end, &mut self.stacks);
        self.processors[number].suspended.iter().find_map(|&id| {
            let (frame, child) = stacks.get_mut(&id)?.find(program, end)?;
            Some(Place { stack: id, frame, child })
        })
    }

    /// The thief takes what lies at a place: a stack with that at its root is on its way to it.
    fn take(&mut self, thief: usize, place: Place) -> StackId {
        let id = self.next_stack + 1;
        let (task, size) = self.stack(place.stack).steal((place.frame, place.child), id);
        self.new_stack(Stack::new(task, size, Some(place), thief))
    }

    /// A request comes to a victim.
    pub(super) fn ask(&mut self, thief: usize, victim: usize) -> Result<(), Error> {
        let answer = self.now + self.config.latency / 2.0;
        self.send(REQUEST_BYTES);
        self.catch_up(victim);
        let found = self.find_suspended(victim).or_else(|| {
            let id = self.processors[victim].active?;
            let (frame, child) = self.stacks.get_mut(&id)?.find(self.program, self.config.end)?;
            Some(Place { stack: id, frame, child })
        });
        let Some(place) = found else {
            self.outcome.failed_attempts += 1;
            if self.outcome.failed_attempts.is_multiple_of(self.refusals_a_look) {
                self.look_ahead()?;
            }
            self.send(REQUEST_BYTES);
            if self.moving == 0
                && self.changes == 0
                && !self.stacks.values_mut().any(|s| s.find(self.program, self.config.end).is_some())
            {
                return Err(self.stuck());
            }
            if self.processors[thief].suspended.is_empty() {
                // The refusal comes, and at once the next request goes out: nothing else can happen to the thief.
                let processors = self.processors.len();
                let next = self.processors[thief].victims.pick(processors, thief);
                self.push(self.now + self.config.latency, thief, What::Asks { victim: next });
            } else {
                self.push(answer, thief, What::Answered);
            }
            return Ok(());
        };
        self.outcome.steals += 1;
        let id = self.take(thief, place);
        if self.processors[victim].active == Some(place.stack) && self.processors[victim].due > 0 {
            // It now comes to something earlier. With nothing due it comes to something at this moment.
            self.plan(victim, place.stack);
        }
        let bytes = self.program.bytes(&self.stack(id).root_task());
        self.send(bytes);
        self.processors[thief].sent = Some(id);
        self.moving += 1;
        self.push(answer + bytes as f64 / self.config.bandwidth, thief, What::Answered);
        Ok(())
    }

    /// A thief gets its answer.
    pub(super) fn answered(&mut self, thief: usize) {
        match self.processors[thief].sent.take() {
            Some(id) => {
                self.moving -= 1;
                self.go_on(thief, id);
            }
            None => self.look(thief),
        }
    }

    fn send(&mut self, bytes: u64) {
        self.outcome.bytes += bytes;
        self.load.sent(self.now, bytes);
    }
}
