//! Stealing: which processor a thief asks, what it takes, and what follows.

use super::{Machine, What};
use crate::config::Error;
use crate::frame::StackId;
use crate::network::Distance;
use crate::program::Program;
use crate::stack::{Position, Stack};

/// The size of a request for work, and of a refusal.
const REQUEST_BYTES: u64 = 64;

impl<P: Program> Machine<'_, P> {
    /// A processor without work begins another closure of its last theft. If there is none, it
    /// scans its own suspended stacks. If they have no ready closure, it asks another processor.
    pub(super) fn find_work(&mut self, number: usize) {
        // Earlier events of this processor no longer count.
        self.processors[number].stamp += 1;
        if !self.processors[number].alive {
            return;
        }
        if self.config.send_results {
            let ready = self.take_ready(number);
            if self.finished {
                return;
            }
            if let Some(id) = ready {
                return self.work_on(number, id);
            }
        }
        if let Some(id) = self.next_sent(number) {
            return self.work_on(number, id);
        }
        if self.take_from(number, number).is_some() {
            self.outcome.own_steals += self.processors[number].sent.len() as u64;
            if self.config.own_latency > 0.0 {
                return self.push(self.now + self.config.own_latency, number, What::Answered);
            }
            return self.answered(number);
        }
        if self.processors.len() > 1 {
            let victim = self.next_victim(number);
            let latency = self.topology.link(number, victim).latency;
            self.push(self.now + latency / 2.0, number, What::Asks { victim });
        }
    }

    /// Draws the victim of a thief's next request.
    fn next_victim(&mut self, thief: usize) -> usize {
        let processor = &mut self.processors[thief];
        let (among, without) = self.topology.candidates(thief, processor.tries);
        processor.tries += 1;
        let count = among.len() - without.len();
        // The last number of `count + 1` is not drawn.
        let victim = among.start + processor.victims.pick(count + 1, count);
        if victim >= without.start { victim + without.len() } else { victim }
    }

    /// The closure that a thief takes next from a processor: the first ready child on a suspended
    /// stack, else on the running stack. The oldest suspended stack comes first.
    fn find(&mut self, victim: usize) -> Option<Position> {
        let (program, end, stacks) = (self.program, self.config.end, &mut self.stacks);
        let victim = &self.processors[victim];
        victim.suspended.iter().chain(&victim.active).find_map(|&id| {
            let (frame, child) = stacks.get_mut(&id)?.find(program, end)?;
            Some(Position { stack: id, frame, child })
        })
    }

    /// A thief takes ready closures from a victim's stacks, as many as it takes at once. Each
    /// becomes the root of a stack, which is sent to the thief. Returns their total bytes, or
    /// `None` without closures.
    pub(super) fn take_from(&mut self, thief: usize, victim: usize) -> Option<u64> {
        let mut bytes = self.take(thief, victim)?;
        let processor = &mut self.processors[thief];
        processor.owed += self.config.at_once - 1.0;
        let more = processor.owed.trunc();
        processor.owed -= more;
        for _ in 0..more as u64 {
            let Some(other) = self.take(thief, victim) else { break };
            bytes += other;
        }
        Some(bytes)
    }

    /// A thief takes one closure of a victim. A stack with this root is sent to the thief.
    fn take(&mut self, thief: usize, victim: usize) -> Option<u64> {
        let position = self.find(victim)?;
        let id = self.next_stack + 1;
        let task = self.stack(position.stack).steal((position.frame, position.child), id);
        let bytes = self.program.bytes(&task);
        self.new_stack(Stack::new(self.program, task, Some(position), thief));
        self.processors[thief].sent.push_back(id);
        self.moving += 1;
        if self.processors[victim].active == Some(position.stack) && self.processors[victim].due > 0 {
            // The victim's next event is now earlier. With no work due, it is now.
            self.plan(victim, position.stack);
        }
        Some(bytes)
    }

    /// A request reaches a victim.
    pub(super) fn ask(&mut self, thief: usize, victim: usize) -> Result<(), Error> {
        self.send(REQUEST_BYTES, thief, victim);
        self.catch_up(victim);
        let Some(bytes) = self.take_from(thief, victim) else { return self.refuse(thief, victim) };
        self.count_steals(thief, victim);
        self.send(bytes, victim, thief);
        self.push(self.topology.link(thief, victim).arrival(self.now, bytes), thief, What::Answered);
        Ok(())
    }

    /// Counts the closures that a thief has just taken.
    fn count_steals(&mut self, thief: usize, victim: usize) {
        let (taken, distance) = (self.processors[thief].sent.len() as u64, self.topology.distance(thief, victim));
        let outcome = &mut self.outcome;
        outcome.steals += taken;
        let (local, remote) = if distance == Distance::Cluster { (taken, 0) } else { (0, taken) };
        outcome.local_steals += local;
        outcome.remote_steals += remote;
        if distance == Distance::Grid {
            outcome.distant_steals += taken;
        }
        if let Some(cluster) = outcome.clusters.get_mut(self.topology.cluster_of(thief)) {
            cluster.local_steals += local;
            cluster.remote_steals += remote;
        }
    }

    /// The victim has no ready closure. The thief gets a refusal.
    fn refuse(&mut self, thief: usize, victim: usize) -> Result<(), Error> {
        self.outcome.failed_attempts += 1;
        if self.outcome.failed_attempts.is_multiple_of(self.refusals_per_check) {
            self.check_refusals()?;
        }
        self.send(REQUEST_BYTES, victim, thief);
        if self.moving == 0
            && self.changes == 0
            && !self.stacks.values_mut().any(|s| s.find(self.program, self.config.end).is_some())
        {
            return Err(self.stuck());
        }
        if self.processors[thief].suspended.is_empty() {
            // After the refusal the next request follows at once, because nothing else can happen
            // to the thief.
            let next = self.next_victim(thief);
            let latencies = self.topology.link(thief, victim).latency + self.topology.link(thief, next).latency;
            self.push(self.now + latencies / 2.0, thief, What::Asks { victim: next });
        } else {
            self.push(self.now + self.topology.link(thief, victim).latency / 2.0, thief, What::Answered);
        }
        Ok(())
    }

    /// A thief gets its answer.
    pub(super) fn answered(&mut self, thief: usize) {
        match self.next_sent(thief) {
            Some(id) => self.work_on(thief, id),
            None => self.find_work(thief),
        }
    }

    /// The next closure to begin, of the last theft.
    fn next_sent(&mut self, thief: usize) -> Option<StackId> {
        let id = self.processors[thief].sent.pop_front()?;
        self.moving -= 1;
        Some(id)
    }

    /// Counts a message. It belongs to the clusters of both its ends.
    pub(super) fn send(&mut self, bytes: u64, from: usize, to: usize) {
        self.outcome.bytes += bytes;
        self.load.sent(self.now, bytes);
        let (from, to) = (self.topology.cluster_of(from), self.topology.cluster_of(to));
        for end in std::iter::once(from).chain(Some(to).filter(|&to| to != from)) {
            if let Some(cluster) = self.outcome.clusters.get_mut(end) {
                cluster.bytes += bytes;
                cluster.load.sent(self.now, bytes);
            }
        }
    }
}
