//! The report as a table for people.

use std::fmt::{Display, Formatter, Result};

use crate::report::Report;

/// A time in a suitable unit.
pub(crate) fn time(seconds: f64) -> String {
    let (scaled, unit) = match seconds.abs() {
        s if s >= 1.0 => (seconds, "s"),
        s if s >= 1e-3 => (seconds * 1e3, "ms"),
        s if s >= 1e-6 => (seconds * 1e6, "µs"),
        s if s > 0.0 => (seconds * 1e9, "ns"),
        _ => return "0".to_owned(),
    };
    format!("{scaled:.3} {unit}")
}

fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 { format!("{:.1} %", 100.0 * part / whole) } else { "-".to_owned() }
}

/// The maximum number of labels. The others are added up.
const MAX_LABELS: usize = 12;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        self.overview(f)?;
        self.workers(f)?;
        self.idle(f)?;
        self.waits(f)?;
        self.labels(f)?;
        self.predictions(f)
    }
}

impl Report {
    fn overview(&self, f: &mut Formatter<'_>) -> Result {
        let all = self.seconds * self.workers as f64;
        writeln!(f, "{:<24}{}", "time", time(self.seconds))?;
        writeln!(f, "{:<24}{}, {} of them leaves", "tasks", self.tasks, self.leaves)?;
        writeln!(f, "{:<24}{}", "graph", self.class)?;
        if let Some(repeated) = self.repeated {
            let word = if repeated { "yes" } else { "no" };
            writeln!(f, "{:<24}{word} ({} root scopes)", "graph repeated", self.graphs.len())?;
        }
        writeln!(f, "{:<24}{} (bodies; {} of it spawning)", "work T1", time(self.work), time(self.spawning))?;
        writeln!(f, "{:<24}{}", "span T∞", time(self.span))?;
        if self.incomplete > 0 {
            let count = self.incomplete;
            writeln!(
                f,
                "{:<24}{count} bodies have completed that, by what is recorded, could not: T∞ is too small",
                ""
            )?;
        }
        writeln!(f, "{:<24}{:.2}", "parallelism T1/T∞", self.parallelism)?;
        let share = percent(self.overhead, all);
        writeln!(f, "{:<24}{} ({share} of the workers' time)", "runtime overhead", time(self.overhead))?;
        writeln!(f, "{:<24}{}", "steals", self.steals)?;
        if let Some(thefts) = &self.thefts {
            let (scans, waits, seconds) = (thefts.scans, thefts.waits, time(thefts.seconds));
            let share = percent(thefts.seconds, self.overhead);
            writeln!(f, "{:<24}{scans} scans, {waits} waits: {seconds} ({share} of the overhead)", "at thefts")?;
        }
        writeln!(f, "{:<24}{}", "most tasks held", self.most_held)
    }

    fn workers(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "\n{:<24}{:>12}{:>12}{:>12}{:>9}{:>9}", "worker", "busy", "overhead", "idle", "idle", "steals")?;
        for w in &self.per_worker {
            let share = format!("{:.1} %", 100.0 * w.idle_share);
            let (busy, overhead, idle) = (time(w.busy), time(w.overhead), time(w.idle));
            writeln!(f, "{:<24}{busy:>12}{overhead:>12}{idle:>12}{share:>9}{:>9}", w.worker, w.steals)?;
        }
        Ok(())
    }

    fn idle(&self, f: &mut Formatter<'_>) -> Result {
        let all: f64 = self.idle.iter().map(|idle| idle.seconds).sum();
        writeln!(f, "\n{:<24}{:>12}{:>12}", "workers idle for", "time", "share")?;
        for idle in self.idle.iter().filter(|idle| idle.seconds > 0.0) {
            let share = percent(idle.seconds, all);
            writeln!(f, "{:<24}{:>12}{share:>12}", idle.reason.to_string(), time(idle.seconds))?;
        }
        Ok(())
    }

    fn waits(&self, f: &mut Formatter<'_>) -> Result {
        let waits = [
            ("tasks for data", self.waits.tasks_for_data),
            ("tasks for exclusion", self.waits.tasks_for_exclusion),
            ("tasks for a worker", self.waits.tasks_for_a_worker),
            ("bodies for data", self.waits.bodies_for_data),
            ("bodies for the window", self.waits.bodies_for_window),
            ("bodies for others", self.waits.bodies_for_others),
        ];
        writeln!(f, "\n{:<24}{:>12}", "waited, added up", "time")?;
        for (what, seconds) in waits.into_iter().filter(|(_, seconds)| *seconds > 0.0) {
            writeln!(f, "{what:<24}{:>12}", time(seconds))?;
        }
        Ok(())
    }

    fn labels(&self, f: &mut Formatter<'_>) -> Result {
        let width = self.labels.iter().take(MAX_LABELS).map(|l| l.label.chars().count()).max().unwrap_or(0).max(22);
        let heads = ("label", "tasks", "time", "of work", "on critical path", "of span");
        writeln!(
            f,
            "\n{:<width$}  {:>10}{:>12}{:>9}{:>18}{:>9}",
            heads.0, heads.1, heads.2, heads.3, heads.4, heads.5
        )?;
        let (shown, rest) = self.labels.split_at(self.labels.len().min(MAX_LABELS));
        let mut line = |label: &str, tasks: u64, seconds: f64, path: f64| {
            let (work, span) = (percent(seconds, self.work), percent(path, self.span));
            writeln!(f, "{label:<width$}  {tasks:>10}{:>12}{work:>9}{:>18}{span:>9}", time(seconds), time(path))
        };
        for l in shown {
            line(&l.label, l.tasks, l.seconds, l.on_critical_path)?;
        }
        if rest.is_empty() {
            return Ok(());
        }
        let sum = |of: fn(&crate::report::LabelTime) -> f64| rest.iter().map(of).sum();
        let tasks = rest.iter().map(|l| l.tasks).sum();
        line(&format!("{} more", rest.len()), tasks, sum(|l| l.seconds), sum(|l| l.on_critical_path))
    }

    fn predictions(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "\n{:<24}{:>12}{:>12}{:>12}", "predicted for workers", "T1/p + T∞", "at least", "speed-up")?;
        for p in &self.predicted {
            let speedup =
                if p.seconds > 0.0 { format!("{:.2}", (self.work + self.overhead) / p.seconds) } else { "-".into() };
            writeln!(f, "{:<24}{:>12}{:>12}{speedup:>12}", p.workers, time(p.seconds), time(p.least))?;
        }
        Ok(())
    }
}
