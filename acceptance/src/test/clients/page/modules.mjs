/**
 * The page's modules that draw nothing, by themselves: how frames become a pool, events an answer, nodes a tree, and
 * the arithmetic of a start, which is held against numbers of the worker's own. {@code MODULES} names their folder.
 */
import assert from 'node:assert/strict';
import {cpSync, readFileSync} from 'node:fs';
import {test} from 'node:test';

const here = new URL('./modules/', import.meta.url);
cpSync(process.env.MODULES, here, {recursive: true});      // beside the package that says what kind of modules they are
const load = name => import(new URL(name, here));

const {Pool} = await load('pool.js');
const {SseReader} = await load('sse.js');
const {pool: poolOf, budget, fault, MODELS, CARDS} = await load('arithmetic.js');
const {SmallPool} = await load('smallpool.js');
const {Series} = await load('series.js');
const {treeOf} = await load('tree.js');
const {Growth} = await load('growth.js');
const {Newest, microsOf} = await load('newest.js');
const {sums} = await load('numbers.js');
const {meaningOfLeftOut, why} = await load('terms.js');

const base64 = bytes => Buffer.from(bytes).toString('base64');
const whole = (sample, cells, more = {}) => ({worker: 'worker-1', epoch: 1, whole: true, sample, block_size: 16,
    blocks: cells.length, cells: base64(cells), host: '', next: [], counters: {}, held: false, requests: [], ...more});
const delta = (sample, changed, more = {}) => ({worker: 'worker-1', epoch: 1, whole: false, sample, changed, ...more});
/** State 4, held once. */
const USED = 4 | 1 << 3;
const CACHED = 2;
const FREE = 1;

test('a whole frame and its changes make the pool', () => {
    const pool = new Pool('worker-1');
    assert.deepEqual(pool.apply(whole(7, [0, FREE, FREE, USED])), {whole: true, changed: [], hostChanged: false});
    assert.deepEqual(pool.apply(delta(8, [1, USED, 3, CACHED])).changed, [1, 3]);
    assert.deepEqual([...pool.cells], [0, USED, FREE, CACHED]);
    assert.deepEqual([...pool.counts.slice(0, 6)], [1, 1, 1, 0, 1, 0]);
});

test('behind a gap nothing is applied until a whole frame comes, of which what differs is told', () => {
    const pool = new Pool('worker-1');
    pool.apply(whole(1, [0, FREE, FREE]));
    assert.equal(pool.apply(delta(3, [1, USED])), null);
    assert.equal(pool.apply(delta(4, [1, USED])), null);
    assert.deepEqual([...pool.cells], [0, FREE, FREE]);
    assert.deepEqual(pool.apply(whole(5, [0, FREE, CACHED])), {whole: false, changed: [2], hostChanged: false});
    assert.deepEqual(pool.apply(delta(6, [1, USED])).changed, [1]);
});

test('a worker that has started anew is another pool', () => {
    const pool = new Pool('worker-1');
    pool.apply(whole(5, [0, USED, USED]));
    assert.equal(pool.apply(delta(6, [1, FREE], {epoch: 2})), null);
    assert.equal(pool.apply(whole(1, [0, FREE, FREE], {epoch: 2})).whole, true);
    assert.deepEqual([...pool.counts.slice(0, 5)], [1, 2, 0, 0, 0]);
});

test('ids beyond the pool and bytes beyond a byte do no harm', () => {
    const pool = new Pool('worker-1');
    pool.apply(whole(1, [0, FREE]));
    assert.deepEqual(pool.apply(delta(2, [-1, USED, 2, USED, 1e9, USED, 1, 256 + USED, 1])).changed, [1]);
    assert.deepEqual([...pool.cells], [0, USED]);
    assert.equal(pool.apply(whole(3, [0, FREE], {blocks: 5})), null);
    assert.match(pool.unavailable, /broken/);
});

test('seeded changes, many of them, leave the counts right', () => {
    const pool = new Pool('worker-1');
    const cells = new Uint8Array(500).fill(FREE);
    pool.apply(whole(0, cells));
    let state = 42;
    const random = most => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return Math.floor(state / 2 ** 32 * most);
    };
    for (let sample = 1; sample <= 2_000; sample++) {
        const changed = [];
        for (let i = random(20); i > 0; i--) {
            const id = random(500);
            const byte = random(6) | random(32) << 3;
            cells[id] = byte;
            changed.push(id, byte);
        }
        pool.apply(delta(sample, changed));
    }
    assert.deepEqual(pool.cells, cells);
    const counts = new Int32Array(8);
    cells.forEach(byte => counts[byte & 7]++);
    assert.deepEqual(pool.counts, counts);
});

test('events are whole wherever the network has cut them', () => {
    const text = 'data: {"a":1}\r\n\r\n: a comment\n\ndata:two\ndata: lines\n\nevent: x\ndata: [DONE]\n\n';
    for (let cut = 0; cut <= text.length; cut++) {
        for (let second = cut; second <= text.length; second += 7) {
            const reader = new SseReader();
            const events = [text.slice(0, cut), text.slice(cut, second), text.slice(second)]
                .flatMap(piece => reader.push(piece));
            assert.deepEqual(events, ['{"a":1}', 'two\nlines', '[DONE]'], `cut at ${cut} and ${second}`);
        }
    }
});

test('an event that does not end is given up', () => {
    const reader = new SseReader();
    assert.throws(() => {
        for (let i = 0; i < 10; i++) {
            reader.push('data: '.padEnd(1_000_000, 'x'));
        }
    }, /does not end/);
});

test('the calculator reckons as the planner and the doctor do', () => {
    // the numbers of FormulasTest in the module capacity
    const llama = {layers: 32, kvHeads: 8, headDim: 128, elementBytes: 2, scaleBytes: 0, blockSize: 16,
        memoryBytes: 56e9, utilisation: 1, weightBytes: 0, reserveBytes: 0, context: 8_192};
    assert.equal(poolOf(llama).bytesPerBlock, 2_097_152);
    assert.equal(poolOf(llama).blocks, 26_702);
    assert.equal(poolOf(llama).tokens, 427_232);
    assert.equal(poolOf({...llama, layers: 80, memoryBytes: 45e9}).blocks, 8_583);
    assert.equal(budget(50, 1_000, 16), 3_780);
    assert.equal(budget(1, 1, 16), 2);
    assert.equal(budget(0, 1_000, 16), 0);
    assert.match(fault({...llama, prefixes: 1.5, prefixTokens: 1}), /Prefixes must be a whole number/);
});

test('the arithmetic of a start is the worker\'s own', () => {
    const expected = JSON.parse(process.env.STARTS);
    assert.ok(expected.length > 100);
    for (const {start, bytesPerBlock, blocks, tokens} of expected) {
        const result = poolOf({weightBytes: 0, reserveBytes: 0, context: 1, ...start});
        assert.deepEqual([result.bytesPerBlock, result.blocks, result.tokens], [bytesPerBlock, blocks, tokens],
            JSON.stringify(start));
    }
});

test('weights and reserve are taken off first, and the null block last', () => {
    const start = {layers: 1, kvHeads: 1, headDim: 8, elementBytes: 2, scaleBytes: 0, blockSize: 4,
        memoryBytes: 10_000, weightBytes: 5_000, reserveBytes: 1_000, utilisation: 0.5, context: 9};
    const result = poolOf(start);
    assert.equal(result.bytesPerBlock, 128);
    assert.equal(result.leftBytes, 4_000);
    assert.equal(result.blocks, 15);
    assert.equal(result.blocksOfContext, 3);
    assert.equal(result.conversations, 4);
    assert.equal(poolOf({...start, weightBytes: 20_000}).blocks, 0);
    assert.equal(poolOf({...start, weightBytes: 20_000}).conversations, 0);
});

test('each preset can be calculated, and what is no number is said', () => {
    for (const model of Object.values(MODELS)) {
        for (const card of Object.values(CARDS)) {
            const start = {...model, ...card, scaleBytes: 0, blockSize: 16, utilisation: 0.9};
            assert.equal(fault(start), null);
        }
    }
    assert.match(fault({layers: 0}), /Layers must be/);
    assert.match(fault({...MODELS['Qwen3 8B'], blockSize: 16, memoryBytes: NaN}), /Memory must be/);
});

test('the small pool takes the same blocks as the worker\'s manager', () => {
    const run = JSON.parse(process.env.POOL_RUN);
    const pool = new SmallPool(run.blocks, run.blockSize);
    for (const [i, step] of run.steps.entries()) {
        if (step.release) {
            pool.release(step.release);
        } else {
            const tokens = step.tokens.map(String);
            if (step.blocks === null) {
                assert.throws(() => pool.admit(step.admit, tokens), /too few blocks/, `step ${i}`);
            } else {
                pool.admit(step.admit, tokens);
                assert.deepEqual(pool.requests.get(step.admit).blocks, step.blocks, `step ${i}`);
            }
        }
    }
});

test('a series keeps five minutes by its seconds, and what is not known as such', () => {
    const series = new Series();
    series.begin(Array.from({length: 400}, (_, i) => i), 1_000);
    assert.equal(series.points.length, 300);
    series.add(1_002, undefined);
    series.add(1_004, 7);
    assert.deepEqual(series.points.slice(-3).map(point => [point.second, point.value]),
        [[1_000, 399], [1_002, null], [1_004, 7]]);
    assert.equal(series.points[0].second, 705);
    assert.deepEqual(series.range, {least: 7, most: 399});
    series.add(1_003, 5);
    assert.deepEqual(series.points.slice(-2).map(point => point.second), [1_002, 1_003]);
});

test('what the router has kept takes the place of the same time, and of no other', () => {
    const series = new Series();
    [[10, 1], [11, 2], [12, 3], [13, 4]].forEach(([second, value]) => series.add(second, value));
    series.begin([], 0);
    assert.equal(series.points.length, 4);
    series.begin([30, null, 50], 14);
    assert.deepEqual(series.points.map(point => [point.second, point.value]),
        [[10, 1], [11, 2], [12, 30], [13, null], [14, 50]]);
});

test('a worker that comes, leaves or starts anew is no burst of evictions', () => {
    const growth = new Growth();
    growth.take('worker-1', 1, {evictions: 1_000});
    assert.deepEqual(growth.perSecond(10), {});
    growth.take('worker-1', 1, {evictions: 1_006});
    growth.take('worker-2', 1, {evictions: 50_000});
    assert.deepEqual(growth.perSecond(12), {evictions: 3});
    growth.take('worker-1', 2, {evictions: 4});
    growth.take('worker-2', 1, {evictions: 50_010});
    assert.deepEqual(growth.perSecond(14), {evictions: 5});
    assert.equal(growth.total('evictions'), 50_014);
    growth.retain(id => id === 'worker-1');
    growth.take('worker-1', 2, {evictions: 6});
    assert.deepEqual(growth.perSecond(15), {evictions: 2});
    assert.equal(growth.total('evictions'), 6);
});

test('a worker that has not told its free blocks counts neither as full nor as empty', () => {
    const router = {hit_rate: null, first_token_ms: null, tokens_per_second: 0, prompt_tokens_per_second: 0};
    const {blocks, used, usage} = sums({router, workers: [{blocks: 100, free_blocks: 75, usage: 0.25},
        {blocks: 900, free_blocks: null, usage: null}]});
    assert.deepEqual([blocks, used, usage], [100, 25, 0.25]);
    assert.equal(sums({router, workers: [{blocks: 900, free_blocks: null}]}).usage, null);
});

test('decisions stand by their time, whenever they come, and the oldest goes', () => {
    const newest = new Newest(3);
    assert.deepEqual(newest.add('b', 20), {place: 0, dropped: null});
    assert.deepEqual(newest.add('d', 40), {place: 0, dropped: null});
    assert.deepEqual(newest.add('c', 30), {place: 1, dropped: null});
    assert.deepEqual(newest.add('e', 50), {place: 0, dropped: 'b'});
    assert.deepEqual(newest.add('a', 10), {place: 3, dropped: 'a'});
    assert.equal(microsOf('2026-11-27T04:40:13.123456Z') - microsOf('2026-11-27T04:40:13.123Z'), 456);
    assert.equal(microsOf('2026-11-27T04:40:13Z') - microsOf('2026-11-27T04:40:12.999999999Z'), 1);
    assert.equal(microsOf(undefined), 0);
});

test('why a worker was chosen is said by the numbers of the decision', () => {
    const candidate = (worker, matched, cost) => ({worker, matched_blocks: matched, cost, terms: {uncached: cost}});
    const said = (reason, candidates, more = {}) => why({worker: 'worker-1', reason, prompt_tokens: 160, block_size: 16,
        candidates, ...more});
    const alike = [candidate('worker-1', 4, 96), candidate('worker-2', 4, 120)];
    assert.match(said('load', alike), /^worker-1 holds 4 of the prompt's 10 full blocks, nobody holds more/);
    assert.match(said('load', [candidate('worker-1', 4, 96), candidate('worker-2', 6, 120)]),
        /^Another holds more \(6 blocks\)/);
    assert.match(said('load', alike, {fleet_cached_tokens: 112}), /^Another holds more \(7 blocks\)/);
    assert.match(said('load', [candidate('worker-1', 0, 96)]), /^Nobody holds any of it/);
    assert.match(said('prefix', [candidate('worker-1', 4, 96), candidate('worker-2', 6, 120)]), /full blocks\. /);
    assert.match(meaningOfLeftOut('outdated'), /too old/);
});

test('in grey, too, each state of a small cell is far from the one before', () => {
    const style = readFileSync(new URL('style.css', here), 'utf8');
    for (const theme of [0, 1]) {
        const contrasts = ['free', 'cached', 'filling', 'used', 'shared'].map(state => contrast(
            colour(style, `cell-${state}`, theme), colour(style, 'surface', theme)));
        [1, ...contrasts].slice(0, -1).forEach((before, i) => assert.ok(contrasts[i] / before > 1.6,
            `${['light', 'dark'][theme]}: ${contrasts.map(each => each.toFixed(1))}`));
    }
});

/** @param {number} theme 0: light, 1: dark */
function colour(style, name, theme) {
    return style.match(new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`))[1 + theme];
}

/** As the WCAG have it: 1 to 21. */
function contrast(one, other) {
    const [dark, light] = [one, other].map(luminance).sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
}

function luminance(hex) {
    const [red, green, blue] = [1, 3, 5].map(from => parseInt(hex.slice(from, from + 2), 16) / 255)
        .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test('nodes stand under their parents, the most wanted first, and strangers at the root', () => {
    const node = (key, parent, hits) => ({key, parent, hits});
    const tree = treeOf([node('a', null, 9), node('b', 'a', 2), node('c', 'a', 5), node('d', 'gone', 20),
        node('e', 'e', 1)]);
    assert.deepEqual(tree.map(entry => entry.node.key), ['d', 'a', 'e']);
    assert.deepEqual(tree[1].children.map(entry => entry.node.key), ['c', 'b']);
});
