/** A worker in hand: stopped between two steps, moved by one, let go, its cache emptied. */
import {command} from './api.js';
import {el, setText} from './dom.js';
import {plural} from './format.js';

const HOLD_SECONDS = 60;

export class Controls {
    element;
    #worker;
    #hold = this.#button('Hold', () => this.#holdIt());
    #step = this.#button('Step', () => this.#steps(1));
    #steps10 = this.#button('10 steps', () => this.#steps(10));
    #release = this.#button('Release', () => this.#releaseIt());
    #reset = this.#button('Empty the cache', () => this.#resetIt());
    #said = el('span', {class: 'quiet', role: 'status'});
    #isHeld = false;
    /** Of what was begun last. */
    #number = 0;

    /** @param {string} worker its id */
    constructor(worker) {
        this.#worker = worker;
        this.element = el('div', {class: 'controls', role: 'group', 'aria-label': `${worker} by hand`}, this.#hold,
            this.#step, this.#steps10, this.#release, this.#reset, this.#said);
        this.#show();
    }

    /** @param {boolean} isHeld as the worker says */
    held(isHeld) {
        if (isHeld !== this.#isHeld) {
            this.#isHeld = isHeld;
            this.#show();
            if (!isHeld) {
                setText(this.#said, '');
            }
        }
    }

    #button(text, pressed) {
        return el('button', {type: 'button', class: 'small', on: {click: pressed}}, text);
    }

    #show() {
        this.#hold.hidden = this.#isHeld;
        [this.#step, this.#steps10, this.#release].forEach(each => {
            each.hidden = !this.#isHeld;
        });
    }

    #path(what) {
        return `live/workers/${encodeURIComponent(this.#worker)}/${what}`;
    }

    /**
     * Does what a button says. The others wait, but for Release: it ends what is under way.
     * @param {function(function(): boolean): Promise<string>} work is given whether it is still wanted
     */
    async #do(work) {
        const number = ++this.#number;
        const isWanted = () => number === this.#number;
        const others = [this.#hold, this.#step, this.#steps10, this.#reset];
        const focused = document.activeElement;
        others.forEach(each => {
            each.disabled = true;
        });
        let said;
        try {
            said = await work(isWanted);
        } catch (failure) {
            said = failure.message;
        }
        if (!isWanted()) {
            return;
        }
        setText(this.#said, said);
        others.forEach(each => {
            each.disabled = false;
        });
        if (others.includes(focused) && !focused.hidden) {
            focused.focus();
        }
    }

    #holdIt() {
        return this.#do(async () => {
            await command('PUT', this.#path('hold'));
            this.held(true);
            this.#step.focus();
            return `It stands between two steps. Left alone, it goes on by itself after ${HOLD_SECONDS} s.`;
        });
    }

    #steps(times) {
        return this.#do(async isWanted => {
            let tokens = 0;
            for (let i = 0; i < times && isWanted(); i++) {
                const answer = await command('POST', this.#path('step'));
                if (answer?.stepped === false) {
                    return i === 0 ? 'Nobody is there who could be computed. Send a prompt first.'
                        : `${plural(i, 'step')}, ${plural(tokens, 'token')} drawn; then nobody was left.`;
                }
                tokens += answer?.tokens ?? 0;
            }
            return `${plural(times, 'step')}, ${plural(tokens, 'token')} drawn.`;
        });
    }

    #releaseIt() {
        return this.#do(async () => {
            await command('DELETE', this.#path('hold'));
            this.held(false);
            return 'It computes by itself again.';
        });
    }

    #resetIt() {
        return this.#do(async () => {
            const answer = await command('POST', this.#path('reset-cache'));
            return answer?.all === false ? 'What nobody holds is forgotten. What running requests hold stays cached.'
                : 'Its cache is empty.';
        });
    }
}
