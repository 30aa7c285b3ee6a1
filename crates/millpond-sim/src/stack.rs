//! A stack of frames. Its owner runs the children in reference order ([DDS](crate#sources) §3).

use millpond::stack::End;

use crate::frame::{Frame, StackId, State};
use crate::program::{Program, Work};

/// A closure on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) stack: StackId,
    pub(crate) frame: usize,
    pub(crate) child: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// On its way to its thief, or there and not begun.
    Sent,
    Active,
    /// Its owner reached an unfinished stolen child.
    Suspended,
}

/// Why the owner stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The budget is used up.
    Budget,
    /// An unfinished stolen child.
    Stolen,
    End,
}

/// The state of a suspended stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It waits for a stolen child.
    Blocked,
    /// Its owner can continue.
    Ready,
    /// All its closures have finished.
    Ended,
}

/// The executed work and tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) work: Work,
    pub(crate) tasks: u64,
}

#[derive(Debug)]
pub(crate) struct Stack<T> {
    frames: Vec<Frame<T>>,
    /// The finished work of the current child, while its body runs.
    progress: Work,
    /// The total work of this body.
    body: Work,
    /// Whether the topmost frame belongs to the running body. This frame is opened at the body's
    /// end, or earlier if a thief scans the stack.
    creating: bool,
    /// Where its root was stolen; `None` for the program's root.
    pub(crate) origin: Option<Position>,
    pub(crate) holder: usize,
    pub(crate) standing: Standing,
    /// The size of the message with the results of its root.
    pub(crate) result_bytes: u64,
}

impl<T: Clone> Stack<T> {
    pub(crate) fn new<P: Program<Task = T>>(program: &P, task: T, origin: Option<Position>, holder: usize) -> Self {
        let (size, result_bytes) = (program.size(&task), program.result_bytes(&task));
        let frames = vec![Frame::root(task, size)];
        Stack { frames, progress: 0, body: 0, creating: false, origin, holder, standing: Standing::Sent, result_bytes }
    }

    /// The owner does this much work. A subtree that it finishes within this work is not unfolded,
    /// because no thief scanned it meanwhile.
    pub(crate) fn run<P: Program<Task = T>>(&mut self, program: &P, mut budget: Work, tally: &mut Tally) -> Stop {
        loop {
            if self.creating {
                let rest = self.body - self.progress;
                if budget < rest {
                    return self.run_partly(budget, tally);
                }
                budget -= rest;
                tally.work += rest;
                tally.tasks += self.end_creation();
            }
            let Some(frame) = self.frames.last_mut() else { return Stop::End };
            let Some(child) = frame.children.get(frame.next) else {
                self.pop();
                continue;
            };
            match child.state {
                State::Done => frame.step(),
                State::Stolen(_) => return Stop::Stolen,
                State::Waiting => {
                    (self.progress, self.body) = (0, program.body(&child.task));
                    frame.begin();
                }
                State::Begun => {
                    let rest = child.size.work - self.progress;
                    if rest <= budget {
                        budget -= rest;
                        tally.work += rest;
                        tally.tasks += child.size.tasks;
                        let done = frame.next;
                        frame.finish(done);
                        frame.step();
                    } else if self.progress + budget < self.body {
                        return self.run_partly(budget, tally);
                    } else {
                        self.open(program);
                    }
                }
            }
        }
    }

    /// Does a part of a body, not all.
    fn run_partly(&mut self, work: Work, tally: &mut Tally) -> Stop {
        self.progress += work;
        tally.work += work;
        Stop::Budget
    }

    /// A body has finished. Returns its count in tasks: one, or none if it is a part of a task.
    fn end_creation(&mut self) -> u64 {
        self.creating = false;
        let [.., below, above] = &self.frames[..] else { unreachable!("the creator is in the frame below") };
        below.children[below.next].size.tasks - above.tasks()
    }

    /// All children of a task have finished, and with them the task.
    fn pop(&mut self) {
        self.frames.pop();
        if let Some(below) = self.frames.last_mut() {
            let done = below.next;
            below.finish(done);
            below.step();
        }
    }

    /// Steps over the finished children of a suspended stack, and ends its finished frames.
    pub(crate) fn settle(&mut self) -> Settled {
        loop {
            let Some(frame) = self.frames.last_mut() else { return Settled::Ended };
            match frame.children.get(frame.next).map(|child| child.state) {
                None => self.pop(),
                Some(State::Done) => frame.step(),
                Some(State::Stolen(_)) => return Settled::Blocked,
                Some(State::Waiting | State::Begun) => return Settled::Ready,
            }
        }
    }

    /// The work until the owner reaches a stolen child, or the end, if no more is stolen. Valid
    /// only right after `Budget`.
    pub(crate) fn undisturbed(&self) -> Work {
        let Some((top, below)) = self.frames.split_last() else { return 0 };
        // The current child has begun: the last result was `Budget`.
        let (mut sum, next) = if self.creating {
            (self.body - self.progress, 0)
        } else {
            (top.children[top.next].size.work - self.progress, top.next + 1)
        };
        let below = below.iter().rev().map(|frame| (frame, frame.next + 1));
        for (frame, from) in std::iter::once((top, next)).chain(below) {
            let (work, interfered) = frame.undisturbed(from);
            sum += work;
            if interfered {
                break;
            }
        }
        sum
    }

    /// The child that a thief takes: the first ready one, frame by frame.
    pub(crate) fn find<P: Program<Task = T>>(&mut self, program: &P, end: End) -> Option<(usize, usize)> {
        self.unfold(program);
        let running = self.creating.then(|| self.frames.len() - 1);
        let (frames, progress) = (&mut self.frames, self.progress);
        end.visits(frames.len()).find_map(|frame| {
            let body = if running == Some(frame) { progress } else { Work::MAX };
            Some((frame, frames[frame].first_ready(body)?))
        })
    }

    /// Opens the frame of the running body, if it has children.
    fn unfold<P: Program<Task = T>>(&mut self, program: &P) {
        let Some(top) = self.frames.last().filter(|_| !self.creating) else { return };
        let Some(child) = top.children.get(top.next) else { return };
        if child.state == State::Begun && self.progress < self.body && self.body < child.size.work {
            self.open(program);
        }
    }

    /// Pushes the frame of the running body.
    fn open<P: Program<Task = T>>(&mut self, program: &P) {
        let below = self.frames.last().expect("the running task is in a frame");
        self.frames.push(Frame::of(program, &below.children[below.next].task));
        self.creating = true;
    }

    /// A thief takes a child.
    pub(crate) fn steal(&mut self, (frame, child): (usize, usize), by: StackId) -> T {
        let frame = &mut self.frames[frame];
        frame.steal(child, by);
        frame.children[child].task.clone()
    }

    /// A thief has finished a child. Returns whether the stack was suspended for it.
    pub(crate) fn finish_stolen(&mut self, position: Position) -> bool {
        let top = position.frame + 1 == self.frames.len();
        let frame = &mut self.frames[position.frame];
        frame.finish(position.child);
        self.standing == Standing::Suspended && top && frame.next == position.child
    }

    /// A thief is lost: its child is available again.
    pub(crate) fn put_back(&mut self, position: Position) {
        self.frames[position.frame].put_back(position.child);
    }

    /// The stacks on which children of this stack run.
    pub(crate) fn stolen(&self) -> Vec<StackId> {
        self.frames.iter().flat_map(Frame::stolen).collect()
    }
}
