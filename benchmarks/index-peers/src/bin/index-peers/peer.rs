//! What the rows need of an index, and the three kinds of it.

use dynamo_kv_router::indexer::concurrent_radix_tree_compressed::ConcurrentRadixTreeCompressed;
use dynamo_kv_router::indexer::positional::{LevelIndex, PositionalIndexer, SearchMode};
use dynamo_kv_router::indexer::{SyncIndexer, WorkerTask};
use dynamo_kv_router::protocols::{
    ExternalSequenceBlockHash, KvCacheEvent, KvCacheEventData, KvCacheRemoveData, KvCacheStoreData,
    KvCacheStoredBlockData, LocalBlockHash, OverlapScores, RouterEvent, WorkerWithDpRank, compute_next_seq_hash,
};
use dynamo_kv_router::radix_tree::RadixTree;
use kv_index::{ChainBlockMap, ChainIndex, ContentHash, SequenceHash, StoredBlock};
use rustc_hash::FxHashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::JoinHandle;

/// One change of one worker. Its keys are both the hash of a block's chain and that of its tokens.
pub enum Change<'a> {
    Stored {
        parent: u64,
        keys: &'a [u64],
    },
    /// The last block of a chain first.
    Removed {
        keys: &'a [u64],
    },
}

/// An index with one writer.
pub trait Peer {
    type Event;
    fn event(&self, worker: u32, change: Change) -> Self::Event;
    /// Takes the event where the index wants it for itself; else it is left, to be freed after the clock has stopped.
    fn apply(&mut self, event: &mut Option<Self::Event>);
    /// Waits until all that was applied is there.
    fn settle(&mut self) {}
    /// Whether `apply` only hands an event to another thread.
    const QUEUED: bool = false;
}

/// How an index is asked; its form of a question is made before the clock starts.
pub trait Asked {
    type Question: 'static;
    /// The forms of its answer, each for a row of its own.
    const FORMS: &'static [&'static str];
    fn question(&self, chain: &[u64]) -> Self::Question;
    /// The best worker and its blocks, or anything of an answer that is not read.
    fn ask(&self, question: &mut Self::Question, form: usize) -> (u32, u32);
    fn answers(&self, question: Self::Question, each: impl FnMut(u32, u32));
}

#[inline]
fn better(best: &mut (u32, u32), worker: u32, blocks: u32) {
    if blocks > best.1 {
        *best = (worker, blocks);
    }
}

// ---- SMG

pub struct Smg {
    pub index: Arc<ChainIndex>,
    workers: Vec<(u32, ChainBlockMap)>,
}

pub enum SmgEvent {
    Stored { worker: u32, parent: Option<SequenceHash>, blocks: Vec<StoredBlock> },
    Removed { worker: u32, blocks: Vec<SequenceHash> },
}

impl Smg {
    pub fn new(workers: usize) -> Smg {
        let index = Arc::new(ChainIndex::with_max_workers(workers));
        let workers = (0..workers)
            .map(|worker| (index.intern_worker(&format!("w{worker}")).unwrap(), ChainBlockMap::default()))
            .collect();
        Smg { index, workers }
    }
}

impl Peer for Smg {
    type Event = SmgEvent;

    fn event(&self, worker: u32, change: Change) -> SmgEvent {
        match change {
            Change::Stored { parent, keys } => SmgEvent::Stored {
                worker,
                parent: (parent != 0).then_some(SequenceHash(parent)),
                blocks: keys
                    .iter()
                    .map(|&key| StoredBlock { seq_hash: SequenceHash(key), content_hash: ContentHash(key) })
                    .collect(),
            },
            Change::Removed { keys } => {
                SmgEvent::Removed { worker, blocks: keys.iter().map(|&key| SequenceHash(key)).collect() }
            }
        }
    }

    #[inline]
    fn apply(&mut self, event: &mut Option<SmgEvent>) {
        match event.as_ref().unwrap() {
            SmgEvent::Stored { worker, parent, blocks } => {
                let (id, map) = &mut self.workers[*worker as usize];
                self.index.apply_stored(*id, blocks, *parent, map).unwrap();
            }
            SmgEvent::Removed { worker, blocks } => {
                let (id, map) = &mut self.workers[*worker as usize];
                self.index.apply_removed(*id, blocks, map);
            }
        }
    }
}

impl Asked for Arc<ChainIndex> {
    type Question = Vec<ContentHash>;
    const FORMS: &'static [&'static str] = &["callback, best worker kept", "map", "map and best worker"];

    fn question(&self, chain: &[u64]) -> Self::Question {
        chain.iter().map(|&key| ContentHash(key)).collect()
    }

    #[inline]
    fn ask(&self, question: &mut Self::Question, form: usize) -> (u32, u32) {
        let mut best = (0, 0);
        if form == 0 {
            self.score_into(question, |hash| hash.0, false, |worker, blocks| better(&mut best, worker, blocks));
            return best;
        }
        let found = self.find_matches(question, false);
        if form == 1 {
            return (0, found.scores.len() as u32);
        }
        for (&worker, &blocks) in &found.scores {
            better(&mut best, worker, blocks);
        }
        best
    }

    fn answers(&self, question: Self::Question, each: impl FnMut(u32, u32)) {
        self.score_into(&question, |hash| hash.0, false, each);
    }
}

// ---- Dynamo

fn dynamo_event(worker: u32, change: Change) -> RouterEvent {
    named_event(worker, change, |key| key)
}

/// An event that calls the chain up to a block something else than its key.
fn named_event(worker: u32, change: Change, name: impl Fn(u64) -> u64) -> RouterEvent {
    let hash = |key| ExternalSequenceBlockHash(name(key));
    let data = match change {
        Change::Stored { parent, keys } => KvCacheEventData::Stored(KvCacheStoreData {
            parent_hash: (parent != 0).then(|| hash(parent)),
            start_position: None,
            blocks: keys
                .iter()
                .map(|&key| KvCacheStoredBlockData {
                    block_hash: hash(key),
                    tokens_hash: LocalBlockHash(key),
                    mm_extra_info: None,
                })
                .collect(),
        }),
        Change::Removed { keys } => {
            KvCacheEventData::Removed(KvCacheRemoveData { block_hashes: keys.iter().map(|&key| hash(key)).collect() })
        }
    };
    RouterEvent::new(worker as u64, KvCacheEvent { event_id: 0, data, dp_rank: 0 })
}

const MAPS: &[&str] = &["map", "map and best worker"];

fn dynamo_question(chain: &[u64]) -> Vec<LocalBlockHash> {
    chain.iter().map(|&key| LocalBlockHash(key)).collect()
}

#[inline]
fn dynamo_read(found: OverlapScores, form: usize) -> (u32, u32) {
    if form == 0 {
        return (0, found.scores.len() as u32);
    }
    let mut best = (0, 0);
    for (worker, &blocks) in &found.scores {
        better(&mut best, worker.worker_id as u32, blocks);
    }
    best
}

fn dynamo_answers(found: OverlapScores, mut each: impl FnMut(u32, u32)) {
    for (worker, &blocks) in &found.scores {
        each(worker.worker_id as u32, blocks);
    }
}

impl Peer for RadixTree {
    type Event = RouterEvent;

    fn event(&self, worker: u32, change: Change) -> RouterEvent {
        dynamo_event(worker, change)
    }

    #[inline]
    fn apply(&mut self, event: &mut Option<RouterEvent>) {
        self.apply_event(event.take().unwrap()).unwrap();
    }
}

impl Asked for RadixTree {
    type Question = Vec<LocalBlockHash>;
    const FORMS: &'static [&'static str] = MAPS;

    fn question(&self, chain: &[u64]) -> Self::Question {
        dynamo_question(chain)
    }

    #[inline]
    fn ask(&self, question: &mut Self::Question, form: usize) -> (u32, u32) {
        dynamo_read(self.find_matches(std::mem::take(question), false), form)
    }

    fn answers(&self, question: Self::Question, each: impl FnMut(u32, u32)) {
        dynamo_answers(self.find_matches(question, false), each);
    }
}

/// Nested maps by position, with one writer's accounts. They take a chain's hash only as they make it themselves, out
/// of the hashes of its blocks' tokens.
pub struct Positional {
    pub index: Arc<PositionalIndexer>,
    accounts: FxHashMap<WorkerWithDpRank, LevelIndex>,
}

/// Their hash of each chain, by our key. Not of one index: it is none of the bytes that are counted, once it is full.
static NAMES: LazyLock<Mutex<FxHashMap<u64, u64>>> = LazyLock::new(Default::default);

impl Positional {
    /// Steps of 32 blocks and halving.
    pub fn new() -> Positional {
        Positional {
            index: Arc::new(PositionalIndexer::new_with_mode(32, SearchMode::Binary)),
            accounts: FxHashMap::default(),
        }
    }
}

impl Peer for Positional {
    type Event = RouterEvent;

    fn event(&self, worker: u32, change: Change) -> RouterEvent {
        let mut names = NAMES.lock().unwrap();
        if let Change::Stored { parent, keys } = &change {
            let mut before = names.get(parent).copied();
            for &key in *keys {
                let name = before.map_or(key, |before| compute_next_seq_hash(before, LocalBlockHash(key)));
                names.insert(key, name);
                before = Some(name);
            }
        }
        named_event(worker, change, |key| names[&key])
    }

    #[inline]
    fn apply(&mut self, event: &mut Option<RouterEvent>) {
        self.index.apply_event(&mut self.accounts, event.take().unwrap(), None).unwrap();
    }
}

/// The concurrent tree applies events on a thread of its own only.
pub struct Concurrent {
    pub index: Arc<ConcurrentRadixTreeCompressed>,
    tasks: flume::Sender<WorkerTask>,
    thread: Option<JoinHandle<()>>,
}

impl Concurrent {
    pub fn new() -> Concurrent {
        let index = Arc::new(ConcurrentRadixTreeCompressed::new());
        let (tasks, received) = flume::unbounded();
        let applied = index.clone();
        let thread = std::thread::spawn(move || applied.worker(received, None).unwrap());
        Concurrent { index, tasks, thread: Some(thread) }
    }
}

impl Drop for Concurrent {
    fn drop(&mut self) {
        self.tasks.send(WorkerTask::Terminate).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Peer for Concurrent {
    type Event = RouterEvent;
    const QUEUED: bool = true;

    fn event(&self, worker: u32, change: Change) -> RouterEvent {
        dynamo_event(worker, change)
    }

    #[inline]
    fn apply(&mut self, event: &mut Option<RouterEvent>) {
        self.tasks.send(WorkerTask::Event(event.take().unwrap())).unwrap();
    }

    fn settle(&mut self) {
        let (done, wait) = tokio::sync::oneshot::channel();
        self.tasks.send(WorkerTask::Flush(done)).unwrap();
        wait.blocking_recv().unwrap();
    }
}

/// An index of Dynamo that several threads may ask.
pub struct Shared<T>(pub Arc<T>);

impl<T: SyncIndexer> Asked for Shared<T> {
    type Question = Vec<LocalBlockHash>;
    const FORMS: &'static [&'static str] = MAPS;

    fn question(&self, chain: &[u64]) -> Self::Question {
        dynamo_question(chain)
    }

    #[inline]
    fn ask(&self, question: &mut Self::Question, form: usize) -> (u32, u32) {
        dynamo_read(self.0.find_matches(question, false), form)
    }

    fn answers(&self, question: Self::Question, each: impl FnMut(u32, u32)) {
        dynamo_answers(self.0.find_matches(&question, false), each);
    }
}
