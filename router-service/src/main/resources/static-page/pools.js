/** The pools of the workers that are watched: a card for each, with its grid, its requests and what is pointed at. */
import {BlockDetails} from './block.js';
import {BlockTable} from './blocktable.js';
import {Controls} from './controls.js';
import {bar, el, oneStop, scrollBox, setText, setVar, table} from './dom.js';
import {brief, count, plural} from './format.js';
import {Grid} from './grid.js';
import {legend} from './legend.js';
import {Pool, STATES} from './pool.js';

const MOST_WATCHED = 4;
const HOST_HEIGHT = 64;
const SHOWN_AFTER_LEAVING_MILLIS = 60_000;
/** Workers tell how their pools stand even when nothing changes, so silence is a fault. */
const SILENCE_MILLIS = 15_000;
/** Of more workers some have to be found by name. */
const MOST_WITHOUT_FILTER = 12;

export class Pools {
    #feed;
    #cards = new Map();
    #list = el('div', {class: 'pools'});
    #picker = el('fieldset', {class: 'picker'}, el('legend', {}, 'Watched workers'));
    #boxes = new Map();
    #filter = el('input', {type: 'search', class: 'filter', placeholder: 'part of a name', autocomplete: 'off',
        'aria-label': 'Show workers whose name has this in it', hidden: true, on: {input: () => this.#narrow()}});
    #empty = el('p', {class: 'empty', role: 'status'}, 'Waiting for the fleet…');
    /** Ids of the workers that the router knows. */
    #here = new Set();
    /** null until somebody chooses: the router then takes the first ones. */
    #watched = null;

    /** @param {HTMLElement} host @param {import('./feed.js').Feed} feed */
    constructor(host, feed) {
        this.#feed = feed;
        host.append(legend(), this.#picker, this.#empty, this.#list);
        this.#picker.append(this.#filter);
        this.#picker.hidden = true;
        feed.on('hello', () => this.#cards.forEach(card => card.listen()));
        feed.on('pool', frame => this.#frame(frame));
        feed.on('fleet', fleet => this.#fleet(fleet.workers ?? []));
        window.addEventListener('themechange', () => this.#cards.forEach(card => card.layOut()));
    }

    /** Keys lost to allocations so far, of all watched workers together. */
    evictions() {
        return [...this.#cards.values()].reduce((sum, card) => sum + (card.pool.counters.evictions ?? 0), 0);
    }

    /** The largest share of blocks in use or cached among the watched pools, 0 to 1. */
    fullness() {
        return Math.max(0, ...[...this.#cards.values()].map(card => {
            const usable = card.pool.cells.length - 1;
            return usable > 0 ? 1 - card.pool.counts[1] / usable : 0;
        }));
    }

    #frame(frame) {
        let card = this.#cards.get(frame.worker);
        if (card === undefined) {
            card = new Card(frame.worker);
            this.#cards.set(frame.worker, card);
            const after = [...this.#cards.keys()].sort();
            const follower = this.#cards.get(after[after.indexOf(frame.worker) + 1]);
            this.#list.insertBefore(card.element, follower?.element ?? null);
            this.#mark();
        }
        card.apply(frame);
    }

    #fleet(workers) {
        this.#here = new Set(workers.map(worker => worker.id));
        const byId = new Map(workers.map(worker => [worker.id, worker]));
        for (const [id, card] of this.#cards) {
            if (card.tell(byId.get(id)) > SHOWN_AFTER_LEAVING_MILLIS) {
                this.#remove(id);
                this.#forget(id);
            }
        }
        const isAnyWatched = this.#cards.size > 0;
        this.#empty.hidden = isAnyWatched;
        setText(this.#empty, workers.length === 0 ? 'No worker is there. Start one, and it appears here by itself: '
            + './warmpath up starts two.'
            : workers.some(worker => worker.pool) ? 'Waiting for the first frame of a pool…'
            : 'No worker here shows a pool: their engines keep theirs to themselves.');
        this.#pick(workers);
    }

    /** One box for each worker that has come, and none for one that has gone and is not watched. */
    #pick(workers) {
        for (const worker of workers) {
            if (!this.#boxes.has(worker.id)) {
                const box = el('input', {type: 'checkbox', value: worker.id, on: {change: () => this.#chosen(box)}});
                const label = el('label', {class: 'check'}, box, worker.id);
                this.#boxes.set(worker.id, {box, label});
                this.#picker.append(label);
            }
        }
        for (const [id, {label}] of this.#boxes) {
            if (!this.#cards.has(id) && !workers.some(worker => worker.id === id)) {
                label.remove();
                this.#boxes.delete(id);
            }
        }
        this.#picker.hidden = this.#boxes.size < 2;
        this.#filter.hidden = this.#boxes.size <= MOST_WITHOUT_FILTER;
        this.#mark();
        this.#narrow();
    }

    /** Those that are watched are shown whatever is looked for. */
    #narrow() {
        const part = this.#filter.hidden ? '' : this.#filter.value.trim().toLowerCase();
        this.#boxes.forEach(({box, label}, id) => {
            label.hidden = !box.checked && !id.toLowerCase().includes(part);
        });
    }

    /** A worker that has left takes nobody's place; when all have, the router chooses again. */
    #forget(id) {
        if (this.#watched?.includes(id)) {
            const left = this.#watched.filter(other => other !== id);
            this.#watched = left.length === 0 ? null : left;
            this.#feed.watch(this.#watched);
        }
    }

    #mark() {
        this.#boxes.forEach(({box}, id) => {
            box.checked = this.#watched === null ? this.#cards.has(id) : this.#watched.includes(id);
        });
    }

    #chosen(box) {
        const before = (this.#watched ?? [...this.#cards.keys()]).filter(id => this.#here.has(id));
        if (!box.checked && before.length <= 1) {
            box.checked = true;         // without a name the router would choose by itself
            return;
        }
        const without = before.filter(id => id !== box.value);
        this.#watched = box.checked ? [...without.slice(-(MOST_WATCHED - 1)), box.value] : without;
        [...this.#cards.keys()].filter(id => !this.#watched.includes(id)).forEach(id => this.#remove(id));
        this.#mark();
        this.#feed.watch(this.#watched);
    }

    #remove(id) {
        const card = this.#cards.get(id);
        card.element.remove();
        card.close();
        this.#cards.delete(id);
    }
}

class Card {
    pool;
    element;
    #grid;
    #host;
    #details;
    #table;
    #controls;
    #goneSince = null;
    /** When the worker told how its pool stands, by this page's clock. */
    #heard = performance.now();
    /** As the router has it; null: it has left. */
    #state = null;
    #requests = new Map();
    #facts = el('p', {class: 'data'});
    #badge = el('span', {class: 'badge', hidden: true});
    #notice = el('p', {class: 'notice', role: 'status', hidden: true});
    #strip = el('div', {class: 'strip', hidden: true});
    #stack = el('div', {class: 'stack', 'aria-hidden': 'true'});
    #rows = oneStop(el('tbody', {}), 'button');
    #requestsBox;
    #idle = el('p', {class: 'quiet'}, 'No request is here.');
    #body = el('div', {});

    constructor(worker) {
        this.pool = new Pool(worker);
        this.#details = new BlockDetails(this.pool);
        this.#grid = new Grid(`Blocks of ${worker}`, {
            onCursor: id => this.#details.look(id), onPick: id => this.#details.pick(id)});
        this.#host = new Grid(`Swap space of ${worker}`, {onCursor: () => {}, onPick: () => {}}, HOST_HEIGHT);
        this.#table = new BlockTable(worker, this.#grid);
        this.#controls = new Controls(worker);
        this.#strip.append(el('p', {class: 'quiet'}, 'Swap space, in host memory'), this.#host.element);
        STATES.slice(1, 6).forEach(state => this.#stack.append(el('span', {class: `part ${state}`})));
        this.#requestsBox = scrollBox(`Requests at ${worker}`, table(`Requests at ${worker}`,
            ['request', 'state', '#prompt', '#cached', '#computed', '#drawn'], this.#rows));
        this.#body.append(this.#controls.element, this.#facts, this.#stack, this.#grid.zoomButtons,
            this.#grid.element, this.#strip, this.#details.element, el('h4', {}, 'Running requests'), this.#idle,
            this.#requestsBox, this.#table.element);
        this.element = el('article', {class: 'card pool', 'data-worker': worker},
            el('div', {class: 'row'}, el('h3', {}, worker), this.#badge), this.#notice, this.#body);
    }

    /** The feed has begun anew: what was not told while it was lost says nothing. */
    listen() {
        this.#heard = performance.now();
    }

    apply(frame) {
        this.#heard = performance.now() - (frame.stale_ms ?? 0);
        const isFrame = frame.unavailable !== undefined || frame.sample !== undefined;
        const applied = isFrame ? this.pool.apply(frame) : null;
        this.#explain();
        if (applied === null) {
            return;
        }
        this.#grid.show(this.pool.cells);
        if (applied.whole) {
            this.#grid.layOut();
        } else {
            this.#grid.changed(applied.changed);
        }
        this.#details.changed(applied.whole ? null : applied.changed);
        this.#grid.markNext(this.pool.next);
        this.#strip.hidden = this.pool.host.length === 0;
        if (applied.hostChanged) {
            this.#host.show(this.pool.host);
            this.#host.layOut();
        }
        this.#tell();
        this.#list();
    }

    layOut() {
        this.#grid.layOut();
        this.#host.layOut();
    }

    /**
     * What the router knows of the worker beside its frames.
     * @param {?Object} worker undefined: it has left
     * @returns {number} for how many milliseconds it has been away
     */
    tell(worker) {
        const now = performance.now();
        this.#state = worker?.state ?? null;
        this.#goneSince = worker === undefined ? this.#goneSince ?? now : null;
        this.#explain();
        return worker === undefined ? now - this.#goneSince : 0;
    }

    close() {
        this.#table.close();
    }

    /** Says where what is shown is not how it is now. */
    #explain() {
        const {unavailable, held} = this.pool;
        const isSilent = this.#state === 'ready' && !held && performance.now() - this.#heard > SILENCE_MILLIS;
        const hasNothing = this.pool.cells.length === 0 && unavailable !== null;
        const sentence = hasNothing ? `There is no pool to see here: ${unavailable}.`
            : this.#goneSince !== null ? 'This worker has left the fleet. This is its pool as it was last seen.'
            : unavailable !== null ? `This is the pool as it was last seen: ${unavailable}.`
            : isSilent ? 'This worker has not told for some seconds how its pool stands. This is how it was.' : null;
        this.#notice.hidden = sentence === null;
        setText(this.#notice, sentence ?? '');
        this.#body.hidden = hasNothing;
        this.element.classList.toggle('stale', !hasNothing && sentence !== null);
    }

    #tell() {
        const {counts, cells, counters, blockSize} = this.pool;
        const held = counts[3] + counts[4] + counts[5];
        setText(this.#facts, `${count(held)} in use${counts[5] ? ` (${count(counts[5])} shared)` : ''} · `
            + `${count(counts[2])} cached · ${count(counts[1])} free, of ${plural(cells.length, 'block')} of `
            + `${blockSize} tokens · ${plural(counters.evictions ?? 0, 'eviction')} · `
            + plural((counters.recompute_preemptions ?? 0) + (counters.swap_preemptions ?? 0), 'preemption'));
        [...this.#stack.children].forEach((part, i) => setVar(part, '--share', counts[i + 1] / (cells.length || 1)));
        this.#controls.held(this.pool.held);
        this.#badge.hidden = !this.pool.held;
        setText(this.#badge, '‖ held: it steps by hand');
    }

    #list() {
        const requests = this.pool.requests;
        const seen = new Set();
        for (const request of requests) {
            const key = `${request.id}/${request.choice}`;
            seen.add(key);
            let row = this.#requests.get(key);
            if (row === undefined) {
                row = this.#row(request);
                this.#requests.set(key, row);
                this.#rows.append(row);
            }
            this.#fill(row, request);
        }
        for (const [key, row] of this.#requests) {
            if (!seen.has(key)) {
                row.remove();
                this.#requests.delete(key);
            }
        }
        this.#idle.hidden = requests.length > 0;
        this.#requestsBox.hidden = requests.length === 0;
    }

    #row(request) {
        const open = el('button', {type: 'button', class: 'link data', title: request.id, tabindex: -1,
            on: {click: () => this.#table.open(request.id)}},
        `${brief(request.id, 16)}${request.choice ? ` #${request.choice}` : ''}`);
        const progress = bar(0, 'prompt');
        return Object.assign(el('tr', {}, el('th', {scope: 'row'}, open), el('td', {}),
            el('td', {class: 'number'}), el('td', {class: 'number'}),
            el('td', {class: 'number'}, el('span', {}), progress), el('td', {class: 'number'})), {progress});
    }

    #fill(row, request) {
        const signs = {running: '▶ running', waiting: '… waiting', swapped: '◧ swapped'};
        const [, state, prompt, cached, computed, drawn] = row.cells;
        setText(state, signs[request.state] ?? String(request.state));
        setText(prompt, count(request.prompt_tokens));
        setText(cached, count(request.cached_tokens));
        setText(computed.firstChild, count(request.computed_tokens)
            + (request.scheduled_tokens > 1 ? ` (${count(request.scheduled_tokens)} now)` : ''));
        setText(drawn, count(request.drawn_tokens));
        setVar(row.progress, '--share', Math.min(1, request.computed_tokens / Math.max(1, request.prompt_tokens)));
        setVar(row.progress, '--cached', Math.min(1, request.cached_tokens / Math.max(1, request.prompt_tokens)));
    }
}
