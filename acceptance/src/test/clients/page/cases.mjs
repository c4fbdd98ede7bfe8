/** What the fleet page must do, on a real fleet of two workers. The case's name is the first argument. */
import assert from 'node:assert/strict';
import {randomUUID} from 'node:crypto';
import {writeFileSync} from 'node:fs';
import {connect, createServer} from 'node:net';
import {ask, findings, number, open, picture, withPage} from './browser.mjs';

const MODEL = process.env.MODEL;
const SECTIONS = ['live', 'numbers', 'decisions', 'prefixes', 'calculator', 'walks'];

const cases = {
    loads, prompt, decision, step, calculator, prefixes, hashes, lost, full, keyboard, leaves, token,
    light: () => looks('light', {colorScheme: 'light'}),
    dark: () => looks('dark', {colorScheme: 'dark'}),
    phone: () => looks('phone', {colorScheme: 'dark', viewport: {width: 360, height: 780}, hasTouch: true}),
};

/** Both pools are there as whole grids, and their numbers come to all blocks. */
async function loads() {
    await withPage({}, async page => {
        await page.locator('.pool').nth(1).waitFor();
        for (const card of await page.locator('.pool').all()) {
            const facts = await card.locator('p.data').first().innerText();
            const [held, cached, free, blocks] = factsOf(facts);
            assert.equal(held + cached + free + /* null */ 1, blocks, facts);
            assert.ok((await card.locator('.grid canvas').first().boundingBox()).height > 100);
        }
        const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
        console.log(`first paint after ${Math.round(painted)} ms`);
        assert.equal(await page.title(), 'Live · Warmpath');
    });
}

/** @returns {number[]} in use, cached, free, all */
function factsOf(text) {
    return [/([\d,]+) in use/, /([\d,]+) cached/, /([\d,]+) free/, /of ([\d,]+) block/]
        .map(pattern => number(text.match(pattern)[1]));
}

async function send(page, prompt, system) {
    if (system !== undefined) {
        await page.locator('details.more').evaluate(details => {
            details.open = true;
        });
        await page.fill('#system', system);
    }
    await page.fill('#prompt', prompt);
    await page.locator('#playground button.primary').click();
}

/** Its row in the table of what was sent. @param {number} times how many were sent, this one with them */
async function sent(page, times) {
    const row = page.locator('#playground tbody tr').first();
    await row.locator('th', {hasText: new RegExp(`^${times}$`)}).waitFor();
    const cells = await row.locator('td').allInnerTexts();
    return {worker: cells[0], prompt: number(cells[2]), cached: number(cells[3].split(' ')[0])};
}

/** Waits until a card's numbers are so. @returns {Promise<number[]>} in use, cached, free, all */
async function factsWhen(card, isSo) {
    while (true) {
        const facts = factsOf(await card.locator('p.data').first().innerText());
        if (isSo(...facts)) {
            return facts;
        }
        await new Promise(resolve => setTimeout(resolve, 100));
    }
}

/**
 * A prompt leaves its blocks cached; sent again it finds them, and two at once hold and share them. With a block table
 * open and a worker held, nobody is shut out.
 */
async function prompt() {
    await withPage({}, async page => {
        const system = long('prompt');
        await page.locator('.pool').nth(1).waitFor();
        const cards = page.locator('.pool');
        const before = {};
        for (const each of await cards.all()) {
            [, before[await each.getAttribute('data-worker')]] = await factsWhen(each, held => held === 0);
        }
        await send(page, 'What is a KV cache?', system);
        const first = await sent(page, 1);
        const full = Math.floor(first.prompt / 16) - Math.floor(first.cached / 16);
        await factsWhen(page.locator(`.pool[data-worker="${first.worker}"]`),
            (held, cached) => held === 0 && cached >= before[first.worker] + full);
        assert.ok(first.prompt > 500 && first.cached < 64, JSON.stringify(first));
        await indexed(chatOf(system, 'What is a KV cache?'));
        await send(page, 'What is a KV cache?');
        const second = await sent(page, 2);
        assert.equal(second.worker, first.worker);
        assert.equal(second.cached, Math.floor((first.prompt - 1) / 16) * 16);

        const card = page.locator(`.pool[data-worker="${first.worker}"]`);
        await card.locator('button', {hasText: 'Hold'}).click();
        await card.locator('button', {hasText: /^Step$/}).waitFor();
        const answer = ask(process.env.ROUTER_URL, '/v1/chat/completions',
            {...chatOf(system, 'What is a KV cache?'), n: 2});
        await card.locator('tbody th button').first().waitFor();
        // the second answer joins when the first has computed the prompt
        for (const tokens of ['1 token', '2 tokens']) {
            await card.locator('button', {hasText: /^Step$/}).click();
            await card.locator('.controls').getByText(`1 step, ${tokens} drawn.`).waitFor();
        }
        await card.getByText(/\([\d,]+ shared\)/).waitFor();
        await factsWhen(card, held => held >= Math.floor(first.prompt / 16));
        await card.locator('tbody th button').first().click();
        await card.locator('.block-table').getByText('▣ shared').first().waitFor();
        await card.locator('.block-table').getByText('◆ prefix hit').first().waitFor();
        await card.locator('.block-table tbody tr').first().hover();
        await picture(page, 'block-table');
        assert.deepEqual(await findings(page), []);
        await card.locator('button', {hasText: 'Release'}).click();
        await answer;
    });
}

/** Some seven hundred tokens that nobody has sent before. */
function long(name) {
    const rules = Array.from({length: 40}, (_, i) => `Rule ${i} of the ${name} desk is to be kind.`);
    return `Case ${name} ${randomUUID()}. ${rules.join(' ')}`;
}

/** @returns {Object} the body of a chat */
const chatOf = (system, question) => ({model: MODEL, max_tokens: 8, temperature: 0,
    messages: [{role: 'system', content: system}, {role: 'user', content: question}]});

/** What the page shows of a decision is what the router says of the same request before it is sent. */
async function decision() {
    await withPage({}, async page => {
        const system = long('decision');
        const body = chatOf(system, 'Who are you?');
        await ask(process.env.ROUTER_URL, '/v1/chat/completions', body);
        await indexed(body);
        await page.locator('.pool').nth(1).waitFor();
        const route = await settled(body);
        await send(page, 'Who are you?', system);
        const {worker, cached} = await sent(page, 1);
        assert.equal(worker, route.worker);
        assert.equal(cached, route.predicted_cached_tokens);

        await open(page, 'decisions');
        const row = page.locator('#decisions-body tbody tr[data-request]').first();
        await row.getByText('answered').waitFor();
        await row.locator('button').click();
        const [made] = (await ask(process.env.PAGE_URL,
            `/actuator/decisions/${await row.getAttribute('data-request')}`)).decisions;
        assert.deepEqual(made.candidates.map(asCosted), route.candidates.map(asCosted));
        const details = page.locator('#decisions .decision-details');
        for (const candidate of made.candidates) {
            const shown = details.locator(`tr[data-candidate="${candidate.worker}"]`);
            const cell = async name => number(await shown.locator(`[data-name="${name}"]`).innerText());
            assert.equal(await cell('matched_blocks'), candidate.matched_blocks, candidate.worker);
            assert.equal(await cell('cost'), candidate.cost, candidate.worker);
            for (const [name, value] of Object.entries(candidate.terms)) {
                // a term that is nothing for everybody has no column
                if (made.candidates.some(each => each.terms[name] !== 0)) {
                    assert.equal(await cell(name), value, `${candidate.worker}, ${name}`);
                }
            }
        }
        assert.match(await details.locator('.why').innerText(), new RegExp(`^${route.worker} holds`));
        await details.getByText('Ended: answered').waitFor();
        await picture(page, 'decision');
    });
}

/** Of a candidate, what the choice was made by. */
const asCosted = ({worker, matched_blocks, promised_blocks, cost, terms}) =>
    ({worker, matched_blocks, promised_blocks, cost, terms});

/** Waits until the load of earlier requests has faded from the costs. @returns {Promise<Object>} where it would go */
async function settled(body) {
    let before = null;
    while (true) {
        const route = await ask(process.env.ROUTER_URL, '/v1/route', body);
        const now = JSON.stringify(route.candidates.map(asCosted));
        if (now === before && route.candidates.every(each => !each.terms.delay)) {
            return route;
        }
        before = now;
        await new Promise(resolve => setTimeout(resolve, 2_000));
    }
}

/** Waits until the router's index has all full blocks of a prompt. @returns {Promise<Object>} where it would go now */
async function indexed(body) {
    while (true) {
        const route = await ask(process.env.ROUTER_URL, '/v1/route', body);
        if (route.matched_blocks >= Math.floor((route.prompt_tokens - 1) / route.block_size)) {
            return route;
        }
        await new Promise(resolve => setTimeout(resolve, 100));
    }
}

/** A held worker computes nothing by itself, and with each step a token. */
async function step() {
    await withPage({}, async page => {
        await page.locator('.pool').nth(1).waitFor();
        for (const card of await page.locator('.pool').all()) {
            await card.locator('button', {hasText: 'Hold'}).click();
            await card.locator('.badge', {hasText: 'held'}).waitFor();
        }
        await send(page, 'What is a block table?', 'Be short.');
        const request = page.locator('.pool tbody tr', {has: page.locator('th button')}).first();
        await request.waitFor();
        const card = page.locator('.pool', {has: page.locator('tbody th button')}).first();
        const drawn = () => request.locator('td').nth(4);
        assert.equal(await drawn().innerText(), '0');
        for (const tokens of ['1', '2', '3']) {
            await card.locator('button', {hasText: /^Step$/}).click();
            await card.locator('.controls').getByText('1 step, 1 token drawn.').waitFor();
            await drawn().filter({hasText: new RegExp(`^${tokens}$`)}).waitFor();
        }
        await picture(page, 'step');
        for (const each of await page.locator('.pool').all()) {
            await each.locator('button', {hasText: 'Release'}).click();
            await each.locator('button', {hasText: 'Hold'}).waitFor();
        }
        await sent(page, 1);
    });
}

/** The calculator's arithmetic is the one by which the workers have started. */
async function calculator() {
    await withPage({}, async page => {
        await open(page, 'calculator');
        const {workers} = await ask(process.env.PAGE_URL, '/live/fleet');
        assert.equal(number(await page.locator('[data-result="blocks"]').innerText()),
            workers[0].blocks + /* null */ 1);
        assert.equal(await page.locator('[data-result="bytes-per-block"]').innerText(), '49,152 bytes');
        await page.getByText(`worker-1 (${MODEL}) has`).waitFor();
        await page.selectOption('#model-preset', 'Llama 3.1 8B');
        assert.equal(await page.locator('[data-result="bytes-per-block"]').innerText(), '2,097,152 bytes');
        await page.fill('input[name="blockSize"]', '0');
        await page.getByText('Block size must be a whole number, 1 or more.').waitFor();
    });
}

/** Two prompts that begin alike are a branch, with their text in demo mode. */
async function prefixes() {
    const system = long('prefixes');
    for (const question of ['Who are you?', 'What do you know of a block that is shared by several requests?']) {
        await ask(process.env.ROUTER_URL, '/v1/chat/completions', chatOf(system, question));
    }
    await withPage({}, async page => {
        await open(page, 'prefixes');
        await page.locator('.tree .token-text', {hasText: 'Case prefixes'}).first().waitFor();
        await page.locator('.tree summary', {hasText: /2 prompts/}).first().waitFor();
    });
}

/** One changed word changes its block and all behind it, and none before. */
async function hashes() {
    await withPage({}, async page => {
        await open(page, 'walks');
        await page.locator('.hash-chain li.same').first().waitFor();
        const hashesOf = () => page.locator('.hash-chain li').evaluateAll(
            items => items.map(item => item.dataset.hash));
        const before = await hashesOf();
        await page.locator('button', {hasText: 'Change a word'}).click();
        await page.locator('.hash-chain li.other').first().waitFor();
        const after = await hashesOf();
        const parting = after.findIndex((hash, i) => hash !== before[i]);
        assert.ok(parting > 0 && parting < before.length - 1, `they part at ${parting} of ${before.length}`);
        after.slice(parting).forEach((hash, i) => assert.notEqual(hash, before[parting + i]));
    });
}

/** A feed that breaks is said so, and comes back by itself: over a line that is cut and mended. */
async function lost() {
    const line = await openLine();
    try {
        await withPage({url: line.url, excused: /net::ERR_/}, async page => {
            line.cut();
            await page.locator('#connection[data-state="lost"]').waitFor();
            await page.getByText('the feed is lost; trying again').waitFor();
            await line.mend();
            await page.locator('#connection[data-state="open"]').waitFor();
        });
    } finally {
        line.cut();
    }
}

/** One more than may watch is told why, and watches as soon as there is room. */
async function full() {
    await withPage({}, async page => {
        const others = new AbortController();
        while (true) {
            const response = await fetch(new URL('/live', process.env.PAGE_URL), {signal: others.signal});
            if (!response.ok) {
                assert.equal(response.status, 503);
                break;
            }
        }
        const late = await page.context().newPage();
        await late.goto(process.env.PAGE_URL);
        await late.locator('#connection[data-state="refused"]', {hasText: 'watch this router already'}).waitFor();
        others.abort();
        await late.locator('#connection[data-state="open"]').waitFor();
    });
}

/** A page that is there before any worker learns of it and of its models, and does nothing without the token. */
async function token() {
    await withPage({excused: /status of 401/}, async page => {
        await page.locator('#pools').getByText('No worker is there.').waitFor();
        assert.equal(await page.locator('#model option').count(), 0);
        writeFileSync(process.env.OPENED, '');
        await page.locator('#model option', {hasText: MODEL}).waitFor({state: 'attached'});
        const card = page.locator('.pool');
        await card.locator('p.data', {hasText: 'in use'}).first().waitFor();

        const refusal = 'the management token is missing or wrong';
        await page.fill('#token', 'wrong');
        await send(page, 'What is a KV cache?');
        await page.locator('#playground').getByText(refusal).waitFor();
        await card.locator('button', {hasText: 'Empty the cache'}).click();
        await card.locator('.controls').getByText(refusal).waitFor();
        await page.fill('#token', process.env.TOKEN);
        await card.locator('button', {hasText: 'Empty the cache'}).click();
        await card.locator('.controls').getByText('Its cache is empty.').waitFor();
        await open(page, 'numbers');
        await page.locator('#numbers tbody tr', {hasText: '● ready'}).waitFor();
        await open(page, 'live');
        await send(page, 'What is a KV cache?');
        assert.equal((await sent(page, 1)).worker, 'worker-1');
    });
}

/** A way to the router's port that can be cut. */
async function openLine() {
    const router = new URL(process.env.PAGE_URL);
    const sockets = new Set();
    const server = createServer(client => {
        const upstream = connect(router.port, router.hostname);
        [client, upstream].forEach(socket => {
            sockets.add(socket);
            socket.on('error', () => {});
            socket.on('close', () => {
                sockets.delete(socket);
                client.destroy();
                upstream.destroy();
            });
        });
        client.pipe(upstream).pipe(client);
    });
    const listen = port => new Promise(resolve => server.listen(port, '127.0.0.1', resolve));
    await listen(0);
    const {port} = server.address();
    return {
        url: `http://127.0.0.1:${port}/`,
        cut() {
            server.close();
            sockets.forEach(socket => socket.destroy());
        },
        mend: () => listen(port),
    };
}

/** A worker that ends is said to have left, and its pool stays to be seen; the last case, for it does not come back. */
async function leaves() {
    await withPage({}, async page => {
        await page.locator('.pool').nth(1).waitFor();
        process.kill(Number(process.env.WORKER_PID));
        const card = page.locator('.pool[data-worker="worker-2"]');
        await card.getByText('This worker has left the fleet.').waitFor();
        assert.ok(await card.locator('.grid canvas').first().isVisible());
        await picture(page, 'left');
    });
}

/** Without a mouse: to a block and its details, to larger cells and back, to another section, through a walk. */
async function keyboard() {
    await withPage({}, async page => {
        const card = page.locator('.pool').first();
        await card.locator('.grid').first().focus();
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('Enter');
        await card.locator('.block-details', {hasText: 'Block 1'}).locator('dl').waitFor();
        const height = () => card.locator('.sheet').first().evaluate(sheet => sheet.offsetHeight);
        const fitting = await height();
        await page.keyboard.press('+');
        assert.ok(await height() > fitting, `${await height()} pixels after ${fitting}`);
        await page.keyboard.press('-');
        assert.equal(await height(), fitting);
        await page.locator('nav a[href="#walks"]').focus();
        await page.keyboard.press('Enter');
        const next = page.locator('#walks-body button', {hasText: 'Next'});
        await next.focus();
        await page.keyboard.press('Enter');
        await page.getByText('Step 2 of').waitFor();
    });
}

/** Every section: nothing that shuts somebody out, nothing wider than the window, and a picture. */
async function looks(name, options) {
    await withPage(options, async page => {
        await page.locator('.pool').nth(1).waitFor();
        await send(page, 'What is a KV cache?');
        await sent(page, 1);
        for (const section of SECTIONS) {
            await open(page, section);
            if (section === 'decisions') {
                await page.locator('#decisions-body tbody button').first().click();
            }
            await page.evaluate(() => window.scrollTo(0, 0));
            await picture(page, `${name}-${section}`);
            assert.deepEqual(await findings(page), [], section);
            const width = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.equal(width, page.viewportSize().width, section);
        }
    });
}

await cases[process.argv[2]]();
console.log(`${process.argv[2]}: good`);
