/**
 * The router's live feed: server-sent events over one connection, opened again whenever it is lost. It comes twice a
 * second at least, so silence means that it is lost, too. While nobody looks at the page it is closed, since workers
 * copy their books only for readers.
 */
import {refusalOf} from './api.js';

const SILENCE_MILLIS = 5_000;
const LONGEST_WAIT_MILLIS = 8_000;
const HIDDEN_MILLIS = 20_000;
const EVENTS = ['hello', 'fleet', 'pool', 'decision'];

/** @typedef {'connecting'|'open'|'lost'|'refused'|'paused'} FeedState */

export class Feed {
    #listeners = new Map();
    #source = null;
    #pools = null;
    #wait = 1_000;
    #timer = 0;
    #silence = 0;
    #hidden = 0;
    /** Whether this connection has told anything yet. */
    #hasTold = false;
    /** @type {FeedState} */
    state = 'connecting';
    /** Why the router does not let this page watch; null while it does, or does not answer. */
    refusal = null;

    constructor() {
        document.addEventListener('visibilitychange', () => this.#visibility());
    }

    /** @param {string} event one of the feed's, {@code state} or {@code watch} @param {function(*)} listener */
    on(event, listener) {
        this.#listeners.set(event, [...this.#listeners.get(event) ?? [], listener]);
    }

    /** Which pools are wanted from now on; the feed begins anew. @param {?string[]} ids null: the first workers' */
    watch(ids) {
        this.#pools = ids;
        this.#tell('watch', ids);
        this.open();
    }

    open() {
        this.#close();
        if (document.hidden) {
            this.#become('paused');         // a tab that was opened behind others, or a line lost behind them
            return;
        }
        if (this.state === 'paused') {
            this.#become('connecting');
        }
        const source = new EventSource(new URL(this.#path(), document.baseURI));
        this.#source = source;
        this.#hasTold = false;
        EVENTS.forEach(event => source.addEventListener(event, message => this.#received(source, event, message.data)));
        source.addEventListener('error', () => this.#lost(source));
        this.#listen(source);
    }

    #path() {
        return this.#pools === null ? 'live' : `live?pools=${this.#pools.map(encodeURIComponent).join(',')}`;
    }

    #received(source, event, data) {
        if (source !== this.#source) {
            return;
        }
        this.#listen(source);
        let value;
        try {
            value = JSON.parse(data);
        } catch {
            return;         // half an event of a connection that breaks just now
        }
        this.#wait = 1_000;
        this.#hasTold = true;
        this.refusal = null;
        this.#become('open');
        this.#tell(event, value);
    }

    #listen(source) {
        clearTimeout(this.#silence);
        this.#silence = setTimeout(() => this.#lost(source), SILENCE_MILLIS);
    }

    #lost(source) {
        if (source !== this.#source) {
            return;
        }
        this.#close();
        if (this.state !== 'refused') {
            this.#become('lost');
        }
        if (!this.#hasTold) {
            this.#askWhy();
        }
        this.#timer = setTimeout(() => this.open(), this.#wait);
        this.#wait = Math.min(LONGEST_WAIT_MILLIS, 2 * this.#wait);
    }

    /** An event source does not tell what it was answered. */
    async #askWhy() {
        const refusal = await refusalOf(this.#path());
        if (this.#source === null && this.state !== 'paused') {
            this.refusal = refusal;
            this.#become(refusal === null ? 'lost' : 'refused');
        }
    }

    #close() {
        clearTimeout(this.#timer);
        clearTimeout(this.#silence);
        this.#source?.close();
        this.#source = null;
    }

    #visibility() {
        clearTimeout(this.#hidden);
        if (document.hidden) {
            this.#hidden = setTimeout(() => {
                this.#close();
                this.#become('paused');
            }, HIDDEN_MILLIS);
        } else if (this.state === 'paused') {
            this.open();
        }
    }

    #become(state) {
        if (state !== this.state) {
            this.state = state;
            this.#tell('state', state);
        }
    }

    #tell(event, value) {
        (this.#listeners.get(event) ?? []).forEach(listener => listener(value));
    }
}
