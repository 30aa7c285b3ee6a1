//! Random programs. In every mode and with any number of workers, they put the items that the
//! serial program puts. If they cannot continue, the report says exactly which steps wait for which
//! items.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{limited, runtime};
use crate::rng::Rng;
use millpond::Runtime;
use millpond_cnc::{Blocked, Kind, Limit, Preconditions, Settings, Table, graph_with};

/// What a step gets.
#[derive(Clone, Debug)]
enum Get {
    Fixed(u32),
    /// One of these keys. The value of the previous get selects it.
    Chosen(Vec<u32>),
}

#[derive(Clone, Debug, Default)]
struct Step {
    gets: Vec<Get>,
    /// The fixed gets that it declares, in this order.
    declared: Vec<u32>,
    /// The tags that it puts.
    children: Vec<u32>,
}

/// Step `n` puts item `n`, if it gets there.
#[derive(Clone, Debug)]
struct Program {
    steps: Vec<Step>,
    /// The steps that the environment prescribes.
    first: Vec<u32>,
    /// Items that the environment puts.
    given: Vec<u32>,
}

fn mix(sum: u64, with: u64) -> u64 {
    (sum ^ with).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31)
}

impl Program {
    /// With or without steps that get items that are never put. If every get must be declared, no
    /// key depends on a value.
    fn random(rng: &mut Rng, missing: bool, all_declared: bool) -> Program {
        let steps = 1 + rng.below(30) as u32;
        let given: Vec<u32> = (steps..steps + 1 + rng.below(4) as u32).collect();
        let mut program = Program { steps: vec![Step::default(); steps as usize], first: Vec::new(), given };
        for step in 0..steps {
            // An earlier step or the environment prescribes it.
            match rng.below(1 + step as usize) as u32 {
                parent if parent < step && rng.percent(60) => program.steps[parent as usize].children.push(step),
                _ => program.first.push(step),
            }
            // It gets items of earlier steps or of the environment.
            let key = |rng: &mut Rng| match rng.below(100) {
                0..10 if missing => steps + 100 + rng.below(3) as u32,
                0..70 if step > 0 => rng.below(step as usize) as u32,
                _ => rng.pick(&program.given),
            };
            let gets: Vec<_> = (0..rng.below(4))
                .map(|_| match all_declared || rng.percent(70) {
                    true => Get::Fixed(key(rng)),
                    false => Get::Chosen((0..1 + rng.below(3)).map(|_| key(rng)).collect()),
                })
                .collect();
            let fixed = gets.iter().filter_map(|get| match get {
                Get::Fixed(key) => Some(*key),
                Get::Chosen(_) => None,
            });
            let declared = fixed.filter(|_| all_declared || rng.percent(60)).collect();
            let one = &mut program.steps[step as usize];
            (one.gets, one.declared) = (gets, declared);
        }
        program
    }

    /// The final items, and the steps that wait: whether each one has started, and for which items
    /// it waits.
    fn serial(&self, settings: Settings) -> (BTreeMap<u32, u64>, BTreeMap<u32, (bool, Vec<u32>)>) {
        let mut items: BTreeMap<u32, u64> = self.given.iter().map(|&key| (key, mix(1, key.into()))).collect();
        let (mut open, mut ended): (BTreeSet<u32>, _) = (self.first.iter().copied().collect(), true);
        while std::mem::take(&mut ended) {
            for step in open.clone() {
                if let Ok(sum) = self.run(step, &items) {
                    items.insert(step, sum);
                    open.remove(&step);
                    open.extend(&self.steps[step as usize].children);
                    ended = true;
                }
            }
        }
        let stuck = open.into_iter().map(|step| {
            let most = match (settings.preconditions, settings.limit) {
                (Preconditions::Eager, _) => 0,
                (Preconditions::Flexible, Limit::First(most)) => most,
                _ => usize::MAX,
            };
            let declared = self.steps[step as usize].declared.iter().copied().take(most);
            let unmet: Vec<_> = declared.filter(|key| !items.contains_key(key)).collect();
            match unmet.is_empty() {
                true => (step, (true, vec![self.run(step, &items).unwrap_err()])),
                false => (step, (false, unmet)),
            }
        });
        let stuck = stuck.collect();
        (items, stuck)
    }

    /// What a step puts, or the first item that is missing.
    fn run(&self, step: u32, items: &BTreeMap<u32, u64>) -> Result<u64, u32> {
        self.steps[step as usize].gets.iter().try_fold(u64::from(step), |sum, get| {
            let key = get.key(sum);
            items.get(&key).map(|value| mix(sum, *value)).ok_or(key)
        })
    }
}

impl Get {
    fn key(&self, sum: u64) -> u32 {
        match self {
            Get::Fixed(key) => *key,
            Get::Chosen(keys) => keys[(sum % keys.len() as u64) as usize],
        }
    }
}

fn check(seed: u64, runtimes: &[Runtime]) {
    let mut rng = Rng::new(seed);
    let preconditions = rng.pick(&[Preconditions::Eager, Preconditions::Strict, Preconditions::Flexible]);
    let blocked = rng.pick(&[Blocked::Resume, Blocked::Fiber, Blocked::Replay]);
    let limit = rng.pick(&[Limit::All, Limit::First(0), Limit::First(1)]);
    let table = rng.pick(&[Table::Open, Table::Sharded, Table::SplitOrdered]);
    let settings = Settings { preconditions, blocked, limit, table, check_gets: !seed.is_multiple_of(3) };
    let (missing, dense) = (rng.percent(50), rng.percent(50));
    let program = Program::random(&mut rng, missing, preconditions == Preconditions::Strict);
    let rt = &runtimes[rng.below(runtimes.len())];
    let (expected, stuck) = program.serial(settings);
    let shown = || format!("seed {seed}, {} workers, {settings:?}\n{program:#?}", rt.workers());

    let found = std::sync::Mutex::new(BTreeMap::new());
    let result = graph_with(rt, settings, |g| {
        let items = if dense { g.dense_items("item", 1000) } else { g.items("item") };
        let (tags, program) = (g.tags("tags"), &program);
        // In half of the programs, some steps are urgent.
        let steps =
            g.steps::<u32>("step").priority(move |&step| if seed.is_multiple_of(2) { 0 } else { (step % 7) as i8 - 3 });
        let steps = steps.preconditions(move |&step, need| {
            program.steps[step as usize].declared.iter().for_each(|&key| need.wait_on(items, key));
        });
        tags.prescribes(steps.execute(move |step| async move {
            let this = &program.steps[step as usize];
            let mut sum = u64::from(step);
            for get in &this.gets {
                sum = mix(sum, *items.get(get.key(sum)).await);
            }
            items.put(step, sum);
            this.children.iter().for_each(|&child| tags.put(child));
        }));
        let mut first = program.first.clone();
        (1..first.len()).rev().for_each(|last| first.swap(last, rng.below(last + 1)));
        let early = rng.below(first.len() + 1);
        tags.put_all(first[..early].iter().copied());
        program.given.iter().for_each(|&key| items.put(key, mix(1, key.into())));
        tags.put_all(first[early..].iter().copied());
        g.wait().unwrap_or_else(|error| panic!("{error}: {}", shown()));
        let put = (0..1000).filter_map(|key| items.try_get(&key).map(|value| (key, *value)));
        *found.lock().unwrap() = put.collect();
    });
    assert_eq!(found.into_inner().unwrap(), expected, "{}", shown());
    let reported: BTreeMap<u32, (bool, Vec<u32>)> = match result {
        Ok(()) => BTreeMap::new(),
        Err(error) => {
            let Kind::Deadlock(report) = error.kind() else { panic!("{error}: {}", shown()) };
            let stuck = report.stuck.iter().map(|stuck| {
                let missing = stuck.missing.iter().map(|missing| missing.item.key.parse().unwrap()).collect();
                (stuck.step.tag.parse().unwrap(), (stuck.blocked, missing))
            });
            stuck.collect()
        }
    };
    assert_eq!(reported, stuck, "{}", shown());
}

/// The number of programs, unless `MILLPOND_CASES` is set.
const CASES: u64 = if cfg!(debug_assertions) { 3000 } else { 10_000 };

#[test]
fn random_programs_give_the_serial_result() {
    limited(|| {
        let cases = std::env::var("MILLPOND_CASES").map_or(CASES, |cases| cases.parse().expect("a number"));
        let from = std::env::var("MILLPOND_SEED").map_or(0, |seed| seed.parse().expect("a number"));
        let runtimes = [1, 2, 8].map(runtime);
        (from..from + cases).for_each(|seed| check(seed, &runtimes));
    });
}
