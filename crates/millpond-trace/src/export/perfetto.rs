//! The timeline as JSON trace events, for ui.perfetto.dev and chrome://tracing.
//!
//! A track is a thread. A body is a slice on it, and contains the slices of bodies on top of it. A
//! worker's idle times are slices between them.
//!
//! Slices must nest. A suspended body is no slice, because a body that runs meanwhile may be
//! suspended as well, and continue later. So waits are asynchronous events, which viewers draw in
//! separate rows. The slice where the body continues repeats what it waited for. Arrows (flow
//! events) lead to each task from the event that made it ready.
//!
//! Events are written one by one: memory holds the recording and a few words per slice.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::format::Recording;
use crate::idle::Gap;
use crate::model::{Body, Ix, Kind, Run};
use crate::report::Window;

use super::ExportError;
use super::event::{Accesses, Began, Event, Idle, Micros, PID, Rest, Stood, Text, Waiting, Waits};
use super::names::{self, Awaited, Data, Unique};
use super::slices::{self, Places, Slice};
use super::{flows, flows::Flow};

impl Recording {
    /// Writes the timeline as JSON trace events: it opens in
    /// [ui.perfetto.dev](https://ui.perfetto.dev) and in `chrome://tracing`.
    ///
    /// ```
    /// use millpond::{Handle, Runtime, Spawn};
    /// use millpond_trace::Profile;
    ///
    /// let (rt, x) = (Runtime::builder().workers(2).build()?, Handle::new(0));
    /// let (result, recording) = rt.record(|| {
    ///     rt.scope(|s| (0..10).for_each(|_| drop(s.task("add").spawn(x.inout(), |x| *x += 1))))
    /// });
    /// result?;
    /// let mut file = Vec::new();
    /// recording.write_trace(&mut file)?;
    /// let trace: serde_json::Value = serde_json::from_slice(&file)?;
    /// let events = trace["traceEvents"].as_array().unwrap();
    /// assert_eq!(events.iter().filter(|event| event["name"] == "add").count(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If an event cannot be read, or `out` fails.
    pub fn write_trace(&self, out: &mut impl Write) -> Result<(), ExportError> {
        let run = Run::of(self)?;
        let tracks: Vec<_> = run.tracks.iter().map(|line| slices::of(&run, line)).collect();
        let mut trace = Trace {
            out: BufWriter::new(out),
            first: true,
            origin: origin(&run),
            data: &Data::of(&run),
            stands: &stands(&run),
            tids: &tids(&run),
            run: &run,
        };
        trace.head(&self.program, self.workers)?;
        trace.tracks()?;
        for (track, slices) in tracks.iter().enumerate() {
            slices.iter().try_for_each(|slice| trace.slice(track as u32, slice))?;
        }
        trace.gaps()?;
        trace.waits()?;
        trace.refused()?;
        trace.flows(&Places::of(&tracks))?;
        trace.out.write_all(b"\n]}\n")?;
        Ok(trace.out.flush()?)
    }
}

/// The time of the first event.
fn origin(run: &Run) -> u64 {
    let runs = run.tracks.iter().filter_map(|line| line.runs.first()).map(|segment| segment.from);
    runs.chain(run.known().map(|(_, body)| body.spawned)).min().unwrap_or(0)
}

/// The number of each track for viewers, from 1 in drawing order.
fn tids(run: &Run) -> Vec<u32> {
    let mut order: Vec<_> = (0..run.tracks.len()).collect();
    order.sort_by_key(|&track| {
        let track = run.tracks[track].track;
        (track.worker.is_none(), track.worker, track.number)
    });
    let mut tids = vec![0; order.len()];
    order.into_iter().zip(1..).for_each(|(track, tid)| tids[track] = tid);
    tids
}

/// A wait of a body, between two of its slices.
struct Stand {
    body: Ix,
    from: u64,
    to: u64,
    track: u32,
    why: &'static str,
    /// The wait in [`Run::waits`], or the scope that the body opened.
    on: Result<u32, Ix>,
}

/// All waits, by body and end.
fn stands(run: &Run) -> Vec<Stand> {
    let wait = |(number, w): (usize, &crate::model::Wait)| Stand {
        body: w.body,
        from: w.from,
        to: w.to,
        track: w.track,
        why: names::cause(w.cause),
        on: Ok(number as u32),
    };
    let opened = run.known().filter_map(|(ix, scope)| {
        let (body, from, to, track) = (scope.spawner?, scope.ended?, scope.completed?, scope.track?);
        (scope.kind == Kind::Scope).then_some(Stand { body, from, to, track, why: "scope", on: Err(ix) })
    });
    let mut stands: Vec<_> = run.waits.iter().enumerate().map(wait).chain(opened).collect();
    stands.sort_by_key(|stand| (stand.body, stand.to));
    stands
}

struct Trace<'a, W: Write> {
    out: BufWriter<W>,
    first: bool,
    run: &'a Run,
    origin: u64,
    data: &'a Data,
    stands: &'a [Stand],
    /// By index into [`Run::tracks`].
    tids: &'a [u32],
}

impl<'a, W: Write> Trace<'a, W> {
    fn head(&mut self, program: &str, workers: usize) -> io::Result<()> {
        let about = json!({ "program": program, "workers": workers });
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
        self.about("process_name", PID, &json!({ "name": program }))
    }

    fn event(&mut self, event: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if std::mem::take(&mut self.first) { b"\n" } else { b",\n" })?;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }

    /// Metadata of a whole process or thread.
    fn about(&mut self, what: &str, tid: u32, args: &Value) -> io::Result<()> {
        self.event(&json!({ "name": what, "ph": "M", "pid": PID, "tid": tid, "args": args }))
    }

    fn tracks(&mut self) -> io::Result<()> {
        for (line, &tid) in self.run.tracks.iter().zip(self.tids) {
            self.about("thread_name", tid, &json!({ "name": line.name }))?;
            self.about("thread_sort_index", tid, &json!({ "sort_index": tid }))?;
        }
        Ok(())
    }

    fn tid(&self, track: u32) -> u32 {
        self.tids[track as usize]
    }

    /// Whole nanoseconds since the first event. Slices still nest if their ends are rounded.
    fn at(&self, at: u64) -> Micros {
        Micros((self.run.seconds(at.saturating_sub(self.origin)) * 1e9).round() as u64)
    }

    fn lasts(&self, from: u64, to: u64) -> Micros {
        Micros(self.at(to).0.saturating_sub(self.at(from).0))
    }

    fn slice(&mut self, track: u32, slice: &Slice) -> io::Result<()> {
        let (run, ix, times) = (self.run, slice.body, (slice.from, slice.to));
        let (kind, title) = (names::kind(run.body(ix).kind), run.title(ix));
        if slice.first {
            self.stretch(kind, title, times, track, self.began(ix))
        } else {
            self.stretch(kind, title, times, track, self.rest(slice))
        }
    }

    /// A slice of a track.
    fn stretch(
        &mut self,
        cat: &'static str,
        name: impl Serialize,
        (from, to): (u64, u64),
        track: u32,
        args: impl Serialize,
    ) -> io::Result<()> {
        let event = Event::new("X", cat, name, self.at(from), self.tid(track));
        self.event(&Event { dur: Some(self.lasts(from, to)), args: Some(args), ..event })
    }

    /// The arguments of a body's first slice.
    fn began(&self, ix: Ix) -> Began<'a> {
        let body = self.run.body(ix);
        let (waited, task) = (self.waited(body), body.kind != Kind::Scope);
        Began {
            task: ix,
            spawner: body.spawner,
            failed: !body.ok,
            spawned: task.then(|| self.at(body.spawned)),
            ready: (task && body.ready() > body.spawned).then(|| self.at(body.ready())),
            mostly: waited.longest(),
            waited,
            accesses: Accesses(self.run, ix, self.data),
        }
    }

    /// A task's waits until its start.
    fn waited(&self, task: &Body) -> Waits<'a> {
        let granted = task.granted.map_or(task.spawned, |(at, _)| at);
        let by = |release: Option<(u64, Option<Ix>)>| release.and_then(|(_, by)| by);
        // A task that ran at its spawn did not wait.
        let started = task.started.filter(|_| !task.on_top).unwrap_or(task.ready());
        let wait = |what, from, to, on: Option<Ix>| {
            let on = on.map(|on| Text(Unique(self.run, on)));
            (to > from).then(|| (what, Waiting { us: self.lasts(from, to), on }))
        };
        Waits([
            wait(flows::waited_for(task), task.spawned, granted, by(task.granted)),
            wait("commutative exclusion", granted, task.ready(), by(task.handed)),
            wait("worker", task.ready(), started, None),
        ])
    }

    /// The arguments of a slice where a body continues.
    fn rest(&self, slice: &Slice) -> Rest<'a> {
        let key = (slice.resumed.unwrap_or(slice.body), slice.from);
        let stand = self.stands.binary_search_by_key(&key, |stand| (stand.body, stand.to));
        Rest { task: slice.body, after: stand.ok().map(|place| self.stood(&self.stands[place])) }
    }

    fn stood(&self, stand: &Stand) -> Stood<'a> {
        let on = match stand.on {
            Ok(wait) => Awaited::of(self.run, self.data, &self.run.waits[wait as usize]),
            Err(scope) => Some(Unique(self.run, scope).into()),
        };
        Stood { why: stand.why, on: on.map(Text), us: self.lasts(stand.from, stand.to), body: None }
    }

    /// The idle times of the workers.
    fn gaps(&mut self) -> io::Result<()> {
        for (track, account) in Window::of(self.run).accounts(self.run) {
            account.gaps.iter().try_for_each(|gap| self.gap(track as u32, gap))?;
        }
        Ok(())
    }

    fn gap(&mut self, track: u32, gap: &Gap) -> io::Result<()> {
        let args = Idle { reason: Text(gap.reason), on: gap.on.map(|on| Text(Unique(self.run, on))) };
        self.stretch("idle", Text(format_args!("idle: {}", gap.reason)), (gap.from, gap.to), track, args)
    }

    /// The times in which bodies wait.
    fn waits(&mut self) -> io::Result<()> {
        for (id, stand) in (0..).zip(self.stands) {
            let half = |ph, at| {
                let name = format!("wait: {}", stand.why);
                Event { id: Some(id), ..Event::new(ph, "wait", name, self.at(at), self.tid(stand.track)) }
            };
            let args = Stood { body: Some(Text(Unique(self.run, stand.body))), ..self.stood(stand) };
            let (begin, end) = (half("b", stand.from), half("e", stand.to.max(stand.from)));
            self.event(&Event { args: Some(args), ..begin })?;
            self.event(&end)?;
        }
        Ok(())
    }

    /// Tasks that were poisoned or cancelled, and did not run.
    fn refused(&mut self) -> io::Result<()> {
        let run = self.run;
        for (ix, task) in run.tasks().filter(|(_, task)| task.started.is_none()) {
            let Some(ended) = task.ended else { continue };
            let name = format!("refused: {}", run.title(ix));
            let event = Event::new("i", "refused", name, self.at(ended), 1);
            self.event(&Event { s: Some("p"), args: Some(self.began(ix)), ..event })?;
        }
        Ok(())
    }

    /// The arrows, after all slices: at equal times, viewers bind them to earlier events in the
    /// file.
    fn flows(&mut self, places: &Places) -> io::Result<()> {
        let (run, mut id) = (self.run, 0);
        for flow in run.tasks().filter_map(|(ix, _)| flows::to(run, places, ix)) {
            self.flow(&flow, id)?;
            id += 1;
        }
        Ok(())
    }

    fn flow(&mut self, flow: &Flow, id: u32) -> io::Result<()> {
        let (begin, alone) = (self.at(flow.slice.0), self.at(flow.slice.1));
        let end = self.at(flow.to.1);
        // The start is inside the slice, not at its end, where the next slice may begin. It is also
        // before any slice on top, because Perfetto binds an arrow to the track's last begun slice,
        // even if that has ended.
        let start = Micros(self.at(flow.from.1).min(alone).0.saturating_sub(1)).max(begin).min(end);
        let half = |ph, ts, track| -> Event<&str> {
            Event { id: Some(id), ..Event::new(ph, flow.why, flow.why, ts, self.tid(track)) }
        };
        let (from, to) = (half("s", start, flow.from.0), half("f", end, flow.to.0));
        self.event(&from)?;
        self.event(&Event { bp: Some("e"), ..to })
    }
}
