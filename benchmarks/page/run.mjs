/**
 * Measures the fleet page's grid in a chromium without a window and without a graphics card:
 *
 *     node benchmarks/page/run.mjs [blocks] [changes a second] [seconds]
 *
 * Needs node and chromium (CHROMIUM names another one), and nothing else. Results: benchmarks/results/page-frames.md.
 */
import {spawn} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {basename, dirname, extname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const [blocks = '100000', changes = '1000', seconds = '20'] = process.argv.slice(2);
const HERE = dirname(fileURLToPath(import.meta.url));
const PAGE = join(HERE, '../../router-service/src/main/resources/static-page');
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css'};

const profile = mkdtempSync(join(tmpdir(), 'frames-'));
let browser;

const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    if (path === '/result') {
        let body = '';
        request.on('data', piece => {
            body += piece;
        });
        request.on('end', () => {
            response.end();
            console.log(JSON.stringify(JSON.parse(body), null, 2));
            browser.kill();
            server.close();
            server.closeAllConnections();
        });
        return;
    }
    const folder = path.startsWith('/ui/') ? PAGE : HERE;
    try {
        const content = readFileSync(join(folder, basename(path)));
        response.writeHead(200, {'content-type': TYPES[extname(path)] ?? 'application/octet-stream'});
        response.end(content);
    } catch {
        response.writeHead(404).end();
    }
});

server.listen(0, '127.0.0.1', () => {
    const query = new URLSearchParams({blocks, changes, seconds});
    browser = spawn(process.env.CHROMIUM ?? 'chromium', ['--headless', '--disable-gpu', '--window-size=1440,900',
        `--user-data-dir=${profile}`, ...process.getuid?.() === 0 ? ['--no-sandbox'] : [],
        `http://127.0.0.1:${server.address().port}/frames.html?${query}`], {stdio: 'ignore'});
    browser.on('exit', () => rmSync(profile, {recursive: true, force: true, maxRetries: 5}));
});
