/** Prompts from this page: the same one twice shows the cache at work, many different ones fill it. */
import {ApiError, command, useKey, useToken} from './api.js';
import {chat} from './chat.js';
import {decisionDetails} from './decision.js';
import {el, scrollBox, setText, table} from './dom.js';
import {brief, count, millis, percent, plural} from './format.js';
import {offer} from './models.js';

const KEPT_SENDS = 50;
const MOST_FILLING = 400;
const AT_ONCE = 2;
const RULES = 60;

/** Long enough that its blocks are seen: some sixteen hundred tokens of the model that ships. */
const SAMPLE = Array.from({length: RULES}, (_, i) =>
    `Rule ${i + 1} of the support desk: answer in one sentence and stay polite.`).join(' ');

export class Playground {
    #pools;
    #model = el('select', {id: 'model'});
    #system = el('textarea', {id: 'system', rows: 3});
    #prompt = el('textarea', {id: 'prompt', rows: 2}, 'What is a KV cache?');
    #tokens = el('input', {id: 'max-tokens', type: 'number', min: 1, max: 100_000, value: 48});
    #temperature = el('input', {id: 'temperature', type: 'number', min: 0, max: 2, step: 0.1, value: 0});
    #secret = el('input', {id: 'token', type: 'password', autocomplete: 'off', on: {
        input: () => useToken(this.#secret.value)}});
    #secretField = el('label', {hidden: true}, 'Management token, kept in this page only', this.#secret);
    #key = el('input', {id: 'api-key', type: 'password', autocomplete: 'off', on: {
        input: () => useKey(this.#key.value)}});
    #send = button('Send', () => this.#run(), 'primary');
    #stop = button('Stop', () => this.#abort?.abort());
    #explain = button('Where would it go?', () => this.#ask());
    #fill = button('Fill the cache', () => this.#fillCache());
    #status = el('p', {class: 'quiet', role: 'status'});
    #answer = el('output', {class: 'answer', 'aria-label': 'Answer', for: 'prompt'});
    #route = el('div', {class: 'route'});
    #rows = el('tbody', {});
    #sendsBox;
    #abort = null;
    #sends = 0;

    /** @param {HTMLElement} host @param {import('./feed.js').Feed} feed @param {import('./pools.js').Pools} pools */
    constructor(host, feed, pools) {
        this.#pools = pools;
        this.#system.value = SAMPLE;
        this.#stop.hidden = true;
        this.#sendsBox = scrollBox('What was sent', table('What was sent',
            ['#', 'worker', 'reason', '#prompt', '#cached', '#first token', '#whole'], this.#rows));
        this.#sendsBox.hidden = true;
        const form = el('form', {on: {submit: event => {
            event.preventDefault();
            this.#run();
        }}}, this.#secretField,
        el('label', {}, 'Prompt', this.#prompt),
        el('details', {class: 'more'}, el('summary', {}, 'System prompt, model and limits'),
            el('label', {}, 'System prompt, the beginning that all prompts share', this.#system),
            el('div', {class: 'fields'}, el('label', {}, 'Model', this.#model),
                el('label', {}, 'Most tokens', this.#tokens), el('label', {}, 'Temperature', this.#temperature),
                el('label', {}, 'API key, if there are any', this.#key))),
        el('div', {class: 'row'}, this.#send, this.#stop, this.#explain, this.#fill));
        host.append(el('h3', {id: 'playground-title'}, 'Playground'), form, this.#status, this.#answer, this.#sendsBox,
            this.#route);
        feed.on('hello', hello => this.#hello(hello));
        feed.on('fleet', fleet => offer(this.#model, fleet.models));
        this.#prompt.addEventListener('input', () => setText(this.#send, 'Send'));
        this.#prompt.addEventListener('keydown', event => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
                this.#run();
            }
        });
    }

    #hello(hello) {
        offer(this.#model, hello.models);
        this.#secretField.hidden = hello.playground !== 'token';
    }

    /** @returns {Object} body of a chat */
    #body(prompt, system = this.#system.value) {
        const messages = system.trim() ? [{role: 'system', content: system}] : [];
        return {model: this.#model.value, messages: [...messages, {role: 'user', content: prompt}],
            max_tokens: Math.max(1, Math.floor(Number(this.#tokens.value) || 1)),
            temperature: Number(this.#temperature.value) || 0};
    }

    async #run() {
        if (this.#abort !== null) {
            return;
        }
        const signal = this.#begin('Sent. The first token is on its way…');
        setText(this.#answer, '');
        try {
            const result = await chat(this.#body(this.#prompt.value), piece => {
                this.#answer.append(piece);
                setText(this.#status, 'The answer comes…');
            }, signal);
            this.#sent(result);
            setText(this.#status, `${plural(result.cachedTokens ?? 0, 'token')} of ${count(result.promptTokens)} came `
                + `from the cache of ${result.worker ?? 'a worker'}. Send it again, and compare.`);
            setText(this.#send, 'Send again');
        } catch (failure) {
            setText(this.#status, said(failure));
        } finally {
            this.#end();
        }
    }

    #sent(result) {
        this.#sends++;
        const share = result.promptTokens > 0 ? ` (${percent(result.cachedTokens / result.promptTokens)})` : '';
        this.#rows.prepend(el('tr', {}, el('th', {scope: 'row'}, String(this.#sends)),
            el('td', {}, result.worker ?? '–'), el('td', {}, result.reason ?? '–'),
            el('td', {class: 'number'}, count(result.promptTokens)),
            el('td', {class: 'number'}, `${count(result.cachedTokens)}${share}`),
            el('td', {class: 'number'}, millis(result.firstMillis)),
            el('td', {class: 'number'}, millis(result.totalMillis))));
        while (this.#rows.rows.length > KEPT_SENDS) {
            this.#rows.lastElementChild.remove();
        }
        this.#sendsBox.hidden = false;
    }

    async #ask() {
        setText(this.#status, 'Asking the router…');
        try {
            const decision = await command('POST', 'live/playground/route', this.#body(this.#prompt.value));
            this.#route.replaceChildren(el('h4', {}, 'It would go there, now'), decisionDetails(decision));
            setText(this.#status, '');
        } catch (failure) {
            setText(this.#status, said(failure));
        }
    }

    /** Prompts that share nothing, two at a time, until something that was cached has to go. */
    async #fillCache() {
        if (this.#abort !== null) {
            return;
        }
        const signal = this.#begin('Filling…');
        const before = this.#pools.evictions();
        const began = Date.now().toString(36);
        const progress = {sent: 0, answered: 0};
        const isOver = () => signal.aborted || this.#pools.evictions() > before || progress.sent >= MOST_FILLING;
        const sendOnAndOn = async () => {
            while (!isOver()) {
                const number = ++progress.sent;
                const body = this.#body('Yes?', `Book ${number} of shelf ${began}. ${SAMPLE}`);
                await chat({...body, max_tokens: 1}, () => {}, signal);
                progress.answered++;
                setText(this.#status, `Filling: ${plural(progress.answered, 'prompt')} answered, the fullest pool is `
                    + `${percent(this.#pools.fullness())} in use or cached.`);
            }
        };
        try {
            await Promise.all(Array.from({length: AT_ONCE}, sendOnAndOn));
            setText(this.#status, this.#pools.evictions() > before
                ? `Full: after ${plural(progress.answered, 'prompt')} the first cached blocks were evicted.`
                : signal.aborted ? 'Stopped.'
                    : `${plural(progress.answered, 'prompt')} did not fill it. Press again for more.`);
        } catch (failure) {
            this.#abort?.abort();
            setText(this.#status, said(failure));
        } finally {
            this.#end();
        }
    }

    #begin(status) {
        this.#abort = new AbortController();
        this.#busy(true);
        setText(this.#status, status);
        return this.#abort.signal;
    }

    #end() {
        this.#abort = null;
        this.#busy(false);
    }

    #busy(isBusy) {
        this.#send.disabled = isBusy;
        this.#fill.disabled = isBusy;
        this.#stop.hidden = !isBusy;
    }
}

function button(text, pressed, kind = '') {
    return el('button', {type: 'button', class: kind, on: {click: pressed}}, text);
}

function said(failure) {
    return failure.name === 'AbortError' ? 'Stopped.'
        : failure instanceof ApiError || failure instanceof Error ? brief(failure.message, 400) : 'It failed.';
}
