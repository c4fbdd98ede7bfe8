/**
 * The router's live feed: server-sent events over one connection, opened again whenever it is lost. It comes twice a
 * second at least, so silence means that it is lost, too. While nobody looks at the page it is closed, since workers
 * copy their books only for readers.
 */

const SILENCE_MILLIS = 5_000;
const LONGEST_WAIT_MILLIS = 8_000;
const HIDDEN_MILLIS = 20_000;
const EVENTS = ['hello', 'fleet', 'pool', 'decision'];

/** @typedef {'connecting'|'open'|'lost'|'paused'} FeedState */

export class Feed {
    #listeners = new Map();
    #source = null;
    #pools = null;
    #wait = 1_000;
    #timer = 0;
    #silence = 0;
    #hidden = 0;
    /** @type {FeedState} */
    state = 'connecting';

    constructor() {
        document.addEventListener('visibilitychange', () => this.#visibility());
    }

    /** @param {string} event one of the feed's, or {@code state} @param {function(*)} listener */
    on(event, listener) {
        this.#listeners.set(event, [...this.#listeners.get(event) ?? [], listener]);
    }

    /** Which pools are wanted from now on; the feed begins anew. @param {?string[]} ids null: the first workers' */
    watch(ids) {
        this.#pools = ids;
        this.open();
    }

    open() {
        this.#close();
        if (this.state === 'paused') {
            this.#become('connecting');
        }
        const query = this.#pools === null ? '' : `?pools=${this.#pools.map(encodeURIComponent).join(',')}`;
        const source = new EventSource(new URL(`live${query}`, document.baseURI));
        this.#source = source;
        EVENTS.forEach(event => source.addEventListener(event, message => this.#received(source, event, message.data)));
        source.addEventListener('error', () => this.#lost(source));
        this.#listen(source);
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
        this.#become('lost');
        this.#timer = setTimeout(() => this.open(), this.#wait);
        this.#wait = Math.min(LONGEST_WAIT_MILLIS, 2 * this.#wait);
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
