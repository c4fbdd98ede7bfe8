/**
 * Server-sent events of an answer that is being read: what follows {@code data:}, event by event, wherever the network
 * has cut it. Their size has a bound, for a server may never end a line.
 */

const MOST_CHARACTERS = 4_000_000;

export class SseReader {
    #rest = '';
    #data = [];

    /**
     * Takes what has come, and tells which events are whole by it.
     * @param {string} text @returns {string[]} @throws {Error} if an event grows beyond all bounds
     */
    push(text) {
        const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
        this.#rest = lines.pop();
        const events = [];
        for (const line of lines) {
            if (line === '' && this.#data.length > 0) {
                events.push(this.#data.join('\n'));
                this.#data = [];
            } else if (line.startsWith('data:')) {
                this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
            }
        }
        if (this.#rest.length + this.#data.reduce((sum, each) => sum + each.length, 0) > MOST_CHARACTERS) {
            throw new Error('The answer has an event that does not end.');
        }
        return events;
    }
}

/**
 * Reads a streamed answer to its end.
 * @param {Response} response @returns {AsyncGenerator<string>} the data of each event
 */
export async function* events(response) {
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const sse = new SseReader();
    try {
        while (true) {
            const {done, value} = await reader.read();
            if (done) {
                return;
            }
            yield* sse.push(decoder.decode(value, {stream: true}));
        }
    } finally {
        reader.cancel().catch(() => {});
    }
}
