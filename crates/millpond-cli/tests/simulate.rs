//! `millpond simulate`: what it prints and writes, and what it refuses.

mod common;

use common::{Dir, fails, json, millpond, words};
use serde_json::Value;

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
    // No number of processors beats the span.
    assert!(number(&object, "seconds") >= recorded["profile"]["span"].as_f64().unwrap() * 0.999);
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
    refused("later", &later, "offset 8: a recording of version 9; this reads version 1");
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
    refused("0 0 1\n1 0 -2\n", ":2: speed '-2' is not a finite number from 0 on");
    refused("0 0 NaN\n", ":1: speed 'NaN' is not a finite number from 0 on");
    refused("0 0 inf\n", ":1: speed 'inf' is not a finite number from 0 on");
    refused("0 -1 1\n", ":1: time '-1' is not a number of seconds from 0 on");
    refused("0 5 1\n0 5 2\n", ":2: time '5' is not after 5, the time before of processor 0");
    refused("4 0 1\n", ":1: processor '4' is not a number from 0 to 3");
    let nobody = "no processor is ever alive: 4 processors, all of speed 0 or below";
    let file = dir.file("nobody", "0 0 0\n1 0 0\n2 0 0\n3 0 0\n");
    fails(&["simulate", "fib", "--processors", "4", "--speeds", &file], 1, &format!("{nobody} 0"));
    let args = ["simulate", "fib", "--processors", "4", "--speeds", "uniform:1..2", "--fault-below", "3"];
    fails(&args, 1, &format!("{nobody} 3"));
    fails(
        &["simulate", "fib", "--speeds", "constant:-1"],
        2,
        "speeds 'constant:-1': expected constant or constant:SPEED, a number from 0 on",
    );
    let expected = "uniform:LOW..HIGH or uniform:LOW..HIGH:SECONDS, numbers with 0 <= LOW <= HIGH and SECONDS > 0";
    fails(
        &["simulate", "fib", "--speeds", "uniform:1..inf"],
        2,
        &format!("speeds 'uniform:1..inf': expected {expected}"),
    );
    let ran = millpond(&["simulate", "fib", "--speeds", "/no/such/file"]);
    assert!(ran.status == 1 && ran.stdout.is_empty() && ran.stderr.starts_with("error: /no/such/file: cannot read"));
    // Who leaves for good takes what it holds along, unless it counts as faulty.
    let file = dir.file("leaves", "1 1 0\n");
    let ran =
        millpond(&["simulate", "fib", "--n", "30", "--leaf-cost", "0.01", "--processors", "3", "--speeds", &file]);
    assert!(ran.status == 1 && ran.stdout.is_empty() && ran.stderr.contains("processors that have left"), "{ran:?}");
    let object =
        json(&format!("simulate fib --n 30 --leaf-cost 0.01 --processors 3 --speeds {file} --fault-below 0.5 --json"));
    assert_eq!(object["simulated"]["faults"], 1);
}

#[test]
fn arguments_that_make_no_sense() {
    fails(&["simulate"], 2, "expected --trace FILE, --experiment NAME or one of fib, knary, nqueens, stencil");
    fails(&["simulate", "fibb"], 2, "unknown program 'fibb'; the nearest valid: fib");
    let both = "a program, --trace and --experiment exclude one another";
    fails(&["simulate", "--trace", "x", "--experiment", "fig4"], 2, both);
    for (option, value) in [("latency", "0"), ("latency", "NaN"), ("bandwidth", "-1"), ("bandwidth", "inf")] {
        let option = format!("--{option}");
        let ran = millpond(&["simulate", "fib", &option, value]);
        assert!(ran.status == 2 && ran.stdout.is_empty(), "{ran:?}");
        assert!(ran.stderr.contains(&option) && ran.stderr.contains(&format!("'{value}'")), "{ran:?}");
        assert!(ran.stderr.contains("expected a finite number above 0"), "{ran:?}");
    }
    for option in ["--fault-below", "--leaf-cost", "--task-cost"] {
        let ran = millpond(&["simulate", "fib", option, "-1"]);
        assert!(ran.status == 2 && ran.stderr.contains("expected a finite number from 0 on"), "{ran:?}");
    }
    let says = "--experiment brings its own machine: it cannot be used with --processors";
    fails(&["simulate", "--experiment", "fig4", "--processors", "3"], 2, says);
    fails(
        &["simulate", "fib", "--svg", "/no/such/directory/x"],
        1,
        "/no/such/directory/x: cannot write: No such file or directory (os error 2)",
    );
    let says = "the program is too large: more than 10^8 seconds of work";
    fails(&["simulate", "knary", "--n", "35", "--k", "10", "--cutoff", "0"], 2, says);
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
