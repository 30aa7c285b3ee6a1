//! The program as Concurrent Collections: a step per task, or a step per get.

use super::Params;
use crate::Error;
use crate::workload::Probe;
use millpond_cnc::{Graph, Items, Preconditions, Tags};

/// Follows the chains, and returns their ends. The items are put before the timed part.
pub fn steps(g: &Graph<'_, '_, '_>, params: Params, values: &[u32], probe: &mut dyn Probe) -> Result<Vec<u32>, Error> {
    let items = g.dense_items("value", values.len() as u32);
    let ends = g.dense_items("end", params.tasks as u32);
    (0..).zip(values).for_each(|(key, &value)| items.put(key, value));
    if params.settings.preconditions == Preconditions::Strict {
        let tags = split(g, params, items, ends);
        probe.start();
        tags.put_all((0..params.tasks).map(|task| (task as u32, 0, params.first(task))));
    } else {
        let tags = whole(g, params, items, ends);
        probe.start();
        tags.put_all((0..params.tasks).map(|task| task as u32));
    }
    g.wait()?;
    probe.stop();
    Ok((0..params.tasks as u32).map(|task| *ends.try_get(&task).expect("each task has ended")).collect())
}

/// One step per task, with all its gets.
fn whole<'x>(
    g: &Graph<'_, 'x, '_>,
    params: Params,
    items: Items<'x, u32, u32>,
    ends: Items<'x, u32, u32>,
) -> Tags<'x, u32> {
    let tags = g.tags("tasks");
    let step = g.steps::<u32>("follow").produces(ends);
    let step = step.preconditions(move |&task, need| need.wait_on(items, params.first(task.into())));
    tags.prescribes(step.execute(move |task| async move {
        let mut key = params.first(task.into());
        for _ in 0..params.gets {
            key = *items.get(key).await;
        }
        ends.put(task, key);
    }));
    tags
}

/// One step per get. Its tag is the task, the number of the get, and the key.
fn split<'x>(
    g: &Graph<'_, 'x, '_>,
    params: Params,
    items: Items<'x, u32, u32>,
    ends: Items<'x, u32, u32>,
) -> Tags<'x, (u32, u32, u32)> {
    let tags = g.tags("gets");
    let step = g.steps::<(u32, u32, u32)>("get").produces(ends);
    let step = step.preconditions(move |&(_, _, key), need| need.wait_on(items, key));
    tags.prescribes(step.execute(move |(task, nth, key)| async move {
        let next = *items.get(key).await;
        if u64::from(nth) + 1 == params.gets {
            ends.put(task, next);
        } else {
            tags.put((task, nth + 1, next));
        }
    }));
    tags
}
