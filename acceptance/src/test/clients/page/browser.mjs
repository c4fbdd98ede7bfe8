/**
 * A browser that looks at the fleet page: Debian's chromium, driven by playwright-core. It keeps watch over what must
 * never happen, whatever a test does: an error in the console, or a request to anybody but the router.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {chromium} from 'playwright-core';

/** A wait ends by it only if what it waits for never comes. */
const PATIENCE_MILLIS = 600_000;
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Opens the page, runs a test on it, and tells what must not have happened.
 * @param {Object} options of the context: theme, size; and {@code url} of the page if it is not the router's own, and
 *     {@code excused}, what may stand in the console for once
 * @param {function(import('playwright-core').Page): Promise<void>} test
 */
export async function withPage({url = process.env.PAGE_URL, excused = /^$/, ...options}, test) {
    // chromium refuses its sandbox to root, as which images of builds run
    const browser = await chromium.launch({executablePath: process.env.CHROMIUM,
        args: process.getuid?.() === 0 ? ['--no-sandbox'] : []});
    try {
        const context = await browser.newContext({viewport: {width: 1440, height: 900}, ...options});
        context.setDefaultTimeout(PATIENCE_MILLIS);
        const page = await context.newPage();
        const faults = watch(page, new URL(url).host);
        await page.goto(url);
        await page.locator('#connection[data-state="open"]').waitFor();
        await test(page);
        assert.deepEqual(faults.filter(fault => !excused.test(fault)), []);
    } finally {
        await browser.close();
    }
}

function watch(page, own) {
    const faults = [];
    page.on('console', message => {
        if (message.type() === 'error' || message.type() === 'warning') {
            faults.push(`console: ${message.text()} (${message.location().url})`);
        }
    });
    page.on('pageerror', error => faults.push(`thrown: ${error.stack}`));
    page.on('request', request => {
        const url = new URL(request.url());
        if (url.protocol !== 'data:' && url.host !== own) {
            faults.push(`asked of a stranger: ${request.url()}`);
        }
    });
    return faults;
}

/** Shows a section. */
export async function open(page, section) {
    await page.locator(`nav a[href="#${section}"]`).click();
    await page.locator(`section#${section}`).waitFor();
}

/** @returns {Promise<string[]>} what axe finds serious or critical, a sentence each */
export async function findings(page) {
    // by the debugger, which the page's policy does not hold for
    const client = await page.context().newCDPSession(page);
    await client.send('Runtime.evaluate', {expression: AXE});
    const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
    return found.violations.filter(each => ['serious', 'critical'].includes(each.impact))
        .map(each => `${each.id}: ${each.help}, at ${each.nodes.map(node => node.target.join(' ')).join(', ')}`);
}

/** A picture for people, in the folder that the tests name. */
export async function picture(page, name) {
    await page.screenshot({path: join(process.env.PICTURES, `${name}.png`)});
}

/** A number as the page writes it. */
export const number = text => Number(text.replaceAll(',', ''));

/** Asks the router without the page. */
export async function ask(base, path, body) {
    const response = await fetch(new URL(path, base), body === undefined ? {} : {method: 'POST',
        headers: {'content-type': 'application/json'}, body: JSON.stringify(body)});
    assert.equal(response.status, 200, path);
    return response.json();
}
