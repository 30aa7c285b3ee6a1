//! The output and exit status of the command.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output};

fn peers(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_millpond-peers")).args(words).output().expect("the command starts")
}

/// Stdout and the words of stderr.
fn texts(output: &Output) -> (&str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).expect("text");
    (text(&output.stdout), text(&output.stderr))
}

/// A path for a file of this test.
fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}", std::process::id()))
}

#[test]
fn refusals_are_one_line_with_status_2() {
    let refusals = [
        (&["--shape", "cholesk"][..], "cholesky"),
        (&["--suit", "empty"], "--suite"),
        (&["--reps", "0"], "1..=1000"),
        (&["--suite", "join", "--shape", "chain"], "none of the suites"),
    ];
    for (words, hint) in refusals {
        let output = peers(words);
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stdout, stderr.lines().count()), (Some(2), "", 1), "{stderr}");
        assert!(stderr.contains(hint), "{stderr}");
    }
}

#[test]
fn json_is_one_object_whose_rows_are_verified() {
    let output = peers(&["--quick", "--json", "--suite", "empty", "--shape", "chain", "--workers", "1", "--reps", "1"]);
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stderr}");
    let object: Value = serde_json::from_str(stdout).expect("one object");
    assert_eq!(object["suite"], "empty");
    let rows = object["rows"].as_array().expect("rows");
    let runtimes: Vec<_> = rows.iter().map(|row| row["runtime"].as_str().expect("a name")).collect();
    assert!(runtimes.starts_with(&["serial", "millpond", "millpond-queued"]), "{runtimes:?}");
    for row in rows {
        assert_eq!((&row["verified"], &row["shape"], &row["reps"]), (&true.into(), &"chain".into(), &1.into()));
        assert!(row["ns_per_task"].as_f64().is_some_and(|ns| ns > 0.0), "{row}");
    }
    // Each peer that could take part does, or is listed as missing.
    let missing = object["missing"].as_array().expect("a list").len();
    assert_eq!(rows.len() + missing, 8, "{stdout}");
}

#[test]
fn efficiencies_are_compared_with_the_ceiling() {
    let words = ["--quick", "--json", "--suite", "bodies", "--shape", "chains", "--runtime", "ceiling", "--reps", "1"];
    let output = peers(&words);
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stderr}");
    let object: Value = serde_json::from_str(stdout).expect("one object");
    let rows = object["rows"].as_array().expect("rows");
    // The ceiling and millpond, with five lengths of bodies.
    assert_eq!(rows.len(), 10, "{stdout}");
    for row in rows {
        assert_eq!(row["verified"], true, "{row}");
        if row["runtime"] == "ceiling" {
            // Each of the two processes ran half of the 256 tasks.
            assert_eq!((&row["worker_shares"], row.get("of_ceiling")), (&vec![0.5_f64, 0.5].into(), None), "{row}");
        } else {
            assert!(row["of_ceiling"].as_f64().is_some_and(|part| part > 0.0), "{row}");
        }
    }
}

#[test]
fn every_suite_fills_a_table_and_the_files() {
    let (csv, svg) = (place("csv"), place("svg"));
    let files = [&csv, &svg].map(|file| file.to_str().expect("text"));
    for suite in ["join", "empty", "bodies", "bimodal", "loops"] {
        let words = ["--quick", "--runtime", "rayon", "--reps", "1", "--suite", suite];
        let output = peers(&[&words[..], &["--csv", files[0], "--svg", files[1]]].concat());
        let (stdout, stderr) = texts(&output);
        assert!(output.status.success(), "{suite}: {stderr}");
        assert!(stdout.starts_with(suite) && stdout.contains("rayon"), "{stdout}");
        let [csv, svg] = files.map(|file| std::fs::read_to_string(file).expect("written"));
        assert!(csv.starts_with("shape,runtime,") && csv.contains(",rayon,"), "{csv}");
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"), "{svg}");
    }
    files.iter().for_each(|file| std::fs::remove_file(file).expect("was there"));
}

#[test]
fn a_file_that_cannot_be_written_is_found_out_at_once() {
    let output = peers(&["--csv", "/nowhere/at/all.csv"]);
    let (stdout, stderr) = texts(&output);
    assert_eq!((output.status.code(), stdout, stderr.lines().count()), (Some(1), "", 1), "{stderr}");
    assert!(stderr.starts_with("error: cannot write /nowhere/at/all.csv"), "{stderr}");
}
