//! The program as Concurrent Collections: a step a concatenation. Each inode and each block is used once, and freed.

use super::content::{Block, Inode, Node, store};
use crate::Error;
use crate::workload::Probe;
use millpond_cnc::{CountedItems, Graph, Tags, Use};

/// The items.
#[derive(Clone, Copy)]
struct Disk<'x> {
    inodes: CountedItems<'x, Node, Inode>,
    blocks: CountedItems<'x, (u32, u32, u32), Block>,
}

/// The concatenation of the files, which are stored before the timed part.
pub fn steps(g: &Graph<'_, '_, '_>, files: &[Vec<u8>], probe: &mut dyn Probe) -> Result<Vec<u8>, Error> {
    let all = (0, files.len() as u32);
    let disk = Disk { inodes: g.counted_items("inode", |_| 1), blocks: g.counted_items("block", |_| 1) };
    let tags = g.tags::<Node>("concatenations");
    let step = g.steps::<Node>("concat").produces(disk.inodes).produces(disk.blocks);
    let step = step.preconditions(move |&node, need| {
        let (left, right) = halves(node);
        need.wait_on(disk.inodes, left);
        need.wait_on(disk.inodes, right);
    });
    tags.prescribes(step.execute(move |node| async move {
        let (left, right) = halves(node);
        // Both inodes first: what is used up is used up when all is there.
        let inodes = [disk.inodes.get(left).await, disk.inodes.get(right).await];
        let mut blocks = Vec::new();
        disk.read(left, &inodes[0], &mut blocks).await;
        disk.read(right, &inodes[1], &mut blocks).await;
        let (inode, new) = store(blocks.iter().filter_map(|block| data(block)));
        drop((inodes, blocks));
        disk.write(node, inode, new);
    }));
    for (at, file) in (0..).zip(files) {
        let (inode, blocks) = store([file.as_slice()]);
        disk.write((at, at + 1), inode, blocks);
    }
    probe.start();
    prescribe(tags, all);
    g.wait()?;
    probe.stop();
    disk.last(g, all)
}

/// The two parts that a node is made of.
fn halves((from, to): Node) -> (Node, Node) {
    let middle = from.midpoint(to);
    ((from, middle), (middle, to))
}

/// Level by level from the root: what is prescribed last can be done first.
fn prescribe(tags: Tags<'_, Node>, root: Node) {
    let mut level = vec![root];
    while !level.is_empty() {
        level.retain(|(from, to)| to - from > 1);
        tags.put_all(level.iter().copied());
        level = level.into_iter().flat_map(|node| <[Node; 2]>::from(halves(node))).collect();
    }
}

fn data(block: &Block) -> Option<&[u8]> {
    match block {
        Block::Data(data) => Some(data),
        Block::List { .. } => None,
    }
}

impl<'x> Disk<'x> {
    fn write(self, (from, to): Node, inode: Inode, blocks: Vec<Block>) {
        (0..).zip(blocks).for_each(|(number, block)| self.blocks.put((from, to, number), block));
        self.inodes.put((from, to), inode);
    }

    /// Adds the blocks of a node, data in order.
    async fn read(self, (from, to): Node, inode: &Inode, blocks: &mut Vec<Use<'x, Block>>) {
        let block = |number: u32| self.blocks.get((from, to, number));
        for &number in &inode.direct {
            blocks.push(block(number).await);
        }
        let mut further = inode.further;
        while let Some(number) = further {
            let list = block(number).await;
            if let Block::List { blocks: numbers, further: next } = &*list {
                for &number in numbers {
                    blocks.push(block(number).await);
                }
                further = *next;
            }
            blocks.push(list);
        }
    }

    /// The content of a node, to the environment.
    fn last(self, g: &Graph<'_, 'x, '_>, (from, to): Node) -> Result<Vec<u8>, Error> {
        let inode = g.get(self.inodes, (from, to))?;
        let (mut numbers, mut further, mut content) = (inode.direct.clone(), inode.further, Vec::new());
        while let Some(number) = further {
            if let Block::List { blocks, further: next } = &*g.get(self.blocks, (from, to, number))? {
                numbers.extend(blocks);
                further = *next;
            }
        }
        for number in numbers {
            content.extend_from_slice(data(&*g.get(self.blocks, (from, to, number))?).unwrap_or_default());
        }
        Ok(content)
    }
}
