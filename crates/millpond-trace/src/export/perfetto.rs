//! The timeline as JSON trace events, for ui.perfetto.dev and chrome://tracing.
//!
//! A track is a thread. On it a body is a slice, with what runs on top of it inside; the idle times of a worker are
//! slices beside them. A body that stands still is no slice of its thread: what runs there meanwhile may stand still in
//! turn and go on later than the body does, and slices must nest. So waits are asynchronous events, which the viewers
//! draw in rows of their own, and what they waited for is said again where the body goes on. Arrows (flow events) lead
//! to each task from what made it ready.
//!
//! Events are written one by one; held are the recording and a few words a slice.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::format::Recording;
use crate::idle::Gap;
use crate::model::{Body, Ix, Kind, Run};
use crate::report::Window;

use super::ExportError;
use super::names::{self, Data};
use super::slices::{self, Places, Slice};
use super::{flows, flows::Flow};

impl Recording {
    /// Writes the timeline as JSON trace events: it opens in [ui.perfetto.dev](https://ui.perfetto.dev) and in
    /// `chrome://tracing`.
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
            data: Data::of(&run),
            stands: stands(&run),
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

/// A body stands still, between two slices of it.
struct Stand {
    body: Ix,
    from: u64,
    to: u64,
    track: u32,
    why: &'static str,
    /// A wait as [`Run::waits`] has it, or the scope that it opened.
    on: Result<u32, Ix>,
}

/// All of them, by body and end.
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

/// One trace event.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    cat: &'a str,
    ph: &'a str,
    ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    pid: u32,
    tid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u32>,
    /// To what an arrow is bound: `e` for the slice around its point.
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    /// How far an instant is drawn: `p` for all tracks.
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    args: Map<String, Value>,
}

impl Default for Event<'_> {
    fn default() -> Self {
        Event {
            name: "",
            cat: "",
            ph: "",
            ts: 0.0,
            dur: None,
            pid: 1,
            tid: 0,
            id: None,
            bp: None,
            s: None,
            args: Map::new(),
        }
    }
}

struct Trace<'a, W: Write> {
    out: BufWriter<W>,
    first: bool,
    run: &'a Run,
    origin: u64,
    data: Data,
    stands: Vec<Stand>,
}

impl<W: Write> Trace<'_, W> {
    fn head(&mut self, program: &str, workers: usize) -> io::Result<()> {
        let about = json!({ "program": program, "workers": workers });
        write!(self.out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
        self.about("process_name", 0, json!(program))
    }

    fn event(&mut self, event: &impl Serialize) -> io::Result<()> {
        self.out.write_all(if std::mem::take(&mut self.first) { b"\n" } else { b",\n" })?;
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }

    /// The name of a process or thread.
    fn about(&mut self, what: &str, tid: u32, name: Value) -> io::Result<()> {
        self.event(&json!({ "name": what, "ph": "M", "pid": 1, "tid": tid, "args": { "name": name } }))
    }

    fn tracks(&mut self) -> io::Result<()> {
        let run = self.run;
        let mut lines: Vec<_> = run.tracks.iter().collect();
        lines.sort_by_key(|line| (line.track.worker.is_none(), line.track.worker, line.track.number));
        for (place, line) in lines.into_iter().enumerate() {
            let tid = line.track.number;
            self.about("thread_name", tid, json!(line.name))?;
            let args = json!({ "sort_index": place });
            self.event(&json!({ "name": "thread_sort_index", "ph": "M", "pid": 1, "tid": tid, "args": args }))?;
        }
        Ok(())
    }

    fn tid(&self, track: u32) -> u32 {
        self.run.tracks[track as usize].track.number
    }

    /// Whole nanoseconds since the first event: rounding the ends of slices keeps what nests nested.
    fn nanos(&self, at: u64) -> u64 {
        (self.run.seconds(at.saturating_sub(self.origin)) * 1e9).round() as u64
    }

    fn at(&self, at: u64) -> f64 {
        micros(self.nanos(at))
    }

    fn lasts(&self, from: u64, to: u64) -> f64 {
        micros(self.nanos(to).saturating_sub(self.nanos(from)))
    }

    fn slice(&mut self, track: u32, slice: &Slice) -> io::Result<()> {
        let (run, ix) = (self.run, slice.body);
        let args = if slice.first { self.about_body(ix) } else { self.about_rest(slice) };
        let event = Event {
            name: &run.title(ix),
            cat: names::kind(run.body(ix).kind),
            ph: "X",
            ts: self.at(slice.from),
            dur: Some(self.lasts(slice.from, slice.to)),
            tid: self.tid(track),
            args,
            ..Event::default()
        };
        self.event(&event)
    }

    /// What is said of a body where it begins.
    fn about_body(&self, ix: Ix) -> Map<String, Value> {
        let (run, body) = (self.run, self.run.body(ix));
        let mut args = Map::new();
        args.insert("task".to_owned(), json!(ix));
        args.insert("kind".to_owned(), json!(names::kind(body.kind)));
        if let Some(spawner) = body.spawner {
            args.insert("spawner".to_owned(), json!(spawner));
        }
        if !body.ok {
            args.insert("failed".to_owned(), json!(true));
        }
        if body.kind != Kind::Scope {
            args.insert("spawned at".to_owned(), json!(self.at(body.spawned)));
            args.insert("ready at".to_owned(), json!(self.at(body.ready())));
            self.waited(body, &mut args);
        }
        let access = |access: &crate::model::Access| format!("{} {}", access.mode, self.data.name(access.datum));
        let accesses: Vec<_> = run.accesses_of(ix).iter().map(access).collect();
        if !accesses.is_empty() {
            args.insert("accesses".to_owned(), json!(accesses));
        }
        args
    }

    /// For what a task waited how long until it started, and what for longest.
    fn waited(&self, task: &Body, args: &mut Map<String, Value>) {
        let granted = task.granted.map_or(task.spawned, |(at, _)| at);
        let by = |release: Option<(u64, Option<Ix>)>| release.and_then(|(_, by)| by);
        // What ran at its spawn waited for nobody.
        let started = task.started.filter(|_| !task.on_top).unwrap_or(task.ready());
        let waits = [
            (flows::waited_for(task), task.spawned, granted, by(task.granted)),
            ("commutative exclusion", granted, task.ready(), by(task.handed)),
            ("worker", task.ready(), started, None),
        ];
        let mut waited = Map::new();
        for (what, from, to, on) in waits.into_iter().filter(|(_, from, to, _)| to > from) {
            let mut wait = Map::from_iter([("us".to_owned(), json!(self.lasts(from, to)))]);
            wait.extend(on.map(|on| ("on".to_owned(), json!(names::unique(self.run, on)))));
            waited.insert(what.to_owned(), Value::Object(wait));
        }
        if let Some((what, ..)) =
            waits.iter().filter(|(_, from, to, _)| to > from).max_by_key(|(_, from, to, _)| to - from)
        {
            args.insert("waited mostly for".to_owned(), json!(what));
            args.insert("waited".to_owned(), Value::Object(waited));
        }
    }

    /// What is said of a body where it goes on.
    fn about_rest(&self, slice: &Slice) -> Map<String, Value> {
        let mut args = Map::from_iter([("task".to_owned(), json!(slice.body))]);
        let key = (slice.resumed.unwrap_or(slice.body), slice.from);
        let after = match self.stands.binary_search_by_key(&key, |stand| (stand.body, stand.to)) {
            Ok(place) => self.about_stand(&self.stands[place]),
            Err(_) => return args,
        };
        args.insert("resumed after".to_owned(), Value::Object(after));
        args
    }

    fn about_stand(&self, stand: &Stand) -> Map<String, Value> {
        let mut args = Map::from_iter([("waited for".to_owned(), json!(stand.why))]);
        let on = match stand.on {
            Ok(wait) => names::awaited(self.run, &self.data, &self.run.waits[wait as usize]),
            Err(scope) => Some(names::unique(self.run, scope)),
        };
        args.extend(on.map(|on| ("on".to_owned(), json!(on))));
        args.insert("us".to_owned(), json!(self.lasts(stand.from, stand.to)));
        args
    }

    /// The idle times of the workers.
    fn gaps(&mut self) -> io::Result<()> {
        for (track, account) in Window::of(self.run).accounts(self.run) {
            account.gaps.iter().try_for_each(|gap| self.gap(track as u32, gap))?;
        }
        Ok(())
    }

    fn gap(&mut self, track: u32, gap: &Gap) -> io::Result<()> {
        let mut args = Map::from_iter([("reason".to_owned(), json!(gap.reason.to_string()))]);
        args.extend(gap.on.map(|on| ("on".to_owned(), json!(names::unique(self.run, on)))));
        let event = Event {
            name: &format!("idle: {}", gap.reason),
            cat: "idle",
            ph: "X",
            ts: self.at(gap.from),
            dur: Some(self.lasts(gap.from, gap.to)),
            tid: self.tid(track),
            args,
            ..Event::default()
        };
        self.event(&event)
    }

    /// The times in which bodies stand still.
    fn waits(&mut self) -> io::Result<()> {
        for id in 0..self.stands.len() {
            let stand = &self.stands[id];
            let mut args = self.about_stand(stand);
            args.insert("body".to_owned(), json!(names::unique(self.run, stand.body)));
            let (from, to) = (self.at(stand.from), self.at(stand.to.max(stand.from)));
            let (id, tid) = (Some(id as u32), self.tid(stand.track));
            let name = &format!("wait: {}", stand.why);
            self.event(&Event { name, cat: "wait", ph: "b", ts: from, tid, id, args, ..Event::default() })?;
            self.event(&Event { name, cat: "wait", ph: "e", ts: to, tid, id, ..Event::default() })?;
        }
        Ok(())
    }

    /// Tasks that were not to run: poisoned, or cancelled.
    fn refused(&mut self) -> io::Result<()> {
        let run = self.run;
        for (ix, task) in run.tasks().filter(|(_, task)| task.started.is_none()) {
            let Some(ended) = task.ended else { continue };
            let (name, args, ts) = (&format!("refused: {}", run.title(ix)), self.about_body(ix), self.at(ended));
            self.event(&Event { name, cat: "refused", ph: "i", ts, s: Some("p"), args, ..Event::default() })?;
        }
        Ok(())
    }

    /// The arrows, after all slices: at equal times, viewers bind them to what came before in the file.
    fn flows(&mut self, places: &Places) -> io::Result<()> {
        let (run, mut id) = (self.run, 0);
        for flow in run.tasks().filter_map(|(ix, _)| flows::to(run, places, ix)) {
            self.flow(&flow, id)?;
            id += 1;
        }
        Ok(())
    }

    fn flow(&mut self, flow: &Flow, id: u32) -> io::Result<()> {
        let (from, to) = (self.tid(flow.from.0), self.tid(flow.to.0));
        let end = self.nanos(flow.to.1);
        // Within the slice, not at its end, where the next may begin.
        let start = self.nanos(flow.from.1).saturating_sub(1).max(self.nanos(flow.slice)).min(end);
        let half = |ph, ts, tid| Event {
            name: flow.why,
            cat: flow.why,
            ph,
            ts: micros(ts),
            tid,
            id: Some(id),
            bp: Some("e"),
            ..Event::default()
        };
        self.event(&half("s", start, from))?;
        self.event(&half("f", end, to))
    }
}

/// Nanoseconds as microseconds. Viewers make whole nanoseconds of it again and cut off the rest: a fraction that lies a
/// little too low would put the ends of two slices on different nanoseconds, and they would not nest any more.
fn micros(nanos: u64) -> f64 {
    let micros = nanos as f64 / 1000.0;
    if ((micros * 1000.0) as u64) < nanos { micros.next_up() } else { micros }
}
