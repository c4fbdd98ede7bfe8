/**
 * The cells of a grid, painted once for a size and a theme, and then only copied: one sprite for each state, each step
 * of the glow of a fresh change and, where cells are large enough, the number of holders. A state is told by its form
 * as well as by its colour:
 * <pre>
 *   null  ×      free  □ outline     cached  ▤ lines     filling  ▄ lower half     used  ■     shared  ▣ frame in frame
 *   swapped  ◧ left half
 * </pre>
 */
import {STATES} from './pool.js';

export const GLOW_STEPS = 8;
const SHOWN_HOLDERS = 9;
/** Below this there is no room for a form: a cell is its colour, which differs in grey from all others. */
const FORM_PIXELS = 5;
/** From here on a cell has room for a digit. */
const DIGIT_PIXELS = 14;
const SHARED = STATES.indexOf('shared');

/** Colours of the theme, as the browser resolves them. @returns {Object<string, string>} */
export function themeColours() {
    const probe = document.createElement('span');
    probe.hidden = true;
    document.body.append(probe);
    const names = [...STATES.map(state => `cell-${state}`), 'cell-ink', 'cell-glow', 'surface', 'cursor', 'mark'];
    const colours = {};
    for (const name of names) {
        probe.style.color = `var(--${name})`;
        colours[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return colours;
}

export class Sprites {
    #atlas;
    #pitch;
    #hasDigits;
    #pixels;
    #ground;

    /** @param {number} pitch device pixels from one cell to the next @param {Object<string, string>} colours */
    constructor(pitch, colours) {
        this.#pitch = pitch;
        this.#hasDigits = pitch >= DIGIT_PIXELS;
        const rows = STATES.length + (this.#hasDigits ? SHOWN_HOLDERS : 0);
        this.#atlas = document.createElement('canvas');
        this.#atlas.width = pitch * GLOW_STEPS;
        this.#atlas.height = pitch * rows;
        const pen = this.#atlas.getContext('2d');
        for (let row = 0; row < rows; row++) {
            for (let glow = 0; glow < GLOW_STEPS; glow++) {
                this.#paint(pen, row, glow, colours);
            }
        }
        this.#readPixels(colours);
    }

    /** Copies a cell to its place. @param {CanvasRenderingContext2D} pen @param {number} byte the block's */
    draw(pen, x, y, byte, glow) {
        const pitch = this.#pitch;
        pen.drawImage(this.#atlas, glow * pitch, this.#row(byte) * pitch, pitch, pitch, x, y, pitch, pitch);
    }

    /**
     * Draws whole rows at once, pixel by pixel: of 100,000 cells that takes a tenth of what copying takes.
     * @param {CanvasRenderingContext2D} pen
     * @param {Uint8Array} cells of all rows
     * @param {Uint8Array} glow
     * @param {number} columns
     * @param {number} firstRow that is drawn, to the top of the canvas @param {number} rows
     */
    drawRows(pen, cells, glow, columns, firstRow, rows) {
        const pitch = this.#pitch;
        const width = columns * pitch;
        const image = pen.createImageData(width, rows * pitch);
        const to = new Uint32Array(image.data.buffer).fill(this.#ground);
        const stride = pitch * GLOW_STEPS;
        const first = firstRow * columns;
        const end = Math.min(cells.length, first + rows * columns);
        for (let id = first; id < end; id++) {
            const source = this.#row(cells[id]) * pitch * stride + glow[id] * pitch;
            const target = (Math.floor(id / columns) - firstRow) * pitch * width + id % columns * pitch;
            for (let y = 0; y < pitch; y++) {
                for (let x = 0; x < pitch; x++) {
                    to[target + y * width + x] = this.#pixels[source + y * stride + x];
                }
            }
        }
        pen.putImageData(image, 0, 0);
    }

    /** Of the atlas, for a block. */
    #row(byte) {
        const state = Math.min(byte & 7, STATES.length - 1);
        return state === SHARED && this.#hasDigits
            ? STATES.length - 1 + Math.min(SHOWN_HOLDERS, Math.max(1, byte >> 3)) : state;
    }

    /** The atlas once more as pixels, a number each, and one of the ground beneath it. */
    #readPixels(colours) {
        const {width, height} = this.#atlas;
        const copy = document.createElement('canvas');
        copy.width = width;
        copy.height = height + 1;
        const pen = copy.getContext('2d', {willReadFrequently: true});
        pen.fillStyle = colours.surface;
        pen.fillRect(0, height, width, 1);
        pen.drawImage(this.#atlas, 0, 0);
        this.#pixels = new Uint32Array(pen.getImageData(0, 0, width, height + 1).data.buffer);
        this.#ground = this.#pixels[width * height];
    }

    #paint(pen, row, glow, colours) {
        const isShared = row >= STATES.length;
        const state = isShared ? SHARED : row;
        const gap = this.#pitch >= 6 ? Math.max(1, Math.round(this.#pitch / 12)) : this.#pitch >= 3 ? 1 : 0;
        const size = this.#pitch - gap;
        pen.save();
        pen.translate(glow * this.#pitch, row * this.#pitch);
        pen.fillStyle = colours.surface;
        pen.fillRect(0, 0, this.#pitch, this.#pitch);
        paintState(pen, STATES[state], size, colours);
        if (isShared) {
            const holders = row - STATES.length + 1;
            paintDigit(pen, holders === SHOWN_HOLDERS ? '+' : String(holders), size, colours);
        }
        if (glow > 0) {
            pen.globalAlpha = 0.85 * glow / (GLOW_STEPS - 1);
            pen.fillStyle = colours['cell-glow'];
            pen.fillRect(0, 0, size, size);
        }
        pen.restore();
    }
}

/** One cell at the pen's origin; the legend uses it, too. */
export function paintState(pen, state, size, colours) {
    const line = Math.max(1, Math.round(size / 9));
    const colour = colours[`cell-${state}`];
    pen.fillStyle = colour;
    if (size < FORM_PIXELS) {
        pen.fillRect(0, 0, size, size);
        return;
    }
    switch (state) {
        case 'free':
            frame(pen, 0, size, line);
            break;
        case 'null':
            cross(pen, size, line, colour);
            break;
        case 'cached':
            stripes(pen, size, line);
            break;
        case 'filling':
            frame(pen, 0, size, line);
            pen.fillRect(0, Math.floor(size / 2), size, Math.ceil(size / 2));
            break;
        case 'swapped':
            frame(pen, 0, size, line);
            pen.fillRect(0, 0, Math.ceil(size / 2), size);
            break;
        case 'shared':
            pen.fillRect(0, 0, size, size);
            if (size >= 7) {
                pen.fillStyle = colours['cell-ink'];
                frame(pen, 2 * line, size - 4 * line, line);
            }
            break;
        default:
            pen.fillRect(0, 0, size, size);
    }
}

function frame(pen, from, size, line) {
    pen.fillRect(from, from, size, line);
    pen.fillRect(from, from + size - line, size, line);
    pen.fillRect(from, from + line, line, size - 2 * line);
    pen.fillRect(from + size - line, from + line, line, size - 2 * line);
}

function stripes(pen, size, line) {
    pen.globalAlpha = 0.45;
    pen.fillRect(0, 0, size, size);
    pen.globalAlpha = 1;
    for (let y = 0; y < size; y += 2 * line + 1) {
        pen.fillRect(0, y, size, Math.min(line + 1, size - y));
    }
}

function cross(pen, size, line, colour) {
    pen.strokeStyle = colour;
    pen.lineWidth = line;
    pen.beginPath();
    pen.moveTo(1, 1);
    pen.lineTo(size - 1, size - 1);
    pen.moveTo(size - 1, 1);
    pen.lineTo(1, size - 1);
    pen.stroke();
}

function paintDigit(pen, digit, size, colours) {
    pen.fillStyle = colours['cell-shared'];
    pen.fillRect(2, 2, size - 4, size - 4);
    pen.fillStyle = colours['cell-ink'];
    pen.font = `700 ${Math.round(size * 0.72)}px system-ui, sans-serif`;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    pen.fillText(digit, size / 2, size / 2 + 1);
}
