//! A disk in a machine that loses power, for tests. It keeps track of what is durable: synced bytes and names. Anything
//! else may be lost, in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{Disk, HeldPath, LocalDisk, beneath, folder_of};

/// A disk that works for some steps before the power fails.
#[derive(Debug)]
pub struct PowerDisk {
    root: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    steps_left: usize,
    nodes: Vec<Inode>,
    /// Unsynced changes of names, in order.
    changes: Vec<Change>,
}

/// A file or a folder, with its current and its durable contents.
#[derive(Debug)]
enum Inode {
    File { now: Vec<u8>, durable: Vec<u8> },
    Folder { now: Names, durable: Names },
}

type Names = BTreeMap<OsString, usize>;

/// Names that change in one step, in one or two folders, with their new targets.
#[derive(Debug, Clone)]
struct Change(Vec<(usize, OsString, Option<usize>)>);

/// The random numbers that decide what is lost.
#[derive(Debug)]
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % sides.max(1) as u64) as usize
    }
}

impl PowerDisk {
    /// The disk with the folder `root`, all of which is durable; it works for `steps`.
    pub fn new(root: &Path, steps: usize) -> Self {
        let mut nodes = Vec::new();
        read(root, &mut nodes);
        let state = State { steps_left: steps, nodes, changes: Vec::new() };
        Self { root: root.to_owned(), state: Mutex::new(state) }
    }

    /// Cuts the power: the dice decide what is lost of the parts that are not durable, and the folder shows the rest.
    pub fn fall(self, dice: &mut Dice) {
        let State { mut nodes, changes, .. } = self.state.into_inner().unwrap();
        let (way, kept) = (dice.throw(4), dice.throw(changes.len() + 1));
        for (at, change) in changes.iter().enumerate() {
            let lasts = match way {
                0 => false,
                1 => at < kept,
                2 => true,
                _ => dice.throw(2) == 0,
            };
            if lasts {
                change.make_durable(&mut nodes);
            }
        }
        fs::remove_dir_all(&self.root).unwrap();
        show(&nodes, 0, &self.root, dice);
    }

    fn step(
        &self,
        on_disk: impl FnOnce() -> io::Result<()>,
        noted: impl FnOnce(&mut State),
    ) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        state.steps_left =
            state.steps_left.checked_sub(1).ok_or_else(|| io::Error::other("no power"))?;
        on_disk()?;
        noted(&mut state);
        Ok(())
    }

    /// The containing folder of a path, and the name.
    fn name(&self, state: &State, path: &Path) -> (usize, OsString) {
        (self.node(state, &folder_of(path)).unwrap(), path.file_name().unwrap().to_owned())
    }

    fn node(&self, state: &State, path: &Path) -> Option<usize> {
        path.strip_prefix(&self.root).unwrap().iter().try_fold(0, |at, name| {
            match &state.nodes[at] {
                Inode::Folder { now, .. } => now.get(name).copied(),
                Inode::File { .. } => None,
            }
        })
    }

    fn change(&self, state: &mut State, names: Vec<(&Path, Option<usize>)>) {
        let named = |(path, node)| {
            let (folder, name) = self.name(state, path);
            (folder, name, node)
        };
        let change = Change(names.into_iter().map(named).collect());
        for (folder, name, node) in &change.0 {
            let Inode::Folder { now, .. } = &mut state.nodes[*folder] else { panic!("a file") };
            set(now, name, *node);
        }
        state.changes.push(change);
    }

    fn renamed(&self, state: &mut State, from: &Path, to: &Path) {
        let node = self.node(state, from);
        self.change(state, vec![(from, None), (to, node)]);
    }

    /// The file at a path, created if absent.
    fn file<'a>(&self, state: &'a mut State, path: &Path) -> &'a mut Vec<u8> {
        let node = self.node(state, path).unwrap_or_else(|| {
            state.nodes.push(Inode::File { now: Vec::new(), durable: Vec::new() });
            let node = state.nodes.len() - 1;
            self.change(state, vec![(path, Some(node))]);
            node
        });
        let Inode::File { now, .. } = &mut state.nodes[node] else { panic!("a folder") };
        now
    }
}

impl Change {
    fn make_durable(&self, nodes: &mut [Inode]) {
        for (folder, name, node) in &self.0 {
            if let Inode::Folder { durable, .. } = &mut nodes[*folder] {
                set(durable, name, *node);
            }
        }
    }
}

fn set(names: &mut Names, name: &OsString, node: Option<usize>) {
    match node {
        Some(node) => names.insert(name.clone(), node),
        None => names.remove(name),
    };
}

/// Reads a path into nodes; the first one is the path itself.
fn read(path: &Path, nodes: &mut Vec<Inode>) -> usize {
    let own = nodes.len();
    if path.is_file() {
        let bytes = fs::read(path).unwrap();
        nodes.push(Inode::File { now: bytes.clone(), durable: bytes });
        return own;
    }
    nodes.push(Inode::Folder { now: Names::new(), durable: Names::new() });
    let mut names = Names::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        names.insert(entry.file_name(), read(&entry.path(), nodes));
    }
    nodes[own] = Inode::Folder { now: names.clone(), durable: names };
    own
}

/// Writes the durable contents to a path; the dice decide how many of the other bytes are there.
fn show(nodes: &[Inode], own: usize, path: &Path, dice: &mut Dice) {
    match &nodes[own] {
        Inode::Folder { durable, .. } => {
            fs::create_dir(path).unwrap();
            for (name, node) in durable {
                show(nodes, *node, &path.join(name), dice);
            }
        }
        Inode::File { now, durable } => fs::write(path, found(now, durable, dice)).unwrap(),
    }
}

/// The possible bytes of a file: the old or the new ones, or a part of the new ones, partly replaced by zeros.
fn found(now: &[u8], durable: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = if dice.throw(4) == 0 { durable.to_vec() } else { now.to_vec() };
    let same = std::iter::zip(now, durable).take_while(|(a, b)| a == b).count();
    let later = bytes.len() - same.min(bytes.len());
    if bytes == now && now != durable && later > 0 {
        match dice.throw(3) {
            0 => bytes.truncate(same + dice.throw(later + 1)),
            1 => {
                let from = same + dice.throw(later);
                let to = from + 1 + dice.throw(bytes.len() - from);
                bytes[from..to.min(now.len())].fill(0);
            }
            _ => {}
        }
    }
    bytes
}

impl Disk for PowerDisk {
    /// The plain path, which identifies these steps.
    fn hold(&self, root: &Path, path: &Path) -> io::Result<HeldPath> {
        beneath(root, path).map(|()| HeldPath::plain(path))
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.step(
            || LocalDisk.make_folder(path),
            |state| {
                state.nodes.push(Inode::Folder { now: Names::new(), durable: Names::new() });
                self.change(state, vec![(path, Some(state.nodes.len() - 1))]);
            },
        )
    }
    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step(|| LocalDisk.write(path, bytes), |state| *self.file(state, path) = bytes.to_vec())
    }
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.step(
            || LocalDisk.append(path, bytes),
            |state| self.file(state, path).extend_from_slice(bytes),
        )
    }
    fn cut(&self, path: &Path, length: u64) -> io::Result<()> {
        self.step(
            || LocalDisk.cut(path, length),
            |state| self.file(state, path).truncate(length as usize),
        )
    }
    fn sync(&self, path: &Path) -> io::Result<()> {
        self.step(
            || fs::metadata(path).map(drop),
            |state| {
                // Paths outside are not affected.
                let inside = path.starts_with(&self.root);
                let Some(node) = inside.then(|| self.node(state, path)).flatten() else { return };
                if let Inode::File { now, durable } = &mut state.nodes[node] {
                    durable.clone_from(now);
                    return;
                }
                // Names that change in one step become durable together, and so do the folders of both.
                let mut folders = BTreeSet::from([node]);
                let touches = |folders: &BTreeSet<usize>, change: &Change| {
                    change.0.iter().any(|(folder, ..)| folders.contains(folder))
                };
                for _ in 0..state.changes.len() {
                    let together = state.changes.iter().filter(|change| touches(&folders, change));
                    let own =
                        together.flat_map(|change| change.0.iter().map(|(folder, ..)| *folder));
                    let own: Vec<_> = own.collect();
                    folders.extend(own);
                }
                let (durable, left) = std::mem::take(&mut state.changes)
                    .into_iter()
                    .partition(|change| touches(&folders, change));
                let durable: Vec<Change> = durable;
                durable.iter().for_each(|change| change.make_durable(&mut state.nodes));
                state.changes = left;
            },
        )
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| LocalDisk.rename(from, to), |state| self.renamed(state, from, to))
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step(|| LocalDisk.rename_new(from, to), |state| self.renamed(state, from, to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(|| LocalDisk.remove(path), |state| self.change(state, vec![(path, None)]))
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.step(|| LocalDisk.remove_folder(path), |state| self.change(state, vec![(path, None)]))
    }
}
