// QR codes (ISO/IEC 18004): bytes, error correction level M, versions 1 to 10, which hold links of up to 213 bytes.

const CODEWORDS = [26, 44, 70, 100, 134, 172, 196, 242, 292, 346]; // in all, of each version
const CORRECTION = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26]; // error correction codewords of a block
const BLOCKS = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5];
const ALIGNMENT = [[], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42], [6, 26, 46], [6, 28, 50]];
const MASKS = [
  (x, y) => (x + y) % 2,
  (x, y) => y % 2,
  (x) => x % 3,
  (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3),
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** Rows of booleans, dark is true; null if the text is too long. */
export function qrModules(text) {
  const bytes = new TextEncoder().encode(text);
  const version = CODEWORDS.findIndex((_, index) => bytes.length + (index < 9 ? 2 : 3) <= room(index)) + 1;
  if (!version) return null;
  const grid = new Grid(version);
  grid.write(interleaved(dataOf(bytes, version), version));
  return grid.masked();
}

const room = (index) => CODEWORDS[index] - CORRECTION[index] * BLOCKS[index];

/** Mode, length, bytes and padding as codewords. */
function dataOf(bytes, version) {
  const bits = [];
  const put = (value, count) => {
    for (let at = count - 1; at >= 0; at -= 1) bits.push((value >> at) & 1);
  };
  put(4, 4);
  put(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) put(byte, 8);
  const size = room(version - 1) * 8;
  put(0, Math.min(4, size - bits.length));
  put(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < size; pad ^= 0xec ^ 0x11) put(pad, 8);
  return Array.from({ length: size / 8 }, (_, at) =>
    bits.slice(8 * at, 8 * at + 8).reduce((sum, bit) => 2 * sum + bit, 0),
  );
}

/** Data and error correction of all blocks, one codeword of each in turn. */
function interleaved(data, version) {
  const [blocks, correction] = [BLOCKS[version - 1], CORRECTION[version - 1]];
  const short = Math.floor(data.length / blocks);
  const longer = data.length % blocks;
  const divisor = generator(correction);
  const parts = [];
  for (let block = 0, at = 0; block < blocks; block += 1) {
    const length = short + (block >= blocks - longer ? 1 : 0);
    const part = data.slice(at, at + length);
    parts.push({ part, check: remainder(part, divisor) });
    at += length;
  }
  const found = [];
  for (let at = 0; at <= short; at += 1) for (const { part } of parts) if (at < part.length) found.push(part[at]);
  for (let at = 0; at < correction; at += 1) for (const { check } of parts) found.push(check[at]);
  return found;
}

/** Product in GF(256) modulo x⁸ + x⁴ + x³ + x² + 1. */
function times(a, b) {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * 0x11d);
    product ^= ((b >> bit) & 1) * a;
  }
  return product;
}

function generator(degree) {
  const factors = Array(degree).fill(0);
  factors[degree - 1] = 1;
  for (let step = 0, root = 1; step < degree; step += 1, root = times(root, 2))
    for (let at = 0; at < degree; at += 1) factors[at] = times(factors[at], root) ^ (factors[at + 1] ?? 0);
  return factors;
}

function remainder(data, divisor) {
  const rest = Array(divisor.length).fill(0);
  for (const byte of data) {
    const factor = byte ^ rest.shift();
    rest.push(0);
    divisor.forEach((each, at) => (rest[at] ^= times(each, factor)));
  }
  return rest;
}

class Grid {
  constructor(version) {
    this.version = version;
    this.size = 17 + 4 * version;
    this.dark = Array.from({ length: this.size }, () => Array(this.size).fill(false));
    this.fixed = Array.from({ length: this.size }, () => Array(this.size).fill(false));
    this.patterns();
  }

  set(x, y, dark) {
    if (x < 0 || y < 0 || x >= this.size || y >= this.size) return;
    this.dark[y][x] = Boolean(dark);
    this.fixed[y][x] = true;
  }

  patterns() {
    const last = this.size - 1;
    for (let at = 0; at < this.size; at += 1) {
      this.set(6, at, at % 2 === 0);
      this.set(at, 6, at % 2 === 0);
    }
    for (const [x, y] of [
      [3, 3],
      [last - 3, 3],
      [3, last - 3],
    ])
      this.square(x, y, 4, (ring) => ring !== 2 && ring !== 4);
    const centres = ALIGNMENT[this.version - 1];
    for (const x of centres)
      for (const y of centres)
        if (
          ![
            [6, 6],
            [6, centres.at(-1)],
            [centres.at(-1), 6],
          ].some(([a, b]) => a === x && b === y)
        )
          this.square(x, y, 2, (ring) => ring !== 1);
    this.format(0);
    if (this.version > 6) this.versionBits();
  }

  square(x, y, reach, dark) {
    for (let dy = -reach; dy <= reach; dy += 1)
      for (let dx = -reach; dx <= reach; dx += 1) this.set(x + dx, y + dy, dark(Math.max(Math.abs(dx), Math.abs(dy))));
  }

  /** Level M (00) and the mask, with their own error correction. */
  format(mask) {
    let rest = mask;
    for (let step = 0; step < 10; step += 1) rest = (rest << 1) ^ ((rest >> 9) * 0x537);
    const bits = ((mask << 10) | rest) ^ 0x5412;
    const bit = (at) => (bits >> at) & 1;
    const last = this.size - 1;
    for (let at = 0; at < 6; at += 1) this.set(8, at, bit(at));
    this.set(8, 7, bit(6));
    this.set(8, 8, bit(7));
    this.set(7, 8, bit(8));
    for (let at = 9; at < 15; at += 1) this.set(14 - at, 8, bit(at));
    for (let at = 0; at < 8; at += 1) this.set(last - at, 8, bit(at));
    for (let at = 8; at < 15; at += 1) this.set(8, this.size - 15 + at, bit(at));
    this.set(8, this.size - 8, true);
  }

  versionBits() {
    let rest = this.version;
    for (let step = 0; step < 12; step += 1) rest = (rest << 1) ^ ((rest >> 11) * 0x1f25);
    const bits = (this.version << 12) | rest;
    for (let at = 0; at < 18; at += 1) {
      const [far, near] = [this.size - 11 + (at % 3), Math.floor(at / 3)];
      this.set(far, near, (bits >> at) & 1);
      this.set(near, far, (bits >> at) & 1);
    }
  }

  /** Codewords, two columns at a time, up and down from the right. */
  write(codewords) {
    let at = 0;
    for (let right = this.size - 1; right > 0; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < this.size; step += 1) {
        const upward = ((right + 1) & 2) === 0;
        const y = upward ? this.size - 1 - step : step;
        for (const x of [right, right - 1])
          if (!this.fixed[y][x] && at < codewords.length * 8) {
            this.dark[y][x] = Boolean((codewords[at >> 3] >> (7 - (at & 7))) & 1);
            at += 1;
          }
      }
    }
  }

  /** The mask with the least penalty. */
  masked() {
    const tried = MASKS.map((rule, mask) => {
      this.format(mask);
      return this.dark.map((row, y) => row.map((dark, x) => (this.fixed[y][x] ? dark : dark !== (rule(x, y) === 0))));
    });
    const penalties = tried.map(penalty);
    return tried[penalties.indexOf(Math.min(...penalties))];
  }
}

function penalty(rows) {
  const size = rows.length;
  const columns = rows.map((_, x) => rows.map((row) => row[x]));
  let sum = 0;
  for (const line of [...rows, ...columns]) {
    const text = line.map(Number).join("");
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
    for (let at = 0; at + 11 <= size; at += 1)
      if (["10111010000", "00001011101"].includes(text.slice(at, at + 11))) sum += 40;
  }
  for (let y = 1; y < size; y += 1)
    for (let x = 1; x < size; x += 1) {
      const same = rows[y][x] === rows[y - 1][x] && rows[y][x] === rows[y][x - 1] && rows[y][x] === rows[y - 1][x - 1];
      if (same) sum += 3;
    }
  const dark = rows.flat().filter(Boolean).length / size ** 2;
  return sum + 10 * Math.floor(Math.abs(dark - 0.5) * 20);
}
