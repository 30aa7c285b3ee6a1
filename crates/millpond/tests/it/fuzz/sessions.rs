//! The steps of random life cycle programs on sessions.

use super::generate::{Generator, JoinState, Place};
use super::program::*;

/// An open session.
pub struct SessionState {
    pub domain: usize,
    pub turn: usize,
    /// How it ends. This decides which outcomes are certain.
    pub how: End,
}

/// A window that is large enough even if permits are never given back.
const LARGE: usize = 64;

impl Generator {
    pub fn open_session(&mut self, actor: usize) {
        let (place, runtime) = (self.place(actor), self.rng.below(2));
        if self.sessions.len() >= 4 || !self.may_call(place, runtime) {
            return;
        }
        let (keeps, how) = (self.rng.percent(75), self.any_end());
        let cancels = self.rng.percent(12) || !(keeps && how.lets_run());
        let session = self.domain(runtime, cancels);
        let (shared, sets) = (self.rng.percent(40), self.rng.percent(30));
        let domain = &mut self.program.domains[session];
        (domain.keeps, domain.shared) = (keeps, shared);
        if shared && sets {
            // An actor sets it before or after another one reads it.
            let model = &mut self.models[session];
            model.number = None;
            model.own.clear();
        }
        self.sessions.push(SessionState { domain: session, turn: 1, how });
        self.push(actor, Step::Open { session });
    }

    fn any_end(&mut self) -> End {
        let polls = self.rng.below(3);
        match self.rng.below(16) {
            0..4 => End::Closed(polls),
            4..6 => End::Awaited,
            6..8 => End::AwaitedByAHand,
            8..10 => End::Detached,
            10 => End::Polled(polls),
            11 => End::PolledByAHand(polls),
            12 if self.forgets_threads => End::Forgotten,
            _ => End::Dropped,
        }
    }

    pub fn use_session(&mut self, actor: usize) {
        let place = self.place(actor);
        if self.sessions.is_empty() || place.away {
            return;
        }
        let at = self.rng.below(self.sessions.len());
        let session = self.sessions[at].domain;
        if self.program.domains[session].runtime < place.least {
            return;
        }
        let Some(what) = self.in_session(place, session) else { return };
        // Its task may have taken another session with it.
        let state = self.sessions.iter_mut().find(|state| state.domain == session).expect("it is open");
        let turn = state.turn;
        state.turn += 1;
        self.push(actor, Step::Use { session, turn, what });
    }

    fn in_session(&mut self, place: Place, session: usize) -> Option<InSession> {
        Some(match self.rng.below(22) {
            0..7 => InSession::Common(self.common(session)?),
            7..9 => InSession::Reserve(self.reserved(session)),
            _ => {
                let cancelled = self.rng.percent(10);
                let task = self.task(place, session, cancelled);
                let (runtime, light) = (self.program.domains[session].runtime, task.value != Value::Heap);
                self.joins.push(JoinState { runtime, taken: false, light: light && task.value != Value::Bomb });
                self.program.joins += 1;
                let permit = if self.rng.percent(25) { Some(self.rng.below(3)) } else { None };
                InSession::Spawn { task, join: self.program.joins - 1, permit, cancelled }
            }
        })
    }

    fn reserved(&mut self, session: usize) -> Reserved {
        let window = self.program.runtimes[self.program.domains[session].runtime].window;
        match self.rng.below(10) {
            0..3 => Reserved::Polled(1 + self.rng.below(3)),
            3..5 => Reserved::Dropped,
            5 => Reserved::Elsewhere,
            6 if self.permits > 0 && window >= LARGE => {
                self.permits -= 1;
                Reserved::Forgotten
            }
            // Its own permit may be all the room that there is.
            _ if window < LARGE => Reserved::Polled(2),
            _ => Reserved::OneOfTwo,
        }
    }

    /// A step on a session or a scope, other than a spawn.
    pub fn common(&mut self, of: usize) -> Option<Common> {
        let Domain { cancels, shared, .. } = self.program.domains[of];
        Some(match self.rng.below(7) {
            0 if shared && !self.models[of].own.is_empty() => return None,
            0 => Common::Set(self.set(of)),
            1 => {
                self.models[of].object_is_poisoned = false;
                Common::SetObject
            }
            2 => Common::Look(if shared { None } else { self.models[of].number }),
            3 => Common::LookAtObject,
            4 if cancels => Common::Cancel { late: false },
            5 if cancels => Common::CancelOnFailure,
            // If the data are forgotten, its tasks continue until then.
            6 if !self.forgets_threads => Common::Cancel { late: true },
            _ => return None,
        })
    }

    /// Sets the number.
    fn set(&mut self, domain: usize) -> u64 {
        let value = self.rng.below(1000) as u64;
        let Domain { cancels, shared, .. } = self.program.domains[domain];
        let model = &mut self.models[domain];
        (model.number, model.number_is_poisoned) = ((!cancels && !shared).then_some(value), false);
        value
    }

    pub fn end_session(&mut self, actor: usize, session: &SessionState) {
        self.note_end(session);
        self.push(actor, Step::End { session: session.domain, turn: session.turn, how: session.how });
    }

    /// No further step uses the session.
    pub fn note_end(&mut self, session: &SessionState) {
        self.program.domains[session.domain].number = self.models[session.domain].number;
    }
}
