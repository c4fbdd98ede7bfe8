/** One chat through the playground: sent, read as it comes, and told in numbers. */
import {post} from './api.js';
import {events} from './sse.js';

/**
 * @typedef {Object} ChatResult
 * @property {string} text
 * @property {?string} worker
 * @property {?string} reason why this worker
 * @property {?number} promptTokens
 * @property {?number} cachedTokens found by the worker; what the router predicted if it did not tell
 * @property {?number} firstMillis from sending to the first piece of text
 * @property {number} totalMillis
 */

/**
 * @param {Object} body as of /v1/chat/completions
 * @param {function(string)} onText gets each piece of the answer
 * @param {AbortSignal} signal ends it
 * @returns {Promise<ChatResult>}
 */
export async function chat(body, onText, signal) {
    const began = performance.now();
    const response = await post('POST', 'live/playground/chat/completions',
        {...body, stream: true, stream_options: {include_usage: true}}, signal);
    const header = name => response.headers.get(name);
    const predicted = header('x-warmpath-cached-tokens');
    const result = {text: '', worker: header('x-warmpath-worker'), reason: header('x-warmpath-decision'),
        promptTokens: null, cachedTokens: predicted === null ? null : Number(predicted), firstMillis: null,
        totalMillis: 0};
    let isWhole = false;
    for await (const data of events(response)) {
        if (data === '[DONE]') {
            isWhole = true;
            break;
        }
        take(JSON.parse(data), result, onText, began);
    }
    if (!isWhole) {
        throw new Error('The answer broke off.');
    }
    result.totalMillis = performance.now() - began;
    return result;
}

function take(event, result, onText, began) {
    if (event.error) {
        throw new Error(event.error.message ?? 'The answer ended with an error.');
    }
    const piece = event.choices?.[0]?.delta?.content;
    if (piece) {
        result.firstMillis ??= performance.now() - began;
        result.text += piece;
        onText(piece);
    }
    if (event.usage) {
        result.promptTokens = event.usage.prompt_tokens;
        result.cachedTokens = event.usage.prompt_tokens_details?.cached_tokens ?? result.cachedTokens;
    }
}
