//! Rows for one index in one world; see the README.

mod peer;

use dynamo_kv_router::radix_tree::RadixTree;
use index_peers::timings::{Counting, Timings, live_bytes_of, print_header};
use index_peers::world::{self, KINDS, Random, WHOLE, World};
use peer::{Asked, Change, Concurrent, Peer, Positional, Shared, Smg};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const KEYS_PER_EVENT: usize = 16;
const TIMED_EVENTS: usize = 100_000;
/// Made before the clock starts, so many at a time that they are not all still in the cache.
const PREPARED_EVENTS: usize = 4_096;
const CONVERSATIONS_PREPARED: usize = 64;
/// Of all questions of a row: those for long chains are fewer.
const ASKED_BLOCKS: usize = 51_200_000;
const FEWEST_CALLS: usize = 20_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, peer, file] = &arguments[..] else {
        panic!("usage: index-peers smg|dynamo-tree|dynamo-concurrent|dynamo-positional FILE");
    };
    let world = World::read(file).expect("the world's file");
    println!(
        "{peer} in {file}: {} workers, {} pairs, {} conversations of {}",
        world.workers,
        world.pairs(),
        world.questions(),
        world.chain_blocks
    );
    match peer.as_str() {
        "smg" => rows_of_shared(&world, || Smg::new(world.workers), |smg| smg.index.clone()),
        "dynamo-concurrent" => rows_of_shared(&world, Concurrent::new, |tree| Shared(tree.index.clone())),
        "dynamo-positional" => rows_of_shared(&world, Positional::new, |maps| Shared(maps.index.clone())),
        "dynamo-tree" => {
            let mut tree = filled(&world, RadixTree::new);
            ask_all(&world, &tree);
            change_all(&world, &mut tree);
        }
        other => panic!("no peer is called {other}"),
    }
}

/// For indexes that may be asked while they are written.
fn rows_of_shared<P: Peer + Send, A: Asked + Sync>(world: &World, new: impl Fn() -> P, asked: impl Fn(&P) -> A) {
    let mut peer = filled(world, new);
    let index = asked(&peer);
    ask_all(world, &index);
    ask_by_two(world, &index);
    ask_beside_writer(world, &mut peer, &index);
    change_all(world, &mut peer);
}

// ---- filling

/// Filled three times: so that the allocator has its pages, for the time, and for the bytes.
fn filled<P: Peer>(world: &World, new: impl Fn() -> P) -> P {
    fill(world, &mut new());
    let mut timed = new();
    let nanos = fill(world, &mut timed);
    println!("filled from events of {KEYS_PER_EVENT}: {:.0} ns a block", nanos as f64 / world.pairs() as f64);
    drop(timed);
    let (bytes, peer) = live_bytes_of(|| {
        let mut peer = new();
        fill(world, &mut peer);
        peer
    });
    println!("bytes a pair: {:.2} live", bytes as f64 / world.pairs() as f64);
    peer
}

fn fill<P: Peer>(world: &World, peer: &mut P) -> u128 {
    let mut nanos = 0;
    let mut prepared = Vec::with_capacity(2 * PREPARED_EVENTS);
    for segment in &world.segments {
        for &holder in &segment.holders {
            store(peer, &mut prepared, holder, segment.parent, &segment.keys, KEYS_PER_EVENT);
            if prepared.len() >= PREPARED_EVENTS {
                nanos += apply(peer, &mut prepared);
            }
        }
    }
    nanos + apply(peer, &mut prepared)
}

fn store<P: Peer>(
    peer: &P,
    prepared: &mut Vec<Option<P::Event>>,
    worker: u32,
    parent: u64,
    keys: &[u64],
    per_event: usize,
) {
    let mut parent = parent;
    for keys in keys.chunks(per_event) {
        prepared.push(Some(peer.event(worker, Change::Stored { parent, keys })));
        parent = keys[keys.len() - 1];
    }
}

fn remove<P: Peer>(peer: &P, prepared: &mut Vec<Option<P::Event>>, worker: u32, keys: &[u64], per_event: usize) {
    let reversed: Vec<u64> = keys.iter().rev().copied().collect();
    for keys in reversed.chunks(per_event) {
        prepared.push(Some(peer.event(worker, Change::Removed { keys })));
    }
}

/// All events at once.
fn apply<P: Peer>(peer: &mut P, prepared: &mut Vec<Option<P::Event>>) -> u128 {
    let start = Instant::now();
    for event in prepared.iter_mut() {
        peer.apply(event);
    }
    peer.settle();
    let nanos = start.elapsed().as_nanos();
    prepared.clear();
    nanos
}

// ---- questions

fn ask_all<A: Asked>(world: &World, index: &A) {
    for (kind, name) in KINDS.iter().enumerate() {
        println!("sum of answers, {name:<8} {}", sum_of_answers(world, index, kind));
    }
    print_header("questions");
    let mut clock = Timings::default();
    for _ in 0..1_000_000 {
        clock.time(|| ());
    }
    clock.print("the clock", 1);
    for (kind, name) in KINDS.iter().enumerate() {
        for (form, form_name) in A::FORMS.iter().enumerate() {
            ask(world, index, kind, form, 1).print(&format!("{name}, {form_name}"), 1);
        }
    }
}

fn sum_of_answers<A: Asked>(world: &World, index: &A, kind: usize) -> u64 {
    let mut sum = 0;
    for question in 0..world.questions() {
        index.answers(index.question(world.chain(kind, question)), |worker, blocks| {
            sum += blocks as u64 * (worker as u64 + 1);
        });
    }
    sum
}

fn ask<A: Asked>(world: &World, index: &A, kind: usize, form: usize, seed: u64) -> Timings {
    let calls = FEWEST_CALLS.max(ASKED_BLOCKS / world.chain_blocks);
    let mut order = Random(seed);
    let mut timings = Timings::default();
    let mut warm_up = Timings::default();
    for call in 0..2 * calls {
        // making it reads all its keys
        let mut question = index.question(world.chain(kind, order.below(world.questions())));
        let into = if call < calls { &mut warm_up } else { &mut timings };
        std::hint::black_box(into.time(|| index.ask(std::hint::black_box(&mut question), form)));
    }
    timings
}

fn ask_by_two<A: Asked + Sync>(world: &World, index: &A) {
    for (form, form_name) in A::FORMS.iter().enumerate() {
        let mut both = Timings::default();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| ask(world, index, WHOLE, form, 4));
            both.add_all(ask(world, index, WHOLE, form, 3));
            both.add_all(other.join().unwrap());
        });
        both.print(&format!("WHOLE, {form_name}, by two threads"), 1);
    }
}

fn ask_beside_writer<P: Peer + Send, A: Asked + Sync>(world: &World, peer: &mut P, index: &A) {
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_until(&stopped, world, peer));
        for (form, form_name) in A::FORMS.iter().enumerate() {
            ask(world, index, WHOLE, form, 5).print(&format!("WHOLE, {form_name}, beside a writer"), 1);
        }
        stopped.store(true, Relaxed);
        println!("the writer: {:.2} million blocks a second", writer.join().unwrap() / 1e6);
    });
}

// ---- changes

/// Conversations come and go as fast as it can make their events.
fn write_until<P: Peer>(stopped: &AtomicBool, world: &World, peer: &mut P) -> f64 {
    let mut random = Random(11);
    let parents = world.system_parents();
    let mut prepared = Vec::new();
    let mut blocks = 0;
    let start = Instant::now();
    while !stopped.load(Relaxed) {
        let conversation = Conversation::draw(&mut random, world, &parents);
        conversation.store(peer, &mut prepared, KEYS_PER_EVENT);
        conversation.remove(peer, &mut prepared, KEYS_PER_EVENT);
        apply(peer, &mut prepared);
        blocks += 2 * conversation.keys.len();
    }
    blocks as f64 / start.elapsed().as_secs_f64()
}

/// One that comes and goes.
struct Conversation {
    worker: u32,
    parent: u64,
    keys: Vec<u64>,
}

impl Conversation {
    fn draw(random: &mut Random, world: &World, parents: &[u64]) -> Conversation {
        Conversation {
            worker: random.below(world.workers) as u32,
            parent: parents[random.below(parents.len())],
            keys: (world::SYSTEM_BLOCKS..world.chain_blocks).map(|_| random.next()).collect(),
        }
    }

    fn store<P: Peer>(&self, peer: &P, prepared: &mut Vec<Option<P::Event>>, per_event: usize) {
        store(peer, prepared, self.worker, self.parent, &self.keys, per_event);
    }

    fn remove<P: Peer>(&self, peer: &P, prepared: &mut Vec<Option<P::Event>>, per_event: usize) {
        remove(peer, prepared, self.worker, &self.keys, per_event);
    }
}

fn change_all<P: Peer>(world: &World, peer: &mut P) {
    print_header("changes, a block");
    change(world, peer, KEYS_PER_EVENT);
    change(world, peer, 1);
}

fn change<P: Peer>(world: &World, peer: &mut P, per_event: usize) {
    let mut random = Random(1);
    let parents = world.system_parents();
    let turn_blocks = world.chain_blocks - world::SYSTEM_BLOCKS;
    let count = (TIMED_EVENTS * per_event).div_ceil(turn_blocks);
    let mut conversations: Vec<_> = (0..count).map(|_| Conversation::draw(&mut random, world, &parents)).collect();
    let row = |verb| format!("{verb} in events of {per_event}");
    timed(peer, &conversations, &row("stored"), per_event, |each, peer, prepared| {
        each.store(peer, prepared, per_event)
    });
    for i in (1..conversations.len()).rev() {
        conversations.swap(i, random.below(i + 1));
    }
    timed(peer, &conversations, &row("removed"), per_event, |each, peer, prepared| {
        each.remove(peer, prepared, per_event)
    });
}

/// Each event by itself, or all of a share at once where another thread applies them.
fn timed<P: Peer>(
    peer: &mut P,
    conversations: &[Conversation],
    row: &str,
    per_event: usize,
    prepare: impl Fn(&Conversation, &P, &mut Vec<Option<P::Event>>),
) {
    let mut timings = Timings::default();
    let mut prepared = Vec::new();
    let mut nanos = 0;
    let mut blocks = 0;
    for share in conversations.chunks(CONVERSATIONS_PREPARED) {
        for each in share {
            prepare(each, peer, &mut prepared);
            blocks += each.keys.len();
        }
        if P::QUEUED {
            nanos += apply(peer, &mut prepared);
        } else {
            for event in &mut prepared {
                timings.time(|| peer.apply(event));
            }
            prepared.clear();
        }
    }
    if P::QUEUED {
        println!("{row:<50} {:>10} {:>10} {:>10.0}   by another thread", "-", "-", nanos as f64 / blocks as f64);
    } else {
        timings.print(row, per_event);
    }
}
