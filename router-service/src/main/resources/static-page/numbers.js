/**
 * The fleet in numbers: a line of the most wanted ones above everything, and the section with each one's course, its
 * formula, and the workers.
 */
import {Chart} from './chart.js';
import {el, setText} from './dom.js';
import {count, millis, percent, rate} from './format.js';
import {Growth} from './growth.js';
import {Series} from './series.js';
import {Workers} from './workers.js';

const NAMES = ['usage', 'hit_rate', 'first_token_ms', 'tokens_per_second', 'prompt_tokens_per_second', 'running',
    'waiting', 'evictions', 'preemptions'];

export class Numbers {
    #series = Object.fromEntries(NAMES.map(name => [name, new Series()]));
    #charts;
    #tiles = new Map();
    #workers;
    #growth = new Growth();
    /** Ids of the workers whose pools are told; null: the router chooses. */
    #watched = null;
    #lastSecond = 0;

    /**
     * @param {HTMLElement} strip above all sections
     * @param {HTMLElement} host
     * @param {import('./feed.js').Feed} feed
     */
    constructor(strip, host, feed) {
        this.#charts = {
            usage: new Chart('KV usage', percent, 1),
            hit_rate: new Chart('Prefix hit rate', percent, 1),
            first_token_ms: new Chart('First token, median', millis),
            tokens_per_second: new Chart('Tokens a second', rate),
            prompt_tokens_per_second: new Chart('Prompt tokens a second', rate),
            running: new Chart('Running requests', count),
            waiting: new Chart('Waiting requests', count),
            evictions: new Chart('Evictions a second', rate),
            preemptions: new Chart('Preemptions a second', rate),
        };
        [['usage', 'KV usage'], ['hit_rate', 'hit rate'], ['first_token', 'first token'], ['tokens', 'tokens/s'],
            ['load', 'running + waiting'], ['pressure', 'evictions, preemptions (watched)'],
        ].forEach(([name, label]) => {
            const value = el('dd', {class: 'data'}, '–');
            this.#tiles.set(name, value);
            strip.append(el('div', {}, el('dt', {}, label), value));
        });
        this.#workers = new Workers();
        host.append(el('div', {class: 'charts'}, Object.values(this.#charts).map(chart => chart.element)),
            this.#workers.element);
        feed.on('hello', hello => this.#begin(hello.history));
        feed.on('watch', ids => {
            this.#watched = ids;
        });
        feed.on('fleet', fleet => this.#fleet(fleet));
        feed.on('pool', frame => this.#pool(frame));
    }

    #begin(history) {
        Object.entries(history?.series ?? {}).filter(([name]) => name in this.#series).forEach(([name, values]) =>
            this.#series[name].begin(values, history.at, history.step_seconds));
    }

    #pool(frame) {
        if (frame.counters) {
            this.#growth.take(frame.worker, frame.epoch, {evictions: frame.counters.evictions ?? 0,
                preemptions: (frame.counters.recompute_preemptions ?? 0) + (frame.counters.swap_preemptions ?? 0)});
        }
    }

    #fleet(fleet) {
        const here = new Set((fleet.workers ?? []).map(worker => worker.id));
        this.#growth.retain(id => here.has(id) && (this.#watched?.includes(id) ?? true));
        const now = {...sums(fleet), evictions: this.#growth.total('evictions'),
            preemptions: this.#growth.total('preemptions')};
        const second = fleet.second ?? (Math.floor(Date.parse(fleet.at) / 1000) || Math.floor(Date.now() / 1000));
        if (second !== this.#lastSecond) {
            this.#lastSecond = second;
            const point = {...now, evictions: null, preemptions: null, ...this.#growth.perSecond(second)};
            NAMES.forEach(name => this.#series[name].add(second, point[name]));
            this.#draw(now, fleet);
        }
        this.#tell(now, fleet);
        this.#workers.show(fleet.workers ?? []);
    }

    #tell(now, fleet) {
        const first = fleet.router.first_token_ms;
        const texts = {
            usage: `${percent(now.usage)}`,
            hit_rate: percent(now.hit_rate),
            first_token: first ? `${millis(first.p50)}` : '–',
            tokens: rate(now.tokens_per_second),
            load: `${count(now.running)} + ${count(now.waiting)}`,
            pressure: `${count(now.evictions)}, ${count(now.preemptions)}`,
        };
        Object.entries(texts).forEach(([name, text]) => setText(this.#tiles.get(name), text));
    }

    #draw(now, fleet) {
        const router = fleet.router;
        const first = router.first_token_ms;
        const formulas = {
            usage: `used ÷ blocks = ${count(now.used)} ÷ ${count(now.blocks)}`,
            hit_rate: 'cached tokens ÷ prompt tokens, last 60 s; since the start '
                + `${count(router.cached_tokens)} ÷ ${count(router.prompt_tokens)} = `
                + percent(router.prompt_tokens > 0 ? router.cached_tokens / router.prompt_tokens : null),
            first_token_ms: first ? `last 60 s: half below ${millis(first.p50)}, 99 % below ${millis(first.p99)}`
                : 'no first token in the last 60 s',
            tokens_per_second: `drawn tokens ÷ seconds, last 10 s; ${count(router.completion_tokens)} since the start`,
            prompt_tokens_per_second: 'prompt tokens ÷ seconds, last 10 s; '
                + `${count(router.prompt_tokens)} since the start`,
            running: 'sum of what workers say; in flight at this router: ' + count(router.requests_in_flight),
            waiting: `sum of what workers say; tries sent ${count(router.requests)}, failed ${count(router.failed)}`,
            evictions: `cached blocks given away by watched workers; ${count(now.evictions)} since their start`,
            preemptions: `requests that gave way at watched workers; ${count(now.preemptions)} since their start`,
        };
        Object.entries(this.#charts).forEach(([name, chart]) => chart.show(this.#series[name], formulas[name]));
    }
}

/** The fleet's numbers as sums over its workers; of blocks, over those that have told how many are free. */
export function sums(fleet) {
    const workers = fleet.workers ?? [];
    const sum = (of, from = workers) => from.reduce((total, worker) => total + (of(worker) || 0), 0);
    const told = workers.filter(worker => typeof worker.free_blocks === 'number');
    const blocks = sum(worker => worker.blocks, told);
    const used = blocks - sum(worker => worker.free_blocks, told);
    return {
        blocks,
        used,
        usage: blocks > 0 ? used / blocks : null,
        hit_rate: fleet.router.hit_rate,
        first_token_ms: fleet.router.first_token_ms?.p50 ?? null,
        tokens_per_second: fleet.router.tokens_per_second,
        prompt_tokens_per_second: fleet.router.prompt_tokens_per_second,
        running: sum(worker => worker.running),
        waiting: sum(worker => worker.waiting),
    };
}
