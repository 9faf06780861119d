// Makes a picture of a page small: few colours, 4 bits a point.
import { deflateSync, inflateSync, crc32 as crcOfNode } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 12;
// Shades at the edges of letters that are nearer to a more frequent colour become that
// one, so that a rare colour, such as that of a failure, has a place.
const LEAST_DISTANCE = 60;

/** @param {Buffer} bytes @returns {number} */
const crc32 = crcOfNode ?? ((bytes) => {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
});

/** @param {string} type @param {Buffer} data */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/** @param {number} left @param {number} up @param {number} corner */
function paeth(left, up, corner) {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** The points of a PNG of 8 bits without interlacing. @param {Buffer} png */
function decoded(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const size = png[25] === 6 ? 4 : 3;
  const parts = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const row = width * size;
  const points = Buffer.alloc(height * row);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (row + 1)];
    for (let x = 0; x < row; x += 1) {
      const left = x >= size ? points[y * row + x - size] : 0;
      const up = y > 0 ? points[(y - 1) * row + x] : 0;
      const corner = x >= size && y > 0 ? points[(y - 1) * row + x - size] : 0;
      const add = filter === 4 ? paeth(left, up, corner) : [0, left, up, (left + up) >> 1][filter];
      points[y * row + x] = raw[y * (row + 1) + 1 + x] + add;
    }
  }
  return { width, height, size, points };
}

/** @param {Buffer} png of 8 bits @returns {Buffer} */
export function smallPicture(png) {
  const { width, height, size, points } = decoded(png);
  /** @type {Map<number, number>} */
  const counts = new Map();
  const keyAt = (at) => ((points[at] >> 4) << 8) | ((points[at + 1] >> 4) << 4) | (points[at + 2] >> 4);
  for (let at = 0; at < points.length; at += size) counts.set(keyAt(at), (counts.get(keyAt(at)) ?? 0) + 1);
  const rgb = (key) => [((key >> 8) & 15) * 17, ((key >> 4) & 15) * 17, (key & 15) * 17];
  const distance = (a, b) => rgb(a).reduce((sum, value, i) => sum + (value - rgb(b)[i]) ** 2, 0);
  /** @type {number[]} */
  const palette = [];
  for (const [key] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (palette.length < COLOURS && palette.every((one) => distance(key, one) >= LEAST_DISTANCE ** 2)) palette.push(key);
  }
  const nearest = new Map([...counts.keys()].map((key) => [key, palette.reduce((best, one, i) => (distance(key, one) < distance(key, palette[best]) ? i : best), 0)]));
  const row = Math.ceil(width / 2) + 1;
  const packed = Buffer.alloc(row * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      packed[y * row + 1 + (x >> 1)] |= nearest.get(keyAt((y * width + x) * size)) << (x % 2 ? 0 : 4);
    }
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([4, 3], 8);
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", Buffer.from(palette.flatMap(rgb))),
    chunk("IDAT", deflateSync(packed, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
