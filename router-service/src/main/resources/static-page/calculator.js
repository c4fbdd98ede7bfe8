/** How large a cache a start would have: numbers in, the formulas with these numbers out. */
import {budget, CARDS, fault, MODELS, pool} from './arithmetic.js';
import {el, setText} from './dom.js';
import {bytes, count} from './format.js';

const MIB = 2 ** 20;

const FIELDS = [
    ['layers', 'Layers', 1],
    ['kvHeads', 'KV heads', 1],
    ['headDim', 'Head size', 1],
    ['elementBytes', 'Bytes of a number', 1],
    ['scaleBytes', 'Bytes of a scale (fp8: 4)', 1],
    ['blockSize', 'Block size, tokens', 1],
    ['context', 'Context, tokens', 1],
    ['memoryBytes', 'Memory, MiB', MIB],
    ['weightBytes', 'Weights, MiB', MIB],
    ['reserveBytes', 'Reserve for activations and driver, MiB', MIB],
    ['utilisation', 'Utilisation of what is left', 1],
    ['prefixes', 'Prefixes to keep cached', 1],
    ['prefixTokens', 'Tokens of each', 1],
];

export class Calculator {
    #inputs = new Map();
    #model;
    #card;
    #fault = el('p', {class: 'notice', role: 'alert', hidden: true});
    #formulas = el('dl', {class: 'formulas'});
    #running = el('p', {class: 'quiet', role: 'status'});
    #workers = '';

    /** @param {HTMLElement} host @param {import('./feed.js').Feed} feed which tells what runs here */
    constructor(host, feed) {
        this.#model = select('model-preset', MODELS, () => this.#preset());
        this.#card = select('card-preset', CARDS, () => this.#preset());
        const form = el('form', {class: 'fields', on: {submit: event => event.preventDefault()}},
            el('label', {}, 'Model', this.#model), el('label', {}, 'Memory of', this.#card),
            FIELDS.map(([name, label]) => el('label', {}, label, this.#input(name))));
        host.append(el('section', {class: 'card', 'aria-labelledby': 'calculator-title'},
            el('h3', {id: 'calculator-title'}, 'How large is the cache?'),
            el('p', {class: 'quiet'}, 'The arithmetic of a worker\'s start. Choose a model and a card, or write other '
                + 'numbers. Models whose layers have windows, or caches that are compressed, need another one.'),
            form, this.#fault, this.#formulas, this.#running));
        this.#set('blockSize', 16);
        this.#set('utilisation', 0.9);
        this.#set('scaleBytes', 0);
        this.#set('prefixes', 50);
        this.#set('prefixTokens', 1_000);
        this.#preset();
        feed.on('fleet', fleet => this.#compare(fleet.workers ?? []));
    }

    #input(name) {
        const input = el('input', {type: 'number', name, min: 0, step: 'any', inputmode: 'decimal',
            on: {input: () => this.#show()}});
        this.#inputs.set(name, input);
        return input;
    }

    #preset() {
        const model = MODELS[this.#model.value];
        const card = CARDS[this.#card.value];
        ['layers', 'kvHeads', 'headDim', 'elementBytes', 'context'].forEach(name => this.#set(name, model[name]));
        this.#set('memoryBytes', card.memoryBytes);
        this.#set('reserveBytes', card.reserveBytes);
        this.#set('weightBytes', card.ownsWeights ? model.weightBytes : 0);
        this.#show();
    }

    #set(name, value) {
        const [, , unit] = FIELDS.find(([field]) => field === name);
        this.#inputs.get(name).value = Number((value / unit).toFixed(3));
    }

    /** @returns {import('./arithmetic.js').Start} */
    #start() {
        return Object.fromEntries(FIELDS.map(([name, , unit]) => {
            const text = this.#inputs.get(name).value;
            const value = text === '' ? NaN : Number(text) * unit;
            return [name, unit === 1 ? value : Math.round(value)];
        }));
    }

    #show() {
        const start = this.#start();
        const wrong = fault(start);
        this.#fault.hidden = wrong === null;
        setText(this.#fault, wrong ?? '');
        this.#formulas.hidden = wrong !== null;
        if (wrong === null) {
            this.#formulas.replaceChildren(...lines(start, pool(start)).flatMap(([name, formula, value, key]) => [
                el('dt', {}, name), el('dd', {}, el('span', {class: 'data'}, `${formula} = `),
                    el('strong', {'data-result': key}, value))]));
        }
    }

    #compare(workers) {
        const said = workers.filter(worker => worker.pool).slice(0, 8).map(worker =>
            `${worker.id} (${worker.model}) has ${count(worker.blocks)} blocks and the null block`).join('; ');
        if (said !== this.#workers) {
            this.#workers = said;
            setText(this.#running, said ? `Running here: ${said}.` : '');
        }
    }
}

function select(id, presets, changed) {
    return el('select', {id, on: {change: changed}},
        Object.keys(presets).map(name => el('option', {value: name}, name)));
}

function lines(start, result) {
    const vector = start.scaleBytes > 0 ? `(${count(start.headDim)} x ${start.elementBytes} + ${start.scaleBytes})`
        : `${count(start.headDim)} x ${start.elementBytes} bytes`;
    return [
        ['bytes per block', `2 (keys, values) x ${count(start.layers)} layers x ${count(start.kvHeads)} KV heads x `
            + `${vector} x ${count(start.blockSize)} tokens`, `${count(result.bytesPerBlock)} bytes`,
        'bytes-per-block'],
        ['bytes per token', `${count(result.bytesPerBlock)} ÷ ${count(start.blockSize)}`, bytes(result.bytesPerToken),
            'bytes-per-token'],
        ['left for the cache', `${bytes(start.memoryBytes)} − ${bytes(start.weightBytes)} of weights − `
            + `${bytes(start.reserveBytes)} of reserve`, `${count(result.leftBytes)} bytes`, 'left'],
        ['blocks', `${count(result.leftBytes)} x ${start.utilisation} ÷ ${count(result.bytesPerBlock)}`,
            count(result.blocks), 'blocks'],
        ['tokens', `${count(result.blocks)} blocks x ${count(start.blockSize)}`, count(result.tokens), 'tokens'],
        ['conversations of the whole context', `(${count(result.blocks)} − 1 null block) ÷ `
            + `${count(result.blocksOfContext)} blocks of ${count(start.context)} tokens`, count(result.conversations),
        'conversations'],
        budgetLine(start, result),
    ];
}

function budgetLine(start, result) {
    const wanted = budget(start.prefixes, start.prefixTokens, start.blockSize);
    return ['cache budget', `${count(start.prefixes)} prefixes x `
        + `${count(Math.ceil(start.prefixTokens / start.blockSize))} blocks x 1.2`,
    `${count(wanted)} blocks, ${wanted <= result.blocks ? 'which fit' : 'more than there are'}`, 'budget'];
}
