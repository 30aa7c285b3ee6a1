//! The program as Concurrent Collections: per concatenation a step, and a step that prescribes the
//! concatenations below it.

use super::inode::{Block, Inode, Node, Tag, cut, join};
use crate::Error;
use crate::workload::Probe;
use millpond_cnc::{CountedItems, Graph, Tags, Use};

/// The item collections.
#[derive(Clone, Copy)]
struct Disk<'x> {
    inodes: CountedItems<'x, Node, Inode>,
    blocks: CountedItems<'x, Tag, Block>,
    /// Bytes of a block.
    block: usize,
}

/// Concatenates the files. Returns the blocks of the result. The files are put before the timed
/// part.
///
/// The concatenation of a file uses its inode and each of its blocks once. It takes their bytes,
/// and puts its own. So memory holds the bytes once, and again while a concatenation copies them.
pub fn steps(
    g: &Graph<'_, '_, '_>,
    files: &[Vec<u8>],
    block: usize,
    probe: &mut dyn Probe,
) -> Result<Vec<Vec<u8>>, Error> {
    let (inodes, blocks) = (g.counted_items("inode", |_| 1), g.counted_items("block", |_| 1));
    let disk = Disk { inodes, blocks, block };
    let all = (0, files.len() as u32);
    let tags = g.tags("concatenations");
    let concatenate = g.steps::<Node>("concatenate").produces(blocks).produces(inodes);
    let concatenate = concatenate
        .preconditions(move |&node, need| halves(node).into_iter().for_each(|half| need.wait_on(inodes, half)));
    // A concatenation prescribes those below it. So a step reads recently written data.
    tags.prescribes(g.steps::<Node>("divide").execute(move |node| async move { divide(tags, node) }));
    tags.prescribes(concatenate.execute(move |node| disk.concatenate(node)));
    for (file, bytes) in (0..).zip(files) {
        disk.put((file, 1), bytes.len() as u64, cut(bytes, block));
    }
    probe.start();
    if all.1 > 1 {
        tags.put(all);
    }
    g.wait()?;
    probe.stop();
    disk.whole(g, all)
}

/// The two parts of a node of the balanced tree.
fn halves((first, count): Node) -> [Node; 2] {
    let left = count.div_ceil(2);
    [(first, left), (first + left, count - left)]
}

/// Prescribes the two concatenations below a node, the right one first. The last prescribed step
/// runs first, and a concatenation waits for its left inode.
fn divide(tags: Tags<'_, Node>, node: Node) {
    tags.put_all(halves(node).into_iter().filter(|(_, count)| *count > 1));
}

impl<'x> Disk<'x> {
    async fn concatenate(self, node: Node) {
        let [left, right] = halves(node);
        let (left, right) = (self.inodes.get(left).await, self.inodes.get(right).await);
        // The blocks are known only now. The step takes none before it has all.
        let (first, second) = (self.gather(&left).await, self.gather(&right).await);
        let joined = join(bytes(first), bytes(second), self.block);
        self.put(node, left.bytes + right.bytes, joined);
    }

    /// All blocks of a file.
    async fn gather(self, inode: &Inode) -> Vec<Use<'x, Block>> {
        let (mut list, mut got) = (inode.list.clone(), Vec::new());
        loop {
            for &tag in &list.blocks {
                got.push(self.blocks.get(tag).await);
            }
            let Some(more) = list.more else { return got };
            let further = self.blocks.get(more).await;
            list = further.list();
            got.push(further);
        }
    }

    /// Puts a file: first its blocks, then its inode, which names them.
    fn put(self, node: Node, bytes: u64, pieces: Vec<Vec<u8>>) {
        let (inode, lists) = Inode::new(node, bytes, pieces.len() as u32, self.block);
        for (number, piece) in (0..).zip(pieces) {
            self.blocks.put((node.0, node.1, number), Block::Data(piece));
        }
        lists.into_iter().for_each(|(tag, list)| self.blocks.put(tag, list));
        self.inodes.put(node, inode);
    }

    /// The bytes of a node, after all steps have run.
    fn whole(self, g: &Graph<'_, 'x, '_>, node: Node) -> Result<Vec<Vec<u8>>, Error> {
        let (mut list, mut got) = (g.get(self.inodes, node)?.list.clone(), Vec::new());
        loop {
            for &tag in &list.blocks {
                got.push(g.get(self.blocks, tag)?);
            }
            match list.more {
                Some(more) => list = g.get(self.blocks, more)?.list(),
                None => return Ok(bytes(got)),
            }
        }
    }
}

/// The bytes of blocks, in their last use.
fn bytes(blocks: Vec<Use<'_, Block>>) -> Vec<Vec<u8>> {
    let taken = blocks.into_iter().map(|block| block.take().expect("its only use"));
    taken.filter_map(Block::into_data).collect()
}
