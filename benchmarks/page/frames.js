/**
 * How fluent the fleet page's grid is: frames of the feed for a large pool, made here, applied and drawn as the page
 * does it. Frames on the screen are counted by the browser's own calls before each.
 */
import {Grid} from './ui/grid.js';
import {Pool} from './ui/pool.js';

const asked = new URLSearchParams(location.search);
const BLOCKS = Number(asked.get('blocks'));
const CHANGES_A_SECOND = Number(asked.get('changes'));
const SECONDS = Number(asked.get('seconds'));
const FRAMES_A_SECOND = 5;
const NEXT = 256;

/** Draws the same numbers in each run. */
function generator(seed) {
    let state = seed;
    return most => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        return Math.floor(state / 2 ** 32 * most);
    };
}

const random = generator(1);
const byteOf = () => {
    const state = 1 + random(5);
    return state | (state === 5 ? 2 + random(4) : state > 2 ? 1 : 0) << 3;
};

function whole() {
    let binary = '';
    for (let i = 0; i < BLOCKS; i++) {
        binary += String.fromCharCode(i === 0 ? 0 : byteOf());
    }
    return {...head(0), whole: true, cells: btoa(binary)};
}

function delta(sample) {
    const changed = [];
    for (let i = 0; i < CHANGES_A_SECOND / FRAMES_A_SECOND; i++) {
        changed.push(1 + random(BLOCKS - 1), byteOf());
    }
    return {...head(sample), whole: false, changed};
}

function head(sample) {
    return {worker: 'worker-1', epoch: 1, sample, block_size: 16, blocks: BLOCKS, groups: 1, host: '', held: false,
        next: Array.from({length: NEXT}, () => 1 + random(BLOCKS - 1)), counters: {}, requests: []};
}

const pool = new Pool('worker-1');
const grid = new Grid('Blocks', {onCursor() {}, onPick() {}});
document.getElementById('host').append(grid.element);

let longestApply = 0;
function apply(frame) {
    const parsed = JSON.stringify(frame);
    const began = performance.now();
    const applied = pool.apply(JSON.parse(parsed));
    grid.show(pool.cells);
    grid.changed(applied.changed);
    grid.markNext(pool.next);
    const took = performance.now() - began;
    longestApply = Math.max(longestApply, took);
    return took;
}

const nextFrame = () => new Promise(resolve => requestAnimationFrame(resolve));

await nextFrame();
const firstMillis = apply(whole());
await nextFrame();
longestApply = 0;
grid.cellsDrawn = 0;

let sample = 0;
const feed = setInterval(() => apply(delta(++sample)), 1000 / FRAMES_A_SECOND);
const gaps = [];
let before = await nextFrame();
const began = before;
while (before - began < 1000 * SECONDS) {
    const now = await nextFrame();
    gaps.push(now - before);
    before = now;
}
clearInterval(feed);
gaps.sort((one, other) => one - other);
const at = share => Number(gaps[Math.floor(share * (gaps.length - 1))].toFixed(1));
const canvas = document.querySelector('.grid canvas');
await fetch('result', {method: 'POST', body: JSON.stringify({
    blocks: BLOCKS, changesASecond: CHANGES_A_SECOND, seconds: SECONDS, canvas: `${canvas.width} x ${canvas.height}`,
    framesASecond: Number((1000 * gaps.length / (before - began)).toFixed(1)),
    gapMillis: {median: at(0.5), p99: at(0.99), most: at(1)},
    cellsDrawnASecond: Math.round(grid.cellsDrawn / SECONDS),
    longestApplyMillis: Number(longestApply.toFixed(1)), wholeMillis: Number(firstMillis.toFixed(1)),
})});
