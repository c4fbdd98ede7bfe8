/**
 * Questions and commands to the router that served this page. Paths are relative, so that the page works behind a
 * prefix, too. Every write carries a header that other origins cannot send, and a token where the router asks for one.
 */

/** A refusal comes at once or not at all; browsers have few connections for a server that hangs. */
const LONGEST_REFUSAL_MILLIS = 3_000;

let token = '';
let key = '';

/** @param {string} value of the management port; kept in this page's memory only */
export function useToken(value) {
    token = value.trim();
}

/** @param {string} value an API key for what the playground sends, where clients need one; kept likewise */
export function useKey(value) {
    key = value.trim();
}

/** What the router refused, or that it did not answer; the message is a sentence for people. */
export class ApiError extends Error {
    /** @param {number} status 0 if there was no answer */
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

/** @returns {Promise<*>} @throws {ApiError} */
export async function getJson(path, signal) {
    return json(await ask(path, {signal}));
}

/** Sends a command and reads its answer, null if that is empty. @throws {ApiError} */
export async function command(method, path, body, signal) {
    return json(await post(method, path, body, signal));
}

/** The same with the answer as it comes, for one that streams. @returns {Promise<Response>} @throws {ApiError} */
export async function post(method, path, body, signal) {
    const headers = {'x-warmpath-page': '1'};
    if (token) {
        headers.authorization = `Bearer ${token}`;
    }
    if (key && path.startsWith('live/playground/')) {
        headers['x-warmpath-api-key'] = key;
    }
    if (body !== undefined) {
        headers['content-type'] = 'application/json';
    }
    return ask(path, {method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body)});
}

/**
 * Why something that streams is refused; what it would stream is not read.
 * @returns {Promise<?string>} null if it is not, or nobody answers
 */
export async function refusalOf(path) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), LONGEST_REFUSAL_MILLIS);
    try {
        await ask(path, {signal: abort.signal});
        return null;
    } catch (failure) {
        return failure.status > 0 ? failure.message : null;
    } finally {
        clearTimeout(timer);
        abort.abort();
    }
}

async function ask(path, options) {
    let response;
    try {
        response = await fetch(new URL(path, document.baseURI), {...options, cache: 'no-store'});
    } catch (failure) {
        if (failure.name === 'AbortError') {
            throw failure;
        }
        throw new ApiError(0, 'The router does not answer.');
    }
    if (!response.ok) {
        throw new ApiError(response.status, reason(response.status, await response.text().catch(() => '')));
    }
    return response;
}

async function json(response) {
    const text = await response.text();
    try {
        return text ? JSON.parse(text) : null;
    } catch {
        throw new ApiError(response.status, 'The router answered something that is no JSON.');
    }
}

/** The sentence in a problem detail or in OpenAI's error object. */
function reason(status, text) {
    try {
        const body = JSON.parse(text);
        const sentence = body.detail ?? body.error?.message ?? body.message ?? body.title;
        if (sentence) {
            return String(sentence);
        }
    } catch {
        // no JSON: the status has to do
    }
    return status === 401 || status === 403 ? 'This needs the management token.' : `The router answers ${status}.`;
}
