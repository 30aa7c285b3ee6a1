//! Loom models of the deque: no task is lost or taken twice, and a task's putter happens before its
//! taker.

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};

use super::*;
use crate::pool::testing::{Payloads, number};

/// A deque and the tasks 1 to `tasks`. The owner runs on the thread of the model.
struct Model {
    owner: Owner,
    thief: Thief,
    payloads: Arc<Payloads>,
    thieves: Vec<JoinHandle<()>>,
}

impl Model {
    fn new(capacity: usize, tasks: usize) -> Self {
        let (owner, thief) = new(capacity);
        Model { owner, thief, payloads: Arc::new(Payloads::new(tasks)), thieves: Vec::new() }
    }

    fn push(&mut self, numbers: std::ops::RangeInclusive<usize>) {
        for n in numbers {
            self.owner.push(self.payloads.fill(n));
        }
    }

    fn pop(&mut self) {
        if let Some(task) = self.owner.pop() {
            self.payloads.empty(task);
        }
    }

    /// Starts a thread that tries to steal `attempts` times.
    fn thief(&mut self, attempts: usize) {
        let (thief, payloads) = (self.thief.clone(), self.payloads.clone());
        self.thieves.push(thread::spawn(move || {
            for _ in 0..attempts {
                if let Steal::Task(task) = thief.steal() {
                    payloads.empty(task);
                }
            }
        }));
    }

    /// Takes the remaining tasks, and checks.
    fn finish(mut self) {
        while let Some(task) = self.owner.pop() {
            self.payloads.empty(task);
        }
        self.thieves.drain(..).for_each(|thief| thief.join().unwrap());
        assert_eq!(self.owner.pop(), None);
        Arc::get_mut(&mut self.payloads).unwrap().check();
    }
}

#[test]
fn push_publish_pop() {
    loom::model(|| {
        let mut model = Model::new(4, 3);
        model.thief(2);
        model.push(1..=2);
        model.owner.publish(1);
        model.push(3..=3);
        model.pop();
        model.finish();
    });
}

#[test]
fn last_task() {
    loom::model(|| {
        let mut model = Model::new(2, 2);
        model.push(1..=1);
        model.owner.publish(0);
        model.thief(2);
        model.pop();
        model.push(2..=2);
        model.owner.publish(0);
        model.finish();
    });
}

#[test]
fn last_task_two_thieves() {
    loom::model(|| {
        let mut model = Model::new(2, 2);
        model.push(1..=1);
        model.owner.publish(0);
        model.thief(1);
        model.thief(1);
        model.pop();
        model.push(2..=2);
        model.finish();
    });
}

#[test]
fn take_back() {
    loom::model(|| {
        let mut model = Model::new(4, 3);
        model.push(1..=3);
        model.owner.publish(0);
        model.thief(3);
        model.finish();
    });
}

#[test]
fn take_back_two_thieves() {
    loom::model(|| {
        let mut model = Model::new(4, 3);
        model.push(1..=3);
        model.owner.publish(0);
        model.thief(2);
        model.thief(1);
        model.finish();
    });
}

/// A thief reads `split` before the owner takes tasks back. It continues when other tasks have
/// taken their place.
#[test]
fn take_back_and_publish_again() {
    loom::model(|| {
        let mut model = Model::new(2, 4);
        model.push(1..=2);
        model.owner.publish(0);
        model.thief(2);
        model.pop();
        model.push(3..=3);
        if model.owner.private() > 0 {
            model.owner.publish(0);
        }
        model.pop();
        model.push(4..=4);
        model.finish();
    });
}

#[test]
fn growth() {
    loom::model(|| {
        let mut model = Model::new(1, 3);
        model.push(1..=1);
        model.owner.publish(0);
        model.thief(2);
        model.push(2..=3);
        model.owner.publish(1);
        model.finish();
    });
}

#[test]
fn growth_two_thieves() {
    loom::model(|| {
        let mut model = Model::new(1, 3);
        model.push(1..=1);
        model.owner.publish(0);
        model.thief(1);
        model.thief(1);
        model.push(2..=2);
        model.owner.publish(0);
        model.push(3..=3);
        model.finish();
    });
}

#[test]
fn unwanted() {
    loom::model(|| {
        let mut model = Model::new(2, 2);
        model.push(1..=2);
        model.owner.publish(0);
        model.thief(2);
        if let Some(task) = model.owner.pop_if(|task| number(task) == 1).0 {
            model.payloads.empty(task);
        }
        model.finish();
    });
}
