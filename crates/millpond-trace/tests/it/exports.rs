//! Exports have the properties that their readers need: drawings are XML, and the edges of graphs
//! have nodes.

use std::collections::HashSet;

use crate::programs::{joins, nested_waits, recorded, recordings, runtime};
use millpond::record::Recorder;
use millpond::{Handle, Inline, Runtime, Spawn};
use millpond_trace::{DotError, Recording};

/// A drawing: tags are closed in order, attributes are quoted, and the rest is text that XML
/// allows.
fn assert_xml(text: &str) {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'));
        let end = start + rest[start..].find('>').unwrap();
        let tag = &rest[start + 1..end];
        assert!(!tag.contains('<') && tag.matches('"').count().is_multiple_of(2), "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.strip_prefix('/'), tag.ends_with('/')) {
            (Some(closed), _) => assert_eq!(open.pop(), Some(closed)),
            (None, false) => open.push(name),
            (None, true) => {}
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    for entity in text.split('&').skip(1) {
        assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| entity.starts_with(known)), "{entity}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

fn schedule(recording: &Recording) -> String {
    let mut file = Vec::new();
    recording.write_schedule(&mut file).unwrap();
    String::from_utf8(file).unwrap()
}

#[test]
fn schedules_are_xml_with_a_row_a_worker() {
    for (name, recording) in recordings() {
        let drawing = schedule(&recording);
        assert_xml(&drawing);
        let rows = drawing.matches(">worker ").count();
        assert_eq!(rows, recording.workers, "{name}");
        assert!(drawing.contains("time ("));
    }
}

#[test]
fn a_schedule_is_no_larger_than_can_be_seen() {
    let recording = recorded(&runtime(2, 2048, Inline::Auto), |rt| {
        rt.scope(|s| (0..100_000).for_each(|n| drop(s.task("small").index([n]).spawn((), |()| ())))).unwrap();
    });
    let drawing = schedule(&recording);
    assert_xml(&drawing);
    assert!(drawing.len() < 2_000_000, "{}", drawing.len());
    assert!(drawing.contains("stretches, mostly small"));
}

#[test]
fn speedups_are_xml_whatever_was_measured() {
    let report = recorded(&runtime(2, 2048, Inline::Never), nested_waits).report().unwrap();
    for measured in [vec![], vec![(1, 1.0), (2, 0.5), (1024, 1e-9)], vec![(0, 1.0), (4, 0.0), (2, 1e9)]] {
        let mut file = Vec::new();
        report.write_speedup(&measured, &mut file).unwrap();
        let drawing = String::from_utf8(file).unwrap();
        assert_xml(&drawing);
        assert!(drawing.contains("work law") && drawing.contains("span law") && drawing.contains("predicted"));
    }
}

fn dot(recording: &Recording) -> Result<String, DotError> {
    let mut file = Vec::new();
    recording.write_dot(&mut file)?;
    Ok(String::from_utf8(file).unwrap())
}

/// The text without its quoted parts.
fn unquoted(text: &str) -> String {
    let (mut out, mut quoted, mut characters) = (String::new(), false, text.chars());
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted = !quoted,
            '\\' if quoted => _ = characters.next(),
            other if !quoted => out.push(other),
            _ => {}
        }
    }
    assert!(!quoted);
    out
}

#[test]
fn graphs_have_balanced_boxes_and_edges_between_nodes() {
    for (name, recording) in recordings() {
        let text = unquoted(&dot(&recording).unwrap());
        let count = |what: char| text.matches(what).count();
        assert_eq!((count('{'), count('[')), (count('}'), count(']')), "{name}");
        let (mut nodes, mut ends) = (HashSet::new(), HashSet::new());
        for line in text.lines() {
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                [from, "->", to, ..] => ends.extend([from, to]),
                [node, attributes, ..] if attributes.starts_with('[') => _ = nodes.insert(node),
                _ => {}
            }
        }
        assert!(ends.is_subset(&nodes), "{name}: {:?}", ends.difference(&nodes));
        let tasks = nodes.iter().filter(|node| node.starts_with('b')).count() as u64;
        assert!(tasks > recording.report().unwrap().tasks, "{name}");
    }
}

#[test]
fn graphs_show_versions_and_generations() {
    let recording = recorded(&runtime(1, 2048, Inline::Never), |rt| {
        let (x, y) = (Handle::new(0), Handle::new(0));
        rt.scope(|s| {
            s.spawn(y.read(), |_| ());
            s.spawn(x.inout(), |_| ());
            s.spawn(x.read(), |_| ());
            s.spawn(x.read(), |_| ());
            s.spawn(x.write(), |x| x.set(1));
            s.spawn(x.commutative(), |_| ());
        })
        .unwrap();
    });
    let text = dot(&recording).unwrap();
    let names = ["d0 v0 g0 read", "d1 v0 g0 inout", "d1 v0 g1 read", "d1 v1 g0 write", "d1 v1 g1 commutative"];
    for name in names {
        assert_eq!(text.matches(&format!("\"{name}\"")).count(), 1, "{name}: {text}");
    }
    // Edges lead to both reads and to the commutative access. No edge leads to the write.
    assert_eq!(text.lines().filter(|line| line.trim().starts_with('g') && line.contains("-> b")).count(), 3);
}

#[test]
fn a_graph_too_large_is_refused() {
    let recording = recorded(&runtime(1, 2048, Inline::Always), |rt| {
        rt.scope(|s| (0..501).for_each(|_| drop(s.spawn((), |()| ())))).unwrap();
    });
    let error = dot(&recording).unwrap_err();
    assert!(matches!(error, DotError::TooLarge { tasks: 501, limit: 500 }));
    assert_eq!(error.to_string(), "the graph has 501 tasks, 500 can be drawn: record a smaller instance");
}

#[test]
fn nothing_and_no_time_at_all_can_be_exported() {
    let rt = Runtime::builder().workers(2).recorder(&Recorder::with_clock(|| 7)).build().unwrap();
    for recording in [recorded(&rt, |_| ()), recorded(&rt, nested_waits), recorded(&rt, joins)] {
        recording.write_trace(&mut Vec::new()).unwrap();
        assert_xml(&schedule(&recording));
        dot(&recording).unwrap();
        let mut file = Vec::new();
        recording.report().unwrap().write_speedup(&[(1, 1.0)], &mut file).unwrap();
        assert_xml(&String::from_utf8(file).unwrap());
    }
}
