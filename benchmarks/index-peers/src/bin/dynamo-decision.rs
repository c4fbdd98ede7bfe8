//! What Dynamo's scheduler does for one request, without its queue and the hops between its tasks: what a match found
//! is turned into signals, every worker's load is projected, one worker is chosen and the request is booked there; then
//! its first token comes, and the oldest request ends.
//!
//! Every worker holds a request's system prompt, two of them all but its last block, which is always computed anew.

use dynamo_kv_router::indexer::TieredMatchDetails;
use dynamo_kv_router::protocols::{RoutingConstraints, WorkerConfigLike, WorkerId, WorkerWithDpRank};
use dynamo_kv_router::scheduling::{
    OverlapAnalysis, OverlapSignals, ScheduleMode, SchedulingRequest, effective_prefill_tokens,
    prefill_load_hint_from_effective_tokens,
};
use dynamo_kv_router::{
    ActiveSequencesMultiWorker, DefaultWorkerSelector, KvRouterConfig, NoopSequencePublisher, SequenceRequest,
    WorkerSelectionInput, WorkerSelector,
};
use index_peers::timings::{Counting, Timings, print_header};
use index_peers::world::{Random, SYSTEM_BLOCKS};
use std::collections::{HashMap, HashSet, VecDeque};
use tokio::time::Instant;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BLOCK_TOKENS: usize = 16;
const SYSTEM_PROMPTS: u64 = 8;
const WARM_UP_CALLS: usize = 5_000;

struct Worker {
    taints: HashSet<String>,
}

impl WorkerConfigLike for Worker {
    fn data_parallel_start_rank(&self) -> u32 {
        0
    }

    fn data_parallel_size(&self) -> u32 {
        1
    }

    fn max_num_batched_tokens(&self) -> Option<u64> {
        None
    }

    fn total_kv_blocks(&self) -> Option<u64> {
        Some(100_000)
    }

    fn taints(&self) -> &HashSet<String> {
        &self.taints
    }
}

fn main() {
    for (workers, in_flight, blocks, calls) in
        [(16, 16, 256, 100_000), (100, 16, 256, 50_000), (100, 4, 6_250, 10_000), (1_000, 4, 256, 10_000)]
    {
        Router::new(workers, blocks).measure(in_flight, calls);
    }
}

struct Router {
    blocks: usize,
    config: KvRouterConfig,
    workers: HashMap<WorkerId, Worker>,
    selector: DefaultWorkerSelector,
    slots: ActiveSequencesMultiWorker<NoopSequencePublisher>,
    /// Ids of what is in flight, the oldest first.
    in_flight: VecDeque<String>,
    /// As the scheduler does, the same map for every request.
    loads: Loads,
    random: Random,
    requests: u64,
}

type Loads = rustc_hash::FxHashMap<WorkerWithDpRank, dynamo_kv_router::WorkerLoadProjection>;

#[derive(Default)]
struct Rows {
    signals: Timings,
    place: Timings,
    first_token: Timings,
    end: Timings,
}

impl Router {
    fn new(workers: usize, blocks: usize) -> Router {
        let workers: HashMap<WorkerId, Worker> =
            (0..workers as u64).map(|worker| (worker, Worker { taints: HashSet::new() })).collect();
        let ranges = workers.keys().map(|&worker| (worker, (0, 1))).collect();
        let config = KvRouterConfig::default();
        Router {
            blocks,
            selector: DefaultWorkerSelector::new(Some(config.clone()), "decode"),
            config,
            workers,
            slots: ActiveSequencesMultiWorker::new(NoopSequencePublisher, BLOCK_TOKENS, ranges, false, 0, "decode"),
            in_flight: VecDeque::new(),
            loads: Loads::default(),
            random: Random(1),
            requests: 0,
        }
    }

    fn measure(mut self, in_flight: usize, calls: usize) {
        let wanted = in_flight * self.workers.len();
        let mut warm_up = Rows::default();
        while self.in_flight.len() < wanted {
            self.begin(&mut warm_up);
        }
        for _ in 0..WARM_UP_CALLS {
            self.begin(&mut warm_up);
            self.end(&mut warm_up);
        }
        let mut rows = Rows::default();
        for _ in 0..calls {
            self.begin(&mut rows);
            self.end(&mut rows);
        }
        print_header(&format!("{} workers x {in_flight} in flight x {} blocks", self.workers.len(), self.blocks));
        rows.signals.print("a match turned into signals", 1);
        rows.place.print("place: loads, choice, booking", 1);
        rows.first_token.print("first token", 1);
        rows.end.print("end", 1);
    }

    fn begin(&mut self, rows: &mut Rows) {
        let chain = self.chain();
        let found = self.found();
        let signals = rows.signals.time(|| OverlapAnalysis::new(&self.config, BLOCK_TOKENS as u32, &found).signals());
        self.requests += 1;
        let id = format!("request-{}", self.requests);
        let mut request = self.request(id.clone(), chain, signals);
        rows.place.time(|| self.place(&mut request));
        let first = rows.first_token.time(|| self.slots.mark_prefill_completed(&id, Instant::now()).unwrap());
        assert!(first.is_applied());
        self.in_flight.push_back(id);
    }

    fn end(&mut self, rows: &mut Rows) {
        let oldest = self.in_flight.pop_front().unwrap();
        assert!(rows.end.time(|| self.slots.free(&oldest, Instant::now()).unwrap()).is_applied());
    }

    fn place(&mut self, request: &mut SchedulingRequest) {
        let now = Instant::now();
        request.worker_loads = std::mem::take(&mut self.loads);
        self.slots.bench_project_worker_loads_into(request.token_seq.as_deref(), now, &mut request.worker_loads);
        let chosen = self
            .selector
            .select_worker(WorkerSelectionInput::configured(
                &self.workers,
                request,
                request.eligibility(),
                BLOCK_TOKENS as u32,
            ))
            .unwrap();
        let prefill = effective_prefill_tokens(request.isl_tokens, chosen.cached_tokens);
        let booked = SequenceRequest {
            request_id: request.mode.tracked_request_id().unwrap().to_string(),
            token_sequence: request.token_seq.take(),
            track_prefill_tokens: true,
            expected_output_tokens: request.expected_output_tokens,
            prefill_load_hint: prefill_load_hint_from_effective_tokens(request.isl_tokens, prefill).ok(),
            worker: chosen.worker,
            lora_name: None,
        };
        self.slots.add_request(booked, Instant::now()).unwrap();
        self.loads = std::mem::take(&mut request.worker_loads);
    }

    /// A system prompt and a conversation of its own.
    fn chain(&mut self) -> Vec<u64> {
        let prompt = self.random.next() % SYSTEM_PROMPTS;
        (0..self.blocks)
            .map(|block| if block < SYSTEM_BLOCKS { prompt << 32 | block as u64 | 1 << 63 } else { self.random.next() })
            .collect()
    }

    fn found(&mut self) -> TieredMatchDetails {
        let mut found = TieredMatchDetails::default();
        let scores = &mut found.device.overlap_scores.scores;
        for &worker in self.workers.keys() {
            scores.insert(WorkerWithDpRank::from_worker_id(worker), SYSTEM_BLOCKS as u32);
        }
        for _ in 0..2 {
            let holder = self.random.below(self.workers.len()) as u64;
            scores.insert(WorkerWithDpRank::from_worker_id(holder), self.blocks as u32 - 1);
        }
        found
    }

    fn request(&self, id: String, chain: Vec<u64>, overlap: OverlapSignals) -> SchedulingRequest {
        SchedulingRequest {
            mode: ScheduleMode::Tracked { request_id: id },
            token_seq: Some(chain),
            isl_tokens: self.blocks * BLOCK_TOKENS,
            lora_name: None,
            expected_output_tokens: Some(256),
            affinity_target: None,
            pinned_worker: None,
            allowed_worker_ids: None,
            routing_constraints: RoutingConstraints::default(),
            router_config_override: None,
            track_prefill_tokens: true,
            priority_jump: 0.0,
            strict_priority: 0,
            policy_class: None,
            session_context: None,
            overlap,
            kv_transfer_candidates: None,
            retain_kv_transfer_chain: false,
            shared_cache_hits: None,
            worker_loads: Loads::default(),
            resp_tx: None,
        }
    }
}
