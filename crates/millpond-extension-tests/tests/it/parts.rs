//! Parts of this crate as types, by name, and with members of the catalogue.

use millpond::catalogue::{Names, Registry, Row};
use millpond::memory::named::{Parts as MemoryParts, Variant};
use millpond::memory::{Named, variants::Bs};
use millpond::{
    DefaultMemory, DefaultPool, DefaultScheme, Engine, Handle, Inline, Parts, Runtime, Spawn, Sum, on_runtime,
};
use millpond_extension_tests::memory::Malloc;
use millpond_extension_tests::pool::RoundRobin;
use millpond_extension_tests::renamed::{Name, Renamed};
use millpond_extension_tests::scheme::Queues;

fn registry() -> Registry {
    Registry::default()
        .with_pool::<RoundRobin>(Row::of_pool::<RoundRobin>("a locked deque per worker", "here"))
        .and_then(|registry| registry.with_memory::<Malloc>(Row::of_memory::<Malloc>("the global allocator", "here")))
        .and_then(|registry| registry.with_scheme::<Queues>(Row::of_scheme::<Queues>("a queue per version", "here")))
        .expect("the names are new")
}

/// Every access mode, nested tasks, joins and forks.
fn program<E: Engine>(rt: &Runtime<E>) {
    let (mut list, total, seen) = (Handle::new(Vec::new()), Handle::new(0), Handle::new(0));
    let doubled = Handle::unset();
    rt.scope(|s| {
        for i in 0..100 {
            s.nest(list.inout(), move |s, list| {
                s.spawn(list.inout(), move |list: &mut Vec<u64>| list.push(i));
                s.spawn(list.read(), move |list| assert_eq!(list.len() as u64, i + 1));
            });
            s.spawn((list.concurrent(), total.reduce(Sum)), |(list, total)| *total += list.len() as u64);
            s.spawn(seen.commutative(), |seen| *seen += 1);
            s.spawn((total.read(), doubled.write()), |(total, doubled)| doubled.set(2 * total));
        }
        assert_eq!(s.wait_on(&mut list).unwrap().len(), 100);
        let (a, b) = millpond::join(|| (0..1000).sum::<u64>(), || 1);
        assert_eq!((a, b), (499_500, 1));
    })
    .unwrap();
    assert_eq!(list.into_inner().unwrap(), (0..100).collect::<Vec<_>>());
    let (total, seen, doubled) = (total.into_inner(), seen.into_inner(), doubled.into_inner());
    assert_eq!((total.unwrap(), seen.unwrap(), doubled.unwrap()), (5050, 100, 10_100));
}

fn as_types<E: Engine>() {
    for (workers, inline) in [(1, Inline::Never), (2, Inline::Auto), (4, Inline::Never)] {
        let rt: Runtime<E> = Runtime::builder().workers(workers).inline(inline).build_with().unwrap();
        program(&rt);
    }
}

#[test]
fn each_part_alone_and_all_together() {
    as_types::<Parts<DefaultMemory, RoundRobin, DefaultScheme>>();
    as_types::<Parts<Malloc, DefaultPool, DefaultScheme>>();
    as_types::<Parts<DefaultMemory, DefaultPool, Queues>>();
    as_types::<Parts<Malloc, RoundRobin, Queues>>();
}

/// Parts of this crate under their names, with one another and with members of the catalogue.
const COMBINATIONS: [Names<'static>; 5] = [
    Names { scheme: "queues", pool: "dq8", memory: "dgbkof" },
    Names { scheme: "tickets", pool: "round-robin", memory: "cgbk" },
    Names { scheme: "hypergraph", pool: "rq2", memory: "system" },
    Names { scheme: "queues", pool: "round-robin", memory: "system" },
    Names { scheme: "queues", pool: "default", memory: "default" },
];

#[test]
fn by_name_with_members_of_the_catalogue() {
    let registry = registry();
    for names in COMBINATIONS {
        let any = registry.build(Runtime::builder().workers(2), names).unwrap();
        assert_eq!(any.names(), names);
        on_runtime!(&any, rt => program(rt));
    }
}

#[test]
fn rows_are_listed_and_names_are_checked() {
    let registry = registry();
    assert_eq!(registry.schemes().last().unwrap().name, "queues");
    assert_eq!(registry.pools().last().unwrap().honours_priority, Some(false));
    assert_eq!(registry.memory().last().unwrap().summary, "the global allocator");
    let wrong = Names { pool: "round-robins", ..Names::default() };
    let error = registry.build(Runtime::builder(), wrong).unwrap_err().to_string();
    // The message names what was given, and the valid names.
    assert_eq!(error.matches("round-robin").count(), 2, "{error}");
}

#[test]
fn a_name_is_registered_once() {
    let (registry, line) = (registry(), line!() + 1);
    let again = registry.clone().with_pool::<RoundRobin>(Row::of_pool::<RoundRobin>("again", "here"));
    let error = again.unwrap_err().to_string();
    assert!(error.starts_with("there are two pools named `round-robin`: one added at "), "{error}");
    assert!(error.contains(&format!(", one added at {}:{line}:", file!())), "{error}");
    assert_eq!(error.matches(file!()).count(), 2, "{error}");
    for error in [
        registry.clone().with_memory::<Malloc>(Row::of_memory::<Malloc>("", "")).unwrap_err(),
        registry.with_scheme::<Queues>(Row::of_scheme::<Queues>("", "")).unwrap_err(),
    ] {
        assert_eq!(error.to_string().matches(file!()).count(), 2, "{error}");
    }
}

/// Parts with names that cannot be the value of an option.
#[derive(Debug)]
enum BadName {}

impl Name for BadName {
    const NAME: &'static str = "--pool";
}

impl Variant for BadName {
    const NAME: &'static str = "";
    const PARTS: MemoryParts = Bs::PARTS;
}

#[test]
fn a_bad_name_is_refused_with_the_rule_and_the_place() {
    let rule = "a name consists of ASCII letters, digits, `-` and `_`, is not empty, and does not start with `-`";
    type Pool = Renamed<RoundRobin, BadName>;
    type Memory = Named<BadName>;
    let (pool, memory) = (Row::of_pool::<Pool>("", ""), Row::of_memory::<Memory>("", ""));
    let (line, error) = (line!(), Registry::default().with_pool::<Pool>(pool).unwrap_err().to_string());
    assert!(error.starts_with(&format!("the pool added at {}:{line}:", file!())), "{error}");
    assert!(error.ends_with(&format!(" cannot have the name \"--pool\": {rule}")), "{error}");
    let (line, error) = (line!(), Registry::default().with_memory::<Memory>(memory).unwrap_err().to_string());
    assert!(error.starts_with(&format!("the memory manager added at {}:{line}:", file!())), "{error}");
    assert!(error.ends_with(&format!(" cannot have the name \"\": {rule}")), "{error}");
}
