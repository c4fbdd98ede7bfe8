/** A prompt's chain of hashes: each block's goes over its tokens and its parent's hash, so one changed word changes all
 * that follow. What was there before the change stays beside it for comparison. */
import {command} from './api.js';
import {debounce, el, setText} from './dom.js';
import {brief, count, plural} from './format.js';
import {offer} from './models.js';

const REST_MILLIS = 350;
const MOST_SHOWN = 64;
const EXAMPLE = 'You are a helpful guide. Answer each question in one short sentence, and stay polite whatever is '
    + 'asked. A block holds sixteen tokens. Its hash is made from these tokens and from the hash of the block before '
    + 'it, so that a hash names everything up to here. Change one word of this text, and look which are others now.';

export class HashWalk {
    #text = el('textarea', {id: 'chain-text', rows: 4, on: {input: () => this.#askSoon()}}, EXAMPLE);
    #model = el('select', {id: 'chain-model', on: {change: () => this.#ask()}});
    #status = el('p', {class: 'quiet', role: 'status'});
    #list = el('ol', {class: 'hash-chain', 'aria-label': 'Blocks of the prompt'});
    #kept = [];
    #last = [];
    #number = 0;
    #isAsked = false;
    #isSeen = false;
    #askSoon = debounce(REST_MILLIS, () => this.#ask());

    /** @param {HTMLElement} host @param {import('./feed.js').Feed} feed */
    constructor(host, feed) {
        host.append(el('section', {class: 'card', 'aria-labelledby': 'chain-title'},
            el('h3', {id: 'chain-title'}, 'A prompt as a chain of hashes'),
            el('div', {class: 'fields'}, el('label', {}, 'Model', this.#model)),
            el('label', {}, 'Prompt', this.#text),
            el('div', {class: 'row'},
                el('button', {type: 'button', on: {click: () => this.#change()}}, 'Change a word'),
                el('button', {type: 'button', on: {click: () => this.#keep()}}, 'Compare with this one from now on')),
            this.#status, this.#list));
        feed.on('hello', hello => this.#offer(hello.models));
        feed.on('fleet', fleet => this.#offer(fleet.models));
    }

    #offer(models) {
        if (offer(this.#model, models)) {
            this.seen(this.#isSeen);
        }
    }

    /** Asked for when it is first seen with a model. */
    seen(isSeen) {
        this.#isSeen = isSeen;
        if (isSeen && !this.#isAsked) {
            this.#ask();
        }
    }

    /** Takes another word in the middle of the text, so that the first half of the chain stays. */
    #change() {
        const words = this.#text.value.split(' ');
        const middle = Math.floor(words.length / 2);
        words[middle] = words[middle] === 'other' ? 'another' : 'other';
        this.#text.value = words.join(' ');
        this.#ask();
    }

    #keep() {
        this.#kept = this.#last;
        this.#show(this.#last);
        setText(this.#status, `Kept ${plural(this.#kept.length, 'block')} to compare with.`);
    }

    async #ask() {
        const number = ++this.#number;
        this.#isAsked = true;
        if (!this.#model.value) {
            setText(this.#status, 'No model is served now.');
            this.#isAsked = false;
            return;
        }
        try {
            const chain = await command('POST', 'live/playground/chain',
                {model: this.#model.value, prompt: this.#text.value});
            if (number !== this.#number) {
                return;
            }
            this.#last = chain.blocks;
            if (this.#kept.length === 0) {
                this.#kept = chain.blocks;
            }
            this.#show(chain.blocks);
            this.#tell(chain);
        } catch (failure) {
            if (number === this.#number) {
                setText(this.#status, failure.message);
                this.#isAsked = false;
            }
        }
    }

    #tell(chain) {
        const same = chain.blocks.filter((block, i) => this.#kept[i]?.hash === block.hash).length;
        const rest = chain.rest?.tokens?.length ?? 0;
        setText(this.#status, `${plural(chain.prompt_tokens, 'token')}: ${plural(chain.blocks.length, 'full block')} `
            + `of ${chain.block_size}, and ${plural(rest, 'token')} in a block that is not full and has no hash. `
            + `${count(same)} of them as kept, ${count(chain.blocks.length - same)} other.`);
    }

    #show(blocks) {
        const others = blocks.length - MOST_SHOWN;
        this.#list.replaceChildren(...blocks.slice(0, MOST_SHOWN).map((block, i) => this.#card(block, i)),
            ...others > 0 ? [el('li', {class: 'quiet'}, `and ${plural(others, 'block')} more`)] : []);
    }

    #card(block, index) {
        const isSame = this.#kept[index]?.hash === block.hash;
        return el('li', {class: isSame ? 'same' : 'other', 'data-hash': block.hash},
            el('div', {class: 'row'}, el('strong', {}, `Block ${block.index}`),
                el('span', {class: 'badge'}, isSame ? '= as kept' : '≠ other')),
            el('p', {class: 'token-chips'}, (block.texts ?? block.tokens).map(text => el('span', {}, text))),
            el('p', {class: 'data', title: block.parent}, `parent ${brief(block.parent, 16)}`),
            el('p', {class: 'data', title: block.hash}, `→ hash ${brief(block.hash, 16)}`),
            el('p', {class: 'quiet'},
                block.workers?.length ? `● held by ${block.workers.join(', ')}` : '○ held by nobody'));
    }
}
