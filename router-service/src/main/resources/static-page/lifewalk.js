/** A block's life in eleven steps, on a pool of eleven blocks of four tokens. */
import {el, setText} from './dom.js';
import {paintState, themeColours} from './sprites.js';
import {SmallPool} from './smallpool.js';

const BLOCKS = 11;
const BLOCK_SIZE = 4;
const CELL = 40;
const PLAY_MILLIS = 2_600;

const words = text => text.split(' ');
const RULES = words('You are a kind and patient guide');
const TWICE = words('Count with me please and be quick now');

/** Each step does something to the pool, and says what, and by which rule. */
const STEPS = [
    ['The pool is empty. Ten blocks stand in the free queue; block 0, the null block, is never given away.', () => {}],
    ['Request A comes with nine tokens. It takes three blocks from the head of the queue. Two are full: they get keys, '
        + 'and others may share them from now on. The third has one token, and no key yet.',
    pool => pool.admit('A', [...RULES, 'Hello', 'there'])],
    ['A draws three tokens. The third block is full with them, and gets its key.',
        pool => words('I am fine').forEach(token => pool.draw('A', token))],
    ['Request B begins like A. Its first block is found by its key: nothing of it is computed again. It is held twice '
        + 'now, so it is shared. What differs from A goes to blocks of its own.',
    pool => pool.admit('B', [...RULES.slice(0, 4), ...words('strict teacher of maths now')])],
    ['A ends. It gives its blocks back, the last one first, to the tail of the queue: they keep their keys, so they '
        + 'are cached. The shared block stays, for B still holds it.', pool => pool.release('A')],
    ['B ends, too. Its last block was not full, so nobody can find it: it goes to the head of the queue and is given '
        + 'away first. The others go to the tail, the beginning of the prompt behind its end.',
    pool => pool.release('B')],
    ['Request A comes again. Its first two blocks leave the queue, from wherever they stand, and serve at once. One '
        + 'token at least is always computed, so the third is allocated.',
    pool => pool.admit('A again', [...RULES, 'Hello', 'there'])],
    ['It ends. Its blocks go to the tail of the queue again: used last, evicted last.',
        pool => pool.release('A again')],
    ['Request C has much to say, and begins like nobody: seven blocks from the head of the queue. Those without a key '
        + 'go first, then the cached ones that were released longest ago. They lose what they held: they are evicted.',
    pool => pool.admit('C', [...TWICE, ...TWICE, ...TWICE, ...words('one two three four')])],
    ['A comes a third time. The end of a prefix is evicted before its beginning, so what is left of it can still be '
        + 'found.',
    pool => pool.admit('A once more', [...RULES, 'Hello', 'there'])],
    ['Both end. Everything is free or cached, and the queue holds every block but the null block.', pool => {
        pool.release('C');
        pool.release('A once more');
    }],
];

/** The pool after a step. @param {number} step 0 to the last */
function poolAt(step) {
    const pool = new SmallPool(BLOCKS, BLOCK_SIZE);
    STEPS.slice(0, step + 1).forEach(([, act]) => act(pool));
    return pool;
}

export class LifeWalk {
    #step = 0;
    #timer = 0;
    #words = el('p', {class: 'why', 'aria-live': 'polite'});
    #cells = el('ol', {class: 'small-pool', start: 0, 'aria-label': 'Blocks'});
    #queue = el('p', {class: 'data'});
    #held = el('p', {class: 'data'});
    #play = this.#button('Play', () => this.#playOrStop());
    #position = el('span', {class: 'quiet'});

    /** @param {HTMLElement} host */
    constructor(host) {
        host.append(el('section', {class: 'card', 'aria-labelledby': 'life-title'},
            el('h3', {id: 'life-title'}, 'A block\'s life'),
            el('div', {class: 'row'}, this.#button('Back', () => this.#go(this.#step - 1)),
                this.#button('Next', () => this.#go(this.#step + 1), 'primary'), this.#play,
                this.#button('From the beginning', () => this.#go(0)), this.#position),
            this.#words, this.#cells, this.#queue, this.#held));
        window.addEventListener('themechange', () => this.#show());
        this.#show();
    }

    #button(text, pressed, kind = '') {
        return el('button', {type: 'button', class: kind, on: {click: () => {
            if (text !== 'Play') {
                this.#stop();
            }
            pressed();
        }}}, text);
    }

    #playOrStop() {
        if (this.#timer !== 0) {
            this.#stop();
            return;
        }
        setText(this.#play, 'Pause');
        if (this.#step === STEPS.length - 1) {
            this.#go(0);
        }
        this.#timer = setInterval(() => {
            this.#go(this.#step + 1);
            if (this.#step === STEPS.length - 1) {
                this.#stop();
            }
        }, PLAY_MILLIS);
    }

    #stop() {
        clearInterval(this.#timer);
        this.#timer = 0;
        setText(this.#play, 'Play');
    }

    #go(step) {
        this.#step = Math.max(0, Math.min(STEPS.length - 1, step));
        this.#show();
    }

    #show() {
        const before = this.#step > 0 ? poolAt(this.#step - 1) : null;
        const pool = poolAt(this.#step);
        const colours = themeColours();
        setText(this.#position, `Step ${this.#step + 1} of ${STEPS.length}`);
        setText(this.#words, STEPS[this.#step][0]);
        this.#cells.replaceChildren(
            ...pool.references.map((_, block) => this.#cell(pool, before, block, colours)));
        setText(this.#queue, `Free queue, next one first: ${pool.queue.join(', ') || 'empty'}`);
        setText(this.#held, [...pool.requests].map(([name, request]) =>
            `${name}: blocks ${request.blocks.join(', ')}${request.hits ? ` (${request.hits} found)` : ''}`).join(' · ')
            || 'No request is here.');
    }

    #cell(pool, before, block, colours) {
        const state = pool.stateOf(block);
        const isFresh = before !== null && (before.stateOf(block) !== state || before.keys[block] !== pool.keys[block]
            || before.references[block] !== pool.references[block]);
        const canvas = el('canvas', {width: CELL, height: CELL, 'aria-hidden': 'true'});
        paintState(canvas.getContext('2d'), state, CELL, colours);
        const order = pool.queue.indexOf(block);
        return el('li', {class: isFresh ? 'fresh' : null}, el('span', {class: 'row'}, canvas,
            el('span', {}, el('strong', {}, String(block)), ` ${state}`)),
        el('span', {class: 'data'}, pool.references[block] > 0 ? `held ${pool.references[block]} x`
            : order >= 0 ? `${order + 1}. in the queue` : ''),
        el('span', {class: 'token-text'}, pool.tokensOf(block).join(' ')));
    }
}
