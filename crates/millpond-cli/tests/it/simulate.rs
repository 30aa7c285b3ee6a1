//! `millpond simulate`: its output, its files, and its errors.

use crate::common::{Dir, fails, json, millpond, words};
use serde_json::{Value, json};

fn number(object: &Value, name: &str) -> f64 {
    object["simulated"][name].as_f64().unwrap_or_else(|| panic!("{name} in {object}"))
}

#[test]
fn one_object_with_the_outcome() {
    let object = json("simulate fib --n 25 --cutoff 10 --processors 8 --json");
    assert_eq!(object["workload"], "fib");
    assert_eq!((&object["params"]["n"], &object["machine"]["processors"]), (&25.into(), &8.into()));
    let (seconds, work) = (number(&object, "seconds"), number(&object, "work_seconds"));
    assert!(seconds >= work / 8.0 && seconds < work / 6.0, "{object}");
    let cpu = object["load"]["cpu"].as_array().unwrap();
    assert!(cpu.len() > 10 && cpu.iter().all(|share| (0.0..=1.0).contains(&share.as_f64().unwrap())));
    assert_eq!(object, json("simulate fib --n 25 --cutoff 10 --processors 8 --json"));
    assert_eq!(number(&json("simulate fib --n 25 --processors 1 --json"), "steals"), 0.0);
}

#[test]
fn every_program_has_a_simulation() {
    for program in [
        "fib --n 20",
        "knary --n 5 --k 4 --r 2 --cutoff 0",
        "nqueens --n 10 --cutoff 6",
        "stencil --n 1000 --tile 10 --steps 5",
        "stencil --n 1000 --tile 10 --steps 5 --block 1",
    ] {
        let object = json(&format!("simulate {program} --processors 5 --speeds uniform:1..4 --json"));
        assert!(number(&object, "seconds") > 0.0, "{object}");
    }
}

#[test]
fn a_table_and_a_picture() {
    let dir = Dir::new("simulate-svg");
    let svg = dir.path("load.svg");
    let ran = words(&format!("simulate nqueens --n 21 --processors 100 --svg {svg}"));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    for part in ["nqueens", "time", "steals", "idle", "CPU", "network", "MB/s"] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
    let picture = std::fs::read_to_string(svg).unwrap();
    assert!(picture.contains("on 100 processors") && picture.trim_end().ends_with("</svg>"));
    // A curve for the processors and one for the network. Each covers the whole width, and is not
    // flat.
    for class in ["cpu", "net"] {
        let curves: Vec<_> = picture.split(&format!("<path class=\"{class}\" d=\"")).skip(1).collect();
        assert_eq!(curves.len(), 1, "{class}");
        let (curve, _) = curves[0].split_once("\"/>").unwrap();
        let steps = curve.trim_end_matches('Z').split_once('V').unwrap().0.split('L').skip(1);
        let points: Vec<(f64, f64)> = steps
            .map(|point| point.split_once(' ').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert!(points.len() > 100 && points.is_sorted_by(|one, next| one.0 <= next.0), "{class}: {points:?}");
        let width = points[points.len() - 1].0 - points[0].0;
        let (low, high) = points.iter().fold((f64::MAX, f64::MIN), |(low, high), p| (low.min(p.1), high.max(p.1)));
        assert!(width > 500.0 && high - low > 20.0, "{class}: {width} wide, {low} to {high}");
    }
}

#[test]
fn a_recording_on_other_processors() {
    let dir = Dir::new("simulate-trace");
    let file = dir.path("r.rec");
    let recorded = json(&format!("profile fib --n 27 --cutoff 15 --workers 2 --record {file} --json"));
    let object = json(&format!("simulate --trace {file} --processors 2 --json"));
    assert_eq!(object["simulated"]["tasks"], recorded["tasks"]);
    assert_eq!(object["recorded"]["workers"], 2);
    let more = json(&format!("simulate --trace {file} --processors 16 --json"));
    assert!(number(&more, "seconds") < number(&object, "seconds"));
    let tiles = dir.path("c.rec");
    let recorded = json(&format!("profile cholesky --n 300 --tile 50 --workers 2 --record {tiles} --json"));
    let object = json(&format!("simulate --trace {tiles} --processors 1000 --json"));
    assert_eq!(object["simulated"]["tasks"], recorded["tasks"]);
    // No number of processors is faster than the span.
    assert!(number(&object, "seconds") >= recorded["profile"]["span"].as_f64().unwrap() * 0.999);
}

#[test]
fn thefts_take_what_they_took_when_recorded() {
    let dir = Dir::new("simulate-thefts");
    let file = dir.path("r.rec");
    let profile = format!("profile stencil --n 200000 --tile 1000 --scheme stack --workers 2 --record {file} --json");
    // If other processes run, the second worker may come too late.
    let recorded = (0..50).map(|_| json(&profile)).find(|recorded| !recorded["profile"]["thefts"].is_null());
    let profile = &recorded.expect("nothing was stolen")["profile"];
    let of = |name: &str| profile["thefts"][name].as_f64().unwrap();
    let each = of("seconds") / (of("scans") + of("waits"));
    let overhead = (profile["overhead"].as_f64().unwrap() - of("seconds")) / profile["tasks"].as_f64().unwrap();
    let machine = |options: &str| json(&format!("simulate --trace {file} --json {options}"))["machine"].clone();
    let is_about = |machine: &Value, name: &str, value: f64| {
        let found = machine[name].as_f64().unwrap();
        assert!((found - value).abs() <= 1e-9 + 1e-6 * value, "{name}: {found}, {value} expected");
    };
    let found = machine("");
    is_about(&found, "own_latency", each);
    is_about(&found, "latency", each + of("idle") / of("scans"));
    is_about(&found, "at_once", of("closures") / of("scans"));
    is_about(&found, "task_cost", overhead);
    let given = machine("--own-latency 0 --latency 1e-3 --at-once 7.5");
    assert_eq!((&given["own_latency"], &given["latency"], &given["at_once"]), (&json!(0.0), &json!(1e-3), &json!(7.5)));
    // Recordings without thefts from a stack.
    let other = dir.path("o.rec");
    assert_eq!(words(&format!("profile fib --n 20 --workers 1 --scheme stack --record {other}")).status, 0);
    let machine = &json(&format!("simulate --trace {other} --json"))["machine"];
    assert_eq!(
        (&machine["own_latency"], &machine["latency"], &machine["at_once"]),
        (&json!(0.0), &json!(1.3e-5), &json!(1.0))
    );
}

#[test]
fn a_recording_that_is_none() {
    let dir = Dir::new("simulate-bad");
    let whole = dir.path("whole");
    assert_eq!(words(&format!("profile fib --n 10 --workers 1 --record {whole}")).status, 0);
    let bytes = std::fs::read(&whole).unwrap();
    let refused = |name: &str, bytes: &[u8], says: &str| {
        let file = dir.file(name, bytes);
        fails(&["simulate", "--trace", &file, "--json"], 1, &format!("{file}: {says}"));
    };
    let cut = bytes.len() - 5;
    refused("cut", &bytes[..cut], &format!("offset {cut}: cut off: a block of 10 bytes has only 5"));
    refused("other", b"PNG and so on", "offset 0: not a recording of millpond's");
    let mut later = bytes;
    later[8] = 9;
    refused("later", &later, "offset 8: a recording of version 9; this reads version 2");
    let missing = dir.path("missing");
    let says = format!("{missing}: offset 0: cannot read it: No such file or directory (os error 2)");
    fails(&["simulate", "--trace", &missing], 1, &says);
}

#[test]
fn speeds_that_are_none() {
    let dir = Dir::new("simulate-speeds");
    let refused = |content: &str, says: &str| {
        let file = dir.file("speeds", content);
        fails(&["simulate", "fib", "--processors", "4", "--speeds", &file], 1, &format!("{file}{says}"));
    };
    refused("0 0 1\n1 0 -2\n", ":2: speed '-2' is not 0 or from 1e-3 to 1e6");
    refused("0 0 NaN\n", ":1: speed 'NaN' is not 0 or from 1e-3 to 1e6");
    refused("0 0 inf\n", ":1: speed 'inf' is not 0 or from 1e-3 to 1e6");
    refused("0 -1 1\n", ":1: time '-1' is not a number of seconds from 0 to 1e12");
    refused("0 5 1\n0 5 2\n", ":2: time '5' is not after 5, the time before of processor 0");
    refused("4 0 1\n", ":1: processor '4' is not a number from 0 to 3");
    let none = "no processor is ever alive: 4 processors, all of speed 0";
    let file = dir.file("none", "0 0 0\n1 0 0\n2 0 0\n3 0 0\n");
    fails(&["simulate", "fib", "--processors", "4", "--speeds", &file], 1, none);
    let args = ["simulate", "fib", "--processors", "4", "--speeds", "uniform:1..2", "--fault-below", "3"];
    fails(&args, 1, &format!("{none} or below 3"));
    fails(
        &["simulate", "fib", "--speeds", "constant:-1"],
        2,
        "speeds 'constant:-1': expected constant or constant:SPEED, 0 or from 1e-3 to 1e6",
    );
    let expected = "uniform:LOW..HIGH or uniform:LOW..HIGH:SECONDS, with LOW <= HIGH, both 0 or from 1e-3 to 1e6, and \
                    SECONDS from 1e-6 to 1e9";
    fails(
        &["simulate", "fib", "--speeds", "uniform:1..inf"],
        2,
        &format!("speeds 'uniform:1..inf': expected {expected}"),
    );
    let ran = millpond(&["simulate", "fib", "--speeds", "/no/such/file"]);
    assert!(
        ran.status == 1 && ran.stdout.is_empty() && ran.stderr.starts_with("error: speeds '/no/such/file': neither")
    );
    let file = dir.file("empty", "");
    let says = format!("{file}: it has no line 'processor second speed'");
    fails(&["simulate", "fib", "--speeds", &file], 1, &says);
    // A processor that leaves forever takes its tasks with it, unless it counts as faulty.
    let file = dir.file("leaves", "1 1 0\n");
    let ran =
        millpond(&["simulate", "fib", "--n", "30", "--leaf-cost", "0.01", "--processors", "3", "--speeds", &file]);
    assert!(ran.status == 1 && ran.stdout.is_empty() && ran.stderr.contains("processors that have left"), "{ran:?}");
    let object =
        json(&format!("simulate fib --n 30 --leaf-cost 0.01 --processors 3 --speeds {file} --fault-below 0.5 --json"));
    assert_eq!(object["simulated"]["faults"], 1);
}

const EXPECTED: &str = "expected --trace FILE, --stg FILE, --experiment NAME or one of fib, knary, nqueens, stencil";

#[test]
fn arguments_that_make_no_sense() {
    fails(&["simulate"], 2, EXPECTED);
    fails(&["simulate", "fibb"], 2, "unknown program 'fibb'; the nearest valid: fib");
    let both = "a program, --trace, --stg and --experiment exclude one another";
    fails(&["simulate", "--trace", "x", "--experiment", "fig4"], 2, both);
    for (option, name, values, range) in [
        ("latency", "SECONDS", ["0", "NaN", "1e-17", "1e7"], "1e-9 to 1e6"),
        ("own-latency", "SECONDS", ["-1", "NaN", "inf", "1e7"], "0 to 1e6"),
        ("at-once", "N", ["0", "NaN", "0.5", "1e7"], "1 to 1e6"),
        ("bandwidth", "BYTES", ["-1", "inf", "1e-300", "1"], "1e3 to 1e18"),
        ("fault-below", "SPEED", ["-1", "NaN", "inf", "1e7"], "0 to 1e6"),
        ("leaf-cost", "SECONDS", ["-1", "NaN", "inf", "1e11"], "0 to 1e8"),
        ("task-cost", "SECONDS", ["-1", "NaN", "inf", "1e300"], "0 to 1e8"),
        ("arg-cost", "SECONDS", ["-1", "NaN", "inf", "1e300"], "0 to 1e8"),
    ] {
        for value in values {
            let says = format!("invalid value '{value}' for '--{option} <{name}>': expected a number from {range}");
            fails(&["simulate", "fib", &format!("--{option}"), value], 2, &says);
        }
    }
    let says = "invalid value '0.5e-9' for '--leaf-cost <SECONDS>': expected whole nanoseconds, such as 160e-9";
    fails(&["simulate", "fib", "--leaf-cost", "0.5e-9"], 2, says);
    let says = "unknown steal-from 'middle'; the nearest valid: oldest, newest";
    fails(&["simulate", "fib", "--steal-from", "middle"], 2, says);
    let says = "--experiment brings its own machine: it cannot be used with --processors";
    fails(&["simulate", "--experiment", "fig4", "--processors", "3"], 2, says);
    fails(
        &["simulate", "fib", "--svg", "/no/such/directory/x"],
        1,
        "/no/such/directory/x: cannot write: No such file or directory (os error 2)",
    );
}

#[test]
fn programs_that_are_too_large() {
    let says = "the program is too large: more than 10^8 seconds of work, or more tasks than 64 bits count";
    for line in [
        "knary --n 35 --k 10 --cutoff 0",
        "knary --arg-cost 1e7",
        "fib --leaf-cost 1e7",
        "fib --task-cost 1e8",
        "nqueens --leaf-cost 1e5",
        "stencil --leaf-cost 1e8",
        "stencil --block 1 --task-cost 1e8",
    ] {
        let args: Vec<_> = ["simulate"].into_iter().chain(line.split(' ')).collect();
        fails(&args, 2, says);
    }
    let ran = words("simulate nqueens --task-cost 1");
    assert!(ran.status == 2 && ran.stdout.is_empty(), "{ran:?}");
    assert!(
        ran.stderr.starts_with("error: --task-cost and --arg-cost: to create the tasks takes 6729159.2"),
        "{ran:?}"
    );
    let says =
        "--n, --tile, --block, --steps: 1000000 blocks of tiles times 2 steps are too many: at most 1000000 in all";
    fails(&["simulate", "stencil", "--n", "1000000", "--tile", "1", "--block", "1", "--steps", "2"], 2, says);
}

#[test]
fn machines_on_which_nothing_would_come_to_an_end() {
    let dir = Dir::new("simulate-endless");
    let picture = dir.path("load.svg");
    let refused = |line: &str, says: &str| {
        let ran = words(&format!("simulate {line} --svg {picture}"));
        assert!(ran.status == 1 && ran.stdout.is_empty(), "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: {says}")) && ran.stderr.lines().count() == 1, "{ran:?}");
        assert!(dir.names().is_empty(), "{:?}", dir.names());
    };
    let none = "no processor is ever alive: 2 processors, all of speed 0 or below 1";
    refused("fib --n 10 --processors 2 --speeds uniform:0..1:5 --fault-below 1", none);
    refused("fib --speeds churn:1e-6:1e9", "the speed of processor 0 changes more than 312500 times");
    // Half a minute in unoptimized code.
    if !cfg!(debug_assertions) {
        refused("fib --n 1 --leaf-cost 1e8 --latency 1e-9", "50000000 requests for work were refused until 0.00");
    }
    let speeds = Dir::new("simulate-deserted");
    let deserted = "no processor is alive from 0.001 s on: 1 processors, all of speed 0 or below 0.5 permanently";
    let speeds = speeds.file("speeds", "0 0 1\n0 0.001 0.2\n");
    refused(&format!("fib --n 30 --processors 1 --speeds {speeds} --fault-below 0.5"), deserted);
}

#[test]
fn a_picture_in_place_of_what_is_read() {
    let dir = Dir::new("simulate-same");
    let file = dir.file("speeds", "0 0 1\n");
    let args = ["simulate", "fib", "--n", "10", "--processors", "1", "--speeds", &file, "--svg", &file];
    fails(&args, 2, &format!("--svg and --speeds name the same file: {file}"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "0 0 1\n");
}

#[test]
fn thieves_at_either_end() {
    let line = "simulate fib --processors 32";
    let oldest = json(&format!("{line} --steal-from oldest --json"));
    let newest = json(&format!("{line} --steal-from newest --json"));
    assert_eq!(oldest, json(&format!("{line} --json")));
    assert_eq!(newest["machine"]["steal_from"], "newest");
    // The youngest closures are the smaller ones, so a thief comes back sooner.
    assert!(number(&newest, "steals") > 1.5 * number(&oldest, "steals"), "{newest}");
    assert_eq!(number(&newest, "tasks"), number(&oldest, "tasks"));
    let ran = words(&format!("{line} --steal-from newest"));
    assert!(ran.stdout.contains("begin at the newest frame"), "{ran:?}");
}

#[test]
fn the_figure_beside_what_was_published() {
    let object = json("simulate --experiment fig4 --json");
    let rows = object["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        let (ours, published) = (row["seconds"].as_f64().unwrap(), row["published_seconds"].as_f64().unwrap());
        assert!((ours / published - 1.0).abs() < 0.03, "{row}");
    }
    assert!(rows[2]["outcome"]["idle_share"].as_f64().unwrap() <= 0.005);
}

#[test]
fn the_table_beside_what_was_published() {
    let object = json("simulate --experiment table1 --json");
    let first = [("fib(40), th 15", 4, 2.75), ("fib(40), th 15", 8, 1.66), ("fib(40), th 15", 16, 1.01)];
    for list in ["rows", "rows_with_leaves_as_printed"] {
        let rows = object[list].as_array().unwrap();
        assert_eq!(rows.len(), 13);
        for ((program, processors, seconds), row) in first.iter().zip(rows) {
            assert_eq!((&row["program"], &row["processors"]), (&json!(program), &json!(processors)));
            assert_eq!(row["published_seconds"], json!(seconds));
        }
        assert_eq!((&rows[12]["program"], &rows[12]["processors"]), (&json!("knary, th 15"), &json!(100)));
        assert!(rows.iter().all(|row| row["seconds"].as_f64().unwrap() > 0.0));
    }
    // The output has the same numbers. The decision says how close they are.
    let printed = words("simulate --experiment table1");
    assert_eq!((printed.status, printed.stderr.as_str()), (0, ""));
    let (fitted, as_printed) = printed.stdout.split_once("with leaves of 0.1 ms and 1 ms, as printed:").unwrap();
    for (text, list) in [(fitted, "rows"), (as_printed, "rows_with_leaves_as_printed")] {
        for row in object[list].as_array().unwrap() {
            let (program, processors) = (row["program"].as_str().unwrap(), row["processors"].as_u64().unwrap());
            let (seconds, published) = (row["seconds"].as_f64().unwrap(), row["published_seconds"].as_f64().unwrap());
            let begin = format!("│ {program} {processors} ");
            let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
            let line = lines.find(|line| line.starts_with(&begin));
            let line = line.unwrap_or_else(|| panic!("{program}, {processors}: {text}"));
            let difference = format!("{:+.1} %", 100.0 * (seconds / published - 1.0));
            assert!(line.contains(&format!("{seconds:.3} s")) && line.contains(&difference), "{line}");
        }
    }
}
