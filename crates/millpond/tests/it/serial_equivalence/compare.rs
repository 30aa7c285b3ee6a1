//! Compares what a run showed with what the interpreter expects.

use millpond::{Error, Kind, Label};

use super::execute::{Hash, Outcome, Run, panic_message};
use super::model::{Causes, Expected, Failure, Why};
use super::program::{Body, Id, Op, Program, Task, name_of};

/// The first difference, in words.
pub fn difference(program: &Program, expected: &Expected, outcome: &Outcome) -> Option<String> {
    let complaint = outcome.run.complaints().into_iter().next();
    let leak = outcome.run.live.count() != 1;
    let leak = leak.then(|| format!("{} values too many are alive", outcome.run.live.count() - 1));
    let compared =
        if program.cancels() { cancelled(program, expected, outcome) } else { exactly(program, expected, outcome) };
    complaint.or(compared).or(leak)
}

fn exactly(program: &Program, expected: &Expected, outcome: &Outcome) -> Option<String> {
    let run = &outcome.run;
    let mut found = (0..program.ids).find_map(|id| {
        let (should, did) = (expected.ran.get(&id), run.starts(id));
        if did != u32::from(should.is_some()) {
            return Some(format!("t{id} ran {did} times"));
        }
        let same = should.is_none_or(|digest| *digest == run.hash(id).value);
        (!same).then(|| format!("t{id} read something else"))
    });
    found = found.or_else(|| {
        (0..program.ids).find_map(|id| {
            let what = || format!("the wait {id}");
            match (expected.seen.get(&id), run.seen(id)) {
                (None, None) => None,
                (Some(should), Some(did)) => results(should, did, what),
                (should, did) => Some(format!("{}: {should:?} against {did:?}", what())),
            }
        })
    });
    found = found.or_else(|| {
        let both = program.roots.iter().zip(expected.roots.iter().zip(&outcome.roots));
        both.into_iter().find_map(|((id, _), (should, did))| results(should, did, || format!("d{id} at the end")))
    });
    let scope = expected.scope.clone().map_or(Ok(expected.value), Err);
    found.or_else(|| results(&scope, &outcome.scope, || "the scope".to_owned()))
}

fn results(should: &Result<u64, Failure>, did: &Result<Hash, Error>, what: impl Fn() -> String) -> Option<String> {
    let same = match (should, did) {
        (Ok(should), Ok(did)) => *should == did.value,
        (Err(should), Err(did)) => is(should, did),
        _ => false,
    };
    (!same).then(|| format!("{}: should be {should:?}, is {did:?}", what()))
}

fn is(should: &Failure, did: &Error) -> bool {
    let kind = match (&should.why, did.kind()) {
        (Why::Panicked(by), Kind::Panicked(message)) => *message == panic_message(*by),
        (Why::Poisoned(causes), Kind::Poisoned { by }) => is_one_of(causes, by),
        (Why::Unwritten(should), Kind::Unwritten { arg }) | (Why::NeverWritten(should), Kind::NeverWritten { arg }) => {
            should == arg
        }
        (Why::Duplicate(a, b), Kind::Duplicate { args }) => (*a, *b) == *args,
        (Why::Abandoned, Kind::Abandoned) => true,
        _ => false,
    };
    kind && is_label(should.label, did.task())
}

fn is_label(should: Option<Id>, did: &Label) -> bool {
    match should {
        Some(id) => did.name() == Some(&*name_of(id)) && did.indices() == [id as u32],
        None => did.name().is_none(),
    }
}

fn is_one_of(causes: &Causes, label: &Label) -> bool {
    causes.iter().any(|cause| is_label(*cause, label))
}

/// With a cancellation: tasks that ran have their serial values, and none starts after the scope
/// itself has cancelled.
fn cancelled(program: &Program, expected: &Expected, outcome: &Outcome) -> Option<String> {
    let run = &outcome.run;
    let ran = (0..program.ids).find_map(|id| {
        let (should, starts) = (expected.ran.get(&id), run.starts(id));
        let hash = run.hash(id);
        match should {
            _ if starts > 1 => Some(format!("t{id} ran {starts} times")),
            // A body that goes on after a failed wait may do what the serial program does not.
            None if starts > 0 && !hash.tainted => Some(format!("t{id} ran")),
            Some(digest) if starts > 0 && !hash.tainted && hash.value != *digest => {
                Some(format!("t{id} ran and read something else"))
            }
            _ => None,
        }
    });
    let both = expected.roots.iter().zip(&outcome.roots).zip(&program.roots);
    let root = both.into_iter().find_map(|((should, did), (id, _))| match (should, did) {
        (_, Err(_)) => None,
        (_, Ok(did)) if did.tainted => None,
        (Ok(should), Ok(did)) if *should == did.value => None,
        _ => Some(format!("d{id} at the end: serially {should:?}, here {did:?}")),
    });
    let scope = match (&outcome.scope, run.was_cancelled()) {
        (Ok(_), true) => Some("the scope was cancelled and says nothing".to_owned()),
        (Ok(_), false) if expected.scope.is_some() && !inner_cancel(&program.body) => {
            Some(format!("the scope should have failed: {:?}", expected.scope))
        }
        _ => None,
    };
    ran.or(root).or(scope).or_else(|| late_start(&program.body, run))
}

fn inner_cancel(body: &Body) -> bool {
    body.any(&|op| op.inner().is_some_and(|inner| inner.any(&|op| matches!(op, Op::Cancel))))
}

/// A task that started although its scope had cancelled before it was spawned.
fn late_start(body: &Body, run: &Run) -> Option<String> {
    let at = body.0.iter().position(|op| matches!(op, Op::Cancel)).unwrap_or(body.0.len());
    let (before, after) = body.0.split_at(at);
    let inner = before.iter().filter_map(Op::inner).find_map(|inner| late_start(inner, run));
    let mut late = None;
    Body(after.to_vec()).each(&mut |op| {
        if let Op::Spawn(Task { id, .. }) | Op::Pending { id, .. } = op
            && run.starts(*id) > 0
        {
            late = Some(format!("t{id} started after its scope was cancelled"));
        }
    });
    inner.or(late)
}
