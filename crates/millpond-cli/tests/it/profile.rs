//! `millpond profile`: its output, its files, and its errors.

use crate::common::{Dir, fails, json, millpond, words};
use serde_json::Value;

/// The shortest profile with every part.
const SMALL: &str = "profile cholesky --n 200 --tile 50 --workers 2";

#[test]
fn one_object_with_the_profile() {
    let object = json(&format!("{SMALL} --reps 3 --json"));
    assert_eq!((object["workload"].as_str(), object["verified"].as_bool()), (Some("cholesky"), Some(true)));
    assert_eq!((object["tasks"].as_u64(), object["seconds"].as_array().unwrap().len()), (Some(20), 3));
    let profile = &object["profile"];
    assert_eq!((profile["tasks"].as_u64(), profile["leaves"].as_u64()), (Some(20), Some(20)));
    assert_eq!((profile["class"].as_str(), profile["repeated"].as_bool()), (Some("D∞"), Some(true)));
    let number = |name: &str| profile[name].as_f64().unwrap_or_else(|| panic!("{name} in {profile}"));
    assert!(number("work") >= number("span") && number("span") > 0.0);
    assert!((number("parallelism") - number("work") / number("span")).abs() < 1e-9);
    let workers: Vec<_> =
        profile["predicted"].as_array().unwrap().iter().map(|p| p["workers"].as_u64().unwrap()).collect();
    assert_eq!(workers, [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]);
    let labels: Vec<_> = profile["labels"].as_array().unwrap().iter().map(|l| l["label"].as_str().unwrap()).collect();
    for label in ["potrf", "trsm", "syrk", "gemm"] {
        assert!(labels.contains(&label), "{labels:?}");
    }
    let shares = profile["per_worker"].as_array().unwrap();
    assert_eq!(shares.len(), 2);
}

#[test]
fn every_workload_has_a_profile() {
    let small = [
        ("matmul --n 100 --tile 50", 8),
        ("fib --n 10", 177),
        ("fib-join --n 10", 0),
        ("knary --n 4 --k 3 --r 1", 40),
        ("nqueens --n 5", 26),
        ("uts --depth 4", 944),
        ("uts --depth 4 --tasks closures", 944),
        ("uts-join --depth 4", 0),
        ("stencil --n 50 --steps 5 --tile 13", 20),
        ("porting --tasks 50 --gets 3", 50),
        ("porting --tasks 50 --gets 3 --preconditions eager --blocked fiber", 50),
        ("porting --tasks 50 --gets 3 --preconditions strict", 150),
    ];
    for (workload, tasks) in small {
        let object = json(&format!("profile {workload} --workers 2 --json"));
        let profile = &object["profile"];
        assert!(profile["tasks"].as_u64().unwrap() > 0, "{workload}: {object}");
        if tasks > 0 {
            assert_eq!(profile["tasks"], object["tasks"], "{workload}");
        }
    }
}

#[test]
fn a_table_for_people() {
    let ran = words(SMALL);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    for part in
        ["work T1", "span T∞", "parallelism", "critical path", "workers idle for", "predicted", "potrf", "verified"]
    {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn every_file_that_was_asked_for() {
    let dir = Dir::new("profile-files");
    let (record, trace, dot) = (dir.path("r.rec"), dir.path("t.json"), dir.path("g.dot"));
    let (svg, speedup) = (dir.path("s.svg"), dir.path("u.svg"));
    let args = format!("{SMALL} --record {record} --trace {trace} --dot {dot} --svg {svg} --speedup {speedup} --json");
    let object = json(&args);
    assert_eq!(dir.names(), ["g.dot", "r.rec", "s.svg", "t.json", "u.svg"]);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let names = trace["traceEvents"].as_array().unwrap().iter().filter(|event| event["ph"] == "X");
    assert_eq!(names.filter(|event| event["name"].as_str().unwrap().starts_with("gemm(")).count(), 4);
    assert!(std::fs::read_to_string(dot).unwrap().starts_with("digraph"));
    for file in [svg, speedup] {
        assert!(std::fs::read_to_string(file).unwrap().trim_end().ends_with("</svg>"));
    }
    // The recording gives the same report again.
    let again = json(&format!("profile --read {record} --json"));
    assert_eq!((&again["profile"], again["program"].as_str()), (&object["profile"], Some("cholesky")));
}

#[test]
fn what_cannot_be_written_is_found_before_the_run() {
    // The run would take minutes.
    let long = "profile fib --n 45 --workers 1";
    for option in ["record", "trace", "dot", "svg", "speedup"] {
        let file = "/no/such/directory/file";
        let line = format!("{long} --{option} {file}");
        let says = format!("{file}: cannot write: No such file or directory (os error 2)");
        fails(&line.split_whitespace().collect::<Vec<_>>(), 1, &says);
    }
}

#[test]
fn one_file_is_not_written_twice_whatever_it_is_called() {
    let dir = Dir::new("profile-same");
    let (file, inside) = (dir.path("t.json"), dir.path("d"));
    std::fs::create_dir(&inside).unwrap();
    std::os::unix::fs::symlink(dir.path("."), dir.path("d/back")).unwrap();
    let here = std::env::current_dir().unwrap();
    let absolute = here.join("a.json").to_str().unwrap().to_owned();
    let others = [dir.path("./t.json"), dir.path("d/../t.json"), dir.path("d/back/t.json")];
    let mut pairs: Vec<_> = others.iter().map(|other| (file.as_str(), other.as_str())).collect();
    pairs.extend([("a.json", "a.json"), ("a.json", "./a.json"), ("a.json", &absolute), (&absolute, "a.json")]);
    let refused = |pairs: &[(&str, &str)]| {
        for (one, other) in pairs {
            let args = ["profile", "fib", "--n", "45", "--trace", one, "--svg", other];
            fails(&args, 2, &format!("--svg and --trace name the same file: {other}"));
        }
    };
    // Neither file exists.
    refused(&pairs);
    // One file exists, and the other is a link to it.
    std::fs::write(&file, "what was there").unwrap();
    std::os::unix::fs::symlink(&file, dir.path("link")).unwrap();
    refused(&[(&file, &dir.path("link")), (&dir.path("link"), &file)]);
    // A link to a missing file, and a link to that link.
    std::os::unix::fs::symlink("later.json", dir.path("dangling")).unwrap();
    std::os::unix::fs::symlink(dir.path("dangling"), dir.path("d/further")).unwrap();
    let later = dir.path("later.json");
    refused(&[(&later, &dir.path("dangling")), (&dir.path("d/further"), &later)]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "what was there");
}

#[test]
fn what_is_read_or_written_besides_is_not_overwritten() {
    let dir = Dir::new("profile-lost");
    let (file, matrix) = (dir.path("r.rec"), dir.path("factor.npy"));
    json(&format!("{SMALL} --record {file} --output {matrix} --json"));
    std::os::unix::fs::symlink(&file, dir.path("link")).unwrap();
    for (option, other) in [("record", "r.rec"), ("trace", "./r.rec"), ("svg", "link"), ("speedup", "link")] {
        let other = dir.path(other);
        let says = format!("--{option} and --read name the same file: {other}");
        fails(&["profile", "--read", &file, &format!("--{option}"), &other], 2, &says);
    }
    for option in ["trace", "record"] {
        let line = format!("{SMALL} --output {matrix} --{option} {matrix}");
        let says = format!("--{option} and --output name the same file: {matrix}");
        fails(&line.split_whitespace().collect::<Vec<_>>(), 2, &says);
    }
    let says = format!("--trace and --input name the same file: {matrix}");
    fails(&["profile", "cholesky", "--input", &matrix, "--trace", &matrix], 2, &says);
    // All files are unchanged.
    assert_eq!(dir.names(), ["factor.npy", "link", "r.rec"]);
    json(&format!("profile --read {file} --json"));
    assert!(std::fs::read(&matrix).unwrap().starts_with(b"\x93NUMPY"));
}

#[test]
fn a_graph_that_is_too_large_to_draw() {
    let dir = Dir::new("profile-large");
    let dot = dir.path("g.dot");
    let args = ["profile", "cholesky", "--n", "4000", "--dot", &dot];
    fails(&args, 2, "--dot: the graph has 5984 tasks, 500 can be drawn: record a smaller instance");
    assert!(dir.names().is_empty());
    // 500 tasks and a combination, which is known only after the run.
    let trace = dir.path("t.json");
    let tree = ["--depth", "4", "--seed", "1543"];
    let args = [&["profile", "uts"], &tree[..], &["--trace", &trace, "--dot", &dot, "--json"]].concat();
    let ran = millpond(&args);
    assert!(ran.status == 2 && ran.stdout.is_empty() && ran.stderr.contains("500 can be drawn"), "{ran:?}");
    assert!(dir.names().is_empty());
}

#[test]
fn a_recording_that_is_none() {
    let dir = Dir::new("profile-read");
    let whole = dir.path("whole");
    assert_eq!(words(&format!("{SMALL} --record {whole}")).status, 0);
    let bytes = std::fs::read(&whole).unwrap();
    let refused = |name: &str, bytes: &[u8], says: &str| {
        let file = dir.file(name, bytes);
        fails(&["profile", "--read", &file, "--json"], 1, &format!("{file}: {says}"));
    };
    let cut = bytes.len() - 5;
    refused("cut", &bytes[..cut], &format!("offset {cut}: cut off: a block of 10 bytes has only 5"));
    refused("other", b"PNG and so on", "offset 0: not a recording of millpond's");
    refused("empty", b"", "offset 0: not a recording of millpond's");
    let mut later = bytes.clone();
    later[8] = 9;
    refused("later", &later, "offset 8: a recording of version 9; this reads version 2");
    let mut wrong = bytes;
    let middle = wrong.len() / 2;
    wrong[middle] ^= 1;
    let file = dir.file("wrong", &wrong);
    let ran = millpond(&["profile", "--read", &file]);
    assert!(ran.status == 1 && ran.stdout.is_empty() && ran.stderr.contains("damaged: "), "{ran:?}");
    fails(&["profile", "--read", "/dev/zero"], 1, "/dev/zero: offset 0: not a recording of millpond's");
    let missing = dir.path("missing");
    let says = format!("{missing}: offset 0: cannot read it: No such file or directory (os error 2)");
    fails(&["profile", "--read", &missing], 1, &says);
}

#[test]
fn a_recording_or_a_workload() {
    let says = "--read takes a recording instead of a workload: give one of the two";
    fails(&["profile", "--read", "x", "fib"], 2, says);
    for option in [
        "--workers 2",
        "--pin",
        "--window 10",
        "--deterministic",
        "--scheme parked",
        "--pool default",
        "--memory default",
        "--reps 3",
    ] {
        let name = option.split_whitespace().next().unwrap();
        let says = format!("--read takes a recording instead of a run: it cannot be used with {name}");
        let line = format!("profile {option} --read x");
        fails(&line.split_whitespace().collect::<Vec<_>>(), 2, &says);
    }
    let says = "--read takes a recording instead of a run: it cannot be used with --workers, --reps";
    fails(&["profile", "--read", "x", "--reps", "2", "--workers", "1", "--json"], 2, says);
    fails(
        &["profile"],
        2,
        "expected --read FILE or one of cholesky, matmul, fib, fib-join, knary, nqueens, uts, uts-join, stencil, synthetic, grammar, porting, blackscholes, cholesky-cnc, inverse, fileconcat, reduction, denoise, routing",
    );
    fails(&["profile", "cholesk"], 2, "unknown workload 'cholesk'; the nearest valid: cholesky, cholesky-cnc");
}
